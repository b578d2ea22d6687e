"""Sums over the alignments of an ITG in normal form, by listing them. Shares no library code."""

import itertools
import math

import numpy as np


def log_partition_of_pair(links, deletions, insertions, inverted):
    """log sum over one-to-one alignments without forbidden crossings."""
    n, m = links.shape
    totals = []
    for k in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), k):
            for columns in itertools.permutations(range(m), k):
                crossings = n_inverted(columns)
                if crossings is None:
                    continue
                score = sum(links[i, j] for i, j in zip(rows, columns, strict=True))
                score += sum(deletions[i] for i in range(n) if i not in rows)
                score += sum(insertions[j] for j in range(m) if j not in columns)
                totals.append(score + inverted * crossings)
    return log_sum(totals)


def log_partition_of_choices(choices, deletions, insertion, inverted, longest):
    """log sum over all targets of at most `longest` words; `choices`: link scores of each word."""
    n = len(choices)
    sums = [log_sum(list(scores)) for scores in choices]
    totals = []
    for m in range(longest + 1):
        links = np.repeat(np.array(sums)[:, None], m, axis=1)
        if n + m:
            totals.append(log_partition_of_pair(links, deletions, np.full(m, insertion), inverted))
    return log_sum(totals)


def n_inverted(permutation):
    """Inverted rules in the one tree of a separable permutation; None if it is not separable."""
    size = len(permutation)
    if size < 2:
        return 0
    for split in range(1, size):
        left, right = permutation[:split], permutation[split:]
        for is_inverted in (False, True):
            low, high = (right, left) if is_inverted else (left, right)
            if max(low) < min(high):
                parts = n_inverted(left), n_inverted(right)
                return None if None in parts else sum(parts) + is_inverted
    return None


def log_sum(scores):
    largest = max(scores, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(score - largest) for score in scores))
