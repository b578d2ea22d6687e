"""The ways kernels are compiled, and what compiling costs.

Compiling is most of what a user waits for at the first use, and its price goes by the function: a
kernel takes a tenth of a second before its first line (typing, wrappers for Python, a module of
LLVM, machine code, a file in the cache), a step less (see `linking`), and every array convenience
brings functions of its own. So what only kernels call is a step. Setting
`a[:n] = b` costs 2.6 s, since its error message is built from strings; np.diff 3.6, `a.max()` 0.5,
np.arange, np.zeros and reshape 0.2 to 0.3, np.empty(n) 0.1, a plain loop next to nothing. So
kernels have plain loops, what they return comes from the caller, and of NumPy they use constants
and np.empty(n), for scratch.
"""

import numba
from numba import njit

from partita.kernels.cache import choose_folder, forgive_damage, heed_imports
from partita.kernels.collecting import pause_while_compiling

KNOWN = ("0.68.",)
"""Versions of Numba whose insides `linking`, `commonest` and `waking` know: no public names."""
is_known = numba.__version__.startswith(KNOWN)
if is_known:
    import partita.kernels.commonest  # noqa: F401
    from partita.kernels.linking import StepFunction
    from partita.kernels.waking import wake_lightly

    forgive_damage()
    heed_imports()
    wake_lightly()

choose_folder()
pause_while_compiling()

kernel = njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
"""Called from Python: compiled once and kept on disk, without the GIL, with IEEE division.

No `fastmath`: reassociation would break the argument reduction of the exponential, and -inf
would be undefined.
"""


def _step(**options):
    """A decorator for what only kernels call: without a wrapper for Python, nor a file of its own.

    With JIT disabled, functions stay as they are; a Numba that is not known compiles a step in its
    own way, which takes longer and computes the same.
    """
    decorate = njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )

    def decorated(function):
        made = decorate(function)
        if made is function or not is_known:
            return made
        return StepFunction(function, made.locals, made.targetoptions)

    return decorated


step = _step()
"""Called from kernels only, and compiled with them (see `linking`)."""

inlined = _step(forceinline=True)
"""A `step` that LLVM always puts into its callers: for work of a few dozen nanoseconds.

Passing an array costs seven words, so that a call of five arrays takes as long as the work itself.
"""

borrowing = _step(forceinline=True, _nrt=False)
"""`inlined`, and the arrays it is given are borrowed: references to them are not counted.

Counting takes an atomic operation at a call for every array, as long as several vector operations;
mostly LLVM sees that it is idle and drops it, but not across branches, and then it can take ten
times as long as the work. It can neither make arrays nor call what makes them; Numba refuses to
compile one that returns an array.
"""

lent = _step(_nrt=False)
"""`borrowing`, without being put into its callers: for work of a microsecond with many call sites,
each of which would be compiled again.
"""

pasted = njit(nogil=True, error_model="numpy", inline="always")
"""A few lines that Numba puts into the text of their callers before it compiles them.

It costs no function; but pasting a long text, with loops and calls of its own, costs more than one.
"""


def linked(called):
    """A kernel as a `step`, for a kernel that calls it: as such it needs no code of its own."""
    return step(getattr(called, "py_func", called))


def is_ready(called):
    """Whether a kernel can run at once, in this process: compiled, or read from the cache.

    The first call of one that is not may take seconds, in which nobody should wait busily.
    """
    return bool(getattr(called, "signatures", True))
