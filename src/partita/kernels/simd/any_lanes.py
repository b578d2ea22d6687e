"""Four lanes from and to arrays of doubles or of single precision: in a row, or at four places.

Lanes are always doubles: a single is read as the double that it is, and rounded as it is written.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from partita.kernels.simd.lanes import LANES, N_LANES, LanesType, address_of, check_array


def load_any(array, index):
    """As `lanes.load`, also from an array of single precision."""
    return array.reshape(-1)[index : index + N_LANES].astype(np.float64)


def store_any(array, index, value):
    """As `lanes.store`, also to an array of single precision, where each number is rounded."""
    array.reshape(-1)[index : index + N_LANES] = value


def gather(array, places):
    """The numbers of a C-contiguous array at four flat positions, a tuple; unchecked."""
    return array.reshape(-1)[np.array(places)].astype(np.float64)


def scatter(array, places, value):
    """Write lanes to four flat positions of a C-contiguous array, a tuple; unchecked."""
    array.reshape(-1)[np.array(places)] = value


_DOUBLES = ir.VectorType(ir.DoubleType(), N_LANES)
_MEMORY = {types.float64: (_DOUBLES, 8), types.float32: (ir.VectorType(ir.FloatType(), N_LANES), 4)}
"""Four numbers of an array as LLVM sees them, and where they may begin."""


@type_callable(load_any)
def _type_load_any(context):
    def typer(array, index):
        check_array(array, _MEMORY)
        return LANES if isinstance(index, types.Integer) else None

    return typer


@lower_builtin(load_any, types.Array, types.Integer)
def _lower_load_any(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    numbers, align = _MEMORY[array_type.dtype]
    value = builder.load(builder.bitcast(address, numbers.as_pointer()), align=align)
    return value if numbers is _DOUBLES else builder.fpext(value, _DOUBLES)


@type_callable(store_any)
def _type_store_any(context):
    def typer(array, index, value):
        check_array(array, _MEMORY)
        accepted = isinstance(index, types.Integer) and value is LANES and array.mutable
        return types.void if accepted else None

    return typer


@lower_builtin(store_any, types.Array, types.Integer, LanesType)
def _lower_store_any(context, builder, signature, arguments):
    (array_type, index_type, _), (array, index, value) = signature.args, arguments
    address = address_of(context, builder, array_type, array, index_type, index)
    numbers, align = _MEMORY[array_type.dtype]
    value = value if numbers is _DOUBLES else builder.fptrunc(value, numbers)
    builder.store(value, builder.bitcast(address, numbers.as_pointer()), align=align)
    return context.get_dummy_value()


@type_callable(gather)
def _type_gather(context):
    def typer(array, places):
        check_array(array, _MEMORY)
        return LANES if _is_places(places) else None

    return typer


@type_callable(scatter)
def _type_scatter(context):
    def typer(array, places, value):
        check_array(array, _MEMORY)
        accepted = _is_places(places) and value is LANES and array.mutable
        return types.void if accepted else None

    return typer


def _is_places(places):
    return isinstance(places, types.UniTuple) and len(places) == N_LANES


def _addresses(context, builder, array_type, array, places_type, places):
    for k in range(N_LANES):
        place = builder.extract_value(places, k)
        yield k, address_of(context, builder, array_type, array, places_type.dtype, place)


@lower_builtin(gather, types.Array, types.UniTuple)
def _lower_gather(context, builder, signature, arguments):
    (array_type, places_type), (array, places) = signature.args, arguments
    value, index = ir.Constant(_DOUBLES, ir.Undefined), ir.IntType(32)
    for k, address in _addresses(context, builder, array_type, array, places_type, places):
        number = builder.load(address)
        if array_type.dtype == types.float32:
            number = builder.fpext(number, ir.DoubleType())
        value = builder.insert_element(value, number, index(k))
    return value


@lower_builtin(scatter, types.Array, types.UniTuple, LanesType)
def _lower_scatter(context, builder, signature, arguments):
    (array_type, places_type, _), (array, places, value) = signature.args, arguments
    index = ir.IntType(32)
    for k, address in _addresses(context, builder, array_type, array, places_type, places):
        number = builder.extract_element(value, index(k))
        if array_type.dtype == types.float32:
            number = builder.fptrunc(number, ir.FloatType())
        builder.store(number, address)
    return context.get_dummy_value()
