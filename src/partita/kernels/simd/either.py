"""Four lanes or eight, by the array: one text for recursions of four sentences and of eight.

An array of doubles is read and written four at a time, as by `lanes`. An array of complex numbers
stands for pairs of doubles: at the same places it holds twice as many, and gives the eight lanes of
`eight`. So places, strides and layouts are the same for both, counted in steps of N_LANES; a
kernel is compiled for each kind of array that it is given.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaTypeError
from numba.extending import lower_builtin, type_callable

from partita.kernels.jit import step
from partita.kernels.simd.eight import EIGHT, LINE, WIDE, EightType
from partita.kernels.simd.lanes import LANES, N_LANES, LanesType

__all__ = ["EIGHTS", "FOURS", "all_lanes", "doubles", "load", "n_lanes", "room", "store"]

FOURS, EIGHTS = np.empty(0), np.empty(0, dtype=np.complex128)
"""What `room` is asked to be like."""


def load(array, index):
    """The numbers of a C-contiguous vector from `index` on, four or eight; unchecked."""
    return array[index : index + N_LANES].view(np.float64).copy()


def store(array, index, value):
    """Write as many to a C-contiguous vector from `index` on, unchecked."""
    array[index : index + N_LANES].view(np.float64)[:] = value


def all_lanes(array, x):
    """The number x in every lane of what the array gives."""
    return np.full(n_lanes(array), x)


def n_lanes(array):
    """How many lanes the array gives."""
    return EIGHT if array.dtype == np.complex128 else N_LANES


@step
def doubles(array):
    """The same memory as doubles."""
    return array.view(np.float64)


@step
def room(kind, n_values):
    """Room for so many numbers like those of `kind`, which begins with a line of the cache.

    Elsewhere every eight lanes lie in two lines, and take twice as long to read and to write.
    """
    found = np.empty(n_values + EIGHT, kind.dtype)
    skipped = -found.ctypes.data % LINE // found.itemsize
    return found[skipped : skipped + n_values]


_KINDS = {types.float64: (LANES, N_LANES), types.complex128: (WIDE, EIGHT)}


def kind_of(array):
    """The type of the lanes that an array gives, and how many they are."""
    is_vector = isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"
    if not is_vector or array.dtype not in _KINDS:
        raise NumbaTypeError(
            f"Lanes cannot be read from or written to {array}; expected a C-contiguous vector of "
            "doubles (four lanes) or of complex numbers (eight)."
        )
    return _KINDS[array.dtype]


def _address(context, builder, array_type, array, index_type, index):
    data = context.make_array(array_type)(context, builder, array).data
    place = builder.gep(data, [context.cast(builder, index, index_type, types.intp)])
    _, size = _KINDS[array_type.dtype]
    return builder.bitcast(place, ir.VectorType(ir.DoubleType(), size).as_pointer())


@type_callable(load)
def _type_load(context):
    def typer(array, index):
        return kind_of(array)[0] if isinstance(index, types.Integer) else None

    return typer


@lower_builtin(load, types.Array, types.Integer)
def _lower_load(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    address = _address(context, builder, array_type, array, index_type, index)
    return builder.load(address, align=8)


@type_callable(store)
def _type_store(context):
    def typer(array, index, value):
        accepted = isinstance(index, types.Integer) and value is kind_of(array)[0]
        return types.void if accepted and array.mutable else None

    return typer


@lower_builtin(store, types.Array, types.Integer, LanesType)
@lower_builtin(store, types.Array, types.Integer, EightType)
def _lower_store(context, builder, signature, arguments):
    (array_type, index_type, _), (array, index, value) = signature.args, arguments
    address = _address(context, builder, array_type, array, index_type, index)
    builder.store(value, address, align=8)
    return context.get_dummy_value()


@type_callable(all_lanes)
def _type_all_lanes(context):
    def typer(array, x):
        return kind_of(array)[0] if isinstance(x, types.Float) else None

    return typer


@lower_builtin(all_lanes, types.Array, types.Float)
def _lower_all_lanes(context, builder, signature, arguments):
    made, (_, x) = signature.return_type, arguments
    count = EIGHT if made is WIDE else N_LANES
    whole, index = ir.VectorType(ir.DoubleType(), count), ir.IntType(32)
    empty = ir.Constant(whole, ir.Undefined)
    first = builder.insert_element(empty, x, index(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(index, count), None))


@type_callable(n_lanes)
def _type_n_lanes(context):
    def typer(array):
        kind_of(array)
        return types.intp

    return typer


@lower_builtin(n_lanes, types.Array)
def _lower_n_lanes(context, builder, signature, arguments):
    return context.get_constant(types.intp, _KINDS[signature.args[0].dtype][1])
