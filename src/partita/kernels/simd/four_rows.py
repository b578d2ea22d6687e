"""Rows of four sentences to lanes, one sentence in each, and back: four numbers of each at a time.

A square of four by four is read in four loads and turned in eight instructions; number by number it
would take sixteen loads and twelve instructions. Rows may be of single precision, lanes never are.
"""

from partita.kernels.jit import borrowing
from partita.kernels.simd.any_lanes import load_any, store_any
from partita.kernels.simd.lanes import (
    load,
    store,
    transpose,
)


@borrowing
def load_four(values, rows, shift, out, to, apart):
    """Lanes of the numbers at `shift` .. `shift` + 3 behind the beginnings of four rows.

    They are written from `to` on, each so many numbers behind the last.
    """
    a, b, c, d = transpose(
        load_any(values, rows[0] + shift),
        load_any(values, rows[1] + shift),
        load_any(values, rows[2] + shift),
        load_any(values, rows[3] + shift),
    )
    store(out, to, a)
    store(out, to + apart, b)
    store(out, to + 2 * apart, c)
    store(out, to + 3 * apart, d)


@borrowing
def store_four(values, at, apart, out, rows, shift):
    """The reverse: lanes that are `apart` to the numbers at `shift` .. `shift` + 3 of four rows.

    Where two rows are the same, the later one stays.
    """
    write_four(
        load(values, at),
        load(values, at + apart),
        load(values, at + 2 * apart),
        load(values, at + 3 * apart),
        out, rows, shift,
    )  # fmt: skip


@borrowing
def write_four(a, b, c, d, out, rows, shift):
    """As `store_four`, from registers."""
    a, b, c, d = transpose(a, b, c, d)
    store_any(out, rows[0] + shift, a)
    store_any(out, rows[1] + shift, b)
    store_any(out, rows[2] + shift, c)
    store_any(out, rows[3] + shift, d)
