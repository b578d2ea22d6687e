"""Every size that a kernel treats in its own way: tags, labels, words and sentences of a batch.

Kernels work in tiles and in lanes of four, so each has its own code for what is left over. What is
too large to be enumerated is compared with the dense recursions of `dense`.
"""

import numpy as np
import pytest

import dense
import partita as pt
from cases import HAS_ALL_SIZES, IS_COMPILED

N_TAGS = [*range(1, 21), 45, 50] if HAS_ALL_SIZES else [1, 2, 5, 9, 17]
LENGTHS = [5, 1, 9, 2, 7, 3, 8, 4, 6]
"""Of the sentences of a batch; batches of 1 to 9 of them begin anywhere."""
ALONE = [*range(1, 18), 23, 24, 25, 27] if HAS_ALL_SIZES else [1, 2, 5]
"""Words of a sentence without a batch."""
TREE_LENGTHS = [6, 1, 9, 4, 11, 2, 8, 3, 10, 5, 7] if HAS_ALL_SIZES else [3, 1, 4, 2]


def close(actual, expected, tolerance=1e-9):
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=tolerance)


# ---------------------------------------------------------------------- chains


class ChainBatch:
    """A batch of chains, and the same sentence by sentence with all tables and ends spelled out."""

    def __init__(self, n_tags, n_words, *, shared, ends=False, sigma=1.0, seed=0):
        self.rng = rng = np.random.default_rng([n_tags, len(n_words), shared, ends, seed])
        self.n_words, self.n_tags, self.shared = n_words, n_tags, shared
        unary = [sigma * rng.normal(size=(n, n_tags)) for n in n_words]
        shape = (n_tags, n_tags)
        if shared:
            table = sigma * rng.normal(size=shape)
            pairwise, self.tables = table, [np.repeat(table[None], n - 1, axis=0) for n in n_words]
        else:
            pairwise = self.tables = [sigma * rng.normal(size=(n - 1, *shape)) for n in n_words]
        options = {}
        self.unary = [array.copy() for array in unary]
        if ends:
            options = {"start": rng.normal(size=n_tags), "stop": rng.normal(size=n_tags)}
            for array in self.unary:
                array[0] += options["start"]
                array[-1] += options["stop"]
        self.p = pt.LinearChain(unary, pairwise, **options)

    @property
    def sentences(self):
        return list(zip(self.unary, self.tables, strict=True))

    def score(self, sentence, tags):
        unary, tables = self.sentences[sentence]
        words = unary[np.arange(len(tags)), tags].sum()
        return words + tables[np.arange(len(tags) - 1), tags[:-1], tags[1:]].sum()

    def summed(self, tables):
        """Numbers for every transition of every sentence in the form of the scores."""
        if not self.shared:
            return tables
        return np.sum([table.sum(axis=0) for table in tables], axis=0)

    def check_parts(self, found, unary, tables, tolerance=1e-9):
        for actual, expected in zip(found.unary, unary, strict=True):
            close(actual, expected, tolerance)
        expected = self.summed(tables)
        for actual, table in zip(found.pairwise, expected, strict=True):
            close(actual, table, tolerance)


def chain_batches(sizes):
    """Chains of some numbers of tags, shared and by position, with and without scores of ends."""
    return pytest.mark.parametrize(
        "batch",
        [
            pytest.param((n_tags, shared, ends), id=f"{n_tags}-{kind}{'-ends' if ends else ''}")
            for n_tags in sizes
            for shared, kind in ((True, "shared"), (False, "by-position"))
            for ends in (False, True)
        ],
    )


def make(batch, n_words=LENGTHS, **options):
    n_tags, shared, ends = batch
    return ChainBatch(n_tags, n_words, shared=shared, ends=ends, **options)


@chain_batches(N_TAGS)
def test_marginals_of_chains(batch):
    chains = make(batch)
    truth = [dense.chain_marginals(*sentence) for sentence in chains.sentences]
    close(chains.p.log_partition, [log_partition for log_partition, _, _ in truth])
    chains.check_parts(chains.p.marginals, [t[1] for t in truth], [t[2] for t in truth])


@chain_batches(N_TAGS)
def test_marginals_of_chains_in_logarithms(batch):
    """The path that is taken where probabilities would underflow."""
    chains = make(batch, sigma=400.0)
    truth = [dense.chain_marginals(*sentence) for sentence in chains.sentences]
    close(chains.p.log_partition, [log_partition for log_partition, _, _ in truth])
    chains.check_parts(chains.p.marginals, [t[1] for t in truth], [t[2] for t in truth], 1e-8)


@chain_batches(N_TAGS)
@pytest.mark.parametrize("sigma", [1.0, 400.0])
def test_covariance_products_of_chains(batch, sigma):
    chains = make(batch, sigma=sigma)
    unary = [chains.rng.normal(size=array.shape) for array in chains.unary]
    if chains.shared:
        pairwise = chains.rng.normal(size=(chains.n_tags, chains.n_tags))
        tables = [np.repeat(pairwise[None], n - 1, axis=0) for n in chains.n_words]
    else:
        pairwise = tables = [chains.rng.normal(size=array.shape) for array in chains.tables]
    truth = [
        dense.chain_product(*sentence, direction)
        for sentence, direction in zip(
            chains.sentences, zip(unary, tables, strict=True), strict=True
        )
    ]
    found = chains.p.covariance_product((unary, pairwise))
    chains.check_parts(found, [t[0] for t in truth], [t[1] for t in truth], 1e-8)


@pytest.mark.parametrize("n_tags", N_TAGS)
def test_equal_tables_along_directions_of_their_own(n_tags):
    """Sentences side by side share what is alike, which their directions need not be."""
    chains = ChainBatch(n_tags, [4, 1, 3, 6, 2, 5], shared=True)
    table = chains.tables[0][0]
    p = pt.LinearChain(chains.unary, [table] * len(chains.n_words))
    unary = [chains.rng.normal(size=array.shape) for array in chains.unary]
    pairwise = [chains.rng.normal(size=table.shape) for _ in chains.n_words]
    # The same for the first four, whatever their order is.
    for alike in (0, 4):
        pairwise[:alike] = [pairwise[0]] * alike
        found = p.covariance_product((unary, pairwise))
        for sentence, words, moved, (tags, tables) in zip(
            chains.sentences, unary, pairwise, zip(*found, strict=True), strict=True
        ):
            along = words, np.broadcast_to(moved, sentence[1].shape)
            expected = dense.chain_product(*sentence, along)
            close(tags, expected[0])
            close(tables, expected[1].sum(axis=0))


@chain_batches(N_TAGS)
@pytest.mark.parametrize("sigma", [1.0, 400.0])
def test_entropies_of_chains_beside_their_marginals(batch, sigma):
    """In one pass where transitions are shared and nothing underflows, else in two."""
    chains = make(batch, sigma=sigma)
    truth = [dense.chain_marginals(*sentence) for sentence in chains.sentences]
    products = [dense.chain_product(*sentence, sentence) for sentence in chains.sentences]
    chains.p.infer_with_entropy()
    expected = [
        log_partition - (unary * marginals).sum() - (tables * pairs).sum()
        for (unary, tables), (log_partition, marginals, pairs) in zip(
            chains.sentences, truth, strict=True
        )
    ]
    close(chains.p.entropy, expected, 1e-8 * sigma)
    minus = [(-unary, -tables) for unary, tables in products]
    found = chains.p.entropy_gradient()
    chains.check_parts(found, *zip(*minus, strict=True), 1e-8 * sigma)
    chains.check_parts(chains.p.marginals, [t[1] for t in truth], [t[2] for t in truth], 1e-8)


@chain_batches(N_TAGS)
def test_the_best_sequences(batch):
    chains = make(batch)
    best = [dense.chain_k_best(*sentence, 3) for sentence in chains.sentences]
    close(chains.p.best_score, [scores[0] for scores in best])
    for sentence, tags in enumerate(chains.p.argmax):
        close(chains.score(sentence, tags), best[sentence][0])
    for sentence, (found, scores) in enumerate(zip(chains.p.k_best(3), best, strict=True)):
        close([score for _, score in found], scores)
        close([chains.score(sentence, tags) for tags, _ in found], scores)
        assert len({tuple(tags) for tags, _ in found}) == len(scores)


@chain_batches(N_TAGS)
def test_max_marginals_of_chains(batch):
    chains = make(batch)
    truth = [dense.through_parts(*sentence, dense.highest) for sentence in chains.sentences]
    found = chains.p.max_marginals
    for actual, (unary, _) in zip(found.unary, truth, strict=True):
        close(actual, unary)
    tables = [pairs for _, pairs in truth]
    if chains.shared:
        tables = [np.concatenate(tables).max(axis=0)]
        found = found._replace(pairwise=[found.pairwise])
    for actual, table in zip(found.pairwise, tables, strict=True):
        close(actual, table)


@chain_batches(N_TAGS)
def test_samples_of_chains(batch):
    """Frequencies are within six standard errors; sharp scores give nothing but good sequences."""
    chains = make(batch, n_words=[3, 1, 4])
    size = 1500 if IS_COMPILED else 100
    samples = chains.p.sample(size, np.random.default_rng(0))
    for drawn, sentence in zip(samples, chains.sentences, strict=True):
        _, marginals, pairs = dense.chain_marginals(*sentence)
        counts = (drawn[:, :, None] == np.arange(chains.n_tags)).mean(axis=0)
        errors = np.sqrt(np.abs(marginals * (1 - marginals)) / size)
        assert (np.abs(counts - marginals) <= 6 * errors + 2 / size).all()
        for t, expected in enumerate(pairs):
            counts = np.zeros_like(expected)
            np.add.at(counts, (drawn[:, t], drawn[:, t + 1]), 1 / size)
            errors = np.sqrt(np.abs(expected * (1 - expected)) / size)
            assert (np.abs(counts - expected) <= 6 * errors + 3 / size).all()
    chains = make(batch, n_words=[3, 1, 4], sigma=100.0)
    for sentence, drawn in enumerate(chains.p.sample(3, np.random.default_rng(0))):
        for tags in drawn:
            assert chains.score(sentence, tags) >= chains.p.best_score[sentence] - 50


@pytest.mark.parametrize("n_sentences", range(1, 10))
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("n_tags", [3, 4, 17] if HAS_ALL_SIZES else [3])
def test_batches_of_chains(n_sentences, shared, n_tags):
    """Lanes that are filled in part: every number of sentences, with every length among them."""
    lengths = np.roll(LENGTHS, n_sentences)[:n_sentences]
    chains = ChainBatch(n_tags, lengths.tolist(), shared=shared)
    truth = [dense.chain_marginals(*sentence) for sentence in chains.sentences]
    close(chains.p.log_partition, [log_partition for log_partition, _, _ in truth])
    chains.check_parts(chains.p.marginals, [t[1] for t in truth], [t[2] for t in truth])
    direction = chains.unary, chains.p.marginals.pairwise
    tables = [chains.p.marginals.pairwise] if shared else direction[1]
    products = [
        dense.chain_product(*sentence, (unary, np.broadcast_to(table, sentence[1].shape)))
        for sentence, unary, table in zip(
            chains.sentences, chains.unary, tables * (n_sentences if shared else 1), strict=True
        )
    ]
    found = chains.p.covariance_product(direction)
    chains.check_parts(found, [t[0] for t in products], [t[1] for t in products])


# ---------------------------------------------------------------------- trees

TREES = {"projective": pt.ProjectiveTree, "spanning": pt.SpanningTree}
tree_kinds = pytest.mark.parametrize("kind", TREES)
both_roots = pytest.mark.parametrize("single_root", [False, True])


def log_partition_of(kind, single_root):
    """The dense log-partition of one sentence, or of many arrays of its size."""
    if kind == "spanning":
        return lambda arcs: dense.spanning(arcs, single_root)
    return lambda arcs: dense.eisner(arcs, single_root, dense.log_sum)


def random_arcs(lengths, seed=0, sigma=1.0):
    rng = np.random.default_rng([seed, len(lengths)])
    return [sigma * rng.normal(size=(n + 1, n + 1)) for n in lengths]


def tree_score(arcs, heads):
    return arcs[heads, np.arange(1, len(arcs))].sum()


def best_tree_score(kind, arcs, single_root):
    if kind == "spanning":
        return dense.best_spanning(arcs, single_root)
    return dense.eisner(arcs, single_root, dense.highest)


@tree_kinds
@both_roots
@pytest.mark.parametrize("n_sentences", range(1, 10))
def test_batches_of_trees(kind, single_root, n_sentences):
    """Tiles and lanes that are filled in part, for lengths of every residue."""
    lengths = np.roll(TREE_LENGTHS, n_sentences)[:n_sentences].tolist()
    arcs = random_arcs(lengths)
    p = TREES[kind](arcs, single_root=single_root)
    log_partition = log_partition_of(kind, single_root)
    close(p.log_partition, [log_partition(array) for array in arcs])
    for actual, array in zip(p.marginals, arcs, strict=True):
        close(actual, dense.tree_marginals(log_partition, array))
    direction = random_arcs(lengths, seed=1)
    step = 1e-4
    ahead, behind = (
        TREES[kind](
            [a + sign * step * v for a, v in zip(arcs, direction, strict=True)],
            single_root=single_root,
        ).marginals
        for sign in (1, -1)
    )
    for actual, plus, minus in zip(p.covariance_product(direction), ahead, behind, strict=True):
        close(actual, (plus - minus) / (2 * step), 1e-7)


@tree_kinds
@both_roots
@pytest.mark.parametrize("n_words", ALONE)
def test_trees_alone(kind, single_root, n_words):
    """A sentence alone has lanes of its own words: 24 of them at once, then 12, then 4."""
    arcs = random_arcs([n_words], seed=n_words)
    p = TREES[kind](arcs[0], single_root=single_root)
    log_partition = log_partition_of(kind, single_root)
    close(p.log_partition, log_partition(arcs[0]))
    close(p.marginals, dense.tree_marginals(log_partition, arcs[0]))


@tree_kinds
@both_roots
@pytest.mark.parametrize("n_words", sorted(TREE_LENGTHS))
def test_the_best_trees(kind, single_root, n_words):
    lengths = [n_words, 2, n_words, max(1, n_words - 1), n_words]
    arcs = random_arcs(lengths, seed=n_words)
    p = TREES[kind](arcs, single_root=single_root)
    for array, heads, score in zip(arcs, p.argmax, p.best_score, strict=True):
        close(score, best_tree_score(kind, array, single_root))
        close(tree_score(array, heads), score)
    samples = p.sample(50, np.random.default_rng(0))
    for array, found, drawn in zip(arcs, p.k_best(8), samples, strict=True):
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)
        close([tree_score(array, heads) for heads, _ in found], scores)
        listed = {tuple(heads) for heads, _ in found}
        assert len(listed) == len(found)
        # No tree that is left out is better than the last that is listed.
        better = {tuple(heads) for heads in drawn if tree_score(array, heads) > scores[-1] + 1e-9}
        assert better <= listed
        assert len(found) == 8 or {tuple(heads) for heads in drawn} <= listed


@tree_kinds
@both_roots
@pytest.mark.parametrize("n_words", sorted(TREE_LENGTHS)[:8])
def test_max_marginals_of_trees(kind, single_root, n_words):
    arcs = random_arcs([n_words, 1, n_words + 1], seed=n_words)
    p = TREES[kind](arcs, single_root=single_root)
    for found, array in zip(p.max_marginals, arcs, strict=True):
        cells, forced = dense.with_arc(array)
        if kind == "projective":
            scores = dense.eisner(forced, single_root, dense.highest)
        else:
            scores = [dense.best_spanning(copy, single_root) for copy in forced]
        with np.errstate(invalid="ignore"):
            close([found[cell] for cell in cells], scores)


@tree_kinds
@both_roots
@pytest.mark.parametrize("n_words", sorted(TREE_LENGTHS)[:8])
def test_samples_of_trees(kind, single_root, n_words):
    arcs = random_arcs([n_words, 2, n_words], seed=n_words)
    size = 1000 if IS_COMPILED else 50
    p = TREES[kind](arcs, single_root=single_root)
    samples = p.sample(size, np.random.default_rng(1))
    for drawn, array in zip(samples, arcs, strict=True):
        marginals = dense.tree_marginals(log_partition_of(kind, single_root), array)[:, 1:]
        counts = (drawn[:, None, :] == np.arange(len(array))[:, None]).mean(axis=0)
        errors = np.sqrt(np.abs(marginals * (1 - marginals)) / size)
        assert (np.abs(counts - marginals) <= 6 * errors + 3 / size).all()


@tree_kinds
@both_roots
@pytest.mark.parametrize("n_labels", range(1, 10))
def test_labels_of_every_number(kind, single_root, n_labels):
    """Labels are summed first, so that arcs without labels tell what comes out."""
    rng = np.random.default_rng(n_labels)
    arcs = [rng.normal(size=(n + 1, n + 1, n_labels)) for n in (3, 1, 4, 2, 5)]
    p = TREES[kind](arcs, single_root=single_root, labelled=True)
    sums = [dense.log_sum(array, 2) for array in arcs]
    q = TREES[kind](sums, single_root=single_root)
    close(p.log_partition, q.log_partition)
    directions = [rng.normal(size=array.shape) for array in arcs]
    shares = [np.exp(array - total[..., None]) for array, total in zip(arcs, sums, strict=True)]
    means = [(share * v).sum(axis=2) for share, v in zip(shares, directions, strict=True)]
    rows = zip(
        p.marginals, q.marginals, shares, p.covariance_product(directions),
        q.covariance_product(means), directions, means, strict=True,
    )  # fmt: skip
    for found, marginals, share, product, arc_product, direction, mean in rows:
        close(found, marginals[..., None] * share)
        moved = marginals[..., None] * share * (direction - mean[..., None])
        close(product, arc_product[..., None] * share + moved)
    best = TREES[kind]([array.max(axis=2) for array in arcs], single_root=single_root)
    close(p.best_score, best.best_score)
    for found, marginals, array in zip(p.max_marginals, best.max_marginals, arcs, strict=True):
        expected = marginals[..., None] + (array - array.max(axis=2, keepdims=True))
        np.testing.assert_allclose(found, expected, atol=1e-9)
    for array, (heads, labels), score in zip(arcs, p.argmax, p.best_score, strict=True):
        close(array[heads, np.arange(1, len(array)), labels].sum(), score)


# ---------------------------------------------------------------------- forests


@pytest.mark.parametrize("n_edges", [*range(1, 18), 31, 32, 33])
def test_nodes_with_any_number_of_edges(n_edges):
    """Two nodes with edges of their own under one root: all quantities are products."""
    heads = [0] * n_edges + [1] * (n_edges + 1) + [2]
    tails = [()] * n_edges + [()] * (n_edges + 1) + [(0, 1, 0)]
    rng = np.random.default_rng(n_edges)
    scores = rng.normal(size=len(heads))
    p = pt.HypergraphDistribution(pt.Hypergraph(heads, tails, 2), scores)
    first, second = scores[:n_edges], scores[n_edges:-1]
    sums = dense.log_sum(first, 0), dense.log_sum(second, 0)
    close(p.log_partition, 2 * sums[0] + sums[1] + scores[-1])
    shares = np.exp(first - sums[0]), np.exp(second - sums[1])
    close(p.marginals, [*(2 * shares[0]), *shares[1], 1.0])
    v = rng.normal(size=len(heads))
    moved = [
        share * (along - share @ along)
        for share, along in zip(shares, (v[:n_edges], v[n_edges:-1]), strict=True)
    ]
    close(p.covariance_product(v), [*(2 * moved[0]), *moved[1], 0.0])
    close(p.best_score, 2 * first.max() + second.max() + scores[-1])
    best = first.max() + second.max() + scores[-1]
    expected = [*(first + best), *(2 * first.max() + second + scores[-1]), p.best_score]
    close(p.max_marginals, expected)
    totals = (first[:, None, None] + first[:, None] + second).ravel() + scores[-1]
    found = p.k_best(6)
    close([score for _, score in found], np.sort(totals)[::-1][:6])
    drawn = np.array(p.sample(1500, np.random.default_rng(0)))
    counts = np.array([(drawn == edge).mean(axis=0).sum() for edge in range(len(heads))])
    errors = np.sqrt(np.maximum(p.marginals, 1e-3) / 1500)
    assert (np.abs(counts - p.marginals) <= 6 * errors + 3 / 1500).all()
