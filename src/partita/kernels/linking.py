"""Steps are compiled with the kernels that call them, not by themselves.

Numba optimises every function when it is compiled and turns it into machine code, and does both
again in each caller that it is linked into: a step three calls below its kernel is optimised four
times, and its own machine code never runs. It also compiles a function again for every constant
that it is called with. Here a step is compiled once for whole numbers, and ends as the code that
callers link; the kernel is optimised as a whole, which also makes some of them faster.
"""

from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering


class Text(JITCodeLibrary):
    """The code of a step and of all that it calls, for kernels to link: never run by itself."""

    def add_llvm_module(self, ll_module):
        """Without optimising it."""
        self._final_module.link_in(ll_module)

    def finalize(self):
        """Link what is called, and nothing else."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerToText(NativeLowering):
    """The last pass of a step."""

    _name = "lower_to_text"

    def run_pass(self, state):
        """As NativeLowering, without machine code."""
        state.library = Text(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library.finalize()
        lowered = state["cr"]
        # A name for Numba to call it by, which is nothing to run.
        name = lowered.fndesc.qualname.split(".")[-1]
        entry = _dynfunc.make_function(
            lowered.fndesc.lookup_module(), name, "", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(entry, lowered.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class StepCompiler(Compiler):
    """Numba's own way, with another end."""

    def define_pipelines(self):
        """One pipeline, as Numba has for functions without Python objects."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (LowerToText if one is NativeLowering else one, what) for one, what in passes.passes
        ]
        passes.finalize()
        return [passes]


class StepFunction(CPUDispatcher):
    """A function that kernels call; of constants it knows only what kind they are.

    True and False it knows, which choose between ways to go, unless it is put into its callers:
    there LLVM sees them by itself.
    """

    def __init__(self, py_func, locals=None, targetoptions=None, pipeline_class=StepCompiler):
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self._general = general_inlined if self.targetoptions.get("forceinline") else general

    def get_call_template(self, args, kws):
        """For the given types of arguments, with those alike that mean the same code."""
        return super().get_call_template(
            [self._general(kind) for kind in args],
            {name: self._general(kind) for name, kind in kws.items()},
        )


def general(kind):
    """The type of arguments that a step is compiled for where one of type `kind` is given."""
    is_signed = isinstance(kind, types.Integer) and types.unliteral(kind).signed
    return types.int64 if is_signed else kind


def general_inlined(kind):
    """The same of a step that is put into its callers."""
    return types.boolean if isinstance(kind, types.Boolean) else general(kind)
