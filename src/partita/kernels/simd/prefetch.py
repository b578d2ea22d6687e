"""Asking for memory before it is needed: what hides the latency of gathers and scatters."""

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable


def prefetch(array, index):
    """Fetch the cache line at flat position `index` of a contiguous array; no effect on values.

    Unchecked: an address outside the array is harmless.
    """


def prefetch_to_write(array, index):
    """The same for a line that will be written, into the first cache.

    Stores go one after another, and each one whose line is not there stops those behind it.
    """


@type_callable(prefetch_to_write)
@type_callable(prefetch)
def _type_prefetch(context):
    def typer(array, index):
        accepted = isinstance(array, types.Array) and array.layout == "C"
        return types.void if accepted and isinstance(index, types.Integer) else None

    return typer


def _emit(context, builder, signature, arguments, for_writing, level):
    (array_type, index_type), (array, index) = signature.args, arguments
    data = context.make_array(array_type)(context, builder, array).data
    position = context.cast(builder, index, index_type, types.intp)
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    name = "llvm.prefetch.p0"
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    address = builder.bitcast(builder.gep(data, [position]), byte)
    # The last: it is data.
    builder.call(function, [address, flag(for_writing), flag(level), flag(1)])
    return context.get_dummy_value()


@lower_builtin(prefetch, types.Array, types.Integer)
def _lower_prefetch(context, builder, signature, arguments):
    # For reading (rows are often shared between cores), into the second-level cache (2): the first
    # has few lines under way at a time, which stalled hashed features (64 MB) for a third of their
    # time.
    return _emit(context, builder, signature, arguments, 0, 2)


@lower_builtin(prefetch_to_write, types.Array, types.Integer)
def _lower_prefetch_to_write(context, builder, signature, arguments):
    return _emit(context, builder, signature, arguments, 1, 3)
