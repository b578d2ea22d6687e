"""Gradients of whole corpora: words a second, threads, entropy, expectations, memory, optimisers.

    python -m benchmarks.training [--quick]

A synthetic tagging corpus: 200,000 words, 17 tags, 15 binary features a word out of 267,000, the
frequent ones first, as `VocabularyBuilder` numbers them.
"""

import sys
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.timing import Table, aim, best_times, show_help, write_json
from partita.distribution.linear_chain import LinearChain
from partita.features.chains import tag_features
from partita.objectives import Constraints, Counts, Entropy, GeneralizedExpectation, Likelihood
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training.batches import Batch, cut
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import LBFGS, AdaGrad, Adam, CorpusProblem
from partita.training.penalties import Penalty
from partita.training.spare_vectors import SPARE

N_TAGS = 17
N_FEATURES = 15
N_ATTRIBUTES = 267_000


class Data:
    """Words with features and tags, to be cut into batches."""

    def __init__(self, n_words: int) -> None:
        rng = np.random.default_rng(0)
        lengths = np.clip(rng.gamma(3, 6, n_words // 10), 1, 100).astype(np.int64)
        self.lengths = lengths[: np.searchsorted(np.cumsum(lengths), n_words)]
        self.n_words = int(self.lengths.sum())
        # Ranks of features follow Zipf's law: uniform in their logarithm.
        ranks = N_ATTRIBUTES ** rng.random((self.n_words, N_FEATURES))
        self.ids = np.minimum(ranks, N_ATTRIBUTES - 1).astype(np.int32)
        self.tags = rng.integers(N_TAGS, size=self.n_words)

    @property
    def feature_bytes(self) -> int:
        """The features' own size: their numbers, and a weight for each with each tag."""
        return self.ids.nbytes + N_ATTRIBUTES * N_TAGS * 8

    def batches(self, terms: tuple[str, ...], n_constraints: int = 0) -> list[Batch]:
        """The corpus in batches with targets for the given terms."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        batches = []
        for part in cut(self.lengths * N_TAGS + N_TAGS**2):
            chains = Chains(self.lengths[part.start : part.stop], N_TAGS, shared=True)
            words = slice(ends[part.start], ends[part.stop])
            ids = self.ids[words]
            offsets = N_FEATURES * np.arange(len(ids) + 1)
            features = tag_features(chains, Attributes(ids.ravel(), offsets), N_ATTRIBUTES)
            targets = {}
            for term in terms:
                targets[term] = self._target(term, chains, words, n_constraints)
            batches.append(Batch(LinearChain, chains, features, targets))
        return batches

    def _target(self, term: str, chains: Chains, words: slice, n_constraints: int):
        if term == "Likelihood":
            return Counts.of(chains, np.split(self.tags[words], chains.word_offsets[1:-1]))
        if term == "GeneralizedExpectation":
            return self._constraints(chains, self.ids[words], n_constraints)
        return None

    def _constraints(self, chains: Chains, ids: np.ndarray, n_constraints: int) -> Constraints:
        """Constraint k: how often a word with attribute 100 + k has tag k modulo 17."""
        words, columns = np.nonzero((ids >= 100) & (ids < 100 + n_constraints))
        constraints = ids[words, columns] - 100
        sentences = np.searchsorted(chains.word_offsets, words, side="right") - 1
        starts = chains.part_offsets[sentences] + (words - chains.word_offsets[sentences]) * N_TAGS
        ones = np.ones(len(words))
        return Constraints(
            sparse.csr_array(
                (ones, (constraints, starts + constraints % N_TAGS)),
                shape=(n_constraints, chains.n_parts),
            ),
            sparse.csr_array(
                (ones, (constraints, sentences)), shape=(n_constraints, chains.n_sentences)
            ),
        )


def gradients(data: Data, weights: np.ndarray, repeats: int) -> Table:
    """One full gradient: likelihood on one thread and on two, with entropy, with expectations."""
    table = Table("One gradient of the whole corpus")
    cases = [
        ("likelihood", Likelihood(), ("Likelihood",), 0, 1),
        ("likelihood", Likelihood(), ("Likelihood",), 0, 2),
        ("likelihood and entropy", Likelihood() + 0.1 * Entropy(), ("Likelihood", "Entropy"), 0, 1),
        *(
            (
                f"expectations, {n} constraints",
                GeneralizedExpectation(np.full(n, 0.5)),
                ("GeneralizedExpectation",),
                n,
                1,
            )
            for n in (1, 1000)
        ),
    ]
    corpora = [
        MemoryCorpus(objective, data.batches(terms, n_constraints), n_threads=n_threads)
        for _, objective, terms, n_constraints, n_threads in cases
    ]
    # As in a run, which keeps the memory of its long vectors.
    with SPARE.kept():
        times = best_times([partial(each.value_and_gradient, weights) for each in corpora], repeats)
    for (name, *_, n_threads), corpus, seconds in zip(cases, corpora, times, strict=True):
        table.add(
            objective=name,
            threads=n_threads,
            batches=len(corpus.batches),
            milliseconds=1e3 * seconds,
            million_words_per_second=data.n_words / seconds / 1e6,
            times_likelihood=seconds / times[0],
        )
    return table


def memory(data: Data, weights: np.ndarray) -> Table:
    """The most memory that one gradient takes, beside the features' own size."""
    table = Table("Memory of one gradient, beside the corpus")
    batches = data.batches(("Likelihood",))
    for n_threads in (1, 2):
        corpus = MemoryCorpus(Likelihood(), batches, n_threads=n_threads)
        tracemalloc.start()
        corpus.value_and_gradient(weights)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        table.add(
            threads=n_threads,
            shards=corpus.n_shards,
            megabytes=peak / 1e6,
            features_megabytes=data.feature_bytes / 1e6,
            times_features=peak / data.feature_bytes,
        )
    return table


def iterations(data: Data, n_iterations: int) -> Table:
    """Iterations of L-BFGS and passes of mini-batches beside a gradient, on one thread and two."""
    table = Table("Training: seconds an iteration or pass, beside a pass of the gradient")
    rows, runs = [], []
    for n_threads in (1, 2):
        corpus = MemoryCorpus(Likelihood(), data.batches(("Likelihood",)), n_threads=n_threads)
        problem = CorpusProblem(corpus, Penalty(l2=1.0))
        for optimiser in (LBFGS(), AdaGrad(), Adam()):
            state = optimiser.start(problem, np.zeros(corpus.n_weights))
            for _ in range(n_iterations - 1):
                state = optimiser.step(problem, state)
            rows.append((type(optimiser).__name__, n_threads, state.loss))
            runs.append(partial(optimiser.step, problem, state))
            runs.append(partial(corpus.value_and_gradient, state.weights))
    # All in turn, so that ratios are of the same moments.
    with SPARE.kept():
        times = best_times(runs, 2 * n_iterations)
    for (name, n_threads, loss), seconds, gradient in zip(
        rows, times[::2], times[1::2], strict=True
    ):
        table.add(
            optimiser=name,
            threads=n_threads,
            seconds=seconds,
            gradient=gradient,
            times_gradient=seconds / gradient,
            loss=loss,
        )
    return table


def found_lines(gradients: Table, training: Table) -> list[dict[str, Any]]:
    """What we aim at."""
    one, two, entropy = gradients.rows[:3]
    seconds = {(row["optimiser"], row["threads"]): row for row in training.rows}
    aims = [
        aim(
            "tagger's gradient: one thread over two",
            one["milliseconds"] / two["milliseconds"],
            least=1.75,
        ),
        aim("likelihood plus entropy over likelihood", entropy["times_likelihood"], most=1.35),
    ]
    for name in ("AdaGrad", "Adam"):
        first, second = seconds[name, 1], seconds[name, 2]
        aims.append(aim(f"a pass of {name} over a gradient", first["times_gradient"], most=1.5))
        ratio = first["seconds"] / second["seconds"]
        aims.append(aim(f"a pass of {name}: one thread over two", ratio, least=1.7))
    return aims


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    data = Data(20_000 if quick else 200_000)
    weights = np.random.default_rng(1).normal(size=N_ATTRIBUTES * N_TAGS + N_TAGS**2, scale=0.1)
    tables = [
        gradients(data, weights, repeats=2 if quick else 20),
        memory(data, weights),
        iterations(data, 2 if quick else 8),
    ]
    for table in tables:
        print(table)
    if not quick:
        aims = found_lines(tables[0], tables[2])
        print(f"\nWritten to {write_json('training', tables, aims=aims)}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
