"""The entropy gradient of a chain, against how it was computed before."""

import numpy as np

from partita.arrays import FloatArray
from partita.baselines import chains as baselines
from partita.demo.page import Section
from partita.demo.settings import Settings
from partita.demo.timing import Method, compare, in_print, plots
from partita.distribution.linear_chain import ChainParts, LinearChain

N_TAGS = 9
NEW, LATTICES, OLD, DIFFERENCES = (
    "covariance product, O(n s²)",
    "Mann & McCallum 2007, O(n s²)",
    "Jiao et al. 2006, O(n² s³)",
    "finite differences, O(n² s³)",
)


def section(settings: Settings) -> Section:
    """The same gradient four ways, at growing lengths."""
    sizes = (8, 16, 32) if settings.quick else (8, 16, 32, 64, 128, 256, 512)
    longest = min(128, sizes[-1])
    limits = {NEW: sizes[-1], LATTICES: sizes[-1], OLD: longest, DIFFERENCES: 32}
    times, worst = compare(_methods(settings.seed), limits, sizes)
    factor = times[OLD][longest] / times[NEW][longest]
    shared = max(times[DIFFERENCES])
    slower = times[DIFFERENCES][shared] / times[NEW][shared]
    settings.say(
        f"The entropy gradient of {longest} words takes {in_print(times[NEW][longest])}, by "
        f"the quadratic expectations of 2006 {in_print(times[OLD][longest])}."
    )
    return Section(
        name="entropy-gradient",
        title="The entropy gradient in linear time",
        what=(
            f"The gradient of the entropy of a random chain with {N_TAGS} tags, in all scores: by "
            "one covariance product, as the library does it; by Mann and McCallum's lattices; by "
            "the expected products of every pair of positions, as Jiao et al. had it; and by "
            "central differences, two forward passes for every score. Times include making the "
            "distribution, which is most of the work for short sentences."
        ),
        see=(
            f"At {longest} words the covariance product is {factor:,.0f} times as fast as the form "
            f"of 2006, and at {shared} words {slower:,.0f} times as fast as differences. All four "
            f"agree to {worst:.0e} of the largest entry (differences are the roughest)."
        ),
        same=(
            "import numpy as np\nimport partita as pt\n"
            "from partita.baselines import chains  # Jiao et al., to compare with\n\n"
            "unary, pairwise = np.zeros((25, 9)), np.zeros((9, 9))\n"
            "p = pt.LinearChain(unary, pairwise)\n"
            "p.entropy_gradient()\n"
            "chains.entropy_gradient_by_quadratic_expectations(unary, pairwise)"
        ),
        blocks=plots(times, f"Time of one entropy gradient, {N_TAGS} tags"),
        headline=(f"{factor:,.0f} ×", f"as fast as the form of 2006 at {longest} words"),
    )


def _methods(seed: int) -> dict[str, Method]:
    def scores(n_words: int) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng(seed)
        return rng.normal(size=(n_words, N_TAGS)), rng.normal(size=(N_TAGS, N_TAGS))

    return {
        NEW: lambda n: _flat(LinearChain(*scores(n)).entropy_gradient()),
        LATTICES: lambda n: _flat(LinearChain(*scores(n)).entropy_gradient_by_lattices()),
        OLD: lambda n: _flat(baselines.entropy_gradient_by_quadratic_expectations(*scores(n))),
        DIFFERENCES: lambda n: _flat(baselines.entropy_gradient_by_differences(*scores(n))),
    }


def _flat(parts: ChainParts) -> FloatArray:
    return np.concatenate([parts.unary.ravel(), parts.pairwise.ravel()])
