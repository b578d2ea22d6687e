"""The end of a row whose length is no multiple of four: lanes of which only some are memory."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaTypeError
from numba.extending import lower_builtin, type_callable

from partita.kernels.simd.lanes import LANES, N_LANES, LanesType

__all__ = ["load_some", "store_some"]


def load_some(array, index, count):
    """The first `count` of four numbers from flat position `index` on; 0 in the other lanes.

    As doubles, also where the array is of single precision; C-contiguous, unchecked.
    """
    values = np.zeros(N_LANES)
    values[:count] = array.reshape(-1)[index : index + count]
    return values


def store_some(array, index, value, count):
    """Write the first `count` lanes to an array from flat position `index` on, and no more."""
    array.reshape(-1)[index : index + count] = value[:count]


_KINDS = {types.float64: ("v4f64", ir.DoubleType(), 8), types.float32: ("v4f32", ir.FloatType(), 4)}
_COUNT = ir.IntType(64)


def _check(array):
    if not isinstance(array, types.Array) or array.dtype not in _KINDS or array.layout != "C":
        raise NumbaTypeError(
            f"Lanes cannot be read from or written to {array}; expected a C-contiguous array of "
            "float64 or float32."
        )


def _operands(context, builder, array_type, array, index_type, index, count_type, count):
    """Name, vector type, address, alignment and mask."""
    name, number, size = _KINDS[array_type.dtype]
    vector = ir.VectorType(number, N_LANES)
    data = context.make_array(array_type)(context, builder, array).data
    address = builder.gep(data, [context.cast(builder, index, index_type, types.intp)])
    wide = context.cast(builder, count, count_type, types.intp)
    counts = ir.Constant(ir.VectorType(_COUNT, N_LANES), ir.Undefined)
    for k in range(N_LANES):
        counts = builder.insert_element(counts, wide, ir.IntType(32)(k))
    numbers = ir.Constant(ir.VectorType(_COUNT, N_LANES), list(range(N_LANES)))
    mask = builder.icmp_signed("<", numbers, counts)
    return name, vector, builder.bitcast(address, vector.as_pointer()), size, mask


def _called(builder, name, result, arguments):
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


@type_callable(load_some)
def _type_load_some(context):
    def typer(array, index, count):
        _check(array)
        whole = isinstance(index, types.Integer) and isinstance(count, types.Integer)
        return LANES if whole else None

    return typer


@type_callable(store_some)
def _type_store_some(context):
    def typer(array, index, value, count):
        _check(array)
        whole = isinstance(index, types.Integer) and isinstance(count, types.Integer)
        return types.void if whole and value is LANES and array.mutable else None

    return typer


@lower_builtin(load_some, types.Array, types.Integer, types.Integer)
def _lower_load_some(context, builder, signature, arguments):
    (array_type, index_type, count_type), (array, index, count) = signature.args, arguments
    name, vector, address, size, mask = _operands(
        context, builder, array_type, array, index_type, index, count_type, count
    )
    rest = [address, ir.IntType(32)(size), mask, ir.Constant(vector, None)]
    value = _called(builder, f"llvm.masked.load.{name}.p0", vector, rest)
    doubles = ir.VectorType(ir.DoubleType(), N_LANES)
    return value if vector == doubles else builder.fpext(value, doubles)


@lower_builtin(store_some, types.Array, types.Integer, LanesType, types.Integer)
def _lower_store_some(context, builder, signature, arguments):
    array_type, index_type, _, count_type = signature.args
    array, index, value, count = arguments
    name, vector, address, size, mask = _operands(
        context, builder, array_type, array, index_type, index, count_type, count
    )
    if value.type != vector:
        value = builder.fptrunc(value, vector)
    rest = [value, address, ir.IntType(32)(size), mask]
    _called(builder, f"llvm.masked.store.{name}.p0", ir.VoidType(), rest)
    return context.get_dummy_value()
