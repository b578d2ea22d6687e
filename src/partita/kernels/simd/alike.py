"""One text for a number, for four lanes and for eight: what a value is like says which.

So the steps of a row of weights are written once, and take as few instructions as the processor can
do with; the numbers are the same to the last bit.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import lower_builtin, type_callable

from partita.kernels.simd import eight, lanes
from partita.kernels.simd.eight import WIDE
from partita.kernels.simd.exponential import define
from partita.kernels.simd.lanes import LANES, select, square_root

__all__ = ["all_like", "load_like", "store_like"]

_KINDS = {
    types.float64: (ir.DoubleType(), "f64"),
    LANES: (ir.VectorType(ir.DoubleType(), lanes.N_LANES), "v4f64"),
    WIDE: (ir.VectorType(ir.DoubleType(), eight.EIGHT), "v8f64"),
}


def all_like(value, x):
    """The number x in as many lanes as a value has."""
    return np.full_like(value, x)[()]


def load_like(value, array, index):
    """As many numbers of a C-contiguous array as a value has, from flat position `index` on.

    Unchecked.
    """
    return array.reshape(-1)[index : index + np.size(value)].reshape(np.shape(value)).copy()[()]


def store_like(array, index, value):
    """Write a number or lanes to a C-contiguous array from flat position `index` on, unchecked."""
    array.reshape(-1)[index : index + np.size(value)] = value


def _emit_root(builder, value):
    kind, name = next(each for each in _KINDS.values() if each[0] == value.type)
    name = f"llvm.sqrt.{name}"
    function = builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(kind, [kind]), name
    )
    return builder.call(function, [value])


define(square_root, _emit_root, [signature(WIDE, WIDE), signature(types.float64, types.float64)])
define(select, ir.IRBuilder.select, [signature(types.float64, types.boolean, *[types.float64] * 2)])
define(operator.neg, ir.IRBuilder.fneg, [signature(WIDE, WIDE)])


def _emit_all(builder, value, x):
    if value.type == ir.DoubleType():
        return x
    spread = lanes._spread if value.type == _KINDS[LANES][0] else eight.spread
    return spread(builder, x)


define(all_like, _emit_all, [signature(kind, kind, types.float64) for kind in _KINDS])


@type_callable(load_like)
def _type_load(context):
    def typer(value, array, index):
        lanes.check_array(array)
        return value if value in _KINDS and isinstance(index, types.Integer) else None

    return typer


@type_callable(store_like)
def _type_store(context):
    def typer(array, index, value):
        lanes.check_array(array)
        accepted = value in _KINDS and isinstance(index, types.Integer) and array.mutable
        return types.void if accepted else None

    return typer


def _address(context, builder, array_type, array, index_type, index, kind):
    address = lanes.address_of(context, builder, array_type, array, index_type, index)
    return builder.bitcast(address, _KINDS[kind][0].as_pointer())


@lower_builtin(load_like, types.Any, types.Array, types.Integer)
def _lower_load(context, builder, signature, arguments):
    (kind, *place), (_, array, index) = signature.args, arguments
    return builder.load(_address(context, builder, place[0], array, place[1], index, kind), align=8)


@lower_builtin(store_like, types.Array, types.Integer, types.Any)
def _lower_store(context, builder, signature, arguments):
    (*place, kind), (array, index, value) = signature.args, arguments
    address = _address(context, builder, place[0], array, place[1], index, kind)
    builder.store(value, address, align=8)
    return context.get_dummy_value()
