"""N-grams that sentences have in common."""

import numpy as np

from partita.kernels.jit import kernel


@kernel
def common(grams, counts, offsets, n_grams, out):
    """out[i, j] = sum over n-grams of min(how often sentence i has it, how often sentence n + j).

    `out` is (n, m), for n + m sentences; sentence k has the different n-grams
    grams[offsets[k] : offsets[k + 1]] as often as `counts` says.
    """
    n, m = out.shape
    known = np.zeros(n_grams, dtype=np.int64)
    for j in range(m):
        first, last = offsets[n + j], offsets[n + j + 1]
        for k in range(first, last):
            known[grams[k]] = counts[k]
        for i in range(n):
            total = 0
            for k in range(offsets[i], offsets[i + 1]):
                total += min(counts[k], known[grams[k]])
            out[i, j] = total
        for k in range(first, last):
            known[grams[k]] = 0
