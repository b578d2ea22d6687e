"""What Numba does before the first kernel runs, and can leave out or keep.

It compiles the functions that count references, anew in every process: 28 MB of LLVM come into
memory for it, of which kernels that were compiled before need nothing. They are kept as kernels
are. And it loads the linear algebra of SciPy, 17 MB, only to know that it is there; whatever
compiles a product of matrices asks for it again.
"""

import importlib
from typing import Any

from numba.core.caching import make_library_cache
from numba.core.cpu import CPUContext
from numba.core.runtime import nrtdynmod

_compile = nrtdynmod.compile_nrt_functions
_Kept: Any = make_library_cache("runtime")


def wake_lightly() -> None:
    """From the first kernel on, unless Numba is awake already."""
    nrtdynmod.compile_nrt_functions = _counting


def _counting(context: Any) -> Any:
    """The functions that count references, out of the files of kept code if they are there."""
    if type(context) is not CPUContext:
        return _compile(context)
    _know_of_linear_algebra()
    kept = _Kept(_compiled)
    library = kept._load_overload((), context)
    if library is None:
        library = _compiled(context)
        kept.save_overload((), library)
    return library


def _compiled(context: Any) -> Any:
    """As Numba compiles them, but so that their machine code can be kept."""
    module, library = nrtdynmod.create_nrt_module(context)
    library.enable_object_caching()
    library.add_ir_module(module)
    library.finalize()
    return library


def _know_of_linear_algebra() -> None:
    """Let Numba take for granted that SciPy has it, which Partita needs anyway."""
    linalg: Any = importlib.import_module("numba.np.linalg")
    ensure, linalg.ensure_blas = linalg.ensure_blas, linalg._check_lapack_int_width
    try:
        arrays: Any = importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure
    arrays.ensure_blas = ensure
