"""Bitext parsing: matrix products beside the hypergraph of the same pair and plain Python.

Also how fast forests are built: D(x, y) and D_n(x), plain and normal form, and hiero rules.

    python -m benchmarks.itg            # all sizes, about two minutes
    python -m benchmarks.itg --smoke    # a few seconds
"""

import argparse
from collections import defaultdict

import numpy as np

from benchmarks.timing import Table, aim, best_time, write_json
from partita.baselines import hiero as plain_hiero
from partita.distribution.hypergraph import HypergraphDistribution
from partita.estimators.translation.rule_extraction import RuleLimits, RulePair, extract
from partita.grammars.bitext import infer_flat
from partita.grammars.hiero import HieroGrammar
from partita.grammars.itg import bounded_forest, pair_forest
from partita.grammars.parts import RuleScores
from partita.grammars.rules import glue_rules, parse_rule
from partita.kernels.bitext import itg_outside

N_PAIRS = 8
N_WORDS, N_ALIGNED, SWAPPED, N_SENTENCES = 200, 300, 0.2, 5
"""Of the bitext that rules are extracted from, and how many sentences are parsed by them."""
FORMS = {False: "plain", True: "normal"}
CPP = {"8 x 8": 0.016, "12 x 12": 0.15, "20 x 20": 1.0}
"""Milliseconds of the inside sums alone in C++, measured when the formulation was chosen."""


def plain_python(n, m, parts):
    """Z and its derivative with respect to every chart cell, cell by cell, in probabilities."""
    weights = np.exp(parts).tolist()
    links, deletions = weights[: n * m], weights[n * m : n * m + n]
    insertions, (straight, inverted) = weights[n * m + n : -2], weights[-2:]
    cells = [
        (s, t, k, end)
        for t in range(n + 1)
        for s in range(t, -1, -1)
        for end in range(m + 1)
        for k in range(end, -1, -1)
    ]

    def binary(cell):
        s, t, k, end = cell
        for S in range(s, t + 1):
            for u in range(k, end + 1):
                yield straight, (s, S, k, u), (S, t, u, end)
                yield inverted, (s, S, u, end), (S, t, k, u)

    inside = defaultdict(float)
    for cell in cells:
        s, t, k, end = cell
        total = 0.0
        if (t - s, end - k) == (1, 1):
            total += links[s * m + k]
        elif (t - s, end - k) == (1, 0):
            total += deletions[s]
        elif (t - s, end - k) == (0, 1):
            total += insertions[k]
        for weight, left, right in binary(cell):
            total += weight * inside.get(left, 0.0) * inside.get(right, 0.0)
        inside[cell] = total
    outside = defaultdict(float)
    outside[0, n, 0, m] = 1.0
    for cell in reversed(cells):
        for weight, left, right in binary(cell):
            outside[left] += outside[cell] * weight * inside[right]
            outside[right] += outside[cell] * weight * inside[left]
    return inside[0, n, 0, m]


def dense_inside(parts, n):
    """Log-partition of a batch of pairs in normal form, as the library calls its kernel."""
    sizes = np.full(N_PAIRS, n)
    offsets = np.arange(N_PAIRS + 1) * (n * n + 2 * n + 2)
    log_partition, safe = np.empty(N_PAIRS), np.empty(N_PAIRS, dtype=np.bool_)
    itg_outside.infer(parts, offsets, sizes, sizes, None, log_partition, None, safe)
    return log_partition


def pair_times(n, with_python):
    """Times per pair in milliseconds of n x n words, and a check that the answers agree.

    Matrix products are for the normal form only.
    """
    parts = np.random.default_rng(n).normal(size=(N_PAIRS, n * n + 2 * n + 2))
    scores = RuleScores.from_flat(parts[0], (n, n), n)
    words, sizes, flat = np.ones(n), np.full(N_PAIRS, n), parts.ravel()
    for normal_form, name in FORMS.items():
        forest = pair_forest(np.ones((n, n)), words, words, normal_form=normal_form)
        structures = HypergraphDistribution(
            forest.hypergraph, forest.edge_scores(scores)
        ).structures
        edge_scores = forest.edge_scores(scores)
        graph = best_time(lambda: structures.infer(edge_scores), repeats=5)
        total = structures.infer(edge_scores).log_partition[0]
        row = {"hypergraph": 1e3 * graph}
        if normal_form:
            np.testing.assert_allclose(dense_inside(flat, n)[0], total, atol=1e-10)
            inside = best_time(lambda: dense_inside(flat, n)) / N_PAIRS
            both = best_time(lambda: infer_flat(flat, sizes, sizes)) / N_PAIRS
            row |= {"inside": 1e3 * inside, "inside + outside": 1e3 * both}
        elif with_python:
            np.testing.assert_allclose(np.log(plain_python(n, n, parts[0])), total, atol=1e-9)
            row["plain Python"] = 1e3 * best_time(lambda: plain_python(n, n, parts[0]), repeats=1)
        yield {"words": f"{n} x {n}", "form": name, **row}


def building_times(n, longest):
    """Edges per second of building forests, hypergraph included."""
    words = np.ones(n)
    sparse = np.random.default_rng(n).random((n, n)) < 0.2
    for normal_form, name in FORMS.items():
        kinds = {
            "D(x, y), all links": lambda f=normal_form: pair_forest(
                np.ones((n, n)), words, words, normal_form=f
            ),
            "D(x, y), a fifth": lambda f=normal_form: pair_forest(
                sparse, words, words, normal_form=f
            ),
            f"D_{longest}(x)": lambda f=normal_form: bounded_forest(
                [[-1]] * n, words, True, longest, normal_form=f
            ),
        }
        for kind, build in kinds.items():
            n_edges = build().hypergraph.n_edges
            taken = best_time(build, repeats=5)
            yield {
                "forest": kind,
                "words": n,
                "form": name,
                "edges": n_edges,
                "ms": 1e3 * taken,
                "M edges/s": n_edges / taken / 1e6,
            }


def made_up_pair(rng, n, swapped=0.0):
    """Words of a skewed distribution, neighbours sometimes swapped: (source, target, links)."""
    source = (rng.zipf(1.3, size=n) % N_WORDS).tolist()
    order, place = list(range(n)), 0
    while place < n - 1:
        if rng.random() < swapped:
            order[place : place + 2] = order[place + 1], order[place]
            place += 1
        place += 1
    return source, [source[k] for k in order], [(k, j) for j, k in enumerate(order)]


def extracted_rules(rng):
    """Rules as a translator extracts them from aligned pairs, and one for every word."""
    found = {RulePair((word,), (word,)) for word in range(N_WORDS)}
    for _ in range(N_ALIGNED):
        found |= extract(*made_up_pair(rng, int(rng.integers(5, 16)), SWAPPED), RuleLimits())

    def side(items, letter):
        return " ".join(f"[X,{-item}]" if item < 0 else f"{letter}{item}" for item in items)

    lines = [f"[X] ||| {side(rule.source, 's')} ||| {side(rule.target, 't')}" for rule in found]
    return [*map(parse_rule, sorted(lines)), *glue_rules()]


def hiero_times(sizes):
    """Parsing with rules that were extracted from a made-up bitext: means of a few sentences."""
    rng = np.random.default_rng(0)
    rules = extracted_rules(rng)
    grammar, trie = HieroGrammar(rules), plain_hiero.Trie(rules)

    def plainly(source):
        return plain_hiero.parse_source(trie, rules, source, "S", None)

    for n in sizes:
        pairs = []
        for _ in range(N_SENTENCES):
            # In the order of the source, which glue can always derive.
            source, target, _ = made_up_pair(rng, n)
            pairs.append(([f"s{word}" for word in source], [f"t{word}" for word in target]))
        kinds = {
            "D(x)": (lambda x, _: grammar.parse(x), lambda x, _: plainly(x)),
            "D(x, y)": (
                grammar.parse_pair,
                lambda x, y: plain_hiero.parse_pair(rules, x, y, trie=trie),
            ),
        }
        for name, (parse, plain) in kinds.items():
            ours = [best_time(lambda p=pair: parse(*p), repeats=30) for pair in pairs]
            theirs = [best_time(lambda p=pair: plain(*p), repeats=3) for pair in pairs]
            n_edges = [parse(*pair).hypergraph.n_edges for pair in pairs]
            yield {
                "forest": name,
                "rules": len(rules),
                "words": n,
                "edges": np.mean(n_edges),
                "ms": 1e3 * np.mean(ours),
                "plain Python, ms": 1e3 * np.mean(theirs),
                "times as fast": sum(theirs) / sum(ours),
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small pairs, nothing is written")
    options = parser.parse_args()
    pairs = Table("Bitext parsing, milliseconds a pair, one thread")
    for n in (4,) if options.smoke else (8, 12, 20):
        for row in pair_times(n, with_python=n <= 12):
            pairs.add(**row)
    forests = Table("Building forests of inversion transduction grammars")
    for n, longest in ((4, 5),) if options.smoke else ((8, 10), (15, 20)):
        for row in building_times(n, longest):
            forests.add(**row)
    hiero = Table("Parsing with synchronous rules")
    for row in hiero_times((4,) if options.smoke else (8, 15, 25)):
        hiero.add(**row)
    for table in (pairs, forests, hiero):
        print(table)
    normal = {row["words"]: row for row in pairs.rows if row["form"] == FORMS[True]}
    aims = [
        aim(
            f"{kind.capitalize()} of {words} words: times the milliseconds of C++ for the inside",
            normal[words][kind] / known,
            most=1.5,
        )
        for kind in ("inside", "inside + outside")
        for words, known in CPP.items()
        if words in normal
    ]
    aims += [
        aim(
            f"Hierarchical rules, {row['forest']} of {row['words']} words: times plain Python",
            row["times as fast"],
            least=20,
        )
        for row in hiero.rows
    ]
    if not options.smoke:
        print(f"\nWritten to {write_json('itg', [pairs, forests, hiero], aims=aims)}")


if __name__ == "__main__":
    main()
