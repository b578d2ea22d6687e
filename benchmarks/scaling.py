"""How time grows: the algorithms of the library beside those that their papers improve on, and
passes of training by more threads.

    python -m benchmarks.scaling [--quick]

Every exponent is the slope of log time against log size over the last three sizes. The same races
are in the report of `partita demo`, at smaller sizes.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from benchmarks.timing import RESULTS, Table, best_times, optional, show_help, write_json

# isort: split
import numpy as np

from benchmarks.training import Data
from partita.demo import best_tree, covariance_product, entropy_gradient
from partita.demo.covariance_product import CLAMPING, MATRIX, PRODUCT, clamping_times
from partita.demo.entropy_gradient import LATTICES, N_TAGS, N_WORDS, NEW, OLD, training_seconds
from partita.demo.timing import Method, Times, compare, exponent
from partita.objectives import Entropy, Likelihood
from partita.objectives.base import as_sum
from partita.objectives.evidence import Evidence
from partita.training.memory_corpus import MemoryCorpus
from partita.training.threads import n_cores

SEED = 0
RATIOS = ((25, 9), (100, 9), (400, 9), (1600, 9), (25, 18), (25, 45), (25, 90))
"""Words and tags for which likelihood plus entropy is set beside the likelihood."""


class Race(NamedTuple):
    """Ways of computing the same, at growing sizes."""

    title: str
    unit: str
    times: Times

    def table(self) -> Table:
        """Milliseconds, a row for each size, and the exponents below."""
        table = Table(f"{self.title}, milliseconds; the last row is the power of {self.unit}")
        sizes = sorted({size for found in self.times.values() for size in found})
        for size in sizes:
            row = {name: 1e3 * found[size] for name, found in self.times.items() if size in found}
            table.add(**{self.unit: size}, **row)
        powers = {name: f"{exponent(found):.2f}" for name, found in self.times.items()}
        table.add(**{self.unit: "power"}, **powers)
        return table


def raced(
    title: str, unit: str, ways: Mapping[str, Method], limits: Mapping[str, int], first: int
) -> Race:
    """Times of the ways at sizes that double, each up to its limit."""
    sizes = [first]
    while sizes[-1] < max(limits.values()):
        sizes.append(2 * sizes[-1])
    chosen = {name: ways[name] for name in limits}
    times, worst = compare(chosen, limits, sizes)
    return Race(f"{title} (answers agree to {worst:.0e})", unit, times)


def chains(quick: bool) -> list[Race]:
    """The entropy gradient, in words and in tags."""
    words = {NEW: 64, LATTICES: 64, OLD: 64} if quick else {NEW: 4096, LATTICES: 4096, OLD: 512}
    tags = dict.fromkeys((NEW, LATTICES, OLD), 32 if quick else 256)
    what = "Entropy gradient of a chain"
    return [
        raced(f"{what}, {N_TAGS} tags", "words", entropy_gradient.by_words(SEED), words, 16),
        raced(f"{what}, {N_WORDS} words", "tags", entropy_gradient.by_tags(SEED), tags, 8),
    ]


def trees(quick: bool) -> list[Race]:
    """The covariance product with many roots and with one, and the best tree."""
    clamped = (10, 20, 40) if quick else (40, 80, 160, 320, 640)
    limits = {PRODUCT: 40, MATRIX: 40} if quick else {PRODUCT: 640, MATRIX: 80}
    races = []
    for single_root in (False, True):
        title = "Covariance product of spanning trees"
        title += ", one root" if single_root else ""
        race = raced(title, "words", covariance_product.methods(SEED, single_root), limits, 10)
        race.times[CLAMPING] = clamping_times(clamped, SEED, single_root=single_root)
        races.append(race)
    limits = {best_tree.FAST: 1280, best_tree.CONTRACTION: 160}
    if quick:
        limits = {best_tree.FAST: 80, best_tree.CONTRACTION: 40}
    title = "Best spanning tree of a sentence of nested cycles"
    return [*races, raced(title, "words", best_tree.methods(), limits, 10)]


def cores(quick: bool) -> Race:
    """A pass over a corpus of tags by 1, 2, 4 ... threads, as many as there are cores."""
    data = Data(20_000 if quick else 200_000)
    objectives = {
        "gradient of the likelihood": Likelihood(),
        "with entropy": Likelihood() + 0.1 * Entropy(),
        "expected counts of a hidden Markov model": Evidence(),
    }
    threads = [2**power for power in range(max(2, n_cores().bit_length()))]
    names, runs = [], []
    for name, objective in objectives.items():
        batches = data.batches(tuple(as_sum(objective).names))
        weights = np.random.default_rng(1).normal(size=batches[0].features.n_weights, scale=0.1)
        for n_threads in threads:
            corpus = MemoryCorpus(objective, batches, n_threads=n_threads)
            names.append((name, n_threads))
            runs.append(partial(corpus.value_and_gradient, weights))
    # All in turn, so that ratios are of the same moments.
    times: dict[str, dict[int, float]] = {name: {} for name in objectives}
    for (name, n_threads), seconds in zip(names, best_times(runs, 2 if quick else 20), strict=True):
        times[name][n_threads] = seconds
    return Race(f"A pass over {data.n_words:,} words with 17 tags", "threads", times)


def entropy_beside_likelihood(sizes: Sequence[tuple[int, int]]) -> Table:
    """What entropy regularisation adds to a sentence."""
    table = Table(
        "Value and gradient of the likelihood, and of likelihood plus entropy, of one chain, "
        "microseconds"
    )
    for n_words, n_tags in sizes:
        alone, both = training_seconds(n_words, n_tags, SEED)
        table.add(
            words=n_words,
            tags=n_tags,
            likelihood=1e6 * alone,
            likelihood_and_entropy=1e6 * both,
            ratio=both / alone,
        )
    return table


def plot(races: Sequence[Race]) -> None:
    """Seconds against sizes on logarithmic axes, to benchmarks/results/scaling.png."""
    pyplot = optional("matplotlib.pyplot")
    if pyplot is None:
        return
    n_rows = 2
    n_columns = -(-len(races) // n_rows)
    figure, panels = pyplot.subplots(n_rows, n_columns, figsize=(5 * n_columns, 4.5 * n_rows))
    for race, axes in zip(races, panels.flat, strict=True):
        for name, found in race.times.items():
            label = f"{name}: {exponent(found):.1f}"
            axes.loglog(list(found), list(found.values()), "o-", label=label)
        axes.set_xlabel(race.unit)
        axes.set_ylabel("seconds")
        axes.set_title(race.title.partition(" (")[0], fontsize="medium")
        axes.legend(fontsize="x-small")
    figure.tight_layout()
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "scaling.png", dpi=120)


def main(quick: bool) -> None:
    """Measure, print, and write benchmarks/results/scaling.json and .png."""
    races = [*chains(quick), *trees(quick), cores(quick)]
    tables = [race.table() for race in races]
    tables.append(entropy_beside_likelihood(RATIOS[:2] if quick else RATIOS))
    for table in tables:
        print(table)
    if not quick:
        plot(races)
        print("\nwritten to", write_json("scaling", tables))


if __name__ == "__main__":
    show_help(__doc__)
    main("--quick" in sys.argv)
