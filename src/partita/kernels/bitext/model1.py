"""IBM Model 1: p(f | e) = prod_j 1/(n + 1) sum_i t(f_j | e_i), e_0 the empty word.

Posteriors, from probabilities that were looked up; and probabilities from expected counts, in the
rows of `bitext.word_pairs`.
"""

import math

import numpy as np

from partita.kernels.jit import kernel


@kernel
def digamma(x):
    """The derivative of log gamma, for x > 0: recursion up to 10, then the asymptotic series."""
    result = 0.0
    while x < 10.0:
        result -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    # Bernoulli numbers over their index: the next term is below 1e-15 from 10 on.
    series = 1.0 / 12 - inverse * (
        1.0 / 120 - inverse * (
            1.0 / 252 - inverse * (
                1.0 / 240 - inverse * (1.0 / 132 - inverse * (691.0 / 32760 - inverse / 12))
            )
        )
    )  # fmt: skip
    return result + math.log(x) - 0.5 / x - inverse * series


@kernel
def normalise(offsets, counts, alpha, probabilities, unseen):
    """Each row's probabilities from its counts.

    Without a prior (alpha = 0) the shares of the counts, and 0 for pairs that never met. With one,
    the variational-Bayes estimate, exp(digamma(count + alpha) - digamma(sum of count + alpha)):
    less than its share for everything rare. A row that never occurs keeps its probabilities.
    """
    for row in range(len(offsets) - 1):
        first, last = offsets[row], offsets[row + 1]
        total = 0.0
        for k in range(first, last):
            total += counts[k]
        if total == 0.0:
            continue
        norm = digamma(total + alpha * (last - first)) if alpha > 0.0 else total
        for k in range(first, last):
            if alpha > 0.0:
                probabilities[k] = math.exp(digamma(counts[k] + alpha) - norm)
            else:
                probabilities[k] = counts[k] / norm
        unseen[row] = math.exp(digamma(alpha) - norm) if alpha > 0.0 else 0.0


@kernel
def posteriors(values, cell_offsets, n_source, n_target, out, log_likelihood):
    """t(f_j | e_i) / sum_i' of all pairs, both flat, and log p(f | e) of each pair.

    A target word that nothing can be translated to says nothing: all its places are alike likely.
    """
    longest = 0
    for pair in range(len(n_target)):
        longest = max(longest, n_target[pair])
    totals = np.empty(longest)
    for pair in range(len(n_source)):
        n, m, first = n_source[pair], n_target[pair], cell_offsets[pair]
        for j in range(m):
            totals[j] = 0.0
        for i in range(n):
            for j in range(m):
                totals[j] += values[first + i * m + j]
        value = 0.0
        for j in range(m):
            if totals[j] > 0.0:
                value += math.log(totals[j] / n)
        log_likelihood[pair] = value
        for i in range(n):
            for j in range(m):
                cell = first + i * m + j
                out[cell] = values[cell] / totals[j] if totals[j] > 0.0 else 1.0 / n


@kernel
def best(values, cell_offsets, n_source, n_target, out):
    """The likeliest source place of every target word, -1 for the empty word; ties to the first."""
    word = 0
    for pair in range(len(n_source)):
        n, m, first = n_source[pair], n_target[pair], cell_offsets[pair]
        for j in range(m):
            place = 0
            for i in range(1, n):
                if values[first + i * m + j] > values[first + place * m + j]:
                    place = i
            out[word] = place - 1
            word += 1


@kernel
def without_partner(values, source, source_offsets, target, target_offsets, partners, words):
    """Target words whose likeliest source word is the empty one, or has a likelier partner.

    `values` are the probabilities of all cells, the empty word in the first row of each pair. Fills
    in the words and the source word that each of them has, 0 for the empty one, by pair, then by
    place in the source; returns how many there are. The first of equals wins.
    """
    longest = 0
    for pair in range(len(source_offsets) - 1):
        longest = max(longest, target_offsets[pair + 1] - target_offsets[pair])
    chosen = np.empty(longest, dtype=np.int64)
    first, count = 0, 0
    for pair in range(len(source_offsets) - 1):
        begin, m = target_offsets[pair], target_offsets[pair + 1] - target_offsets[pair]
        n = source_offsets[pair + 1] - source_offsets[pair]
        for j in range(m):
            chosen[j] = 0
            for i in range(1, n + 1):
                if values[first + i * m + j] > values[first + chosen[j] * m + j]:
                    chosen[j] = i
        # A sentence without words has nothing to be without a partner.
        for place in range(n + 1 if n > 0 else 0):
            strongest = -1
            for j in range(m if place > 0 else 0):
                row = first + place * m
                if chosen[j] == place and (
                    strongest < 0 or values[row + j] > values[row + strongest]
                ):
                    strongest = j
            for j in range(m):
                if chosen[j] == place and j != strongest:
                    partners[count] = source[source_offsets[pair] + place - 1] if place > 0 else 0
                    words[count] = target[begin + j]
                    count += 1
        first += (n + 1) * m
    return count
