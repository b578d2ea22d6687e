"""The doors: constructor plus `marginals`, as users call them, beside the kernel and the peers.

A column for the kernel on a prepared vector, one for the public call on the user's arrays, and how
many times the kernel that is; then the public calls of other libraries on the same batches. Padded
batches, ragged ones, lists of arrays, and one sentence alone. Run it with `make bench-doors`.
"""

import warnings

from benchmarks.chains import torch_struct_marginals as torch_struct_chains
from benchmarks.timing import Table, best_time, best_times, show_help, times_ours, write_json
from benchmarks.trees import compared, microseconds, numpy_inverse, supar_marginals
from benchmarks.trees import torch_struct_marginals as torch_struct_trees

# isort: split
import numpy as np

import partita as pt
from benchmarks.chains import pytorch_crf_marginals

N_WORDS = 25
TREES = {"projective": pt.ProjectiveTree, "spanning": pt.SpanningTree}


def times(build, n_sentences):
    """Kernel and public call, microseconds a sentence, and the ratio."""
    p = build()
    ways = [lambda: p.structures.infer(p.scores), lambda: build().marginals]
    kernel, door = best_times(ways, 300, 3.0)
    scale = 1e6 / n_sentences
    return {"kernel": kernel * scale, "partita": door * scale, "partita / kernel": door / kernel}


def random_chain(n_sentences, n_tags, shared):
    """Normal scores of a padded batch."""
    rng = np.random.default_rng(0)
    shape = (n_tags, n_tags) if shared else (n_sentences, N_WORDS - 1, n_tags, n_tags)
    return rng.normal(size=(n_sentences, N_WORDS, n_tags)), rng.normal(size=shape)


def random_arcs(n_sentences, n_words):
    """Normal scores [sentence, head, modifier]."""
    return np.random.default_rng(0).normal(size=(n_sentences, n_words + 1, n_words + 1))


def per_sentence(measure, *arguments, n_sentences=64):
    """Seconds for a batch of chains as microseconds a sentence, or nothing."""
    seconds = measure(*arguments)
    return None if seconds is None else seconds * 1e6 / n_sentences


def chains_table():
    """64 sentences of 25 words."""
    table = Table("Chains, 64 sentences of 25 words, microseconds a sentence")
    for shared in (True, False):
        for n_tags in (9, 45):
            unary, pairwise = random_chain(64, n_tags, shared)
            row = {"transitions": "shared" if shared else "by position", "tags": n_tags}
            row |= times(lambda u=unary, t=pairwise: pt.LinearChain(u, t), 64)
            name, peer = (
                ("pytorch-crf", pytorch_crf_marginals)
                if shared
                else ("torch-struct", torch_struct_chains)
            )
            table.add(**compared(row, {name: per_sentence(peer, n_tags)}))
    return table


def trees_table():
    """32 sentences of 10 to 50 words."""
    table = Table("Trees, 32 sentences, microseconds a sentence")
    for kind, build in TREES.items():
        for n_words in (10, 25, 50):
            arcs = random_arcs(32, n_words)
            row = {"trees": kind, "words": n_words}
            row |= times(lambda b=build, a=arcs: b(a), 32)
            peers = {
                "torch-struct": torch_struct_trees(kind, n_words),
                "SuPar": supar_marginals(kind, n_words),
            }
            if kind == "spanning":
                peers["numpy.linalg.inv"] = microseconds(numpy_inverse(n_words))
            table.add(**compared(row, peers))
    return table


def forms_table():
    """The same sentences as users have them: of all lengths, in lists, one alone."""
    table = Table("25 words and fewer, in other forms, microseconds a sentence")
    rng = np.random.default_rng(1)
    unary, pairwise = random_chain(64, 9, shared=True)
    lengths = rng.integers(5, N_WORDS + 1, size=64)
    rows = {
        "chains, 9 tags, padded": (lambda: pt.LinearChain(unary, pairwise), 64),
        "chains, 9 tags, 5 to 25 words, padded": (
            # Other lengths each time, as in training.
            lambda: pt.LinearChain(unary, pairwise, n_words=rng.permutation(lengths)),
            64,
        ),
        "chains, 9 tags, a list": (lambda u=list(unary): pt.LinearChain(u, pairwise), 64),
        "chain, 9 tags, one sentence": (lambda: pt.LinearChain(unary[0], pairwise), 1),
    }
    for kind, build in TREES.items():
        arcs = random_arcs(32, N_WORDS)
        rows[f"{kind} trees, a list"] = (lambda b=build, a=list(arcs): b(a), 32)
        rows[f"{kind} tree, one sentence"] = (lambda b=build, a=arcs[0]: b(a), 1)
    for name, (build, n_sentences) in rows.items():
        row = {"form": name, **times(build, n_sentences)}
        if name == "spanning tree, one sentence":
            (matrix,) = np.random.default_rng(0).normal(size=(1, N_WORDS, N_WORDS))
            inverse = best_time(lambda m=matrix: np.linalg.inv(m), 300) * 1e6
            row = compared(row, {"numpy.linalg.inv": inverse})
        table.add(**row)
    return table


def main():
    """Measure, print, and write benchmarks/results/doors.json."""
    warnings.simplefilter("ignore")
    tables = [chains_table(), trees_table(), forms_table()]
    for table in tables:
        print(table)
    headlines = [
        {
            "what": "spanning trees, 25 words, arrays in, marginals out",
            "ours": f"{row['partita']:.3g} µs a sentence",
            "peers": times_ours(row, ("torch-struct", "SuPar", "numpy.linalg.inv")),
        }
        for row in tables[1].rows
        if (row["trees"], row["words"]) == ("spanning", N_WORDS)
    ]
    print("\nwritten to", write_json("doors", tables, headlines))


if __name__ == "__main__":
    show_help(__doc__)
    main()
