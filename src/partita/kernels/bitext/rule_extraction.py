"""Hierarchical rules out of aligned sentence pairs, and the numbers of different rows.

A side of a rule is a row of symbols: words, -1 and -2 for the first and the second nonterminal, and
`MISSING` behind its end.
"""

import math

import numpy as np

from partita.kernels.bitext.hiero_trie import MISSING
from partita.kernels.bitext.word_pairs import find
from partita.kernels.jit import kernel, step
from partita.kernels.simd.prefetch import prefetch


@kernel
def phrases(links, longest, lows, highs, found):
    """The tight phrase pairs of a word alignment, rows (i, j, k, l); how many there are.

    `links` are (source, target), ascending. `lows` and `highs` have room for the linked places of
    every source word, and behind them of every target word.
    """
    n_links = len(links)
    n = 0 if n_links == 0 else links[n_links - 1, 0] + 1
    m = 0
    for k in range(n_links):
        m = max(m, links[k, 1] + 1)
    for k in range(n + m):
        lows[k], highs[k] = n + m, -1
    for k in range(n_links):
        i, j = links[k, 0], n + links[k, 1]
        lows[i], highs[i] = min(lows[i], links[k, 1]), max(highs[i], links[k, 1])
        lows[j], highs[j] = min(lows[j], i), max(highs[j], i)
    n_found = 0
    for i in range(n):
        if highs[i] < 0:
            continue
        low, high = lows[i], highs[i]
        for j in range(i + 1, min(i + longest, n) + 1):
            if highs[j - 1] < 0:
                continue
            low, high = min(low, lows[j - 1]), max(high, highs[j - 1])
            if high - low >= longest:
                break
            is_consistent = True
            for k in range(n + low, n + high + 1):
                # A word without links has an empty range.
                is_consistent &= highs[k] < 0 or (lows[k] >= i and highs[k] < j)
            if is_consistent:
                found[n_found, 0], found[n_found, 1] = i, j
                found[n_found, 2], found[n_found, 3] = low, high + 1
                n_found += 1
    return n_found


@step
def write_side(words, begin, end, one, other, first, last, row, at):
    """Words begin .. end-1 with the phrases `one` and `other` replaced; -1 for a phrase is none.

    Columns `first` and `last` of a phrase say where it is on this side.
    """
    place, size = begin, 0
    while place < end:
        if one[0] >= 0 and place == one[first]:
            row[at, size], place = -1, one[last]
        elif other[0] >= 0 and place == other[first]:
            row[at, size], place = -2, other[last]
        else:
            row[at, size] = words[place]
            place += 1
        size += 1
    for k in range(size, row.shape[1]):
        row[at, k] = MISSING


@step
def outside(linked, outer, one, other):
    """Whether a linked source word of a phrase is in neither of two phrases within it."""
    left = linked[outer[1]] - linked[outer[0]]
    if one[0] >= 0:
        left -= linked[one[1]] - linked[one[0]]
    if other[0] >= 0:
        left -= linked[other[1]] - linked[other[0]]
    return left > 0


@step
def extract(source, target, found, n_found, linked, most_symbols, most_slots, sources, targets, at):
    """The rules of one pair, from its phrases; rows from `at` on. Where they end, -1 for no room.

    `linked` counts the linked source words before each place. A phrase is a rule; replacing
    phrases within it by nonterminals gives further ones, as long as they are not adjacent on the
    source side, and a linked word is left.
    """
    none = np.empty(4, dtype=np.int64)
    none[0] = -1
    for number in range(n_found):
        outer = found[number]
        n_words = outer[1] - outer[0]
        if n_words <= most_symbols:
            if at >= len(sources):
                return -1
            write_side(source, outer[0], outer[1], none, none, 0, 1, sources, at)
            write_side(target, outer[2], outer[3], none, none, 2, 3, targets, at)
            at += 1
        for k in range(n_found if most_slots > 0 else 0):
            one = found[k]
            if k == number or one[0] < outer[0] or one[1] > outer[1]:
                continue
            left = n_words - (one[1] - one[0])
            # The first and the last word of a phrase are linked, and one of them is left.
            if left + 1 <= most_symbols:
                if at >= len(sources):
                    return -1
                write_side(source, outer[0], outer[1], one, none, 0, 1, sources, at)
                write_side(target, outer[2], outer[3], one, none, 2, 3, targets, at)
                at += 1
            for j in range(k + 1, n_found if most_slots > 1 else 0):
                other = found[j]
                if j == number or other[0] < outer[0] or other[1] > outer[1]:
                    continue
                # Phrases come by their first word, so the second begins no earlier.
                if other[0] <= one[1] or left - (other[1] - other[0]) + 2 > most_symbols:
                    continue
                # Apart on the source side, tight phrases are apart on the target side, too: each
                # ends with words that are linked to its own words alone.
                if outside(linked, outer, one, other):
                    if at >= len(sources):
                        return -1
                    write_side(source, outer[0], outer[1], one, other, 0, 1, sources, at)
                    write_side(target, outer[2], outer[3], one, other, 2, 3, targets, at)
                    at += 1
    return at


@kernel
def extract_all(
    first, source, source_offsets, target, target_offsets, links, link_offsets, longest,
    most_symbols, most_slots, sources, targets, pairs,
):  # fmt: skip
    """The rules of the pairs from `first` on, while there is room: (next pair, number of rules).

    `pairs` gets the pair of each rule.
    """
    widest = 0
    for pair in range(first, len(source_offsets) - 1):
        widest = max(widest, source_offsets[pair + 1] - source_offsets[pair])
        widest = max(widest, target_offsets[pair + 1] - target_offsets[pair])
    lows, highs = np.empty(2 * widest, dtype=np.int64), np.empty(2 * widest, dtype=np.int64)
    linked = np.empty(widest + 1, dtype=np.int64)
    found = np.empty((widest * longest, 4), dtype=np.int64)
    n_rules = 0
    for pair in range(first, len(source_offsets) - 1):
        own = links[link_offsets[pair] : link_offsets[pair + 1]]
        begin, end = source_offsets[pair], source_offsets[pair + 1]
        n_found = phrases(own, longest, lows, highs, found)
        k = 0
        for i in range(end - begin):
            linked[i] = k
            while k < len(own) and own[k, 0] == i:
                k += 1
        # From links to words: each counts once.
        linked[end - begin] = k
        n_linked = 0
        for i in range(end - begin):
            has_links = linked[i + 1] > linked[i]
            linked[i] = n_linked
            n_linked += has_links
        linked[end - begin] = n_linked
        until = extract(
            source[begin:end], target[target_offsets[pair] : target_offsets[pair + 1]], found,
            n_found, linked, most_symbols, most_slots, sources, targets, n_rules,
        )  # fmt: skip
        if until < 0:
            return pair, n_rules
        for rule in range(n_rules, until):
            pairs[rule] = pair
        n_rules = until
    return len(source_offsets) - 1, n_rules


AHEAD, RING = 12, 16
"""How long before its turn a row is asked for; and room for where rows are, a power of two."""


@step
def place_of(rows, row, mask):
    """Where in a table a row is looked for first, by a hash of its numbers."""
    value = np.uint64(14695981039346656037)
    for k in range(rows.shape[1]):
        value = (value ^ np.uint64(rows[row, k])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    return np.int64(value & np.uint64(mask))


@kernel
def intern(rows, table, kept, n_kept, numbers):
    """The number of each row among those that are kept; new ones are, and how many there are then.

    `table` has 2**k places, more than rows; -1 where there is none. Equal rows are found by a hash
    of their numbers, and compared. Both the table and what is kept wait for memory, so they are
    asked for before.
    """
    n_rows, width = rows.shape
    mask = len(table) - 1
    places = np.empty(RING, dtype=np.int64)
    for coming in range(n_rows + AHEAD):
        if coming < n_rows:
            place = place_of(rows, coming, mask)
            places[coming % RING] = place
            prefetch(table, place)
        near = coming - AHEAD // 2
        if 0 <= near < n_rows:
            number = table[places[near % RING]]
            if number >= 0:
                prefetch(kept, number * width)
        row = coming - AHEAD
        if row < 0:
            continue
        place = places[row % RING]
        while True:
            number = table[place]
            if number < 0:
                table[place] = number = n_kept
                for k in range(width):
                    kept[n_kept, k] = rows[row, k]
                n_kept += 1
                break
            is_equal = True
            for k in range(width):
                is_equal &= kept[number, k] == rows[row, k]
            if is_equal:
                break
            place = (place + 1) & mask
        numbers[row] = number
    return n_kept


@kernel
def count(rules, pairs, weights, last_pairs, counts):
    """Adds the weight of a pair to each of its rules, once however often it gives it."""
    for k in range(len(rules)):
        if last_pairs[rules[k]] != pairs[k]:
            last_pairs[rules[k]] = pairs[k]
            counts[rules[k]] += weights[pairs[k]]


@kernel
def lexical(offsets, targets, values, unseen, given, words, least, out):
    """out = log prod over words y of one side of the mean over x of the other of t(y | x).

    The empty word, 0, is always among the x; a logarithm is `least` at least.
    """
    for rule in range(len(out)):
        out[rule] = 0.0
        for j in range(words.shape[1]):
            if words[rule, j] < 0:
                continue
            total, n = 0.0, 0
            for i in range(-1, given.shape[1]):
                x = 0 if i < 0 else given[rule, i]
                if x >= 0:
                    entry = find(offsets, targets, x, words[rule, j])
                    total += values[entry] if entry >= 0 else unseen[x]
                    n += 1
            out[rule] += max(math.log(total / n), least) if total > 0.0 else least
