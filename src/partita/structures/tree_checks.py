"""Whether a caller's heads are a tree, and why there is none: errors that say what to do."""

from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.structures.tree_tools import crossing_arcs, find_cycle


def checked_row(name: str, values: Any, n_words: int, largest: int, sentence: int) -> IntArray:
    """One whole number from 0 to `largest` for each word."""
    array = np.asarray(values)
    if array.shape != (n_words,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"the {name} of sentence {sentence} are an array of {array.dtype} of shape "
            f"{array.shape}; expected ({n_words},) whole numbers, one for each word."
        )
    wrong = np.flatnonzero((array < 0) | (array > largest))
    if wrong.size:
        meaning = ", where 0 is the root" if name == "heads" else ""
        raise ValueError(
            f"{name}[{wrong[0]}] of sentence {sentence} is {array[wrong[0]]}; expected 0 to "
            f"{largest}{meaning}."
        )
    return array.astype(np.int64)


def check_tree(heads: IntArray, sentence: int, *, is_projective: bool, single_root: bool) -> None:
    """An error that says why heads, each in range, are no tree of the set; none if they are."""
    cycle = find_cycle(heads)
    if len(cycle) == 1:
        raise ValueError(
            f"word {cycle[0]} of sentence {sentence} is its own head; expected another word, or 0 "
            "for the root. heads[i] is the head of word i + 1."
        )
    if cycle:
        words = " <- ".join(str(word) for word in [*cycle, cycle[0]])
        raise ValueError(
            f"the heads of sentence {sentence} are no tree: words {words} are a cycle that never "
            "reaches the root. Expected every word to descend from 0, the root."
        )
    roots = np.flatnonzero(heads == 0) + 1
    if single_root and len(roots) > 1:
        raise ValueError(
            f"words {roots.tolist()} of sentence {sentence} all hang on the root; expected one, "
            "since single_root is set. Leave single_root out to allow several."
        )
    if is_projective and (crossing := crossing_arcs(heads)):
        first, second = crossing[0]
        raise ValueError(
            f"the heads of sentence {sentence} are not projective: arcs {first} and {second}, as "
            "(head, modifier), cross. Use SpanningTree where arcs may cross."
        )


def why_empty(arcs: FloatArray, *, single_root: bool) -> str:
    """Why no tree uses finite arcs only: unreached words or too many roots; "" if neither.

    `arcs` is (n+1, n+1) with the root as row 0; column 0 and the diagonal are ignored.
    """
    allowed = arcs > -np.inf
    np.fill_diagonal(allowed, False)
    allowed[:, 0] = False
    lonely = np.flatnonzero(~allowed[:, 1:].any(axis=0)) + 1
    if lonely.size:
        return f"no arc reaches word {lonely[0]}, since all its scores are -inf"
    reached = reachable(allowed, np.flatnonzero(allowed[0]))
    if not reached[1:].all():
        words = np.flatnonzero(~reached)[1:].tolist()
        return f"no path of allowed arcs leads from the root to the words {words}"
    if single_root and not any(
        reachable(allowed, np.array([word]))[1:].all() for word in np.flatnonzero(allowed[0])
    ):
        return "every tree has several words on the root, and single_root wants one"
    return ""


def reachable(allowed: Any, start: IntArray) -> Any:
    """Which nodes descend from `start`, by allowed arcs [head, modifier]."""
    reached = np.zeros(len(allowed), dtype=bool)
    reached[start] = True
    queue = list(start)
    while queue:
        for word in np.flatnonzero(allowed[queue.pop()] & ~reached):
            reached[word] = True
            queue.append(word)
    return reached


def are_trees(
    heads: IntArray, n_words: IntArray, *, is_projective: bool, single_root: bool
) -> bool:
    """Whether the heads of all sentences, end to end, are trees; quickly, and without a reason."""
    ends = np.cumsum(n_words)
    firsts, lengths = np.repeat(ends - n_words, n_words), np.repeat(n_words, n_words)
    if not ((0 <= heads) & (heads <= lengths)).all():
        return False
    is_root = heads == 0
    if single_root and (np.add.reduceat(is_root, ends - n_words, dtype=np.int64) != 1).any():
        return False
    # Every word goes to its head, all at once, twice as far each time; roots stay where they are.
    ancestors = np.append(np.where(is_root, len(heads), firsts + heads - 1), len(heads))
    for _ in range(int(n_words.max()).bit_length()):
        ancestors = ancestors[ancestors]
    if (ancestors != len(heads)).any():
        return False
    return not is_projective or not _some_cross(heads, n_words)


def _some_cross(heads: IntArray, n_words: IntArray) -> bool:
    """Whether arcs of a sentence cross; 0, 0 in place of words that are not there crosses none."""
    words = np.arange(1, int(n_words.max()) + 1)
    is_word = words <= n_words[:, None]
    rows = np.zeros(is_word.shape, dtype=np.int64)
    rows[is_word] = heads
    left, right = np.minimum(rows, words), np.where(is_word, np.maximum(rows, words), 0)
    a, b = np.s_[:, :, None], np.s_[:, None, :]
    leaves = (left[a] < left[b]) & (left[b] < right[a]) & (right[a] < right[b])
    return bool(leaves.any())
