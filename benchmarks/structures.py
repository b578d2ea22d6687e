"""Segments, siblings and constituents beside the chain's and Eisner's algorithm, part for part.

For about the same number of parts, log-partition and marginals by the kernel on a prepared vector
and by the public call on arrays, in batches of 32 sentences on one thread. Parts are the cells of
the scores that some structure uses, so that transitions which all places share count once; the
second table counts them at each place, as the recursions visit them, which is the harder comparison
for segments. Run it with `make bench-structures`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.timing import Table, aim, best_times, show_help, write_json

# isort: split
import numpy as np

import partita as pt

N_SENTENCES, N_WORDS = 32, 25
MOST = 3.0
"""Times the chain's or Eisner's time for as many parts."""


@dataclass(frozen=True)
class Case:
    """A structure at a size."""

    name: str
    size: str
    n_parts: int
    """Of a sentence."""
    build: Callable[[], Any]


def normal(*shape: int) -> Any:
    """Scores of a batch."""
    return np.random.default_rng(0).normal(size=(N_SENTENCES, *shape))


def chain(n_tags: int, shared: bool = True, n_tables: int = 1) -> Case:
    """A linear chain; transitions are shared, or of each place, and count `n_tables` times."""
    shape = (n_tags, n_tags) if shared else (N_WORDS - 1, n_tags, n_tags)
    unary, pairwise = normal(N_WORDS, n_tags), normal(*shape)
    n_parts = N_WORDS * n_tags + (n_tables if shared else N_WORDS - 1) * n_tags**2
    size = f"{N_WORDS} words, {n_tags} tags" + ("" if shared else ", transitions by place")
    table = pairwise[0] if shared else pairwise
    return Case("LinearChain", size, n_parts, lambda: pt.LinearChain(unary, table))


def segments(longest: int, n_tags: int, n_tables: int = 1) -> Case:
    """A semi-Markov chain, whose transitions are shared and count `n_tables` times."""
    scores, pairwise = normal(N_WORDS, longest, n_tags), normal(n_tags, n_tags)[0]
    n_segments = sum(min(longest, N_WORDS - first) for first in range(N_WORDS))
    n_parts = n_segments * n_tags + n_tables * n_tags**2
    size = f"{N_WORDS} words, {n_tags} tags, segments of up to {longest} words"
    return Case("SegmentChain", size, n_parts, lambda: pt.SegmentChain(scores, pairwise))


def projective(n_words: int) -> Case:
    """Eisner's algorithm."""
    arcs = normal(n_words + 1, n_words + 1)
    size = f"{n_words} words"
    return Case("ProjectiveTree", size, n_words**2, lambda: pt.ProjectiveTree(arcs))


def siblings(n_words: int) -> Case:
    """Eisner's algorithm with siblings: on each side of a head, pairs and the nearest modifier."""
    arcs = normal(n_words + 1, n_words + 1)
    scores = normal(n_words + 1, n_words + 1, n_words + 1)
    n_parts = n_words**2 + n_words * (n_words + 1) * (2 * n_words + 1) // 6
    return Case("SiblingTree", f"{n_words} words", n_parts, lambda: pt.SiblingTree(arcs, scores))


def constituents(n_words: int) -> Case:
    """Binary trees of spans."""
    spans = normal(n_words, n_words)
    n_parts = n_words * (n_words + 1) // 2
    return Case("ConstituencyTree", f"{n_words} words", n_parts, lambda: pt.ConstituencyTree(spans))


CASES = (
    (chain(9), [segments(3, 4), segments(6, 2)]),
    (chain(26), [segments(6, 9)]),
    (chain(45), [segments(6, 20)]),
    (chain(9, shared=False), [segments(6, 14)]),
    (projective(25), [constituents(35), siblings(11)]),
    (projective(50), [constituents(70), siblings(18)]),
    # Siblings are read, at least, and there are n³ / 3 of them: as many parts as arcs of 78 words.
    (projective(78), [siblings(25)]),
)
VISITS = (
    (chain(9, n_tables=N_WORDS - 1), [segments(6, 7, N_WORDS - 1)]),
    (chain(45, n_tables=N_WORDS - 1), [segments(6, 42, N_WORDS - 1)]),
)


def ways(case: Case) -> list[Callable[[], Any]]:
    """The kernel, and the public call."""
    p = case.build()
    return [lambda: p.structures.infer(p.scores), lambda: case.build().marginals]


def compare(table: Table, first: Case, others: list[Case]) -> None:
    """Rows of some structures, their times in turn, and how many times the first one's they are."""
    cases = [first, *others]
    found = best_times([way for case in cases for way in ways(case)], 300, 2.0)
    kernels, doors = found[::2], found[1::2]
    for case, kernel, door in zip(cases, kernels, doors, strict=True):
        # A few parts more or less do not count.
        scale = first.n_parts / case.n_parts
        row: dict[str, Any] = {"structure": case.name, "size": case.size, "parts": case.n_parts}
        row["kernel µs"] = kernel * 1e6 / N_SENTENCES
        row["public call µs"] = door * 1e6 / N_SENTENCES
        row["kernel, ns a part"] = kernel * 1e9 / N_SENTENCES / case.n_parts
        if case is not first:
            row[f"times {first.name}, kernel"] = scale * kernel / kernels[0]
            row[f"times {first.name}, public call"] = scale * door / doors[0]
        table.add(**row)


def main() -> None:
    """Measure, print, and write benchmarks/results/structures.json."""
    title = "Log-partition and marginals, a sentence, for about the same number of"
    cells, visits = Table(f"{title} parts"), Table(f"{title} visits to parts")
    for table, cases in ((cells, CASES), (visits, VISITS)):
        for first, others in cases:
            compare(table, first, others)
        print(table)
    aims = [
        aim(f"{row['structure']}, {row['size']}: {name}", value, most=MOST)
        for row in cells.rows
        for name, value in row.items()
        if name.startswith("times ") and name.endswith("kernel")
    ]
    print("\nwritten to", write_json("structures", [cells, visits], aims=aims))


if __name__ == "__main__":
    show_help(__doc__)
    main()
