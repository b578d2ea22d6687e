"""Dependency trees: microseconds a sentence, against torch-struct, SuPar, NumPy, networkx and ufal.

Batches of 32 sentences of 10 to 100 words, one thread. Every library gets the same scores; the
third table shows how the gradient of an entropy grows with the length of the sentence, by the
covariance product, by the covariance of Druck & Smith, and by the baseline that they improve on.
Run it with `make bench-trees`.
"""

import warnings

from benchmarks.timing import (
    MOST_OF_A_PRODUCT,
    RESULTS,
    Table,
    aim,
    best_time,
    best_times,
    optional,
    show_help,
    times_ours,
    write_json,
)

# isort: split
import numpy as np

import partita as pt
from partita.baselines.spanning_trees import pair_marginals_by_clamping
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.spanning_trees import SpanningTrees

N_SENTENCES, N_WORDS = 32, (10, 25, 50, 100)
KINDS = {"projective": ProjectiveTrees, "spanning": SpanningTrees}
DOORS = {"projective": pt.ProjectiveTree, "spanning": pt.SpanningTree}


def random_arcs(n_words, n_sentences=N_SENTENCES):
    """Normal scores [sentence, head, modifier]."""
    return np.random.default_rng(0).normal(size=(n_sentences, n_words + 1, n_words + 1))


def microseconds(function, repeats=20, seconds=2.0):
    """Time of a batch, for each sentence."""
    return best_time(function, repeats, seconds) * 1e6 / N_SENTENCES


def many_microseconds(functions):
    """Times of batches that are run in turn, for each sentence."""
    return [time * 1e6 / N_SENTENCES for time in best_times(functions, 100)]


def with_gradient(log_partition, scores):
    """The marginals by automatic differentiation, as torch-struct and SuPar compute them."""

    def run():
        leaf = scores.clone().requires_grad_()
        log_partition(leaf).sum().backward()
        return leaf.grad

    return microseconds(run, repeats=3, seconds=10.0)


def torch_struct_marginals(kind, n_words):
    """Root scores on the diagonal: that is where torch-struct wants them."""
    torch, torch_struct = optional("torch"), optional("torch_struct")
    if torch_struct is None:
        return None
    torch.set_num_threads(1)
    arcs = random_arcs(n_words)
    words = np.ascontiguousarray(arcs[:, 1:, 1:])
    words[:, np.arange(n_words), np.arange(n_words)] = arcs[:, 0, 1:]
    names = {"projective": "DependencyCRF", "spanning": "NonProjectiveDependencyCRF"}
    build = getattr(torch_struct, names[kind])
    return with_gradient(lambda scores: build(scores).partition, torch.tensor(words))


def supar_distribution(kind, n_words):
    """SuPar's class and scores [sentence, modifier, head], or nothing."""
    torch, structs = optional("torch"), optional("supar.structs")
    if structs is None:
        return None
    torch.set_num_threads(1)
    build = {"projective": "DependencyCRF", "spanning": "MatrixTree"}[kind]
    scores = torch.tensor(np.ascontiguousarray(random_arcs(n_words).transpose(0, 2, 1)))
    return lambda leaf: getattr(structs, build)(leaf, multiroot=True), scores


def supar_marginals(kind, n_words):
    """SuPar's log-partition and its gradient."""
    peer = supar_distribution(kind, n_words)
    if peer is None:
        return None
    build, scores = peer
    return with_gradient(lambda leaf: build(leaf).log_partition, scores)


def numpy_inverse(n_words):
    """The inverse alone of the Laplacian matrices, which other libraries start from; to be run."""
    weights = np.exp(random_arcs(n_words))
    laplacians = -weights[:, 1:, 1:]
    words = np.arange(n_words)
    laplacians[:, words, words] = 0.0
    laplacians[:, words, words] = weights[:, 0, 1:] - laplacians.sum(axis=1)
    return lambda: np.linalg.inv(laplacians)


def asked(p):
    """What every library is asked for."""
    return p.log_partition, p.marginals


def marginals_table():
    """Log-partition and marginals by public calls, and by our kernel on a prepared vector."""
    table = Table("Log-partition and marginals, microseconds a sentence")
    for kind, trees in KINDS.items():
        for n_words in N_WORDS:
            structures = trees(np.full(N_SENTENCES, n_words))
            arcs, build = random_arcs(n_words), DOORS[kind]
            row = {"trees": kind, "words": n_words}
            row["partita"] = microseconds(lambda b=build, a=arcs: asked(b(a)))
            # In turn, since their ratio is what we aim at.
            ways = [lambda s=structures, a=arcs: s.infer(a.reshape(-1))]
            ways += [numpy_inverse(n_words)] if kind == "spanning" else []
            row["kernel alone"], *inverse = many_microseconds(ways)
            peers = {
                "torch-struct": torch_struct_marginals(kind, n_words),
                "SuPar": supar_marginals(kind, n_words),
                "numpy.linalg.inv": inverse[0] if inverse else None,
            }
            table.add(**compared(row, peers))
    return table


def compared(row, peers):
    """A row with the times of the peers that are there, and how many of ours they take."""
    for name, time in peers.items():
        if time is not None:
            row[name] = time
    for name, time in peers.items():
        if time is not None:
            row[f"{name} / partita"] = time / row["partita"]
    return row


def products_table():
    """What the covariance product costs."""
    table = Table("Covariance product, as a multiple of log-partition and marginals")
    for kind, trees in KINDS.items():
        for n_words in N_WORDS:
            structures = trees(np.full(N_SENTENCES, n_words))
            scores = random_arcs(n_words).ravel()
            direction = random_arcs(n_words)[::-1].ravel()
            inference = structures.infer(scores)

            def product_of(s=structures, x=scores, i=inference, v=direction):
                return s.covariance_product(x, i, v)

            base, product = many_microseconds(
                [lambda s=structures, x=scores: s.infer(x), product_of]
            )
            table.add(
                trees=kind,
                words=n_words,
                **{"marginals µs": base, "product µs": product, "ratio": product / base},
            )
    return table


def supar_argmax(kind, n_words):
    """SuPar's decoding."""
    peer = supar_distribution(kind, n_words)
    if peer is None:
        return None
    build, scores = peer
    return microseconds(lambda: build(scores).argmax, repeats=3, seconds=10.0)


def ufal_argmax(n_words):
    """The C++ code that graph-based parsers use; scores [modifier, head]."""
    ufal = optional("ufal.chu_liu_edmonds")
    if ufal is None:
        return None
    matrices = [np.ascontiguousarray(arcs.T) for arcs in random_arcs(n_words)]
    return microseconds(lambda: [ufal.chu_liu_edmonds(matrix) for matrix in matrices])


def networkx_argmax(n_words):
    """A general-purpose graph library: one sentence stands for all."""
    networkx = optional("networkx")
    if networkx is None or n_words > 50:
        return None
    (arcs,) = random_arcs(n_words, 1)
    graph = networkx.DiGraph()
    for head in range(n_words + 1):
        for modifier in range(1, n_words + 1):
            if head != modifier:
                graph.add_edge(head, modifier, weight=arcs[head, modifier])
    find = networkx.algorithms.tree.branchings.maximum_spanning_arborescence
    return best_time(lambda: find(graph), 2, 10.0) * 1e6


def argmax_table():
    """Decoding."""
    table = Table("Best tree, microseconds a sentence")
    for kind, trees in KINDS.items():
        for n_words in N_WORDS:
            scores = random_arcs(n_words).ravel()
            row = {"trees": kind, "words": n_words}
            arcs, build = random_arcs(n_words), DOORS[kind]
            for name, single_root in (("partita", False), ("partita, one root", True)):
                row[name] = microseconds(lambda b=build, a=arcs, one=single_root: b(a, one).argmax)
            structures = trees(np.full(N_SENTENCES, n_words))
            row["kernel alone"] = microseconds(lambda s=structures, x=scores: s.argmax(x))
            peers = {"SuPar": supar_argmax(kind, n_words)}
            if kind == "spanning":
                peers["ufal"] = ufal_argmax(n_words)
                peers["networkx"] = networkx_argmax(n_words)
            table.add(**compared(row, peers))
    return table


def finite_scores(p):
    """The scores of arcs that can be, 0 elsewhere."""
    return np.where(p.marginals > 0, p.scores.reshape(p.marginals.shape), 0.0).ravel()


def by_covariance(arcs):
    """The entropy gradient by the dense covariance of all pairs of arcs: O(N⁴)."""
    p = pt.SpanningTree(arcs)
    return -p.covariance() @ finite_scores(p)


def by_baseline(arcs):
    """The same, with the pair marginals of the baseline that Druck & Smith improve on: O(N⁵)."""
    p = pt.SpanningTree(arcs)
    scores, marginals = finite_scores(p), p.marginals.ravel()
    pairs = pair_marginals_by_clamping(arcs).reshape(scores.size, -1)
    return marginals * (marginals @ scores) - pairs @ scores


GRADIENTS = {
    # With each the longest sentence that fits into memory and a few seconds.
    "covariance product, O(N³)": (lambda arcs: pt.SpanningTree(arcs).entropy_gradient(), 320),
    "covariance, O(N⁴)": (by_covariance, 80),
    "clamp and invert, O(N⁵)": (by_baseline, 80),
    "projective, covariance product, O(N³)": (
        lambda arcs: pt.ProjectiveTree(arcs).entropy_gradient(),
        320,
    ),
}


def entropy_gradient_table():
    """The entropy gradient of one distribution, against the length of the sentence."""
    table = Table("Entropy gradient of one sentence, milliseconds; the last row is the growth")
    lengths = (10, 20, 40, 80, 160, 320)
    times = {}
    for n_words in lengths:
        (arcs,) = random_arcs(n_words, 1)
        row = {"words": n_words}
        for name, (gradient, longest) in GRADIENTS.items():
            if n_words <= longest:
                seconds = best_time(lambda g=gradient, a=arcs: g(a), 5, 5.0)
                times.setdefault(name, []).append(seconds)
                row[name] = seconds * 1e3
        table.add(**row)
    # Time grows as N to this power where it doubles the length for the last time.
    growth = {name: float(np.log2(t[-1] / t[-2])) for name, t in times.items()}
    table.add(words="power of N", **growth)
    plot({name: (lengths[: len(t)], t) for name, t in times.items()})
    return table


def plot(curves):
    """Seconds against words on logarithmic axes, to benchmarks/results/trees.png."""
    pyplot = optional("matplotlib.pyplot")
    if pyplot is None:
        return
    figure, axes = pyplot.subplots(figsize=(7, 5))
    for name, (lengths, seconds) in curves.items():
        axes.loglog(lengths, seconds, "o-", label=name)
    axes.set_xlabel("words N")
    axes.set_ylabel("seconds")
    axes.set_title("Gradient of the entropy of one sentence")
    axes.legend(loc="lower right", fontsize="small")
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / "trees.png", dpi=120)


def lengths_table():
    """What a batch loses whose sentences are of unlike length: time of like ones over its own."""
    table = Table(
        "Sentences of 5 to 45 words in one batch, over the same in batches of like length"
    )
    mixed = np.random.default_rng(1).permutation(np.repeat(np.arange(5, 45, 5), 4))
    for kind, trees in KINDS.items():
        together = trees(mixed)
        alone = [trees(np.full(4, n_words)) for n_words in np.unique(mixed)]
        rng = np.random.default_rng(0)
        arrays = [rng.normal(size=each.n_parts) for each in (together, *alone)]
        one = best_time(lambda t=together, x=arrays[0]: t.infer(x), 100)
        many = sum(
            best_time(lambda t=each, x=array: t.infer(x), 100)
            for each, array in zip(alone, arrays[1:], strict=True)
        )
        table.add(trees=kind, **{"like / unlike": many / one})
    return table


def found_lines(marginals, products, best, lengths):
    """For the top of the page: what was found, and what we aim at."""
    rows = {(row["trees"], row["words"]): row for row in marginals.rows}
    ratios = {(row["trees"], row["words"]): row["ratio"] for row in products.rows}
    aims = [
        aim(
            f"spanning trees, {n_words} words: numpy.linalg.inv over our marginals, kernel alone",
            rows["spanning", n_words]["numpy.linalg.inv"]
            / rows["spanning", n_words]["kernel alone"],
            least=least,
        )
        for n_words, least in ((25, 3.0), (50, 1.9), (100, 1.35))
    ]
    aims += [
        aim(
            f"{kind} trees, 50 words: covariance product over marginals",
            ratios[kind, 50],
            most=MOST_OF_A_PRODUCT,
        )
        for kind in KINDS
    ]
    aims += [
        aim(f"{row['trees']} trees: like lengths over unlike", row["like / unlike"], least=0.8)
        for row in lengths.rows
    ]
    headlines = [
        {
            "what": f"{kind} trees, {n_words} words, {what}",
            "ours": f"{row['partita']:.3g} µs a sentence",
            "peers": times_ours(row, ("torch-struct", "SuPar", "ufal")),
        }
        for what, table in (("marginals", marginals), ("best tree", best))
        for row in table.rows
        for kind, n_words in [(row["trees"], row["words"])]
        if n_words == 25
    ]
    return headlines, aims


def main():
    """Measure, print, and write benchmarks/results/trees.json."""
    warnings.simplefilter("ignore")
    tables = [marginals_table(), products_table(), argmax_table(), lengths_table()]
    found = found_lines(*tables)
    tables.append(entropy_gradient_table())
    for table in tables:
        print(table)
    print("\nwritten to", write_json("trees", tables, *found))


if __name__ == "__main__":
    show_help(__doc__)
    main()
