"""Partial labels as masks over parts, for `MarginalLikelihood`: what is known must hold."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, IntArray
from partita.structures.base import Structures
from partita.structures.chains import Chains
from partita.structures.forms import Form
from partita.structures.sibling_trees import SiblingTrees
from partita.structures.trees import Trees


def known_tags(chains: Chains, tags: Sequence[ArrayLike]) -> BoolArray:
    """The parts that agree with the known tags of each sentence; -1 for a tag that is not known.

    >>> known_tags(Chains([2], n_tags=2, shared=True), [[-1, 1]])
    array([ True,  True, False,  True,  True,  True,  True,  True])
    """
    allowed = np.ones(chains.n_parts, dtype=np.bool_)
    unaries, _ = chains.split(allowed)
    for sentence, (words, given) in enumerate(
        zip(unaries, _each("tags", tags, chains), strict=True)
    ):
        known = _checked("tags", given, len(words), chains.n_tags - 1, sentence)
        labelled = np.flatnonzero(known >= 0)
        words[labelled] = False
        words[labelled, known[labelled]] = True
    return allowed


def known_heads(trees: Trees | SiblingTrees, heads: Sequence[ArrayLike]) -> BoolArray:
    """The arcs that agree with the known heads of each sentence; -1 for a head that is not known.

    A head is 0 for the root or the number of a word, from 1. All labels stay allowed, and so do all
    siblings.

    >>> from partita.structures.projective_trees import ProjectiveTrees
    >>> known_heads(ProjectiveTrees([2]), [[2, -1]]).reshape(3, 3)
    array([[ True, False,  True],
           [ True, False,  True],
           [ True,  True,  True]])
    """
    allowed = np.ones(trees.n_parts, dtype=np.bool_)
    for sentence, (arcs, given) in enumerate(
        zip(trees.split_arrays(allowed)[0], _each("heads", heads, trees), strict=True)
    ):
        known = _checked("heads", given, len(arcs) - 1, len(arcs) - 1, sentence)
        attached = np.flatnonzero(known >= 0)
        arcs[:, attached + 1] = False
        arcs[known[attached], attached + 1] = True
    return allowed


def _each(name: str, given: Sequence[ArrayLike], structures: Structures) -> list[ArrayLike]:
    return Form("list").one_each(name, given, structures.n_sentences)


def _checked(name: str, given: ArrayLike, n_words: int, largest: int, sentence: int) -> IntArray:
    known = np.asarray(given)
    if known.shape != (n_words,) or known.dtype.kind not in "iu":
        raise ValueError(
            f"the {name} of sentence {sentence} are an array of {known.dtype} of shape "
            f"{known.shape}; expected ({n_words},) whole numbers, -1 where one is not known."
        )
    if not ((-1 <= known) & (known <= largest)).all():
        raise ValueError(
            f"the {name} of sentence {sentence} range from {known.min()} to {known.max()}; "
            f"expected 0 to {largest}, or -1 for one that is not known."
        )
    return known.astype(np.int64)
