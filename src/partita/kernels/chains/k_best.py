"""The k best tag sequences of one sentence, lazily: Huang & Chiang (2005), algorithm 3.

A cell is a tag at a word; its items are the sequences that end in it, found in order, the next one
only when it is asked for. Each goes on from an item of a cell to its left, so a cell keeps a
candidate for each left tag: the best item of that cell which no item here goes on from. Behind the
last word there is one more, whose items are whole sequences.

The best item of a cell need not have been found: Viterbi's chart knows its score. It is `BEST`, and
the first of the cell's items once there are some.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.chains.best import best_prefixes
from partita.kernels.forests.layout import with_room
from partita.kernels.jit import inlined, kernel, step

# Columns of `cells`: where the candidates of the cell begin, the first and last item found, the
# left tag whose candidate the last item was, until the next takes its place, and the state.
CANDIDATES, FIRST, LAST, RAISED, STATE = 0, 1, 2, 3, 4
FRESH, OPEN, EXHAUSTED = 0, 1, 2
# Columns of `items`: the left tag, the item of its cell, and the item that follows in this cell.
LEFT_TAG, LEFT_ITEM, NEXT = 0, 1, 2
NONE, BEST, UNKNOWN = -1, -1, -2


class SequenceSearch(NamedTuple):
    """Everything known about the sequences that end in each cell."""

    delta: np.ndarray
    """(n, s) scores of the best item of each cell: Viterbi's chart."""
    cells: np.ndarray
    """(n s + 1, 5) integers."""
    values: np.ndarray
    """The scores of candidates, s for each open cell, without that of the cell's own tag."""
    left_items: np.ndarray
    """The items that they go on from."""
    items: np.ndarray
    """(room, 3) integers: the items found."""
    totals: np.ndarray
    """The score of each."""
    n_used: np.ndarray
    """How many candidates there are, and how many items."""


class ChainScores(NamedTuple):
    """Where the scores of one sentence are."""

    scores: np.ndarray
    start: int
    n_words: int
    n_tags: int
    stride: int


@inlined
def unary_of(sentence, cell):
    """The score of a cell's tag; 0 behind the last word."""
    if cell == sentence.n_words * sentence.n_tags:
        return 0.0
    return sentence.scores[sentence.start + cell]


@inlined
def value_of(sentence, before, cell, left):
    """The score of a sequence that goes on to a cell from a left tag, before the cell's own."""
    n_tags = sentence.n_tags
    word = cell // n_tags
    if word == sentence.n_words:
        return before
    tables = sentence.start + sentence.n_words * n_tags
    part = tables + (word - 1) * sentence.stride + left * n_tags + cell % n_tags
    return before + sentence.scores[part]


@inlined
def left_cell(sentence, cell, left):
    """The cell of a left tag."""
    return (cell // sentence.n_tags - 1) * sentence.n_tags + left


@inlined
def item_after(search, cell, item):
    """The next item of a cell; NONE behind the last, UNKNOWN if it must be found first."""
    cells, items = search.cells, search.items
    if item == BEST:
        item = cells[cell, FIRST]
    if item != NONE and items[item, NEXT] != NONE:
        return items[item, NEXT]
    return NONE if cells[cell, STATE] == EXHAUSTED else UNKNOWN


@inlined
def take_best(search, sentence, cell):
    """The best candidate, the first of several, becomes the next item; if there is one."""
    _, cells, values, left_items, items, totals, n_used = search
    first, chosen, highest = cells[cell, CANDIDATES], NONE, -np.inf
    for left in range(sentence.n_tags):
        if values[first + left] > highest:
            chosen, highest = left, values[first + left]
    cells[cell, RAISED] = chosen
    if chosen == NONE:
        cells[cell, STATE] = EXHAUSTED
        return
    item, last = n_used[1], cells[cell, LAST]
    n_used[1] += 1
    items[item, LEFT_TAG] = chosen
    items[item, LEFT_ITEM] = left_items[first + chosen]
    items[item, NEXT] = NONE
    totals[item] = highest + unary_of(sentence, cell)
    cells[cell, LAST] = item
    if last == NONE:
        cells[cell, FIRST] = item
    else:
        items[last, NEXT] = item


@inlined
def open_cell(search, sentence, cell):
    """Candidates out of the best items to the left, and the first item."""
    delta, cells, values, left_items, _, _, n_used = search
    n_tags, first = sentence.n_tags, n_used[0]
    n_used[0] += n_tags
    cells[cell, CANDIDATES] = first
    cells[cell, STATE] = OPEN
    word = cell // n_tags
    for left in range(n_tags):
        values[first + left] = value_of(sentence, delta[word - 1, left], cell, left)
        left_items[first + left] = BEST
    take_best(search, sentence, cell)


@inlined
def raise_candidate(search, sentence, cell):
    """Put the next item of its cell in the place of the candidate that was taken.

    Returns the cell where that item must be found first, or NONE.
    """
    left = search.cells[cell, RAISED]
    place, before = search.cells[cell, CANDIDATES] + left, left_cell(sentence, cell, left)
    following = item_after(search, before, search.left_items[place])
    if following == UNKNOWN:
        return before
    search.left_items[place] = following
    value = -np.inf
    if following != NONE:
        value = value_of(sentence, search.totals[following], cell, left)
    search.values[place] = value
    return NONE


@step
def find_next(search, sentence, path):
    """One more whole sequence, or the end of them: down to a cell that can go on, and back."""
    path[0], height = sentence.n_words * sentence.n_tags, 1
    while height > 0:
        cell = path[height - 1]
        if search.cells[cell, STATE] == FRESH:
            open_cell(search, sentence, cell)
        before = raise_candidate(search, sentence, cell)
        if before != NONE:
            path[height] = before
            height += 1
        else:
            take_best(search, sentence, cell)
            height -= 1


@step
def start_search(sentence):
    """The search that has found Viterbi's chart and the best sequence, if there is one."""
    n_words, n_tags = sentence.n_words, sentence.n_tags
    delta, n_cells = np.empty((n_words, n_tags)), n_words * n_tags + 1
    best_prefixes(sentence.scores, sentence.start, n_tags, sentence.stride, delta)
    cells = np.empty((n_cells, 5), dtype=np.int64)
    for cell in range(n_cells):
        cells[cell, FIRST] = NONE
        cells[cell, LAST] = NONE
        # A tag of the first word ends one sequence, which goes on from nothing.
        cells[cell, STATE] = FRESH if cell >= n_tags else EXHAUSTED
    n_used = np.empty(2, dtype=np.int64)
    n_used[0] = 0
    n_used[1] = 0
    n_candidates, n_items = (n_words + 1) * n_tags, 2 * (n_words + 1)
    search = SequenceSearch(
        delta, cells, np.empty(n_candidates), np.empty(n_candidates, dtype=np.int64),
        np.empty((n_items, 3), dtype=np.int64), np.empty(n_items), n_used,
    )  # fmt: skip
    open_cell(search, sentence, n_words * n_tags)
    return search


@step
def with_space(search, n_candidates, n_items):
    """The same search with room for so many more."""
    delta, cells, values, left_items, items, totals, n_used = search
    if n_used[0] + n_candidates > len(values):
        values = with_room(values, n_used[0] + n_candidates)
        left_items = with_room(left_items, n_used[0] + n_candidates)
    if n_used[1] + n_items > len(totals):
        totals = with_room(totals, n_used[1] + n_items)
        more = np.empty((len(totals), 3), dtype=np.int64)
        for item in range(n_used[1]):
            for column in range(3):
                more[item, column] = items[item, column]
        items = more
    return SequenceSearch(delta, cells, values, left_items, items, totals, n_used)


@kernel
def k_best(scores, start, n_words, n_tags, stride, k):
    """The search that knows the k best sequences of one sentence, or all; how many it found."""
    sentence = ChainScores(scores, start, n_words, n_tags, stride)
    search = start_search(sentence)
    whole, path = n_words * n_tags, np.empty(n_words + 1, dtype=np.int64)
    n_found = 0
    while search.cells[whole, STATE] != EXHAUSTED:
        n_found += 1
        if n_found == k:
            break
        # Each cell on the way down is opened at most once, and gains at most two items.
        search = with_space(search, (n_words + 1) * n_tags, 2 * (n_words + 1))
        find_next(search, sentence, path)
    return search, n_found


@step
def best_left(search, sentence, cell):
    """The left tag of the best item of a cell that was not opened."""
    chosen, highest, word = NONE, -np.inf, cell // sentence.n_tags
    for left in range(sentence.n_tags):
        value = value_of(sentence, search.delta[word - 1, left], cell, left)
        if value > highest:
            chosen, highest = left, value
    return chosen


@kernel
def write_sequences(search, scores, start, n_words, n_tags, stride, tags, totals):
    """The tags and the scores of the sequences found, best first."""
    sentence, cells, items = (
        ChainScores(scores, start, n_words, n_tags, stride),
        search[1],
        search[4],
    )
    found = cells[n_words * n_tags, FIRST]
    for rank in range(len(totals)):
        totals[rank] = search.totals[found]
        cell, item = n_words * n_tags, found
        for word in range(n_words - 1, -1, -1):
            if item == BEST:
                item = cells[cell, FIRST]
            if item == NONE:
                left = best_left(search, sentence, cell)
            else:
                left, item = items[item, LEFT_TAG], items[item, LEFT_ITEM]
            tags[rank, word] = left
            cell = left_cell(sentence, cell, left)
        found = items[found, NEXT]
