"""The covariance product of spanning trees, against forming the matrix."""

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray
from partita.baselines.spanning_trees import arc_weights, clamped_marginals, product_by_clamping
from partita.demo.page import Section
from partita.demo.settings import Settings
from partita.demo.timing import Method, Times, compare, exponent, in_print, plots
from partita.distribution.spanning_tree import SpanningTree

PRODUCT, MATRIX, CLAMPING = (
    "covariance product, O(N³)",
    "covariance matrix, O(N⁴)",
    "clamp and invert, O(N⁵)",
)
CLAMPED_ARCS = 100
"""Of all arcs of a long sentence, whose inversions are timed to know the time of all of them."""


class Measured(NamedTuple):
    """Times of the ways, and how much their answers differ."""

    times: Times
    worst: float


def section(settings: Settings) -> Section:
    """The same product three ways, at growing lengths."""
    sizes = (5, 10, 20) if settings.quick else (5, 10, 20, 40, 60, 120, 240)
    longest = min(60, sizes[-1])
    compared = 10 if settings.quick else 20
    limits = {PRODUCT: sizes[-1], MATRIX: longest, CLAMPING: compared}
    clamped = sizes if settings.quick else (20, 40, 80, 160, 320)
    many, one = (
        _measured(limits, sizes, clamped, settings.seed, single_root)
        for single_root in (False, True)
    )
    times, worst = many.times, max(many.worst, one.worst)
    by_matrix = times[MATRIX][longest] / times[PRODUCT][longest]
    shared = sizes[-1] if settings.quick else 40
    by_clamping = times[CLAMPING][shared] / times[PRODUCT][shared]
    settings.say(
        f"A covariance product of trees of {shared} words takes "
        f"{in_print(times[PRODUCT][shared])}, by the matrix {in_print(times[MATRIX][shared])}, by "
        f"clamping {in_print(times[CLAMPING][shared])}."
    )
    return Section(
        name="covariance-product",
        title="The covariance product of trees",
        what=(
            "Gradients of entropy, of risk and of expectations are covariances of arcs with "
            "something, and each needs one product of the covariance with a vector. On random "
            "scores: by the product, which forms no matrix; by the matrix of all pairs of arcs; "
            "and as before that, by clamping each arc in turn and inverting the Laplacian again "
            f"(whose time is that of {CLAMPED_ARCS} arcs, times the number of arcs over it). Each "
            "with any number of roots and with one."
        ),
        see=(
            f"At {longest} words the product is {by_matrix:,.0f} times as fast as the matrix, at "
            f"{shared} words {by_clamping:,.0f} times as fast as clamping. At the largest sizes "
            f"its time grows as words to the power of {exponent(times[CLAMPING], 2):.1f} "
            f"({exponent(one.times[CLAMPING], 2):.1f} with one root). All three agree to "
            f"{worst:.0e} of the largest entry."
        ),
        same=(
            "import numpy as np\nimport partita as pt\n\n"
            "arcs, direction = np.random.default_rng(0).normal(size=(2, 21, 21))\n"
            "p = pt.SpanningTree(arcs)\n"
            "p.covariance_product(direction)\n"
            "(p.covariance() @ direction.ravel()).reshape(arcs.shape)  # to compare with"
        ),
        blocks=[
            *plots(times, "Time of one covariance product, any number of roots"),
            *plots(one.times, "Time of one covariance product, one root"),
        ],
        headline=(f"{by_clamping:,.0f} ×", f"as fast as clamping at {shared} words"),
    )


def _measured(
    limits: Mapping[str, int],
    sizes: Sequence[int],
    clamped: Sequence[int],
    seed: int,
    single_root: bool,
) -> Measured:
    times, worst = compare(methods(seed, single_root), limits, sizes)
    times[CLAMPING] = clamping_times(clamped, seed, single_root=single_root)
    return Measured(times, worst)


def random_arcs(n_words: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Normal scores and a direction, [head, modifier]."""
    rng = np.random.default_rng(seed)
    arcs, direction = rng.normal(size=(2, n_words + 1, n_words + 1))
    # Parts that are no arcs.
    for matrix in (arcs, direction):
        matrix[:, 0] = 0.0
        np.fill_diagonal(matrix, 0.0)
    return arcs, direction


def methods(seed: int, single_root: bool = False) -> dict[str, Method]:
    """The ways, as functions of the number of words."""

    def product(n_words: int) -> FloatArray:
        arcs, direction = random_arcs(n_words, seed)
        found: FloatArray = SpanningTree(arcs, single_root).covariance_product(direction)
        return found

    def matrix(n_words: int) -> FloatArray:
        arcs, direction = random_arcs(n_words, seed)
        found: FloatArray = SpanningTree(arcs, single_root).covariance() @ direction.ravel()
        return found.reshape(arcs.shape)

    return {
        PRODUCT: product,
        MATRIX: matrix,
        CLAMPING: lambda n: product_by_clamping(*random_arcs(n, seed), single_root),
    }


def clamping_times(sizes: Sequence[int], seed: int, *, single_root: bool) -> dict[int, float]:
    """Seconds of all inversions, from those of `CLAMPED_ARCS` arcs: every arc costs the same."""
    found = {}
    for n_words in sizes:
        weights = arc_weights(random_arcs(n_words, seed)[0])
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            n_arcs = sum(1 for _ in islice(clamped_marginals(weights, single_root), CLAMPED_ARCS))
            best = min(best, (time.perf_counter() - start) / n_arcs)
        found[n_words] = best * n_words**2
    return found
