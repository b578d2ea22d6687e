"""Determinants of whole numbers modulo a prime, which doubles hold exactly."""

import numpy as np

from partita.kernels.jit import kernel, step


@step
def _inverse(number, prime):
    """One over a number, modulo the prime: number^(prime - 2) (Fermat)."""
    found, exponent = 1.0, int(prime) - 2
    while exponent:
        if exponent & 1:
            found = (found * number) % prime
        number = (number * number) % prime
        exponent >>= 1
    return found


@kernel
def determinant(matrix, prime):
    """The determinant of numbers from 0 to prime - 1, modulo a prime below 2^25; uses them up.

    Gauss's elimination: a[i, j] - a[i, k] / a[k, k] * a[k, j]. Of the remainder only the quotient
    is rounded; that may be off by one, and what is left lies between -prime and 2 prime, so that
    products stay below 2^51 and are exact.
    """
    n, found, share = len(matrix), 1.0, 1.0 / prime
    for k in range(n):
        row = k
        while row < n and matrix[row, k] % prime == 0.0:
            row += 1
        if row == n:
            return 0.0
        if row > k:
            found = -found
            for column in range(k, n):
                matrix[k, column], matrix[row, column] = matrix[row, column], matrix[k, column]
        pivot = matrix[k, k] % prime
        found = (found * pivot) % prime
        inverse = _inverse(pivot, prime)
        # Rows up to that one have a zero in this column.
        for i in range(row + 1, n):
            factor = (matrix[i, k] % prime * inverse) % prime
            for j in range(k + 1, n):
                value = matrix[i, j] - factor * matrix[k, j]
                matrix[i, j] = value - np.floor(value * share) * prime
    return found % prime
