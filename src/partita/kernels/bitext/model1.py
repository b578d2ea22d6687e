"""IBM Model 1: p(f | e) = prod_j 1/(n + 1) sum_i t(f_j | e_i), e_0 the empty word.

One step of expectation-maximisation. `table` has two columns, the probability of each entry and
its expected count, side by side because they are always needed together; `cells` and the table's
rows are those of `bitext.word_pairs`.
"""

import math

import numpy as np

from partita.kernels.jit import kernel


@kernel
def expected_counts(cells, cell_offsets, n_source, n_target, weights, table):
    """Add to each entry its expected count, t(f_j | e_i) / sum_i' t(f_j | e_i'); log-likelihood.

    `n_source` counts the empty word; a pair counts as often as its weight says.
    """
    log_likelihood = 0.0
    totals = np.empty(n_target.max() if len(n_target) else 0)
    values = np.empty(np.diff(cell_offsets).max() if len(n_target) else 0)
    for sentence in range(len(n_source)):
        n, m, weight = n_source[sentence], n_target[sentence], weights[sentence]
        first = cell_offsets[sentence]
        totals[:m] = 0.0
        for i in range(n):
            for j in range(m):
                value = table[cells[first + i * m + j], 0]
                values[i * m + j] = value
                totals[j] += value
        for j in range(m):
            log_likelihood += weight * math.log(totals[j])
            totals[j] = weight / totals[j]
        log_likelihood -= weight * m * math.log(n)
        for i in range(n):
            for j in range(m):
                table[cells[first + i * m + j], 1] += values[i * m + j] * totals[j]
    return log_likelihood


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
def normalise(offsets, table, alpha, unseen):
    """Each row's probabilities from its counts, which become 0 again.

    Without a prior (alpha = 0) the shares of the counts, and 0 for pairs that never met. With one,
    the variational-Bayes estimate, exp(digamma(count + alpha) - digamma(sum of count + alpha)):
    less than its share for everything rare. A row that never occurs keeps its probabilities.
    """
    for row in range(len(offsets) - 1):
        first, last = offsets[row], offsets[row + 1]
        total = 0.0
        for k in range(first, last):
            total += table[k, 1]
        if total == 0.0:
            continue
        norm = digamma(total + alpha * (last - first)) if alpha > 0.0 else total
        for k in range(first, last):
            if alpha > 0.0:
                table[k, 0] = math.exp(digamma(table[k, 1] + alpha) - norm)
            else:
                table[k, 0] = table[k, 1] / norm
            table[k, 1] = 0.0
        unseen[row] = math.exp(digamma(alpha) - norm) if alpha > 0.0 else 0.0


@kernel
def posteriors(values, cell_offsets, n_source, n_target, out):
    """t(f_j | e_i) / sum_i' of all pairs, both flat, and log p(f | e) of each pair.

    A target word that nothing can be translated to says nothing: all its places are alike likely.
    """
    log_likelihood = np.zeros(len(n_source))
    for pair in range(len(n_source)):
        n, m, first = n_source[pair], n_target[pair], cell_offsets[pair]
        for j in range(m):
            total = 0.0
            for i in range(n):
                total += values[first + i * m + j]
            for i in range(n):
                cell = first + i * m + j
                out[cell] = values[cell] / total if total > 0.0 else 1.0 / n
            if total > 0.0:
                log_likelihood[pair] += math.log(total / n)
    return log_likelihood


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
