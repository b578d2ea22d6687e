"""Linear chains: microseconds a sentence, against torch-struct, pytorch-crf and hmmlearn.

64 sentences of 25 words, 9 and 45 tags. Every library computes the log-partition and all
marginals, by the calls that its users make; our kernel on a prepared vector has a column of its
own. Run it with `make bench-chains`.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor

from benchmarks.timing import (
    DGEMM_SIZE,
    MOST_OF_A_PRODUCT,
    Table,
    aim,
    best_time,
    best_times,
    dgemm,
    optional,
    show_help,
    times_ours,
    write_json,
)

# isort: split
import numpy as np

import partita as pt
from partita.baselines.chains import entropy_gradient_by_quadratic_expectations
from partita.distribution import entropies
from partita.structures.chains import Chains

N_SENTENCES, N_WORDS, N_TAGS = 64, 25, (9, 45)


def random_batch(n_tags, shared, n_sentences=N_SENTENCES):
    """Prepared structures and flat normal scores, with one transition table for all if shared."""
    rng = np.random.default_rng(0)
    chains = Chains(np.full(n_sentences, N_WORDS), n_tags, shared=shared)
    scores = rng.normal(size=chains.n_parts)
    if shared:
        table = rng.normal(size=(n_tags, n_tags))
        for view in chains.split(scores)[1]:
            view[...] = table
    return chains, scores


def kernel_marginals(n_tags, shared):
    """Seconds for the whole batch, on a prepared vector; and NumPy's rate in the same moments."""
    chains, scores = random_batch(n_tags, shared)
    kernel, product = best_times([lambda: chains.infer(scores), dgemm()], 200)
    return kernel, 2 * DGEMM_SIZE**3 / product


def partita_marginals(n_tags, shared, n_threads):
    """Seconds for the whole batch from a user's padded arrays; each thread does a share of it."""
    rng, n_each = np.random.default_rng(0), N_SENTENCES // n_threads
    shape = (n_tags, n_tags) if shared else (n_each, N_WORDS - 1, n_tags, n_tags)
    pieces = [
        (rng.normal(size=(n_each, N_WORDS, n_tags)), rng.normal(size=shape))
        for _ in range(n_threads)
    ]

    def work(piece):
        for _ in range(20):
            p = pt.LinearChain(*piece)
            p.log_partition, p.marginals  # noqa: B018

    if n_threads == 1:
        return best_time(lambda: work(pieces[0])) / 20
    with ThreadPoolExecutor(n_threads) as pool:
        return best_time(lambda: list(pool.map(work, pieces))) / 20


def torch_struct_marginals(n_tags):
    """Position-dependent scores: (B, n-1, s, s), with the unary scores added into them."""
    torch, torch_struct = optional("torch"), optional("torch_struct")
    if torch_struct is None:
        return None
    torch.set_num_threads(1)
    scores = torch.randn(N_SENTENCES, N_WORDS - 1, n_tags, n_tags, dtype=torch.float64)

    def run():
        p = torch_struct.LinearChainCRF(scores.clone().requires_grad_() * 1.0)
        return p.partition, p.marginals

    return best_time(run, repeats=3, seconds=20.0)


def pytorch_crf_marginals(n_tags):
    """Shared transitions; its marginals are the gradient of its own likelihood."""
    torch, torchcrf = optional("torch"), optional("torchcrf")
    if torchcrf is None:
        return None
    torch.set_num_threads(1)
    model = torchcrf.CRF(n_tags, batch_first=True).double()
    scores = torch.randn(N_SENTENCES, N_WORDS, n_tags, dtype=torch.float64, requires_grad=True)
    tags = torch.zeros(N_SENTENCES, N_WORDS, dtype=torch.long)

    def run():
        model.zero_grad()
        (-model(scores, tags)).backward()

    return best_time(run, repeats=5, seconds=20.0)


def hmmlearn_marginals(n_tags):
    """Shared transitions: its scaled forward-backward in C++, without the model around it."""
    hmm = optional("hmmlearn._hmmc")
    if hmm is None:
        return None
    rng = np.random.default_rng(0)
    start = np.full(n_tags, 1 / n_tags)
    table = rng.dirichlet(np.ones(n_tags), size=n_tags)
    frames = [rng.random((N_WORDS, n_tags)) for _ in range(N_SENTENCES)]

    def run():
        for frame in frames:
            _, forward, scaling = hmm.forward_scaling(start, table, frame)
            backward = hmm.backward_scaling(start, table, frame, scaling)
            forward * backward  # the unary marginals, up to their sums
            hmm.compute_scaling_xi_sum(forward, table, backward, frame)

    return best_time(run, repeats=5)


def hmmlearn_score_samples(n_tags):
    """The same by the method that its users call, which gives the unary marginals only."""
    hmm = optional("hmmlearn.hmm")
    if hmm is None:
        return None
    rng = np.random.default_rng(0)
    model = hmm.CategoricalHMM(n_components=n_tags, implementation="scaling")
    model.startprob_ = np.full(n_tags, 1 / n_tags)
    model.transmat_ = rng.dirichlet(np.ones(n_tags), size=n_tags)
    model.emissionprob_ = rng.dirichlet(np.ones(100), size=n_tags)
    model.n_features = 100
    words = rng.integers(100, size=(N_SENTENCES * N_WORDS, 1))
    lengths = [N_WORDS] * N_SENTENCES
    return best_time(lambda: model.score_samples(words, lengths), repeats=5)


def marginals_table():
    """Log-partition and all marginals, every library in the same run."""
    table = Table(
        "Log-partition and all marginals, microseconds a sentence, one thread unless said"
    )
    # Multiplications and additions of forward, backward and transition counts.
    peers = {
        False: {"torch-struct": torch_struct_marginals},
        True: {
            "pytorch-crf": pytorch_crf_marginals,
            "hmmlearn": hmmlearn_score_samples,
            "hmmlearn's C++": hmmlearn_marginals,
        },
    }
    for shared in (True, False):
        for n_tags in N_TAGS:
            one, two = (partita_marginals(n_tags, shared, n) for n in (1, 2))
            kernel, rate = kernel_marginals(n_tags, shared)
            work = 3 * 2 * (N_WORDS - 1) * n_tags**2 * N_SENTENCES
            row = {
                "transitions": "shared" if shared else "by position",
                "tags": n_tags,
                "partita": one * 1e6 / N_SENTENCES,
                "two threads": two * 1e6 / N_SENTENCES,
                "kernel alone": kernel * 1e6 / N_SENTENCES,
                "its share of dgemm": f"{work / kernel / rate:.0%}" if shared else "",
            }
            for name, measure in peers[shared].items():
                seconds = measure(n_tags)
                if seconds is not None:
                    row[name] = seconds * 1e6 / N_SENTENCES
                    row[f"{name} / partita"] = seconds / one
            table.add(**row)
    return table


def derived_table():
    """What else costs how much of a call of marginals."""
    table = Table("Other quantities as multiples of log-partition and marginals")
    for shared in (True, False):
        for n_tags in N_TAGS:
            chains, scores = random_batch(n_tags, shared)
            inference = chains.infer(scores)

            def entropy_and_gradient(chains=chains, scores=scores):
                p = pt.LinearChain.from_flat(chains, scores)
                p.infer_with_entropy()
                return entropies.entropy(p), entropies.entropy_gradient(p)

            def product(chains=chains, scores=scores, inference=inference):
                return chains.covariance_product(scores, inference, scores)

            ways = [lambda c=chains, x=scores: c.infer(x), product, entropy_and_gradient]
            ways.append(lambda c=chains, x=scores: c.argmax(x))
            base, *others = best_times(ways, 100)
            table.add(
                transitions="shared" if shared else "by position",
                tags=n_tags,
                **{
                    "marginals µs": base * 1e6 / N_SENTENCES,
                    "covariance product": others[0] / base,
                    "marginals, entropy and its gradient": others[1] / base,
                    "argmax": others[2] / base,
                },
            )
    return table


def entropy_gradient_table():
    """The entropy gradient by three algorithms, against the length of the sentence."""
    table = Table("Entropy gradient of one sentence with 9 tags, milliseconds")

    def by_covariance(unary, pairwise):
        return pt.LinearChain(unary, pairwise).entropy_gradient()

    def by_lattices(unary, pairwise):
        return pt.LinearChain(unary, pairwise).entropy_gradient_by_lattices()

    for n_words in (10, 20, 40, 80, 160):
        rng = np.random.default_rng(0)
        unary, pairwise = rng.normal(size=(n_words, 9)), rng.normal(size=(n_words - 1, 9, 9))

        def timed(gradient, unary=unary, pairwise=pairwise):
            # A new distribution each time: marginals are part of the work.
            return best_time(lambda: gradient(unary, pairwise), 10) * 1e3

        table.add(
            words=n_words,
            **{
                "covariance product, O(n s²)": timed(by_covariance),
                "Mann & McCallum, O(n s²)": timed(by_lattices),
                "Jiao et al., O(n² s³)": timed(entropy_gradient_by_quadratic_expectations),
            },
        )
    return table


def lengths_table():
    """What a batch loses whose sentences are of unlike length: words a microsecond."""
    table = Table("Sentences of 25 words, and of 5 to 45: words in a microsecond, kernel alone")
    for n_tags in N_TAGS:
        row = {"tags": n_tags}
        mixed = np.random.default_rng(1).permutation(np.linspace(5, 45, N_SENTENCES).astype(int))
        for name, n_words in (("like", np.full(N_SENTENCES, N_WORDS)), ("unlike", mixed)):
            chains = Chains(n_words, n_tags, shared=True)
            scores = np.zeros(chains.n_parts)
            seconds = best_time(lambda c=chains, x=scores: c.infer(x), 200)
            row[name] = n_words.sum() / seconds / 1e6
        table.add(**row, **{"unlike / like": row["unlike"] / row["like"]})
    return table


def found_lines(marginals, derived, lengths):
    """For the top of the page: what was found, and what we aim at."""
    rows = {(row["transitions"], row["tags"]): row for row in marginals.rows}
    products = {(row["transitions"], row["tags"]): row for row in derived.rows}
    share = float(rows["shared", 45]["its share of dgemm"].rstrip("%"))
    aims = [
        aim("chain, 45 tags: per cent of NumPy's matrix product", share, least=65),
        aim(
            "chain, 45 tags: covariance product over marginals",
            products["shared", 45]["covariance product"],
            most=MOST_OF_A_PRODUCT,
        ),
        *(
            aim(
                f"chain, {row['tags']} tags: speed on unlike lengths over like ones",
                row["unlike / like"],
                least=0.8,
            )
            for row in lengths.rows
        ),
    ]
    headlines = [
        {
            "what": f"chain, {tags} tags, transitions {transitions}, arrays in, marginals out",
            "ours": f"{row['partita']:.3g} µs a sentence of 25 words",
            "peers": times_ours(row, ("torch-struct", "pytorch-crf", "hmmlearn's C++")),
        }
        for (transitions, tags), row in rows.items()
    ]
    return headlines, aims


def main():
    """Measure, print, and write benchmarks/results/chains.json."""
    warnings.simplefilter("ignore")
    tables = [
        marginals_table(),
        derived_table(),
        lengths_table(),
        entropy_gradient_table(),
    ]
    for table in tables:
        print(table)
    print("\nwritten to", write_json("chains", tables, *found_lines(*tables[:3])))


if __name__ == "__main__":
    show_help(__doc__)
    main()
