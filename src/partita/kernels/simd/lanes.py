"""Four doubles side by side, as one value: one sentence per lane.

Inside compiled kernels a value is an LLVM vector, which lives in a register; with JIT disabled it
is a NumPy array of length 4. Numbers mix with lanes, and stand for the same number in every lane.

    @njit(cache=True, nogil=True, error_model="numpy")
    def dot(a, b, out):
        "out[l] = sum_i a[i, l] b[i, l], for arrays of shape (n, 4)."
        result = broadcast(0.0)
        for i in range(len(a)):
            result = fma(load(a, i * N_LANES), load(b, i * N_LANES), result)
        store(out, 0, result)
"""

import operator
from itertools import product

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaTypeError
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, models, register_model, type_callable

from partita.kernels.simd.exponential import define, emit_fma, emit_scale, exponential, fma, scale

__all__ = [
    "N_LANES",
    "broadcast",
    "exponential",
    "fma",
    "lane",
    "load",
    "maximum",
    "minimum",
    "select",
    "spread",
    "square_root",
    "store",
    "total",
    "transpose",
]

N_LANES = 4


def load(array, index):
    """The four numbers of a C-contiguous array from flat position `index` on, unchecked."""
    return array.reshape(-1)[index : index + N_LANES].copy()


def spread(array, index):
    """The number of a C-contiguous array at flat position `index` in every lane, unchecked.

    Saves the test for a negative index that `broadcast(array[index])` carries.
    """
    return broadcast(array.reshape(-1)[index])


def store(array, index, value):
    """Write lanes to a C-contiguous array from flat position `index` on, unchecked."""
    array.reshape(-1)[index : index + N_LANES] = value


def broadcast(x):
    """The number x in every lane."""
    return np.full(N_LANES, x, dtype=np.float64)


def maximum(a, b):
    """The larger of each pair; b where either is NaN."""
    return select(a > b, a, b)


def minimum(a, b):
    """The smaller of each pair; b where either is NaN."""
    return select(a < b, a, b)


def select(mask, a, b):
    """a where the comparison `mask` holds, else b, as in `select(a > b, a, b)`."""
    return np.where(mask, a, b)


def square_root(value):
    """The root of every lane."""
    return np.sqrt(value)


def total(value):
    """The sum of the lanes."""
    return (value[0] + value[2]) + (value[1] + value[3])


def lane(value, k):
    """Lane k as a number."""
    return value[k]


def transpose(a, b, c, d):
    """Lane k of each of the four as the k-th of four: rows become columns."""
    return tuple(np.array([a, b, c, d]).T.copy())


# Types, as Numba and as LLVM see them.


class LanesType(types.Type):
    """Four doubles."""


class MaskType(types.Type):
    """What a comparison of lanes gives: four truth values."""


LANES = LanesType("Lanes")
MASK = MaskType("Mask")
_DOUBLES = ir.VectorType(ir.DoubleType(), N_LANES)
_BITS = ir.VectorType(ir.IntType(1), N_LANES)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _DOUBLES)


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _BITS)


# Arithmetic.


def _spread(builder, value):
    """A double as a vector of equal ones; vectors as they are."""
    if isinstance(value.type, ir.VectorType):
        return value
    index = ir.IntType(32)
    empty = ir.Constant(_DOUBLES, ir.Undefined)
    first = builder.insert_element(empty, value, index(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(index, N_LANES), None))


def _define(function, emit, n_arguments, result=LANES):
    """Let `function` take lanes, or lanes and numbers."""
    mixtures = product((LANES, types.float64), repeat=n_arguments)
    define(
        function,
        lambda builder, *values: emit(builder, *[_spread(builder, value) for value in values]),
        [signature(result, *mixture) for mixture in mixtures if LANES in mixture],
    )


def _emit_maximum(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _emit_minimum(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _emit_comparison(symbol):
    return lambda builder, a, b: builder.fcmp_ordered(symbol, a, b)


def _emit_select(builder, mask, a, b):
    return builder.select(mask, _spread(builder, a), _spread(builder, b))


def _emit_square_root(builder, value):
    name = f"llvm.sqrt.v{N_LANES}f64"
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(_DOUBLES, [_DOUBLES]), name
    )
    return builder.call(function, [value])


def _emit_total(builder, value):
    index = ir.IntType(32)
    x0, x1, x2, x3 = (builder.extract_element(value, index(k)) for k in range(N_LANES))
    return builder.fadd(builder.fadd(x0, x2), builder.fadd(x1, x3))


_define(operator.add, ir.IRBuilder.fadd, 2)
_define(operator.sub, ir.IRBuilder.fsub, 2)
_define(operator.mul, ir.IRBuilder.fmul, 2)
_define(operator.truediv, ir.IRBuilder.fdiv, 2)
_define(operator.neg, ir.IRBuilder.fneg, 1)
_define(operator.lt, _emit_comparison("<"), 2, MASK)
_define(operator.le, _emit_comparison("<="), 2, MASK)
_define(operator.gt, _emit_comparison(">"), 2, MASK)
_define(operator.ge, _emit_comparison(">="), 2, MASK)
_define(operator.eq, _emit_comparison("=="), 2, MASK)
_define(fma, emit_fma, 3)
_define(scale, emit_scale, 3)
_define(maximum, _emit_maximum, 2)
_define(minimum, _emit_minimum, 2)
define(
    select,
    _emit_select,
    [signature(LANES, MASK, *pair) for pair in product((LANES, types.float64), repeat=2)],
)
define(broadcast, _spread, [signature(LANES, types.float64)])
define(square_root, _emit_square_root, [signature(LANES, LANES)])
define(total, _emit_total, [signature(types.float64, LANES)])
define(lane, ir.IRBuilder.extract_element, [signature(types.float64, LANES, types.intp)])


@type_callable(transpose)
def _type_transpose(context):
    def typer(a, b, c, d):
        return types.UniTuple(LANES, N_LANES) if {a, b, c, d} == {LANES} else None

    return typer


@lower_builtin(transpose, LanesType, LanesType, LanesType, LanesType)
def _lower_transpose(context, builder, signature, rows):
    a, b, c, d = rows

    def mixed(first, second, *places):
        chosen = ir.Constant(ir.VectorType(ir.IntType(32), N_LANES), places)
        return builder.shuffle_vector(first, second, chosen)

    # Neighbours of two rows each, then halves of two pairs: eight instructions.
    low, high = mixed(a, b, 0, 4, 2, 6), mixed(a, b, 1, 5, 3, 7)
    other_low, other_high = mixed(c, d, 0, 4, 2, 6), mixed(c, d, 1, 5, 3, 7)
    columns = [
        mixed(low, other_low, 0, 1, 4, 5),
        mixed(high, other_high, 0, 1, 4, 5),
        mixed(low, other_low, 2, 3, 6, 7),
        mixed(high, other_high, 2, 3, 6, 7),
    ]
    return context.make_tuple(builder, signature.return_type, columns)


# Memory.


def check_array(array, kinds=(types.float64,)):
    """Refuse what lanes cannot be read from: arrays of other kinds of numbers, or with gaps."""
    if not isinstance(array, types.Array) or array.dtype not in kinds or array.layout != "C":
        raise NumbaTypeError(
            f"Lanes cannot be read from or written to {array}; expected a C-contiguous float64 "
            "array. Pass np.ascontiguousarray(array, dtype=np.float64) to the kernel."
        )


def address_of(context, builder, array_type, array, index_type, index):
    """Where a number of an array lies."""
    data = context.make_array(array_type)(context, builder, array).data
    position = context.cast(builder, index, index_type, types.intp)
    return builder.gep(data, [position])


@type_callable(spread)
@type_callable(load)
def _type_load(context):
    def typer(array, index):
        check_array(array)
        return LANES if isinstance(index, types.Integer) else None

    return typer


@lower_builtin(load, types.Array, types.Integer)
def _lower_load(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    return builder.load(builder.bitcast(address, _DOUBLES.as_pointer()), align=8)


@lower_builtin(spread, types.Array, types.Integer)
def _lower_spread(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    return _spread(builder, builder.load(address))


@type_callable(store)
def _type_store(context):
    def typer(array, index, value):
        check_array(array)
        accepted = isinstance(index, types.Integer) and value is LANES and array.mutable
        return types.void if accepted else None

    return typer


@lower_builtin(store, types.Array, types.Integer, LanesType)
def _lower_store(context, builder, signature, arguments):
    (array_type, index_type, _), (array, index, value) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    builder.store(value, builder.bitcast(address, _DOUBLES.as_pointer()), align=8)
    return context.get_dummy_value()
