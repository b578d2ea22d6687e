"""The covariance product of spanning trees, against forming the matrix."""

import numpy as np

from partita.arrays import FloatArray
from partita.baselines.spanning_trees import product_by_clamping
from partita.demo.page import Section
from partita.demo.settings import Settings
from partita.demo.timing import Method, compare, in_print, plots
from partita.distribution.spanning_tree import SpanningTree

PRODUCT, MATRIX, CLAMPING = (
    "covariance product, O(N³)",
    "covariance matrix, O(N⁴)",
    "clamp and invert, O(N⁵)",
)


def section(settings: Settings) -> Section:
    """The same product three ways, at growing lengths."""
    sizes = (5, 10, 20) if settings.quick else (5, 10, 20, 40, 60, 120)
    longest = min(60, sizes[-1])
    limits = {PRODUCT: sizes[-1], MATRIX: longest, CLAMPING: 20 if settings.quick else 40}
    times, worst = compare(_methods(settings.seed), limits, sizes)
    by_matrix = times[MATRIX][longest] / times[PRODUCT][longest]
    shared = max(times[CLAMPING])
    by_clamping = times[CLAMPING][shared] / times[PRODUCT][shared]
    first = [times[name][sizes[0]] / times[PRODUCT][sizes[0]] for name in (MATRIX, CLAMPING)]
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
            "and as before that, by clamping each arc in turn and inverting the Laplacian again."
        ),
        see=(
            f"At {longest} words the product is {by_matrix:,.0f} times as fast as the matrix, at "
            f"{shared} words {by_clamping:,.0f} times as fast as clamping; at {sizes[0]} words it "
            f"was {first[0]:,.1f} and {first[1]:,.1f} times. All three agree to {worst:.0e} of the "
            "largest entry."
        ),
        same=(
            "import numpy as np\nimport partita as pt\n\n"
            "arcs, direction = np.random.default_rng(0).normal(size=(2, 21, 21))\n"
            "p = pt.SpanningTree(arcs)\n"
            "p.covariance_product(direction)\n"
            "(p.covariance() @ direction.ravel()).reshape(arcs.shape)  # to compare with"
        ),
        blocks=plots(times, "Time of one covariance product"),
        headline=(f"{by_clamping:,.0f} ×", f"as fast as clamping at {shared} words"),
    )


def _methods(seed: int) -> dict[str, Method]:
    def scores(n_words: int) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng(seed)
        arcs, direction = rng.normal(size=(2, n_words + 1, n_words + 1))
        # Parts that are no arcs.
        for matrix in (arcs, direction):
            matrix[:, 0] = 0.0
            np.fill_diagonal(matrix, 0.0)
        return arcs, direction

    def product(n_words: int) -> FloatArray:
        arcs, direction = scores(n_words)
        found: FloatArray = SpanningTree(arcs).covariance_product(direction)
        return found

    def matrix(n_words: int) -> FloatArray:
        arcs, direction = scores(n_words)
        found: FloatArray = SpanningTree(arcs).covariance() @ direction.ravel()
        return found.reshape(arcs.shape)

    return {
        PRODUCT: product,
        MATRIX: matrix,
        CLAMPING: lambda n: product_by_clamping(*scores(n)),
    }
