"""Beyond one machine and beyond memory: what a cluster costs, and what streams cost nothing.

    python -m benchmarks.scale [--quick] [--words 20000000]

The text is made up (Zipf's law, 17 tags), so that its size is free and no data are needed. Ray is
started on this machine; more workers than it has cores show the costs, not a gain.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Table, best_time, write_json
from partita import Tagger
from partita.data import read_sentences
from partita.data.files import SentenceFiles
from partita.distribution.linear_chain import LinearChain
from partita.features.chains import tag_features
from partita.objectives import Counts, Likelihood
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training import Batch, build_corpus, cut
from partita.training.corpus import Corpus

N_TAGS, PER_SENTENCE, PER_WORD = 17, 20, 20
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


def write_text(path: Path, n_words: int) -> None:
    """Columns of words and tags; a twentieth of the words are of a long tail."""
    rng = np.random.default_rng(1)
    left = n_words
    with open(path, "w") as file:
        while left > 0:
            n = min(left, 10**6)
            numbers = np.minimum(rng.zipf(1.15, size=n), 2 * 10**6)
            lines = [f"w{number}\tT{number % N_TAGS}\n" for number in numbers.tolist()]
            for start in range(0, n, PER_SENTENCE):
                file.writelines(lines[start : start + PER_SENTENCE])
                file.write("\n")
            left -= n


def pass_seconds(corpus: Corpus, repeats: int = 5) -> float:
    """One loss with its gradient."""
    weights = np.zeros(corpus.n_weights)
    return best_time(lambda: corpus.value_and_gradient(weights), repeats)


# ---------------------------------------------------------------------- tables


def cluster(n_words: int, most: int) -> tuple[Table, list[float]]:
    """Start, shards and passes, by the number of workers; and the seconds of a pass."""
    import ray

    table = Table(f"A tagger's corpus of {n_words:,} words on this machine, {os.cpu_count()} cores")
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


def gradients(sizes: list[int]) -> Table:
    """What it takes to send weights and bring gradients together, by their number."""
    import ray

    table = Table("Weights to two workers and their gradients back, almost nothing computed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    for size in sizes:
        n_attributes = size // N_TAGS
        batches = [batch for _ in range(2) for batch in made_batches(200, n_attributes)]
        with build_corpus(Likelihood(), batches, workers="ray:2", n_shards=2) as corpus:
            seconds = pass_seconds(corpus)
        local = pass_seconds(build_corpus(Likelihood(), batches, workers=1, n_shards=2))
        table.add(weights=size, seconds=seconds, of_it_computed=local)
    ray.shutdown()
    return table


def on_paper(seconds: float, n_words: int, n_weights: int) -> Table:
    """T(N) = C / N * (1 + s sqrt(2 ln N)) + 2 log2(N) (latency + 8 n_weights / bandwidth)."""
    table = Table(
        f"On paper: a pass over {n_words:,} words, {n_weights:,} weights, links of 10 Gbit/s; "
        f"one worker {seconds:.3g} s"
    )
    for count in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        slowest = 1 + STRAGGLING * np.sqrt(2 * np.log(count))
        computed = seconds / count * slowest
        sent = 2 * log2(count) * (LATENCY + 8 * n_weights / BANDWIDTH)
        total = computed + sent
        table.add(
            workers=count,
            seconds=float(total),
            computed=float(computed),
            sent=float(sent),
            times_faster=float(seconds / total),
        )
    return table


def beyond_memory(n_words: int) -> Table:
    """The same corpus from memory and from the cache."""
    table = Table(f"A pass over {n_words:,} words, one thread")
    batches = list(made_batches(n_words, 20_000))
    in_memory = build_corpus(Likelihood(), batches, workers=1)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        stored = build_corpus(Likelihood(), iter(batches), workers=1, cache=folder)
        written = time.perf_counter() - began
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        table.add(corpus="in memory", seconds=pass_seconds(in_memory))
        table.add(corpus="cache", seconds=pass_seconds(stored), write=written, megabytes=size / 1e6)
    return table


def answers(n_words: int) -> Table:
    """Words tagged a second: of sentences in memory, and from file to file."""
    table = Table(f"Tagging {n_words:,} words")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_text(folder / "train.txt", 50_000)
        write_text(folder / "new.txt", n_words)
        model = Tagger(max_iterations=10, tag_column="1").fit(read_sentences(folder / "train.txt"))
        model.save(folder / "model")
        sentences = [list(each.column("0")) for each in read_sentences(folder / "new.txt")]
        for workers in (1, 2, "ray:2"):
            model.set_params(workers=workers)
            began = time.perf_counter()
            model.predict(sentences)
            in_memory = time.perf_counter() - began
            files = [str(folder / each) for each in ("model", "new.txt", "out.txt")]
            command = [*files[:2], "-o", files[2], "--workers", str(workers)]
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "partita", "predict", *command],
                check=True,
                capture_output=True,
            )
            table.add(
                workers=workers,
                words_a_second=n_words / in_memory,
                from_file_to_file=n_words / (time.perf_counter() - began),
            )
    return table


def large(n_words: int, workers: int | str) -> Table:
    """A tagger from a file of many words: each stage, and the memory of this process."""
    table = Table(f"A tagger from a file of {n_words:,} words, workers={workers!r}, 5 iterations")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "large.txt"
        write_text(path, n_words)
        cache = Path(name) / "cache"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        tagger = Tagger(tag_column="1", cache=cache, workers=workers, max_iterations=5)
        first = timed(lambda: tagger.fit(SentenceFiles(path)))
        found = tagger.training_
        assert found is not None
        in_passes = found.history[-1].seconds if found.history else 0.0
        table.add(
            text_megabytes=path.stat().st_size / 1e6,
            cache_megabytes=sum(each.stat().st_size for each in cache.iterdir()) / 1e6,
            attributes=tagger.model_.n_attributes,
            weights=tagger.model_.n_weights,
            read_and_encode=first - in_passes,
            passes=in_passes,
            most_memory_before=before,
            most_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        )
    return table


def timed(work: Callable[[], Any]) -> float:
    """Seconds that something takes once."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    n_large = 20_000_000
    if "--words" in sys.argv:
        n_large = int(sys.argv[sys.argv.index("--words") + 1])
    elif quick:
        n_large = 200_000
    n_words = 40_000 if quick else 1_000_000
    tables = []

    def show(table: Table) -> None:
        tables.append(table)
        print(table, flush=True)

    table, passes = cluster(n_words, 2 if quick else 4)
    show(table)
    show(gradients([10**5, 10**6] if quick else [10**5, 10**6, 10**7]))
    show(on_paper(passes[0] * 100, 100 * n_words, 10**7))
    show(beyond_memory(n_words))
    show(answers(20_000 if quick else 500_000))
    show(large(n_large, 2))
    if not quick:
        print(f"\nWritten to {write_json('scale', tables)}")


if __name__ == "__main__":
    main()
