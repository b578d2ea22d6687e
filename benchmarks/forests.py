"""Forests: edges per second of inside, marginals, covariance product, and the 1000 best.

The forests are D(x, y) of the inversion transduction grammar, 8x8, 12x12 and 20x20 words, with
normal scores, one thread. Beside them the pseudo-code of the slides in plain Python (see
`partita.baselines.forests`), which gives the same answers; on the smallest forest only unless
`--all` is given, since its speed per edge hardly depends on the size.

    python -m benchmarks.forests            # all sizes, about a minute
    python -m benchmarks.forests --smoke    # a few seconds, nothing written
"""

import argparse
import time

from benchmarks.timing import Table, aim, best_time, write_json

# isort: split
import numpy as np

import partita as pt
from partita.baselines import forests as slides
from partita.baselines.semirings import Log
from partita.grammars.itg import pair_forest
from partita.kernels.forests import inside as forest_inside
from partita.structures.forest_batches import arrays_of

K = 1000


def forest(n_words, normal_form=False):
    """All derivations of a pair in which every link, deletion and insertion is allowed."""
    words = np.ones(n_words)
    links = np.ones((n_words, n_words))
    return pair_forest(links, words, words, normal_form=normal_form).hypergraph


def partita_times(n_words, graph, scores, direction):
    """Seconds for each question; "building" is from the words on, "construction" from edges on."""
    forests = pt.HypergraphDistribution(graph, scores).structures
    inference = forests.infer(scores)
    arrays = [np.empty(graph.n_nodes), np.empty(graph.n_nodes), np.empty(graph.n_edges)]
    flat = graph.heads, graph.tails_flat, graph.tail_offsets, graph.root, graph.n_nodes
    questions = {
        "building": lambda: forest(n_words),
        "construction": lambda: pt.Hypergraph.from_flat(*flat),
        "inside": lambda: forest_inside.inside_and_weights(
            scores, *arrays_of(forests.table.layout, 0), *arrays
        ),
        "marginals": lambda: forests.infer(scores),
        "covariance product": lambda: forests.covariance_product(scores, inference, direction),
        "argmax": lambda: forests.argmax(scores),
        "max-marginals": lambda: forests.max_marginals(scores),
        f"{K} best": lambda: forests.k_best(scores, K),
        f"{K} samples": lambda: forests.sample(scores, inference, K, np.random.default_rng(0)),
    }
    return {name: best_time(ask, seconds=1.0) for name, ask in questions.items()}


def timed(function, *arguments):
    """Seconds of one run, and what it returned."""
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def slides_times(graph, scores, direction):
    """Seconds of one run each, and a check that the answers are the same."""
    p, ring = pt.HypergraphDistribution(graph, scores), Log()
    scores = scores.tolist()
    tails = [graph.tails(edge).tolist() for edge in range(graph.n_edges)]
    built, plain = timed(slides.PlainForest, graph.heads.tolist(), tails, graph.root)
    ordered, _ = timed(lambda: plain.order)
    inwards, inner = timed(slides.inside, plain, scores, ring)
    outwards, outer = timed(slides.outside, plain, scores, ring, inner)
    summed, marginals = timed(slides.marginals, plain, scores, inner, outer)
    moved, product = timed(slides.covariance_product, plain, scores, direction.tolist())
    listed, best = timed(slides.k_best, plain, scores, K)
    np.testing.assert_allclose(p.log_partition, inner[graph.root], rtol=1e-12)
    np.testing.assert_allclose(p.marginals, marginals, atol=1e-9)
    np.testing.assert_allclose(p.covariance_product(direction), product, atol=1e-9)
    np.testing.assert_allclose([score for _, score in p.k_best(K)], best, atol=1e-9)
    return {
        "construction": built + ordered,
        "inside": inwards,
        "marginals": inwards + outwards + summed,
        "covariance product": moved,
        f"{K} best": listed,
    }


def report(n_words, with_slides):
    """One table for one forest."""
    graph = forest(n_words)
    rng = np.random.default_rng(n_words)
    scores, direction = rng.normal(size=(2, graph.n_edges))
    table = Table(
        f"D(x, y), {n_words} x {n_words} words: {graph.n_nodes:,} nodes, {graph.n_edges:,} edges"
    )
    theirs = slides_times(graph, scores, direction) if with_slides else {}
    for question, seconds in partita_times(n_words, graph, scores, direction).items():
        row = {"question": question, "ms": 1e3 * seconds}
        if not question.startswith(str(K)):
            row["million edges/s"] = graph.n_edges / seconds / 1e6
        if question in theirs:
            row["slides, ms"] = 1e3 * theirs[question]
            row["slides / partita"] = theirs[question] / seconds
        table.add(**row)
    print(table)
    return table


def building_aims(n_words):
    """Edges per second of D(x, y) from the words on, in both forms."""
    for normal_form, name in ((False, "plain"), (True, "normal form")):
        seconds = best_time(lambda form=normal_form: forest(n_words, form), seconds=3.0)
        edges = forest(n_words, normal_form).n_edges
        yield aim(
            f"D(x, y) of {n_words} x {n_words} words, {name}: million edges built a second",
            edges / seconds / 1e6,
            least=40,
        )


def main():
    """Print the tables and write them down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="one small forest, nothing written")
    parser.add_argument("--all", action="store_true", help="plain Python for every size too")
    options = parser.parse_args()
    sizes = (4,) if options.smoke else (8, 12, 20)
    tables = [report(n_words, options.all or n_words <= 8) for n_words in sizes]
    if not options.smoke:
        print(f"\nWritten to {write_json('forests', tables, aims=list(building_aims(20)))}")


if __name__ == "__main__":
    main()
