"""Rows of eight sentences to lanes, one sentence in each, and back: squares of eight by eight.

As `four_rows`, in half as many instructions where the processor has registers of eight.
"""

from partita.kernels.jit import borrowing
from partita.kernels.simd.eight import load_eight, store_eight, transpose_eight


@borrowing
def load_square(values, rows, shift, out, to, apart):
    """Lanes of the numbers at `shift` .. `shift` + 7 behind the beginnings of eight rows.

    They are written from `to` on, each so many numbers behind the last.
    """
    columns = transpose_eight(
        load_eight(values, rows[0] + shift),
        load_eight(values, rows[1] + shift),
        load_eight(values, rows[2] + shift),
        load_eight(values, rows[3] + shift),
        load_eight(values, rows[4] + shift),
        load_eight(values, rows[5] + shift),
        load_eight(values, rows[6] + shift),
        load_eight(values, rows[7] + shift),
    )
    store_eight(out, to, columns[0])
    store_eight(out, to + apart, columns[1])
    store_eight(out, to + 2 * apart, columns[2])
    store_eight(out, to + 3 * apart, columns[3])
    store_eight(out, to + 4 * apart, columns[4])
    store_eight(out, to + 5 * apart, columns[5])
    store_eight(out, to + 6 * apart, columns[6])
    store_eight(out, to + 7 * apart, columns[7])


@borrowing
def write_square(columns, out, rows, shift):
    """The reverse: eight lanes to the numbers at `shift` .. `shift` + 7 of eight rows.

    Where two rows are the same, the later one stays.
    """
    found = transpose_eight(*columns)
    store_eight(out, rows[0] + shift, found[0])
    store_eight(out, rows[1] + shift, found[1])
    store_eight(out, rows[2] + shift, found[2])
    store_eight(out, rows[3] + shift, found[3])
    store_eight(out, rows[4] + shift, found[4])
    store_eight(out, rows[5] + shift, found[5])
    store_eight(out, rows[6] + shift, found[6])
    store_eight(out, rows[7] + shift, found[7])
