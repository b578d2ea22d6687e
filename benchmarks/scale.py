"""Beyond one machine and beyond memory: what a cluster costs, and what streams cost nothing.

    python -m benchmarks.scale [--quick] [--words 20000000]
        [--only cluster,cache,answers,limited,large]

The text is made up (Zipf's law, 17 tags), so that its size is free and no data are needed. Ray is
started on this machine; more workers than it has cores show the costs, not a gain. What is left
out by `--only` stays in the results as it was, and says of which commit it is.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.answering import answers
from benchmarks.limited_memory import limited
from benchmarks.made_text import N_TAGS, PER_SENTENCE, write_text
from benchmarks.peaks import peak_gigabytes
from benchmarks.timing import Table, Turns, aim, best_time, earlier_tables, show_help, write_json
from partita import Tagger
from partita.arrays import FloatArray
from partita.data.files import SentenceFiles
from partita.distribution.linear_chain import LinearChain
from partita.features.chains import tag_features
from partita.objectives import Counts, Likelihood
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training import Batch, build_corpus, cut
from partita.training.corpus import Corpus
from partita.training.optimisers.base import Problem
from partita.training.optimisers.lbfgs import LBFGS
from partita.training.optimisers.quasi_newton import QuasiNewtonState

PER_WORD = 20
LARGE_ITERATIONS = 2
BANDWIDTH = 1.25e9
"""Bytes a second of a link of 10 Gbit/s, for the model on paper."""
LATENCY = 1e-3
"""Seconds of a call between machines, and of the object store behind it."""
STRAGGLING = 0.05
"""Standard deviation of the time of a worker's pass, of which all wait for the longest."""


# ---------------------------------------------------------------------- data


def made_batches(n_words: int, n_attributes: int) -> Iterator[Batch]:
    """Sentences of a tagger's usual size: 17 tags, 20 attributes a word, by Zipf's law."""
    rng = np.random.default_rng(0)
    n_sentences = n_words // PER_SENTENCE
    lengths = np.full(n_sentences, PER_SENTENCE)
    for part in cut(lengths * N_TAGS + N_TAGS**2):
        chains = Chains(lengths[part.start : part.stop], N_TAGS, shared=True)
        n = int(chains.n_words.sum())
        ids = np.minimum(rng.zipf(1.3, size=n * PER_WORD), n_attributes) - 1
        words = Attributes(ids.astype(np.int32), PER_WORD * np.arange(n + 1))
        features = tag_features(chains, words, n_attributes)
        tags = list((ids[::PER_WORD] % N_TAGS).reshape(-1, PER_SENTENCE))
        yield Batch(LinearChain, chains, features, {"Likelihood": Counts.of(chains, tags)})


def pass_seconds(corpus: Corpus, repeats: int = 5) -> float:
    """One loss with its gradient."""
    weights = np.zeros(corpus.n_weights)
    return best_time(lambda: corpus.value_and_gradient(weights), repeats)


# ---------------------------------------------------------------------- tables


def cluster(n_words: int, most: int, sizes: list[int]) -> list[Table]:
    """What a cluster costs and gains here, and what it would on many machines."""
    found, passes = workers(n_words, most)
    costs, way = gradients(sizes)
    n_weights = 17 * 20_000
    return [
        found,
        costs,
        small_end(passes, n_weights, way),
        on_paper(passes[0] * 100, 100 * n_words, 10**7, Way(LATENCY, BANDWIDTH)),
    ]


def workers(n_words: int, most: int) -> tuple[Table, list[float]]:
    """Start, shards and passes, by the number of workers; and the seconds of a pass."""
    import ray

    table = Table(f"Workers: a tagger's corpus of {n_words:,} words, {os.cpu_count()} cores")
    batches = list(made_batches(n_words, 20_000))
    for threads in (1, 2):
        seconds = pass_seconds(build_corpus(Likelihood(), batches, workers=threads))
        table.add(
            workers=f"{threads} threads", pass_seconds=seconds, words_a_second=n_words / seconds
        )
    passes = []
    for count in range(1, most + 1):
        began = time.perf_counter()
        ray.init(address="local", num_cpus=count, include_dashboard=False, log_to_driver=False)
        started = time.perf_counter()
        with build_corpus(Likelihood(), batches, workers=f"ray:{count}") as corpus:
            written = time.perf_counter()
            corpus.value(np.zeros(corpus.n_weights))
            ready = time.perf_counter()
            passes.append(pass_seconds(corpus))
        ray.shutdown()
        table.add(
            workers=f"ray:{count}",
            pass_seconds=passes[-1],
            words_a_second=n_words / passes[-1],
            start_of_ray=started - began,
            write_shards=written - started,
            first_pass=ready - written,
        )
    return table, passes


class Way(NamedTuple):
    """What it takes to get weights to a neighbour, or a gradient back."""

    latency: float
    """Seconds."""
    bandwidth: float
    """Bytes a second."""

    def seconds(self, n_weights: int, n_workers: int) -> float:
        """Weights out and gradients back, down and up a tree of workers."""
        return 2 * log2(n_workers) * (self.latency + 8 * n_weights / self.bandwidth)


def gradients(sizes: list[int]) -> tuple[Table, Way]:
    """What it takes to send weights and bring gradients together, by their number; and the way."""
    import ray

    table = Table("Gradients: weights to two workers and back, almost nothing computed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    sent = []
    for size in sizes:
        n_attributes = size // N_TAGS
        batches = [batch for _ in range(2) for batch in made_batches(200, n_attributes)]
        with build_corpus(Likelihood(), batches, workers="ray:2", n_shards=2) as corpus:
            seconds = pass_seconds(corpus)
        local = pass_seconds(build_corpus(Likelihood(), batches, workers=1, n_shards=2))
        table.add(weights=size, seconds=seconds, of_it_computed=local)
        sent.append(seconds - local)
    ray.shutdown()
    slope = max((sent[-1] - sent[0]) / (sizes[-1] - sizes[0]), 1e-12)
    latency = max(sent[0] - slope * sizes[0], 0.0)
    return table, Way(latency / 2, 16 / slope)


def slowest(n_workers: int) -> float:
    """How much longer than the mean the slowest of some workers takes."""
    return float(1 + STRAGGLING * np.sqrt(2 * np.log(n_workers)))


def small_end(passes: list[float], n_weights: int, way: Way) -> Table:
    """The model on paper with what was measured here, beside passes that were measured here."""
    table = Table(
        f"Paper and measurement: a pass with {n_weights:,} weights; this machine sends "
        f"{way.bandwidth / 1e9:.2g} GB/s after {1e3 * way.latency:.2g} ms"
    )
    n_cores = os.cpu_count() or 1
    for count, measured in enumerate(passes, start=1):
        # More workers than cores only share them.
        computed = passes[0] / min(count, n_cores) * slowest(min(count, n_cores))
        paper = computed + way.seconds(n_weights, count)
        table.add(workers=count, on_paper=paper, measured=measured, ratio=measured / paper)
    return table


def on_paper(seconds: float, n_words: int, n_weights: int, way: Way) -> Table:
    """T(N) = C / N * (1 + s sqrt(2 ln N)) + 2 log2(N) (latency + 8 n_weights / bandwidth)."""
    table = Table(
        f"On paper: a pass over {n_words:,} words, {n_weights:,} weights, links of 10 Gbit/s; "
        f"one worker {seconds:.3g} s"
    )
    for count in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        computed, sent = seconds / count * slowest(count), way.seconds(n_weights, count)
        table.add(
            workers=count,
            seconds=computed + sent,
            computed=computed,
            sent=sent,
            times_faster=seconds / (computed + sent),
        )
    return table


# ---------------------------------------------------------------------- one machine


def beyond_memory(n_words: int) -> Table:
    """The same corpus from memory and from the cache."""
    table = Table(f"Cache: a pass over {n_words:,} words, one thread")
    batches = list(made_batches(n_words, 20_000))
    in_memory = build_corpus(Likelihood(), batches, workers=1)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        stored = build_corpus(Likelihood(), iter(batches), workers=1, cache=folder)
        written = time.perf_counter() - began
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        weights = np.zeros(in_memory.n_weights)
        passes = [partial(each.value_and_gradient, weights) for each in (in_memory, stored)]
        here, cached = Turns.of(passes, 11).medians
        table.add(corpus="in memory", seconds=here)
        table.add(
            corpus="cache", seconds=cached, times=cached / here, write=written, megabytes=size / 1e6
        )
    return table


def aims_of(tables: list[Table]) -> list[dict[str, Any]]:
    """What is to be reached of answers, as far as it was measured."""
    rows = {table.title.partition(":")[0]: table.rows for table in tables}
    found = []
    if "Tagging" in rows:
        one, two, _ = rows["Tagging"]
        pace, file_pace = "words_a_second", "words_from_file_to_file"
        found += [
            aim("words tagged a second, one thread", one[pace], least=320_000),
            aim("words tagged a second from file to file", one[file_pace], least=150_000),
            aim(
                "tagging from file to file, two workers over one",
                two["gain_of_files"],
                least=1.8,
            ),
            aim("words tagged by two threads over one", two["gain"], least=1.8),
        ]
    if "Parsing" in rows:
        one, two = rows["Parsing"]
        pace, file_pace = "sentences_a_second", "sentences_from_file_to_file"
        found += [
            aim("sentences parsed a second, one thread", one[pace], least=5_000),
            aim("sentences parsed by two threads over one", two["gain"], least=1.8),
            aim("sentences parsed a second from file to file", one[file_pace], least=5_000),
            aim(
                "parsing from file to file, two workers over one",
                two["gain_of_files"],
                least=1.8,
            ),
        ]
    return found


@dataclass(frozen=True)
class TimedLBFGS(LBFGS):
    """L-BFGS that keeps the processor time before its first pass, and after every iteration."""

    times: list[float] = field(default_factory=list)

    def start(self, problem: Problem, weights: FloatArray) -> QuasiNewtonState:
        """As L-BFGS does."""
        self.times.append(time.process_time())
        return super().start(problem, weights)

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """As L-BFGS does."""
        found = super().step(problem, state)
        self.times.append(time.process_time())
        return found


def large(n_words: int, workers: int | str) -> Table:
    """A tagger from a file of many words: processor time of each stage, memory of this process."""
    table = Table(
        f"Large: a tagger from a file of {n_words:,} words, workers={workers!r}, min_count=10, "
        f"{LARGE_ITERATIONS} iterations of L-BFGS, seconds of processor time"
    )
    optimiser = TimedLBFGS(n_iterations=LARGE_ITERATIONS)
    with tempfile.TemporaryDirectory() as name:
        path, cache = Path(name) / "large.txt", Path(name) / "cache"
        write_text(path, n_words)
        before = peak_gigabytes()
        tagger = Tagger(
            tag_column="1", cache=cache, workers=workers, optimiser=optimiser, min_count=10
        )
        began, busy = time.perf_counter(), time.process_time()
        tagger.fit(SentenceFiles(path))
        times = optimiser.times
        features: Any = tagger.model_.features
        table.add(
            text_megabytes=path.stat().st_size / 1e6,
            words_megabytes=size_of(cache.glob("words-*")),
            batches_megabytes=size_of(cache.glob("batches-*")),
            vocabulary=len(features.seen["0"].words),
            attributes=tagger.model_.n_attributes,
            weights=int(tagger.model_.n_weights),
            read_and_encode=times[0] - busy,
            all_iterations=times[-1] - times[0],
            last_iteration=times[-1] - times[-2],
            by_the_clock=time.perf_counter() - began,
            gigabytes_before=before,
            most_gigabytes=peak_gigabytes(),
        )
    return table


def few_words(n_words: int) -> Table:
    """A long text of few words, whose model and counts of what is seen take next to nothing."""
    with tempfile.TemporaryDirectory() as name:
        short, long = Path(name) / "short.txt", Path(name) / "long.txt"
        write_text(short, n_words // 20, most=20)
        write_text(long, n_words, most=20)
        return limited(short, long)


def size_of(paths: Iterable[Path]) -> float:
    """Of some files, in megabytes."""
    return sum(path.stat().st_size for path in paths) / 1e6


def option(name: str) -> str | None:
    """What stands behind a flag."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    n_words, n_large = (40_000, 200_000) if quick else (1_000_000, 20_000_000)
    n_large = int(option("--words") or n_large)
    sizes = [10**5, 10**6] if quick else [10**5, 10**6, 10**7]
    sections: dict[str, Callable[[], list[Table]]] = {
        "cluster": lambda: cluster(n_words, 2 if quick else 4, sizes),
        "cache": lambda: [beyond_memory(n_words)],
        "answers": lambda: answers(n_words // 2, 2 if quick else 1440),
        "limited": lambda: [few_words(10 * n_words if quick else 4 * n_words)],
        "large": lambda: [large(n_large, 1)],
    }
    chosen = (option("--only") or ",".join(sections)).split(",")
    tables = []
    for name in chosen:
        for table in sections[name]():
            tables.append(table)
            print(table, flush=True)
    if not quick:
        every = tables + earlier_tables("scale", tables)
        print(f"\nWritten to {write_json('scale', every, aims=aims_of(every))}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
