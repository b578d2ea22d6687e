"""Learning from local choices, each normalised by itself: piecewise and pseudo-likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import Counts, checked_target, sums_by_group
from partita.structures.base import Structure, Structures
from partita.structures.forms import length_of

SHOWN = 40
"""Characters of a caller's value in a message."""


@dataclass(frozen=True)
class Choices:
    """Places where one of several alternatives is chosen, and what the target chose.

    The alternatives of place i are the rows `offsets[i] : offsets[i + 1]`, at least one; the score
    of a row is <parts[row], scores>. Made by `piecewise_choices` or `pseudo_choices`.

    >>> from partita.structures.chains import Chains
    >>> choices = pseudo_choices(Chains([1], n_tags=2, shared=True), [[[[0], [1]]]])
    >>> choices.parts.toarray()[:, :2]  # the rows of one place: tag 0, which was chosen, and tag 1
    array([[1., 0.],
           [0., 1.]])
    """

    parts: sparse.csr_array
    """How often each row uses each part, (n_rows, n_parts); 0 or more."""
    offsets: IntArray
    """Where the rows of each place begin, and the end: (n_places + 1,)."""
    chosen: FloatArray
    """How often the target chose each row, (n_rows,)."""
    sentences: IntArray
    """The sentence of each place, (n_places,)."""


class LocalLikelihood(SentenceObjective):
    """sum over places of -log p(choice of the target), each place normalised by itself.

        loss = sum over places of n log sum over rows exp(score) - sum over rows chosen score

    with n the number of choices that the target makes at the place. It needs no inference: a
    softmax per place. The target says which approximation it is:

    * `piecewise_choices` (Sutton and McCallum 2005): the alternatives to a part are the parts of
      its piece, whatever the rest of the structure is. For any structure: pieces are the tags of a
      word and the transitions between two words, the heads of a word (a softmax for each
      modifier), or the hyperedges into a node; see `partita.objectives.pieces`.
    * `pseudo_choices` (Besag 1975): the alternatives are whole structures that differ from the
      target in one place. For chains `tag_choices` lists them: every other tag of a word, the rest
      kept. In trees most changes of one head, and in forests all changes of one hyperedge, leave
      no structure, so that only few alternatives are compared: prefer the piecewise form there, or
      pass the alternatives that you mean.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.array([[0.0, np.log(3.0)]]), np.zeros((2, 2)))
    >>> choices = pseudo_choices(p.structures, [[[[1], [0]]]])
    >>> statistic, pullback = LocalLikelihood()(p, choices)
    >>> float(np.exp(-statistic[0]).round(9)), pullback(np.ones(1))[:2].round(9)
    (0.75, array([ 0.25, -0.25]))
    """

    def losses(self, p: Distribution, target: Choices) -> tuple[FloatArray, Gradient]:
        """The losses of all places, summed by sentence."""
        how = "piecewise_choices(...), pseudo_choices(...) or tag_choices(...)"
        target = checked_target(target, Choices, self, how)
        if target.parts.shape[1] != p.structures.n_parts:
            raise ValueError(
                f"the choices are among {target.parts.shape[1]} parts; the batch has "
                f"{p.structures.n_parts}. Make them for the structures of this batch."
            )
        starts, n_rows = target.offsets[:-1], np.diff(target.offsets)
        scores = target.parts @ p.scores
        n_chosen = np.add.reduceat(target.chosen, starts)
        largest = np.maximum.reduceat(scores, starts)
        _check_possible(largest, target.sentences)
        shares = np.exp(scores - np.repeat(largest, n_rows))
        sums = np.add.reduceat(shares, starts)
        # A row that was not chosen contributes nothing, even at -inf.
        used = np.multiply(
            target.chosen, scores, out=np.zeros_like(scores), where=target.chosen > 0
        )
        losses = n_chosen * (largest + np.log(sums)) - np.add.reduceat(used, starts)

        def gradient() -> FloatArray:
            expected = shares * np.repeat(n_chosen / sums, n_rows)
            pulled: FloatArray = target.parts.T @ (expected - target.chosen)
            return pulled

        return sums_by_group(losses, target.sentences, p.structures.n_sentences), gradient


def _check_possible(largest: FloatArray, sentences: IntArray) -> None:
    impossible = np.flatnonzero(largest == -np.inf)
    if impossible.size:
        raise ValueError(
            f"a place of sentence {sentences[impossible[0]]} (counting from 0) has no structure: "
            "all its alternatives use a part whose score is -inf. Allow more parts, or leave the "
            "sentence out."
        )


def piecewise_choices(pieces: ArrayLike, target: Counts) -> Choices:
    """The choices of piecewise training: each part of the target against the rest of its piece.

    `pieces` holds a number for every part, (n_parts,), equal for parts of the same piece, and -1
    for a part that is in no piece. Pieces that the target does not use are left out.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
    >>> choices = piecewise_choices(
    ...     np.array([0, 0, -1, -1, -1, -1]),
    ...     Counts.of(p.structures, [[1]]),
    ... )
    >>> bool(np.isclose(LocalLikelihood()(p, choices)[0][0], np.log(2)))
    True
    """
    if not isinstance(target, Counts):
        raise ValueError(
            f"the target of piecewise_choices is a {type(target).__name__}; expected "
            "Counts.of(structures, [a structure for each sentence])."
        )
    pieces = _checked_pieces(pieces, target.structures.n_parts)
    chosen = np.zeros(len(pieces))
    chosen[target.parts] = target.values
    n_pieces = int(pieces.max(initial=-1)) + 1
    sentences = np.full(n_pieces, -1)
    in_piece = pieces[target.parts] >= 0
    sentences[pieces[target.parts[in_piece]]] = target.sentences[in_piece]
    is_used: BoolArray = np.append(sentences >= 0, False)
    parts = np.flatnonzero(is_used[pieces])
    parts = parts[np.argsort(pieces[parts], kind="stable")]
    numbers = pieces[parts]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    shape = (len(parts), len(pieces))
    rows = sparse.csr_array((np.ones(len(parts)), parts, np.arange(len(parts) + 1)), shape=shape)
    return Choices(rows, np.append(starts, len(parts)), chosen[parts], sentences[numbers[starts]])


def _checked_pieces(pieces: ArrayLike, n_parts: int) -> IntArray:
    numbers = np.asarray(pieces)
    is_whole = numbers.dtype.kind in "iu" and numbers.min(initial=0) >= -1
    if numbers.shape != (n_parts,) or not is_whole:
        raise ValueError(
            f"pieces is an array of {numbers.dtype} of shape {numbers.shape}; expected "
            f"({n_parts},) whole numbers, for each part that the target was counted in that of its "
            "piece, or -1 for none."
        )
    return numbers.astype(np.int64, copy=False)


def pseudo_choices(
    structures: Structures, places: Sequence[Sequence[Sequence[Structure]]]
) -> Choices:
    """The choices of pseudo-likelihood among whole structures, for any set of structures.

    `places[b]` lists the places of sentence b, one or more; a place is a list of structures, of
    which the first is the target. Costs the counts of every structure listed.

    >>> from partita.structures.chains import Chains
    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> choices = pseudo_choices(chains, [[[[0, 1], [1, 1]], [[0, 1], [0, 0]]]])
    >>> choices.offsets, choices.chosen
    (array([0, 2, 4]), array([1., 0., 1., 0.]))
    """
    _check_places(places, structures.n_sentences)
    listed = [[s for place in of_sentence for s in place] for of_sentence in places]
    n_listed = np.array([len(of_sentence) for of_sentence in listed])
    first_rows = np.cumsum(n_listed) - n_listed
    rows, parts, counts = [], [], []
    # The k-th structures of all sentences are counted together.
    for k in range(n_listed.max(initial=0)):
        batch = [of_sentence[min(k, len(of_sentence) - 1)] for of_sentence in listed]
        found = Counts.of(structures, batch)
        new = k < n_listed[found.sentences]
        rows.append(first_rows[found.sentences[new]] + k)
        parts.append(found.parts[new])
        counts.append(found.values[new])
    n_rows = [len(place) for of_sentence in places for place in of_sentence]
    offsets = np.concatenate([[0], np.cumsum(n_rows)])
    where = (np.concatenate(rows), np.concatenate(parts))
    shape = (int(offsets[-1]), structures.n_parts)
    matrix = sparse.coo_array((np.concatenate(counts), where), shape=shape).tocsr()
    chosen = np.zeros(int(offsets[-1]))
    chosen[offsets[:-1]] = 1.0
    sentences = np.repeat(np.arange(len(places)), [len(of_sentence) for of_sentence in places])
    return Choices(matrix, offsets, chosen, sentences)


def _check_places(places: Sequence[Sequence[Sequence[Structure]]], n_sentences: int) -> None:
    expected = (
        f"expected places of {n_sentences} sentences, one or more in each, and in each place a "
        "list of structures that begins with the target."
    )
    if length_of(places) != n_sentences:
        raise ValueError(f"places is {repr(places)[:SHOWN]}; {expected}")
    for index, each in enumerate(places):
        if not length_of(each):
            raise ValueError(f"places[{index}] is {repr(each)[:SHOWN]}; {expected}")
        for number, place in enumerate(each):
            if not length_of(place):
                raise ValueError(f"places[{index}][{number}] is {repr(place)[:SHOWN]}; {expected}")
