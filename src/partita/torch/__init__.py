"""The distributions on PyTorch tensors: `import partita.torch as ptt`.

    p = ptt.SpanningTree(arcs)                    # a tensor that a network made
    loss = -p.log_prob(heads).mean() + 0.1 * p.entropy.mean()
    loss.backward()

The same names and arguments as in `partita`; tensors come in and go out, and gradients flow through
log-partition, marginals, entropy and all that follows from them.
"""

try:
    import torch as _torch
except ModuleNotFoundError as error:
    # Something that PyTorch itself needs may be what is missing; then its own message helps more.
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "partita.torch needs PyTorch, which is not installed. Install both by: "
        "pip install 'partita[torch]'",
        name="torch",
    ) from None

from partita.structures.hypergraph import Hypergraph
from partita.torch import nn
from partita.torch.base import TensorDistribution
from partita.torch.distributions import (
    ConstituencyTree,
    HypergraphDistribution,
    LinearChain,
    ProjectiveTree,
    SegmentChain,
    SiblingTree,
    SpanningTree,
)

__all__ = [
    "ConstituencyTree",
    "Hypergraph",
    "HypergraphDistribution",
    "LinearChain",
    "ProjectiveTree",
    "SegmentChain",
    "SiblingTree",
    "SpanningTree",
    "TensorDistribution",
    "nn",
]

del _torch
