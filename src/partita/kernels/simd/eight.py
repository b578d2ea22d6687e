"""Eight doubles side by side, as one value: for recursions of eight sentences, one in each lane.

As the four of `lanes`, with which they do not mix: a value is one register where the processor has
AVX-512, and LLVM makes it two where it has AVX2. `fma`, `maximum`, `select` and `exponential` are
those of `lanes`, numbers mix with either, and `halves` and `joined` lead from one to the other.
"""

import operator
from itertools import product

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, models, register_model, type_callable

from partita.kernels.jit import step
from partita.kernels.simd.exponential import define, emit_fma, emit_scale, exponential, fma, scale
from partita.kernels.simd.lanes import (
    LANES,
    N_LANES,
    address_of,
    check_array,
    maximum,
    minimum,
    select,
)

__all__ = [
    "EIGHT",
    "aligned",
    "all_eight",
    "exponential",
    "fma",
    "halves",
    "joined",
    "load_eight",
    "maximum",
    "minimum",
    "select",
    "spread_eight",
    "store_eight",
    "transpose_eight",
]

EIGHT = 2 * N_LANES
LINE = 64
"""Bytes in a line of the cache."""


@step
def aligned(n_values):
    """Room for so many doubles that begins with a line of the cache.

    Elsewhere every eight lie in two lines, and take twice as long to read and to write.
    """
    room = np.empty(n_values + EIGHT)
    skipped = -room.ctypes.data % LINE // room.itemsize
    return room[skipped : skipped + n_values]


def load_eight(array, index):
    """The eight numbers of a C-contiguous array from flat position `index` on, unchecked.

    As doubles, also where the array is of single precision.
    """
    return array.reshape(-1)[index : index + EIGHT].astype(np.float64)


def spread_eight(array, index):
    """The number of a C-contiguous array at flat position `index` in every lane, unchecked."""
    return all_eight(array.reshape(-1)[index])


def store_eight(array, index, value):
    """Write eight lanes to a C-contiguous array from flat position `index` on, unchecked.

    Each is rounded where the array is of single precision.
    """
    array.reshape(-1)[index : index + EIGHT] = value


def all_eight(x):
    """The number x in every lane."""
    return np.full(EIGHT, x, dtype=np.float64)


def halves(value):
    """The first four lanes and the last four."""
    return value[:N_LANES], value[N_LANES:]


def joined(first, last):
    """Four lanes and four more."""
    return np.concatenate([first, last])


def transpose_eight(a, b, c, d, e, f, g, h):
    """Lane k of each of the eight as the k-th of eight: rows become columns."""
    return tuple(np.array([a, b, c, d, e, f, g, h]).T.copy())


class EightType(types.Type):
    """Eight doubles."""


class EightMaskType(types.Type):
    """What a comparison of eight lanes gives: eight truth values."""


WIDE = EightType("Eight")
WIDE_MASK = EightMaskType("EightMask")
_DOUBLES = ir.VectorType(ir.DoubleType(), EIGHT)
_BITS = ir.VectorType(ir.IntType(1), EIGHT)
_INDEX = ir.IntType(32)


@register_model(EightType)
class _EightModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _DOUBLES)


@register_model(EightMaskType)
class _EightMaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _BITS)


# Arithmetic.


def spread(builder, value):
    """A double as a vector of equal ones; vectors as they are."""
    if isinstance(value.type, ir.VectorType):
        return value
    empty = ir.Constant(_DOUBLES, ir.Undefined)
    first = builder.insert_element(empty, value, _INDEX(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_INDEX, EIGHT), None))


def _define(function, emit, n_arguments, result=WIDE, before=()):
    """Let `function` take lanes, or lanes and numbers, behind the types in `before`."""
    mixtures = product((WIDE, types.float64), repeat=n_arguments)
    define(
        function,
        lambda builder, *values: emit(
            builder, *values[: len(before)], *[spread(builder, v) for v in values[len(before) :]]
        ),
        [signature(result, *before, *mix) for mix in mixtures if before or WIDE in mix],
    )


def _emit_comparison(symbol):
    return lambda builder, a, b: builder.fcmp_ordered(symbol, a, b)


def _emit_maximum(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _emit_minimum(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


_define(operator.add, ir.IRBuilder.fadd, 2)
_define(operator.sub, ir.IRBuilder.fsub, 2)
_define(operator.mul, ir.IRBuilder.fmul, 2)
_define(operator.truediv, ir.IRBuilder.fdiv, 2)
_define(operator.gt, _emit_comparison(">"), 2, WIDE_MASK)
_define(operator.lt, _emit_comparison("<"), 2, WIDE_MASK)
_define(operator.eq, _emit_comparison("=="), 2, WIDE_MASK)
_define(fma, emit_fma, 3)
_define(scale, emit_scale, 3)
_define(maximum, _emit_maximum, 2)
_define(minimum, _emit_minimum, 2)
_define(select, ir.IRBuilder.select, 2, before=(WIDE_MASK,))
define(all_eight, spread, [signature(WIDE, types.float64)])


def _mixed(builder, first, second, places):
    chosen = ir.Constant(ir.VectorType(_INDEX, len(places)), list(places))
    return builder.shuffle_vector(first, second, chosen)


define(
    joined,
    lambda builder, first, last: _mixed(builder, first, last, range(EIGHT)),
    [signature(WIDE, LANES, LANES)],
)


@type_callable(halves)
def _type_halves(context):
    def typer(value):
        return types.UniTuple(LANES, 2) if value is WIDE else None

    return typer


@lower_builtin(halves, EightType)
def _lower_halves(context, builder, signature, arguments):
    (value,) = arguments
    parts = [_mixed(builder, value, value, range(first, first + N_LANES)) for first in (0, N_LANES)]
    return context.make_tuple(builder, signature.return_type, parts)


@type_callable(transpose_eight)
def _type_transpose(context):
    def typer(a, b, c, d, e, f, g, h):
        alike = {a, b, c, d, e, f, g, h} == {WIDE}
        return types.UniTuple(WIDE, EIGHT) if alike else None

    return typer


@lower_builtin(transpose_eight, *[EightType] * EIGHT)
def _lower_transpose(context, builder, signature, rows):
    # Squares of one, two and four a side change places across the diagonal.
    rows = list(rows)
    for side in (1, 2, 4):
        low = [k - side + EIGHT if k & side else k for k in range(EIGHT)]
        high = [k + EIGHT if k & side else k + side for k in range(EIGHT)]
        for i in range(EIGHT):
            if not i & side:
                a, b = rows[i], rows[i + side]
                rows[i], rows[i + side] = _mixed(builder, a, b, low), _mixed(builder, a, b, high)
    return context.make_tuple(builder, signature.return_type, rows)


# Memory.


_MEMORY = {types.float64: (_DOUBLES, 8), types.float32: (ir.VectorType(ir.FloatType(), EIGHT), 4)}
"""Eight numbers of an array as LLVM sees them, and where they may begin."""


@type_callable(spread_eight)
def _type_spread(context):
    def typer(array, index):
        check_array(array)
        return WIDE if isinstance(index, types.Integer) else None

    return typer


@type_callable(load_eight)
def _type_load(context):
    def typer(array, index):
        check_array(array, _MEMORY)
        return WIDE if isinstance(index, types.Integer) else None

    return typer


@lower_builtin(load_eight, types.Array, types.Integer)
def _lower_load(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    numbers, align = _MEMORY[array_type.dtype]
    value = builder.load(builder.bitcast(address, numbers.as_pointer()), align=align)
    return value if numbers is _DOUBLES else builder.fpext(value, _DOUBLES)


@lower_builtin(spread_eight, types.Array, types.Integer)
def _lower_spread(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    return spread(
        builder, builder.load(address_of(context, builder, array_type, array, index_type, index))
    )


@type_callable(store_eight)
def _type_store(context):
    def typer(array, index, value):
        check_array(array, _MEMORY)
        accepted = isinstance(index, types.Integer) and value is WIDE and array.mutable
        return types.void if accepted else None

    return typer


@lower_builtin(store_eight, types.Array, types.Integer, EightType)
def _lower_store(context, builder, signature, arguments):
    (array_type, index_type, _), (array, index, value) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    numbers, align = _MEMORY[array_type.dtype]
    value = value if numbers is _DOUBLES else builder.fptrunc(value, numbers)
    builder.store(value, builder.bitcast(address, numbers.as_pointer()), align=align)
    return context.get_dummy_value()
