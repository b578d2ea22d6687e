"""A whole register of the numbers of an array: eight doubles, or sixteen of single precision.

For passes over memory that compute next to nothing, where singles as doubles would take twice the
instructions. Sixteen singles know what such a pass asks: which are larger, and which are finite.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, models, register_model, type_callable

from partita.kernels.simd.eight import EIGHT, WIDE, EightType
from partita.kernels.simd.exponential import define
from partita.kernels.simd.lanes import address_of, check_array, lane, maximum, select

__all__ = ["lane", "load_whole", "maximum", "n_whole", "all_whole", "select", "store_whole"]

SIXTEEN = 2 * EIGHT


def n_whole(array):
    """How many numbers of this array fill a register."""
    return SIXTEEN if array.dtype == np.float32 else EIGHT


def load_whole(array, source, index):
    """So many numbers of a C-contiguous `source` from flat position `index` on, unchecked.

    As numbers as `array` has them, which is as precise at least.
    """
    numbers = source.reshape(-1)[index : index + n_whole(array)]
    return numbers.astype(array.dtype)


def store_whole(array, index, value):
    """Write them to a C-contiguous array from flat position `index` on, unchecked."""
    array.reshape(-1)[index : index + n_whole(array)] = value


def all_whole(array, x):
    """The number x in every place of a register of this array."""
    return np.full(n_whole(array), x, dtype=array.dtype)


class SixteenType(types.Type):
    """Sixteen numbers of single precision."""


class SixteenMaskType(types.Type):
    """What a comparison of them gives: sixteen truth values."""


_SINGLES = SixteenType("Sixteen")
_MASK = SixteenMaskType("SixteenMask")
_BITS = ir.VectorType(ir.IntType(1), SIXTEEN)
_INDEX = ir.IntType(32)
_KINDS = {
    types.float64: (WIDE, ir.VectorType(ir.DoubleType(), EIGHT)),
    types.float32: (_SINGLES, ir.VectorType(ir.FloatType(), SIXTEEN)),
}
_VECTOR = _KINDS[types.float32][1]


@register_model(SixteenType)
class _SixteenModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


@register_model(SixteenMaskType)
class _SixteenMaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _BITS)


# Arithmetic, of what is there and numbers that are the same in single precision.


def _spread(builder, value, vector=_VECTOR):
    """A number as a vector of equal ones; vectors as they are."""
    if isinstance(value.type, ir.VectorType):
        return value
    if value.type != vector.element:
        is_longer = isinstance(value.type, ir.DoubleType)
        value = (builder.fptrunc if is_longer else builder.fpext)(value, vector.element)
    empty = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(empty, value, _INDEX(0))
    return builder.shuffle_vector(
        first, empty, ir.Constant(ir.VectorType(_INDEX, vector.count), None)
    )


def _define(function, emit, *signatures):
    define(
        function,
        lambda builder, *values: emit(builder, *[_spread(builder, value) for value in values]),
        signatures,
    )


def _emit_maximum(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


_define(
    operator.lt,
    lambda builder, a, b: builder.fcmp_ordered("<", a, b),
    signature(_MASK, _SINGLES, types.float64),
)
_define(operator.sub, ir.IRBuilder.fsub, signature(_SINGLES, types.float64, _SINGLES))
_define(maximum, _emit_maximum, signature(_SINGLES, _SINGLES, _SINGLES))
_define(
    select,
    ir.IRBuilder.select,
    signature(_SINGLES, _MASK, _SINGLES, types.float64),
)
define(
    lane,
    ir.IRBuilder.extract_element,
    [signature(types.float32, _SINGLES, types.intp), signature(types.float64, WIDE, types.intp)],
)


# Memory.


@type_callable(n_whole)
def _type_n_whole(context):
    def typer(array):
        check_array(array, _KINDS)
        return types.intp

    return typer


@lower_builtin(n_whole, types.Array)
def _lower_n_whole(context, builder, signature, arguments):
    return context.get_constant(types.intp, _KINDS[signature.args[0].dtype][1].count)


@type_callable(all_whole)
def _type_all_whole(context):
    def typer(array, x):
        check_array(array, _KINDS)
        return _KINDS[array.dtype][0] if isinstance(x, types.Float) else None

    return typer


@lower_builtin(all_whole, types.Array, types.Float)
def _lower_all_whole(context, builder, signature, arguments):
    return _spread(builder, arguments[1], _KINDS[signature.args[0].dtype][1])


@type_callable(load_whole)
def _type_load_whole(context):
    def typer(array, source, index):
        check_array(array, _KINDS)
        check_array(source, (array.dtype, types.float32))
        return _KINDS[array.dtype][0] if isinstance(index, types.Integer) else None

    return typer


@lower_builtin(load_whole, types.Array, types.Array, types.Integer)
def _lower_load_whole(context, builder, signature, arguments):
    (array_type, source_type, index_type), (_, source, index) = signature.args, arguments
    _, wanted = _KINDS[array_type.dtype]
    stored = wanted
    if source_type.dtype != array_type.dtype:
        stored = ir.VectorType(ir.FloatType(), wanted.count)
    address = address_of(context, builder, source_type, source, index_type, index)
    align = source_type.dtype.bitwidth // 8
    value = builder.load(builder.bitcast(address, stored.as_pointer()), align=align)
    return value if stored is wanted else builder.fpext(value, wanted)


@type_callable(store_whole)
def _type_store_whole(context):
    def typer(array, index, value):
        check_array(array, _KINDS)
        accepted = isinstance(index, types.Integer) and value is _KINDS[array.dtype][0]
        return types.void if accepted and array.mutable else None

    return typer


@lower_builtin(store_whole, types.Array, types.Integer, SixteenType)
@lower_builtin(store_whole, types.Array, types.Integer, EightType)
def _lower_store_whole(context, builder, signature, arguments):
    (array_type, index_type, _), (array, index, value) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    align = array_type.dtype.bitwidth // 8
    builder.store(value, builder.bitcast(address, value.type.as_pointer()), align=align)
    return context.get_dummy_value()
