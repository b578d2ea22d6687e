"""Tuples of arrays by the addresses of these, so that one call can work on those of many batches.

Numba unpacks each array that Python passes, a sixth of a microsecond for each, and a kernel is
compiled for as many arguments as it has. Here a batch is a row of numbers: where each of its arrays
lies, and how long it is.
"""

import ctypes
from itertools import count

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import populate_array

CELLS = 2
"""Numbers for each array: its address and its length."""


def arrays_of(fields):
    """The arrays of a named tuple, and of those that it contains, in order."""
    for field in fields:
        if isinstance(field, tuple):
            yield from arrays_of(field)
        elif isinstance(field, np.ndarray):
            yield field


def filled(like, arrays):
    """The same named tuple with the next arrays of an iterator in place of its own."""

    def other(field):
        if isinstance(field, tuple):
            return filled(field, arrays)
        return next(arrays) if isinstance(field, np.ndarray) else field

    return type(like)(*map(other, like))


def cells_of(array):
    """An array of one axis, whose numbers lie side by side, as numbers of a row."""
    assert array.ndim == 1
    assert array.flags.c_contiguous
    return array.ctypes.data, len(array)


def tuple_at(table, row, like):
    """The named tuple whose arrays are those of a row; types, and all numbers, are those of `like`.

    Whoever made the table keeps the arrays.
    """
    return filled(like, map(_array_of, table[row].tolist(), arrays_of(like)))


def _array_of(cells, like):
    address, length = cells
    memory = (ctypes.c_char * (length * like.itemsize)).from_address(address)
    return np.ndarray(length, like.dtype, memory)


@type_callable(tuple_at)
def _type_tuple_at(context):
    return lambda table, row, like: like


@lower_builtin(tuple_at, types.Array, types.Integer, types.BaseNamedTuple)
def _lower_tuple_at(context, builder, signature, arguments):
    (table_type, row_type, kind), (table, row, like) = signature.args, arguments
    table = context.make_array(table_type)(context, builder, table)
    row = context.cast(builder, row, row_type, types.intp)
    start = builder.mul(row, builder.sdiv(table.nitems, builder.extract_value(table.shape, 0)))
    return _lowered(context, builder, kind, like, builder.gep(table.data, [start]), count())


def _lowered(context, builder, kind, like, first, places):
    """Arrays are borrowed: nobody counts references to an address."""
    fields = []
    for place, field in enumerate(kind):
        value = builder.extract_value(like, place)
        if isinstance(field, types.BaseTuple):
            value = _lowered(context, builder, field, value, first, places)
        elif isinstance(field, types.Array):
            value = _array_at(context, builder, field, first, CELLS * next(places))
        fields.append(value)
    return cgutils.pack_struct(builder, fields)


def _array_at(context, builder, kind, first, cell):
    def number(value):
        return context.get_constant(types.intp, value)

    address, length = (builder.load(builder.gep(first, [number(cell + k)])) for k in range(CELLS))
    item = context.get_data_type(kind.dtype)
    size = number(context.get_abi_sizeof(item))
    array = context.make_array(kind)(context, builder)
    populate_array(
        array, data=builder.inttoptr(address, item.as_pointer()), shape=[length], strides=[size],
        itemsize=size, meminfo=None,
    )  # fmt: skip
    return array._getvalue()
