"""Each structure on tensors: one class, which says what works for it on arrays."""

from typing import Any

import torch

from partita.distribution import (
    constituency_tree,
    hypergraph,
    linear_chain,
    projective_tree,
    segment_chain,
    sibling_tree,
    spanning_tree,
)
from partita.structures.hypergraph import Hypergraph
from partita.torch.base import TensorDistribution
from partita.torch.forms import as_tensor
from partita.torch.functions import Ends


class ProjectiveTree(TensorDistribution, of=projective_tree.ProjectiveTree, parts="arcs"):
    """Projective dependency trees; arguments as those of `partita.ProjectiveTree`.

    >>> import partita.torch as ptt
    >>> p = ptt.ProjectiveTree(torch.zeros(4, 4))
    >>> p.log_partition.exp().round(decimals=3)
    tensor(12.)
    """


class SpanningTree(TensorDistribution, of=spanning_tree.SpanningTree, parts="arcs"):
    """All dependency trees; arguments as those of `partita.SpanningTree`.

    >>> import partita.torch as ptt
    >>> p = ptt.SpanningTree(torch.zeros(2, 4, 4), n_words=torch.tensor([2, 3]))
    >>> p.log_partition.exp().round(decimals=3)
    tensor([ 3., 16.])
    """


class SiblingTree(TensorDistribution, of=sibling_tree.SiblingTree, parts=sibling_tree.SiblingParts):
    """Projective trees of the second order; arguments as those of `partita.SiblingTree`.

    >>> import partita.torch as ptt
    >>> p = ptt.SiblingTree(torch.zeros(4, 4), torch.zeros(4, 4, 4), single_root=True)
    >>> p.log_partition.exp().round(decimals=3)
    tensor(7.)
    """


class ConstituencyTree(TensorDistribution, of=constituency_tree.ConstituencyTree, parts="spans"):
    """Binary constituency trees; arguments as those of `partita.ConstituencyTree`.

    >>> import partita.torch as ptt
    >>> p = ptt.ConstituencyTree(torch.zeros(4, 4))
    >>> p.log_partition.exp().round(decimals=3)
    tensor(5.)
    """


class HypergraphDistribution(
    TensorDistribution, of=hypergraph.HypergraphDistribution, parts="scores"
):
    """Derivations of a hypergraph; arguments as those of `partita.HypergraphDistribution`.

    >>> import partita.torch as ptt
    >>> forest = ptt.Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> ptt.HypergraphDistribution(forest, torch.zeros(3)).marginals
    tensor([1., 1., 1.])
    """

    def __init__(self, hypergraph: Any, scores: Any) -> None:
        if not isinstance(hypergraph, Hypergraph) and getattr(scores, "ndim", 0) > 0:
            # A list of tensors, as answers come back in.
            scores = list(as_tensor(scores))
        super().__init__(hypergraph, scores)


class SegmentChain(
    TensorDistribution, of=segment_chain.SegmentChain, parts=segment_chain.SegmentParts
):
    """Segmentations with tags; arguments as those of `partita.SegmentChain`.

    >>> import partita.torch as ptt
    >>> p = ptt.SegmentChain(torch.zeros(4, 3, 1), torch.zeros(1, 1))
    >>> p.log_partition.exp().round(decimals=3)
    tensor(7.)
    """


class LinearChain(TensorDistribution, of=linear_chain.LinearChain, parts=linear_chain.ChainParts):
    """Tag sequences; arguments as those of `partita.LinearChain`.

    >>> import partita.torch as ptt
    >>> p = ptt.LinearChain(torch.zeros(3, 2), torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]))
    >>> p.marginals.unary[:, 1]
    tensor([0.7500, 0.5000, 0.2500])
    """

    def __init__(
        self, *arguments: Any, start: Any = None, stop: Any = None, **options: Any
    ) -> None:
        super().__init__(*arguments, start=start, stop=stop, **options)
        given: list[torch.Tensor] = [as_tensor(end) for end in (start, stop) if end is not None]
        if given:
            chains: Any = self.numpy.structures
            ends = Ends(chains.end_parts, (start is not None, stop is not None))
            self._hold(self.numpy, self._given, [*self._tensors, *given], ends)
