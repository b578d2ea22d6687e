"""Parsers from rules, without trees: generalized expectation on EWT10, and what its gradient costs.

    PARTITA_DATA=... python -m benchmarks.parser_rules [--quick]

EWT10 is English EWT, sentences of at most 10 words without punctuation, gold tags. Learnt from the
tags of its training part (5,386 sentences), judged by UAS on the development part (1,160).
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.baselines import feature_covariance
from benchmarks.timing import Table, best_time, write_json
from partita import SpanningTree
from partita.data.arc_rules import ArcRule, measured_arc_rules
from partita.features.arc_constraints import arc_constraints, rule_targets
from partita.objectives import Constraints, GeneralizedExpectation, gradient_from_covariance

LENGTHS = (10, 20, 40, 80, 160)
DENSE = 80
"""Words of the longest sentence whose (N+1)⁴ covariances fit into memory."""


def gradient_times(lengths: Sequence[int]) -> Table:
    """Time of one gradient of a sentence with 20 rules, in three ways that give the same."""
    table = Table(
        "A generalized-expectation gradient of one sentence of N words, 20 rules, non-projective, "
        "many roots: covariance product, O(N³); all pairs of arcs as Druck and Smith (2009) sum "
        "them, O(N⁴), in NumPy; dense covariance matrix, O(N⁴), ours"
    )
    rng = np.random.default_rng(0)
    tags = [f"T{number}" for number in range(8)]
    for n_words in lengths:
        row = [tags[number] for number in rng.integers(len(tags), size=n_words)]
        heads = [0, *rng.integers(1, np.arange(2, n_words + 1))]
        rules = measured_arc_rules([row], [heads], n_rules=20)
        arcs = rng.normal(size=(n_words + 1, n_words + 1))
        table.add(n_words=n_words, **_gradients(arcs, row, rules))
    return table


def _gradients(arcs, tags, rules):
    targets, bounds = rule_targets(rules)
    objective = GeneralizedExpectation(targets, bounds=bounds)
    trees = SpanningTree(arcs).structures
    constraints = Constraints(*arc_constraints(trees, [tags], rules))

    def product():
        p = SpanningTree(arcs)
        statistic, pullback = objective(p, constraints)
        return pullback(objective.loss(statistic)[1])

    def all_pairs():
        p = SpanningTree(arcs)
        slope = objective.loss(objective(p, constraints)[0])[1]
        direction = constraints.features.T @ slope[: len(rules)]
        return feature_covariance.gradient(arcs, direction.reshape(arcs.shape)).ravel()

    def dense():
        p = SpanningTree(arcs)
        slope = objective.loss(objective(p, constraints)[0])[1]
        return gradient_from_covariance(p, constraints, slope)

    ways = {"product": product, "all_pairs": all_pairs}
    if len(arcs) - 1 <= DENSE:
        ways["dense"] = dense
    expected = product()
    found: dict[str, float] = {}
    for name, way in ways.items():
        found[f"{name}_ms"] = 1e3 * best_time(way)
    found["all_pairs_over_product"] = found["all_pairs_ms"] / found["product_ms"]
    found["largest_difference"] = max(
        float(np.abs(way() - expected).max()) for way in ways.values()
    )
    return found


def main(quick: bool) -> None:
    """Run everything."""
    tables = [gradient_times(LENGTHS[:3] if quick else LENGTHS)]
    for table in tables:
        print(table, flush=True)
    if not quick:
        print(f"written to {write_json('parser_rules', tables)}")


if __name__ == "__main__":
    main("--quick" in sys.argv)
