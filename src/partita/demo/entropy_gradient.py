"""The entropy gradient of a chain, against how it was computed before, in words and in tags."""

from collections.abc import Callable
from functools import partial

import numpy as np

from partita.arrays import FloatArray
from partita.baselines import chains as baselines
from partita.demo.page import Html, Section, table
from partita.demo.settings import Settings
from partita.demo.timing import Method, best_time, compare, exponent, in_print, plots
from partita.distribution.linear_chain import ChainParts, LinearChain

N_TAGS, N_WORDS = 9, 16
"""Of the chains whose other size grows."""
NEW, LATTICES, OLD, DIFFERENCES = (
    "covariance product, O(n s²)",
    "Mann & McCallum 2007, O(n s²)",
    "Jiao et al. 2006, O(n² s³)",
    "finite differences, O(n² s³)",
)
Scores = tuple[FloatArray, FloatArray]
GRADIENTS: dict[str, Callable[[Scores], ChainParts]] = {
    NEW: lambda scores: LinearChain(*scores).entropy_gradient(),
    LATTICES: lambda scores: LinearChain(*scores).entropy_gradient_by_lattices(),
    OLD: lambda scores: baselines.entropy_gradient_by_quadratic_expectations(*scores),
    DIFFERENCES: lambda scores: baselines.entropy_gradient_by_differences(*scores),
}


def section(settings: Settings) -> Section:
    """The same gradient four ways, at growing lengths and then with more and more tags."""
    sizes = (8, 16, 32) if settings.quick else (8, 16, 32, 64, 128, 256, 512)
    longest = min(128, sizes[-1])
    limits = {NEW: sizes[-1], LATTICES: sizes[-1], OLD: longest, DIFFERENCES: 32}
    times, worst = compare(by_words(settings.seed), limits, sizes)
    tags = (4, 8, 16) if settings.quick else (8, 16, 32, 64, 128)
    limits = {NEW: tags[-1], LATTICES: tags[-1], OLD: tags[-1], DIFFERENCES: 16}
    in_tags, worst_in_tags = compare(by_tags(settings.seed), limits, tags)
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
            f"The gradient of the entropy of a random chain, in all scores, of more and more words "
            f"with {N_TAGS} tags, and with more and more tags for {N_WORDS} words: by "
            "one covariance product, as the library does it; by Mann and McCallum's lattices; by "
            "the expected products of every pair of positions, as Jiao et al. had it; and by "
            "central differences, two forward passes for every score. Times include making the "
            "distribution, which is most of the work for short sentences."
        ),
        see=(
            f"At {longest} words the covariance product is {factor:,.0f} times as fast as the form "
            f"of 2006, and at {shared} words {slower:,.0f} times as fast as differences. At the "
            "largest sizes the form of 2006 grows as words to the power of "
            f"{exponent(times[OLD]):.1f} and as tags to the "
            f"power of {exponent(in_tags[OLD]):.1f}, the product as words to the power of "
            f"{exponent(times[NEW]):.1f} and as tags to that of {exponent(in_tags[NEW]):.1f}. All "
            f"four agree to {max(worst, worst_in_tags):.0e} of the largest entry (differences are "
            "the roughest)."
        ),
        same=(
            "import numpy as np\nimport partita as pt\n"
            "from partita.baselines import chains  # Jiao et al., to compare with\n\n"
            "unary, pairwise = np.zeros((25, 9)), np.zeros((9, 9))\n"
            "p = pt.LinearChain(unary, pairwise)\n"
            "p.entropy_gradient()\n"
            "chains.entropy_gradient_by_quadratic_expectations(unary, pairwise)"
        ),
        blocks=[
            *plots(times, f"Time of one entropy gradient, {N_TAGS} tags"),
            *plots(in_tags, f"Time of one entropy gradient, {N_WORDS} words", "tags"),
            _beside_likelihood(settings),
        ],
        headline=(f"{factor:,.0f} ×", f"as fast as the form of 2006 at {longest} words"),
    )


def random_chain(n_words: int, n_tags: int, seed: int) -> Scores:
    """Normal scores of a sentence, with one transition table."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_words, n_tags)), rng.normal(size=(n_tags, n_tags))


def by_words(seed: int) -> dict[str, Method]:
    """The ways, as functions of the number of words."""
    return _ways(lambda n_words: random_chain(n_words, N_TAGS, seed))


def by_tags(seed: int) -> dict[str, Method]:
    """The ways, as functions of the number of tags."""
    return _ways(lambda n_tags: random_chain(N_WORDS, n_tags, seed))


def _ways(scores: Callable[[int], Scores]) -> dict[str, Method]:
    def of_size(way: Callable[[Scores], ChainParts], size: int) -> FloatArray:
        unary, pairwise = way(scores(size))
        return np.concatenate([unary.ravel(), pairwise.ravel()])

    return {name: partial(of_size, way) for name, way in GRADIENTS.items()}


def training_seconds(n_words: int, n_tags: int, seed: int) -> tuple[float, float]:
    """Value and gradient of the likelihood, and of likelihood plus entropy, of one sentence."""
    scores = random_chain(n_words, n_tags, seed)

    def likelihood() -> LinearChain:
        p = LinearChain(*scores)
        p.log_partition, p.marginals  # noqa: B018
        return p

    def both() -> None:
        p = likelihood()
        p.entropy, p.entropy_gradient()

    return best_time(likelihood), best_time(both)


def _beside_likelihood(settings: Settings) -> Html:
    sizes = [(16, 9), (64, 9), (16, 45)] if settings.quick else [(25, 9), (400, 9), (25, 45)]
    rows = []
    for n_words, n_tags in sizes:
        alone, both = training_seconds(n_words, n_tags, settings.seed)
        rows.append(
            (
                f"{n_words} words, {n_tags} tags",
                in_print(alone),
                in_print(both),
                f"{both / alone:.1f}",
            )
        )
    header = ("Value and gradient of", "likelihood", "likelihood plus entropy", "ratio")
    return table(header, rows)
