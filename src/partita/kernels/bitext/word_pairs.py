"""Pairs of words that meet in some sentence pair: their numbers, row by row, and looking them up.

Row x of the table has the target words that ever met the source word x, ascending:
targets[offsets[x] : offsets[x + 1]]. A cell is a place of a source and a target word in one
sentence pair, in C order; `cells` says which entry of the table it is, so that learning never
searches. Two words are told to have met by a stamp, without sorting all cells:
O(cells + entries log(entries in a row)).
"""

import numpy as np

from partita.kernels.jit import kernel, step


@kernel
def row_sizes(order, word_starts, sentences, target, target_offsets, n_target):
    """How many target words meet each source word.

    `order` has the places of source words, word by word from `word_starts` on, and `sentences`
    the sentence of each place.
    """
    n_source = len(word_starts) - 1
    sizes = np.zeros(n_source, dtype=np.int64)
    stamps = np.full(n_target, -1, dtype=np.int64)
    for word in range(n_source):
        for k in range(word_starts[word], word_starts[word + 1]):
            sentence = sentences[order[k]]
            for j in range(target_offsets[sentence], target_offsets[sentence + 1]):
                if stamps[target[j]] != word:
                    stamps[target[j]] = word
                    sizes[word] += 1
    return sizes


@kernel
def fill_rows(
    order, word_starts, sentences, source_offsets, target, target_offsets, cell_offsets, offsets,
    targets, cells,
):  # fmt: skip
    """The target words of each row, ascending, and the entry of each cell."""
    entry = np.empty(target.max() + 1, dtype=np.int64)
    stamps = np.full(len(entry), -1, dtype=np.int64)
    for word in range(len(word_starts) - 1):
        end = offsets[word]
        for k in range(word_starts[word], word_starts[word + 1]):
            sentence = sentences[order[k]]
            for j in range(target_offsets[sentence], target_offsets[sentence + 1]):
                if stamps[target[j]] != word:
                    stamps[target[j]] = word
                    targets[end] = target[j]
                    end += 1
        row = targets[offsets[word] : offsets[word + 1]]
        row.sort()
        for k in range(len(row)):
            entry[row[k]] = offsets[word] + k
        for k in range(word_starts[word], word_starts[word + 1]):
            place = order[k]
            sentence = sentences[place]
            first, last = target_offsets[sentence], target_offsets[sentence + 1]
            row_cell = cell_offsets[sentence] + (place - source_offsets[sentence]) * (last - first)
            for j in range(first, last):
                cells[row_cell + j - first] = entry[target[j]]


@step
def find(offsets, targets, source, target):
    """The entry of a pair, or -1 if the words never met: binary search."""
    low, high = offsets[source], offsets[source + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low if low < offsets[source + 1] and targets[low] == target else -1


@kernel
def look_up(offsets, targets, values, unseen, source, target, out):
    """out_k = the value of the pair (source_k, target_k), or unseen[source_k]."""
    for k in range(len(out)):
        entry = find(offsets, targets, source[k], target[k])
        out[k] = values[entry] if entry >= 0 else unseen[source[k]]


@kernel
def look_up_cells(
    offsets, targets, values, unseen, source, source_offsets, target, target_offsets, out
):
    """The values of all cells of sentence pairs, in C order, pair after pair."""
    cell = 0
    for sentence in range(len(source_offsets) - 1):
        for i in range(source_offsets[sentence], source_offsets[sentence + 1]):
            for j in range(target_offsets[sentence], target_offsets[sentence + 1]):
                entry = find(offsets, targets, source[i], target[j])
                out[cell] = values[entry] if entry >= 0 else unseen[source[i]]
                cell += 1
