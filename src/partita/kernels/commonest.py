"""The types of the commonest operations, found at once.

For `i + 1` and `array[i]` Numba tries a dozen kinds of operands in turn, strings and dictionaries
among them, before it comes to numbers and arrays: a fifth of the time that compiling takes. What is
here is tried first, and gives what Numba would find: no operation gets another meaning.
"""

import operator

from numba import types
from numba.core.typing.arraydecl import get_array_index_type
from numba.core.typing.templates import AbstractTemplate, infer_global, signature

WHOLE, REAL, TRUTH = types.int64, types.float64, types.boolean


class TriedFirst(AbstractTemplate):
    """Signatures by the types of the arguments."""

    metadata = {"target": "cpu"}
    """More specific than what is for any machine, so tried before it."""
    cases: dict

    def generic(self, args, kws):
        """The signature; None for types that are not among the commonest."""
        return self.cases.get(tuple(args))


def _define(operators, *signatures):
    cases = {each.args: each for each in signatures}
    for each in operators:
        infer_global(each)(type("Template", (TriedFirst,), {"cases": cases}))


_define(
    (operator.add, operator.sub, operator.mul, operator.iadd, operator.isub, operator.imul),
    signature(WHOLE, WHOLE, WHOLE),
    signature(REAL, REAL, REAL),
)
_define(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    signature(TRUTH, WHOLE, WHOLE),
    signature(TRUTH, REAL, REAL),
)
_define((bool,), signature(TRUTH, TRUTH))


@infer_global(operator.getitem)
class ItemOfArray(TriedFirst):
    """array[i] of any array, with one whole number, of signed type, for an axis."""

    prefer_literal = True

    def generic(self, args, kws):
        """As Numba finds it."""
        array, index = args
        if not isinstance(array, types.Array) or not isinstance(index, types.Integer):
            return None
        found = get_array_index_type(array, index)
        return None if found is None else signature(found.result, array, found.index)
