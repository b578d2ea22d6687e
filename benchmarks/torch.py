"""Training steps in PyTorch: microseconds a sentence, against torch-struct, SuPar and pytorch-crf.

Sentences of 25 words in batches of 32 and 64, float32 scores that want a gradient, forward and
backward through every library's own classes. Run it with `make bench-torch`.
"""

import warnings
from statistics import median

from benchmarks.timing import Table, aim, best_times, optional, show_help, write_json

# isort: split
import torch

import partita.torch as ptt
from partita.torch.nn import CRF

N_WORDS, N_SENTENCES, N_TAGS = 25, (32, 64), (9, 45)
TREES = {
    # Ours, and what the others call the same trees: any number of roots.
    "projective": (ptt.ProjectiveTree, "DependencyCRF", "DependencyCRF"),
    "spanning": (ptt.SpanningTree, "NonProjectiveDependencyCRF", "MatrixTree"),
}


def step(quantity, *leaves):
    """Forward and backward: the sum over sentences of a quantity, to the gradient of the leaves."""

    def run():
        for leaf in leaves:
            leaf.grad = None
        quantity().sum().backward()

    return run


def random_arcs(n_sentences):
    """Normal scores [sentence, head, modifier], the root being row 0."""
    torch.manual_seed(0)
    return torch.randn(n_sentences, N_WORDS + 1, N_WORDS + 1)


def tree_peers(kind, n_sentences):
    """Quantity and leaf of each library that is installed."""
    _, in_torch_struct, in_supar = TREES[kind]
    arcs = random_arcs(n_sentences)
    peers = {}
    torch_struct, structs = optional("torch_struct"), optional("supar.structs")
    if torch_struct is not None:
        # Its roots are on the diagonal.
        words = arcs[:, 1:, 1:].clone()
        words.diagonal(dim1=1, dim2=2).copy_(arcs[:, 0, 1:])
        words.requires_grad_()
        build = getattr(torch_struct, in_torch_struct)
        peers["torch-struct"] = (lambda: build(words, multiroot=True).partition, words)
    if structs is not None:
        turned = arcs.transpose(1, 2).contiguous().requires_grad_()
        make = getattr(structs, in_supar)
        peers["SuPar"] = (lambda: make(turned, multiroot=True).log_partition, turned)
    return peers


def compared(row, run, peers, n_sentences, n_rounds=1):
    """A row with our times and those of the peers, and how many of ours they take.

    All are run in turn, so that ratios are of the same minutes; ours three times, since they are
    so short that what others leave in the caches would be most of it. Then the same with two
    threads; a ratio is of as many threads on both sides, one unless it says two. Of several rounds
    it is the median, of the best times of each.
    """
    functions = [run] * 3 + [step(*peer) for peer in peers.values()]
    for n_threads, suffix in ((1, ""), (2, ", two threads")):
        torch.set_num_threads(n_threads)
        rounds = [best_times(functions, 100) for _ in range(n_rounds)]
        ours = [min(found[:3]) for found in rounds]
        row["partita" + suffix] = median(ours) * 1e6 / n_sentences
        for place, name in enumerate(peers, start=3):
            theirs = [found[place] for found in rounds]
            row[name + suffix] = median(theirs) * 1e6 / n_sentences
            ratios = [other / own for other, own in zip(theirs, ours, strict=True)]
            row[f"{name} / partita{suffix}"] = median(ratios)
    torch.set_num_threads(1)
    return row


def trees_table():
    """Log-partition and its gradient."""
    table = Table("Log-partition of trees, forward and backward, microseconds a sentence")
    for kind, (trees, _, _) in TREES.items():
        for n_sentences in N_SENTENCES:
            arcs = random_arcs(n_sentences).requires_grad_()
            run = step(lambda: trees(arcs).log_partition, arcs)
            row = {"trees": kind, "batch": n_sentences}
            table.add(**compared(row, run, tree_peers(kind, n_sentences), n_sentences, n_rounds=5))
    return table


def chains_table():
    """The negative log-likelihood of tags, with learnt transitions, first and last tags."""
    table = Table("Likelihood of tags, forward and backward, microseconds a sentence")
    torchcrf = optional("torchcrf")
    for n_tags in N_TAGS:
        for n_sentences in N_SENTENCES:
            torch.manual_seed(0)
            emissions = torch.randn(n_sentences, N_WORDS, n_tags, requires_grad=True)
            tags = torch.randint(n_tags, (n_sentences, N_WORDS))
            layer = CRF(n_tags, batch_first=True)
            run = step(lambda: -layer(emissions, tags), emissions, *layer.parameters())
            row, peers = {"tags": n_tags, "batch": n_sentences}, {}
            if torchcrf is not None:
                other = torchcrf.CRF(n_tags, batch_first=True)
                leaves = emissions, *other.parameters()
                peers["pytorch-crf"] = (lambda: -other(emissions, tags), *leaves)
            table.add(**compared(row, run, peers, n_sentences))
    return table


def entropy_table():
    """Entropy and its gradient, which other libraries have for chains only, if at all."""
    table = Table("Entropy, forward and backward, microseconds a sentence")
    torch_struct, n_sentences = optional("torch_struct"), 32
    for kind, (trees, _, _) in TREES.items():
        arcs = random_arcs(n_sentences).requires_grad_()
        run = step(lambda: trees(arcs).entropy, arcs)
        table.add(**compared({"structure": f"{kind} trees"}, run, {}, n_sentences))
    for n_tags in N_TAGS:
        unary = torch.randn(n_sentences, N_WORDS, n_tags)
        tables = torch.randn(n_sentences, N_WORDS - 1, n_tags, n_tags, requires_grad=True)
        run = step(lambda: ptt.LinearChain(unary, tables).entropy, tables)
        row, peers = {"structure": f"chain by position, {n_tags} tags"}, {}
        if torch_struct is not None:
            peers["torch-struct"] = (lambda: torch_struct.LinearChainCRF(tables).entropy, tables)
        table.add(**compared(row, run, peers, n_sentences))
    return table


def aims(trees, chains):
    """The smallest ratios to the peers that are installed, beside what we aim at."""
    wanted = (
        ("projective trees: torch-struct over ours", trees, "projective", "torch-struct", 100),
        ("spanning trees: torch-struct over ours", trees, "spanning", "torch-struct", 3),
        ("CRF: pytorch-crf over ours", chains, None, "pytorch-crf", 10),
    )
    found = []
    for what, table, kind, peer, least in wanted:
        rows = [row for row in table.rows if row.get("trees") == kind and peer in row]
        for suffix in ("", ", two threads") if kind == "projective" else ("",):
            ratios = [row[f"{peer} / partita{suffix}"] for row in rows]
            said = f"{what}, forward and backward{suffix}"
            found += [aim(said, min(ratios), least=least)] if ratios else []
    return found


def main():
    """Measure, print, and write benchmarks/results/torch.json."""
    warnings.simplefilter("ignore")
    tables = [trees_table(), chains_table(), entropy_table()]
    for table in tables:
        print(table)
    print("\nwritten to", write_json("torch", tables, aims=aims(*tables[:2])))


if __name__ == "__main__":
    show_help(__doc__)
    main()
