"""A batch in blocks of sentences, asked by as many threads as PyTorch uses.

Where a batch is cut depends on the batch alone, so that answers are the same, bit for bit, for any
number of threads.
"""

from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any

import numpy as np
import torch

from partita.distribution.base import Distribution
from partita.distribution.parts import PartDistribution
from partita.structures.base import Structures
from partita.structures.chains import Chains
from partita.structures.constituents import ConstituencyTrees
from partita.structures.forests import Forests
from partita.structures.joined import JoinedStructures
from partita.structures.segments import SegmentChains
from partita.structures.trees import Trees
from partita.training.threads import in_threads

BLOCK = 2**17
"""Parts of a block: some 0.3 to 1 ms of work, beside 0.1 ms for making a block and asking it."""
LEAST = 2**16
"""Parts of a batch of trees that threads share: half of it takes longer than waking a thread."""
MOST_BLOCKS = 16
"""More threads than this gain nothing on the batches that networks are trained on."""


def in_blocks(p: Distribution) -> Distribution:
    """The same distribution, whose questions several threads answer; for flat vectors."""
    structures = p.structures
    n_blocks = min(structures.n_parts // BLOCK, structures.n_sentences, MOST_BLOCKS)
    if n_blocks < 2:
        if structures.n_parts >= LEAST:
            # Structures with charts are cut finer than this.
            structures.run = run
        return p
    # The sentence that holds the first part of each block begins it.
    firsts = np.arange(n_blocks) * (structures.n_parts / n_blocks)
    cuts = np.unique(np.searchsorted(structures.part_offsets, firsts, side="right") - 1).tolist()
    ends = [*cuts[1:], structures.n_sentences]
    found = [some(structures, slice(*ends)) for ends in zip(cuts, ends, strict=True)]
    blocks = [block for block in found if block is not None]
    if len(blocks) < len(found):
        return p
    return PartDistribution.from_flat(JoinedStructures(blocks, run), p.scores)


@singledispatch
def some(structures: Structures, sentences: slice) -> Structures | None:
    """Some neighbouring sentences of a batch alone; None for a kind that is not known here."""
    return None


@some.register
def _(structures: Chains, sentences: slice) -> Structures:
    return Chains(structures.n_words[sentences], structures.n_tags, shared=structures.shared)


@some.register
def _(structures: SegmentChains, sentences: slice) -> Structures:
    return SegmentChains(structures.n_words[sentences], structures.longest, structures.n_tags)


@some.register
def _(structures: ConstituencyTrees, sentences: slice) -> Structures:
    return ConstituencyTrees(structures.n_words[sentences], structures.n_labels)


@some.register
def _(structures: Trees, sentences: slice) -> Structures:
    return type(structures)(
        structures.n_words[sentences], structures.n_labels, single_root=structures.single_root
    )


@some.register
def _(structures: Forests, sentences: slice) -> Structures:
    return Forests(structures.hypergraphs[sentences])


def run(function: Callable[..., Any], *iterables: Iterable[Any]) -> Iterable[Any]:
    """`map` by as many threads as PyTorch uses."""
    return in_threads(function, *iterables, n_threads=torch.get_num_threads())
