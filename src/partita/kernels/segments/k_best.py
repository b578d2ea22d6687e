"""The k best segmentations with tags: k best ways for each node of the dynamic program."""

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.segments.rows import cell_of


@step
def merge_lists(left_best, scores, column, n_tags, k, best, left_tag, left_rank):
    """The k best of the sorted lists left_best[i, :] + scores[column + i * n_tags], best first.

    Each step takes the highest head of the lists; `left_tag` and `left_rank` say where it came
    from. Missing items are -inf and never taken.
    """
    heads = np.zeros(n_tags, dtype=np.int64)
    for rank in range(k):
        chosen, highest = -1, -np.inf
        for i in range(n_tags):
            if heads[i] < k:
                value = left_best[i, heads[i]] + scores[column + i * n_tags]
                if value > highest:
                    chosen, highest = i, value
        best[rank] = highest
        if chosen < 0:
            best[rank:] = -np.inf
            return
        left_tag[rank] = chosen
        left_rank[rank] = heads[chosen]
        heads[chosen] += 1


@step
def merge_segments(before, scores, start, end, longest, n_tags, tag, k, best, length_of, rank_of):
    """The k best of the sorted lists before[i, tag, :] + score of the segment from i to `end`.

    Each step takes the highest head of the lists; the length (less one) and the rank say where it
    came from. Missing items are -inf and never taken.
    """
    n_lists = min(longest, end)
    heads = np.zeros(n_lists, dtype=np.int64)
    for rank in range(k):
        chosen, highest = -1, -np.inf
        for length in range(n_lists):
            if heads[length] < k:
                first = end - length - 1
                part = start + cell_of(first, length, longest) * n_tags + tag
                value = before[first, tag, heads[length]] + scores[part]
                if value > highest:
                    chosen, highest = length, value
        best[rank] = highest
        if chosen < 0:
            for rest in range(rank, k):
                best[rest] = -np.inf
            return
        length_of[rank], rank_of[rank] = chosen, heads[chosen]
        heads[chosen] += 1


@kernel
def k_best(scores, start, n_words, longest, n_tags, k, rows, n_rows, total):
    """The k best structures of one sentence, best first, and their scores (-inf: no more).

    Fills rows[item, :, :] from the end on, as `best.viterbi`, and their number; O(n s (L + s) k).
    """
    table = start + n_words * longest * n_tags
    after = np.full((n_words + 1, n_tags, k), -np.inf)
    before = np.full((n_words + 1, n_tags, k), -np.inf)
    before[0, :, 0] = 0.0
    # From a boundary and tag back: the length and rank before, and the left tag and rank.
    back = np.zeros((4, n_words + 1, n_tags, k), dtype=np.int64)
    for end in range(1, n_words + 1):
        for y in range(n_tags):
            merge_segments(
                before, scores, start, end, longest, n_tags, y, k,
                after[end, y], back[0, end, y], back[1, end, y],
            )  # fmt: skip
        for y in range(n_tags):
            merge_lists(
                after[end], scores, table + y, n_tags, k,
                before[end, y], back[2, end, y], back[3, end, y],
            )  # fmt: skip
    last_tag, last_rank = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.int64)
    merge_lists(after[n_words], np.zeros(n_tags * n_tags), 0, n_tags, k, total, last_tag, last_rank)
    for item in range(k):
        n_rows[item] = 0
        if total[item] == -np.inf:
            continue
        end, tag, rank = n_words, last_tag[item], last_rank[item]
        while end > 0:
            first = end - back[0, end, tag, rank] - 1
            n_rows[item] += 1
            row = n_words - n_rows[item]
            rows[item, row, 0], rows[item, row, 1], rows[item, row, 2] = first, end, tag
            rank, end = back[1, end, tag, rank], first
            tag, rank = back[2, end, tag, rank], back[3, end, tag, rank]
