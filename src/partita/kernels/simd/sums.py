"""Tiles of sums, each a tuple of vectors that stays in registers while terms are added.

The processor says how many: with AVX-512 there are 32 registers of eight doubles, else 16 of four.
It begins two additions of a term in each cycle, and a sum is ready for its next term after four or
five, so fewer than eight sums would wait for one another; and it reads two registers in a cycle, so
there have to be more sums than numbers that are read for them. Kept code is of one processor: Numba
keeps it by its features.
"""

from functools import partial

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.codegen import get_host_cpu_features
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, type_callable

from partita.kernels.simd.eight import (
    EIGHT,
    WIDE,
    EightType,
    all_eight,
    load_eight,
    spread,
    spread_eight,
    store_eight,
)
from partita.kernels.simd.exponential import define, emit_fma, fma
from partita.kernels.simd.lanes import (
    LANES,
    N_LANES,
    address_of,
    broadcast,
    check_array,
    load,
    store,
)


def _is_long():
    """Whether code is compiled for AVX-512, as Numba decides it."""
    features = numba.config.CPU_FEATURES
    if features is None:
        features = get_host_cpu_features()
    return "+avx512f" in features.split(",")


IS_LONG = _is_long()
"""Whether a register has eight doubles."""
REGISTER = EIGHT if IS_LONG else N_LANES
"""Doubles in a register."""
N_COLUMNS = 9 if IS_LONG else 5
"""Sums of eight lanes in a row of columns."""
N_MOVING_COLUMNS = 9 if IS_LONG else 3
"""The same for two rows at a time."""
SIDE = 5 if IS_LONG else 3
"""Sums of a register along a side of a square."""
SMALL_SIDE = 3 if IS_LONG else 2
"""The same for two squares at a time."""

_load = load_eight if IS_LONG else load
_store = store_eight if IS_LONG else store
_spread = all_eight if IS_LONG else broadcast
_COLUMNS = types.UniTuple(WIDE, N_COLUMNS)
_MOVING_COLUMNS = types.UniTuple(WIDE, N_MOVING_COLUMNS)
_SQUARE = types.UniTuple(WIDE if IS_LONG else LANES, SIDE * SIDE)
_N_SMALL = SMALL_SIDE * SMALL_SIDE
_SQUARES = types.UniTuple(WIDE if IS_LONG else LANES, 2 * _N_SMALL)


def zero_columns():
    """Sums of columns before the first term."""
    return (all_eight(0.0),) * N_COLUMNS


def zero_moving_columns():
    """Sums of one of two rows of columns before the first term."""
    return (all_eight(0.0),) * N_MOVING_COLUMNS


def load_columns(array, index):
    """Sums of columns from flat position `index` on, unchecked."""
    return tuple(load_eight(array, index + k * EIGHT) for k in range(N_COLUMNS))


def add_columns(sums, value, array, index):
    """sums[k] + value * array[index + k], unchecked."""
    return tuple(fma(spread_eight(array, index + k), value, each) for k, each in enumerate(sums))


def store_columns(array, index, sums):
    """Write sums of columns from flat position `index` on, unchecked."""
    for k, each in enumerate(sums):
        store_eight(array, index + k * EIGHT, each)


def zero_square():
    """Sums of a square before the first term."""
    return (_spread(0.0),) * len(_SQUARE)


def add_square(sums, left, at, right, behind):
    """sums[i, j] + left[at + 8 i] * right[behind + 8 j], a register from each place, unchecked."""
    rows = [_load(left, at + i * EIGHT) for i in range(SIDE)]
    columns = [_load(right, behind + j * EIGHT) for j in range(SIDE)]
    pairs = [(row, column) for row in rows for column in columns]
    # Where a square reaches behind an array, anything may lie there.
    with np.errstate(all="ignore"):
        return tuple(fma(*pair, each) for pair, each in zip(pairs, sums, strict=True))


def store_square(array, index, width, sums):
    """Write sums[i, j] to flat position index + i * width + 8 j, unchecked."""
    for k in range(len(sums)):
        _store(array, index + k // SIDE * width + k % SIDE * EIGHT, sums[k])


def zero_squares():
    """Sums of two squares before the first term."""
    return (_spread(0.0),) * len(_SQUARES)


def add_squares(sums, left, at, right, behind, moved_left, moved_at, moved_right, moved_behind):
    """To one square what `add_square` adds, to the other its derivative, unchecked.

    left[i] * right[j], and moved_left[i] * right[j] + left[i] * moved_right[j]; every register is
    read once.
    """
    rows, moved_rows, columns, moved_columns = (
        [_load(array, place + k * EIGHT) for k in range(SMALL_SIDE)]
        for array, place in (
            (left, at),
            (moved_left, moved_at),
            (right, behind),
            (moved_right, moved_behind),
        )
    )
    with np.errstate(all="ignore"):
        return _with_products(sums, fma, rows, moved_rows, columns, moved_columns)


def _with_products(sums, add, rows, moved_rows, columns, moved_columns):
    """Both squares after a term."""
    first, second = list(sums[:_N_SMALL]), list(sums[_N_SMALL:])
    places = [(i, j) for i in range(SMALL_SIDE) for j in range(SMALL_SIDE)]
    for k, (i, j) in enumerate(places):
        first[k] = add(rows[i], columns[j], first[k])
        second[k] = add(rows[i], moved_columns[j], second[k])
    # Afterwards, since the same sum is ready for its next term only some cycles later.
    for k, (i, j) in enumerate(places):
        second[k] = add(moved_rows[i], columns[j], second[k])
    return (*first, *second)


def store_squares(array, moved, index, width, sums):
    """Write both squares from flat position `index` on to an array each, as `store_square` does."""
    for k in range(_N_SMALL):
        place = index + k // SMALL_SIDE * width + k % SMALL_SIDE * EIGHT
        _store(array, place, sums[k])
        _store(moved, place, sums[_N_SMALL + k])


# How Numba compiles them.


def _emit_zeros(builder, kind, vector):
    zero = ir.Constant(vector, None)
    return ir.Constant(ir.ArrayType(vector, kind.count), [zero] * kind.count)


_LONG = ir.VectorType(ir.DoubleType(), EIGHT)
_VECTOR = ir.VectorType(ir.DoubleType(), REGISTER)
define(zero_columns, lambda builder: _emit_zeros(builder, _COLUMNS, _LONG), [signature(_COLUMNS)])
define(
    zero_moving_columns,
    lambda builder: _emit_zeros(builder, _MOVING_COLUMNS, _LONG),
    [signature(_MOVING_COLUMNS)],
)
define(zero_square, lambda builder: _emit_zeros(builder, _SQUARE, _VECTOR), [signature(_SQUARE)])
define(zero_squares, lambda builder: _emit_zeros(builder, _SQUARES, _VECTOR), [signature(_SQUARES)])


def _are_columns(kind):
    return kind in (_COLUMNS, _MOVING_COLUMNS)


def _are_whole(*kinds):
    return all(isinstance(kind, types.Integer) for kind in kinds)


@type_callable(load_columns)
def _type_load(context):
    def typer(array, index):
        check_array(array)
        return _COLUMNS if _are_whole(index) else None

    return typer


@type_callable(add_columns)
def _type_add_columns(context):
    def typer(sums, value, array, index):
        check_array(array)
        return sums if _are_columns(sums) and value is WIDE and _are_whole(index) else None

    return typer


@type_callable(store_columns)
def _type_store_columns(context):
    def typer(array, index, sums):
        check_array(array)
        accepted = _are_columns(sums) and array.mutable and _are_whole(index)
        return types.void if accepted else None

    return typer


@type_callable(add_square)
def _type_add_square(context):
    def typer(sums, left, at, right, behind):
        check_array(left)
        check_array(right)
        return _SQUARE if sums == _SQUARE and _are_whole(at, behind) else None

    return typer


@type_callable(store_square)
def _type_store_square(context):
    def typer(array, index, width, sums):
        check_array(array)
        accepted = sums == _SQUARE and array.mutable and _are_whole(index, width)
        return types.void if accepted else None

    return typer


@type_callable(add_squares)
def _type_add_squares(context):
    def typer(sums, left, at, right, behind, moved_left, moved_at, moved_right, moved_behind):
        for array in (left, right, moved_left, moved_right):
            check_array(array)
        accepted = sums == _SQUARES and _are_whole(at, behind, moved_at, moved_behind)
        return _SQUARES if accepted else None

    return typer


@type_callable(store_squares)
def _type_store_squares(context):
    def typer(array, moved, index, width, sums):
        check_array(array)
        check_array(moved)
        accepted = sums == _SQUARES and array.mutable and moved.mutable
        return types.void if accepted and _are_whole(index, width) else None

    return typer


def _vectors(context, builder, array, index, count, vector):
    """Addresses of so many vectors, eight doubles apart, from a flat position on."""
    first = address_of(context, builder, *array, *index)
    places = [builder.gep(first, [ir.IntType(64)(k * EIGHT)]) for k in range(count)]
    return [builder.bitcast(place, vector.as_pointer()) for place in places]


def _loaded(builder, places):
    return [builder.load(place, align=8) for place in places]


def _each(builder, sums, kind):
    return [builder.extract_value(sums, k) for k in range(kind.count)]


@lower_builtin(load_columns, types.Array, types.Integer)
def _lower_load(context, builder, signature, arguments):
    array, index = zip(signature.args, arguments, strict=True)
    places = _vectors(context, builder, array, index, N_COLUMNS, _LONG)
    return context.make_tuple(builder, _COLUMNS, _loaded(builder, places))


@lower_builtin(store_columns, types.Array, types.Integer, types.UniTuple)
def _lower_store_columns(context, builder, signature, arguments):
    array, index, (kind, sums) = zip(signature.args, arguments, strict=True)
    places = _vectors(context, builder, array, index, kind.count, _LONG)
    for value, place in zip(_each(builder, sums, kind), places, strict=True):
        builder.store(value, place, align=8)
    return context.get_dummy_value()


@lower_builtin(add_columns, types.UniTuple, EightType, types.Array, types.Integer)
def _lower_add_columns(context, builder, signature, arguments):
    sums, value, *_ = arguments
    _, _, array, index = zip(signature.args, arguments, strict=True)
    first, new = address_of(context, builder, *array, *index), []
    for k, each in enumerate(_each(builder, sums, signature.return_type)):
        number = builder.load(builder.gep(first, [ir.IntType(64)(k)]))
        new.append(emit_fma(builder, spread(builder, number), value, each))
    return context.make_tuple(builder, signature.return_type, new)


@lower_builtin(add_square, types.UniTuple, types.Array, types.Integer, types.Array, types.Integer)
def _lower_add_square(context, builder, signature, arguments):
    _, left, at, right, behind = zip(signature.args, arguments, strict=True)
    rows = _loaded(builder, _vectors(context, builder, left, at, SIDE, _VECTOR))
    columns = _loaded(builder, _vectors(context, builder, right, behind, SIDE, _VECTOR))
    each = iter(_each(builder, arguments[0], _SQUARE))
    new = [emit_fma(builder, row, column, next(each)) for row in rows for column in columns]
    return context.make_tuple(builder, _SQUARE, new)


@lower_builtin(add_squares, types.UniTuple, *[types.Array, types.Integer] * 4)
def _lower_add_squares(context, builder, signature, arguments):
    _, *given = zip(signature.args, arguments, strict=True)
    rows, columns, moved_rows, moved_columns = (
        _loaded(builder, _vectors(context, builder, *place, SMALL_SIDE, _VECTOR))
        for place in zip(given[::2], given[1::2], strict=True)
    )
    new = _with_products(
        _each(builder, arguments[0], _SQUARES),
        partial(emit_fma, builder),
        rows,
        moved_rows,
        columns,
        moved_columns,
    )
    return context.make_tuple(builder, _SQUARES, new)


@lower_builtin(store_square, types.Array, types.Integer, types.Integer, types.UniTuple)
def _lower_store_square(context, builder, signature, arguments):
    array, index, width, _ = zip(signature.args, arguments, strict=True)
    each = _each(builder, arguments[3], _SQUARE)
    _emit_stores(context, builder, array, index, width, each, SIDE)
    return context.get_dummy_value()


@lower_builtin(
    store_squares, types.Array, types.Array, types.Integer, types.Integer, types.UniTuple
)
def _lower_store_squares(context, builder, signature, arguments):
    array, moved, index, width, _ = zip(signature.args, arguments, strict=True)
    each = _each(builder, arguments[4], _SQUARES)
    _emit_stores(context, builder, array, index, width, each[:_N_SMALL], SMALL_SIDE)
    _emit_stores(context, builder, moved, index, width, each[_N_SMALL:], SMALL_SIDE)
    return context.get_dummy_value()


def _emit_stores(context, builder, array, index, width, each, side):
    """Rows of a square, `width` apart."""
    step = context.cast(builder, width[1], width[0], types.intp)
    position = context.cast(builder, index[1], index[0], types.intp)
    for i in range(side):
        places = _vectors(context, builder, array, (types.intp, position), side, _VECTOR)
        for value, place in zip(each[i * side : (i + 1) * side], places, strict=True):
            builder.store(value, place, align=8)
        position = builder.add(position, step)
