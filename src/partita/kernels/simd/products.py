"""Eight sums of products, four rows by two columns, for loops that add to three such squares.

LLVM gives every stream of addresses in a loop a number of its own that it counts up. Where there
are more of these than registers for whole numbers, they go to memory and back in every turn. It
leaves alone what it does not understand: a `place` is such a number, from which other rows and
columns are at distances that the loop does not change.
"""

from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

from partita.kernels.simd import either
from partita.kernels.simd.exponential import emit_fma, fma

ROWS, COLUMNS = 4, 2
N_PRODUCTS = ROWS * COLUMNS
_WORD = ir.IntType(64)


def place(array, index):
    """Where lanes begin in an array, for `moved` and `add_products` to go on from."""
    return index


def moved(array, here, distance):
    """The place so many numbers farther on."""
    return here + distance


def add_products(sums, array, rows, down, columns, across):
    """To sums[2 r + c] the lanes at `rows` + r * down times those at `columns` + c * across.

    Of four rows and two columns from two places; unchecked.
    """
    left = [either.load(array, rows + r * down) for r in range(ROWS)]
    right = [either.load(array, columns + c * across) for c in range(COLUMNS)]
    pairs = [(row, column) for row in left for column in right]
    return tuple(fma(*pair, each) for pair, each in zip(pairs, sums, strict=True))


# How Numba compiles them.


def _are_whole(*kinds):
    return all(isinstance(kind, types.Integer) for kind in kinds)


@type_callable(place)
def _type_place(context):
    def typer(array, index):
        either.kind_of(array)
        return types.intp if _are_whole(index) else None

    return typer


@type_callable(moved)
def _type_moved(context):
    def typer(array, here, distance):
        either.kind_of(array)
        return types.intp if _are_whole(here, distance) else None

    return typer


@type_callable(add_products)
def _type_add_products(context):
    def typer(sums, array, rows, down, columns, across):
        expected = types.UniTuple(either.kind_of(array)[0], N_PRODUCTS)
        return sums if sums == expected and _are_whole(rows, down, columns, across) else None

    return typer


def _unseen(builder, value):
    """The same number, of which LLVM knows nothing."""
    kind = ir.FunctionType(_WORD, [_WORD])
    return builder.asm(kind, "", "=r,0", [value], side_effect=False)


def _in_bytes(context, builder, array_type, index_type, index):
    count = context.cast(builder, index, index_type, types.intp)
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    return builder.mul(count, _WORD(size))


@lower_builtin(place, types.Array, types.Integer)
def _lower_place(context, builder, signature, arguments):
    (array_type, index_type), (array, index) = signature.args, arguments
    data = context.make_array(array_type)(context, builder, array).data
    distance = _in_bytes(context, builder, array_type, index_type, index)
    return _unseen(builder, builder.add(builder.ptrtoint(data, _WORD), distance))


@lower_builtin(moved, types.Array, types.Integer, types.Integer)
def _lower_moved(context, builder, signature, arguments):
    (array_type, _, index_type), (_, here, index) = signature.args, arguments
    distance = _in_bytes(context, builder, array_type, index_type, index)
    return _unseen(builder, builder.add(here, distance))


@lower_builtin(add_products, types.UniTuple, types.Array, *[types.Integer] * 4)
def _lower_add_products(context, builder, signature, arguments):
    (kind, array_type, _, down_type, _, across_type) = signature.args
    sums, _, rows, down, columns, across = arguments
    vector = ir.VectorType(ir.DoubleType(), either.kind_of(array_type)[1]).as_pointer()

    def loaded(here, step_type, step, count):
        distance = _in_bytes(context, builder, array_type, step_type, step)
        places = [builder.add(here, builder.mul(distance, _WORD(k))) for k in range(count)]
        return [builder.load(builder.inttoptr(p, vector), align=8) for p in places]

    left = loaded(rows, down_type, down, ROWS)
    right = loaded(columns, across_type, across, COLUMNS)
    pairs = [(row, column) for row in left for column in right]
    new = [emit_fma(builder, *pair, builder.extract_value(sums, k)) for k, pair in enumerate(pairs)]
    return context.make_tuple(builder, kind, new)
