"""Lattices of words and their tagged sentences, against all of them one by one."""

import itertools

import numpy as np
import pytest

from oracle import Oracle
from partita.distribution.parts import PartDistribution
from partita.structures.lattice_chains import LatticeChains
from partita.structures.lattices import WordLattice, deterministic

LATTICES = {
    "one word": WordLattice([(0, 1, [0])], [1]),
    "choice": WordLattice([(0, 1, [0, 2]), (1, 2, [1])], [2]),
    "ends early": WordLattice([(0, 1, [0]), (1, 2, [1]), (2, 3, [0])], [1, 3]),
    "two ways": WordLattice(
        [(0, 1, [0]), (0, 2, [1]), (1, 3, [1, 2]), (2, 3, [0]), (0, 3, [2])], [3]
    ),
}
ITEMS = [*([lattice] for lattice in LATTICES.values()), [*LATTICES.values()][:3]]
KINDS = ["normal", "forbidden", "ties", "huge", "far"]


def all_tagged(item, n_choices, n_tags, ends):
    """Every structure of an item, rows (lattice, word, tag), and its part counts."""
    each = [
        [
            [(index, word, tag) for word, tag in zip(words, tags, strict=True)]
            for words in lattice.sentences()
            for tags in itertools.product(range(n_tags), repeat=len(words))
        ]
        for index, lattice in enumerate(item)
    ]
    structures, counts = [], []
    for chosen in itertools.product(*each):
        unary, pairwise = np.zeros((n_choices, n_tags)), np.zeros((n_tags, n_tags))
        first, last = np.zeros(n_tags), np.zeros(n_tags)
        for rows in chosen:
            for _, word, tag in rows:
                unary[word, tag] += 1
            for (_, _, left), (_, _, right) in itertools.pairwise(rows):
                pairwise[left, right] += 1
            first[rows[0][2]] += 1
            last[rows[-1][2]] += 1
        vectors = [unary.ravel(), pairwise.ravel(), *([first, last] if ends else [])]
        structures.append(np.array([row for rows in chosen for row in rows]))
        counts.append(np.concatenate(vectors))
    return structures, np.array(counts)


def scores_of(kind, n_parts, rng):
    scores = rng.normal(size=n_parts)
    if kind == "forbidden":
        scores[rng.random(n_parts) < 0.2] = -np.inf
    if kind == "far":
        scores[::3] -= 1000.0
    return scores * {"ties": 0.0, "huge": 1000.0}.get(kind, 1.0)


def problem(item, kind, ends, n_tags=2, n_choices=3):
    rng = np.random.default_rng(len(item) + 10 * KINDS.index(kind))
    structures, counts = all_tagged(item, n_choices, n_tags, ends)
    chains = LatticeChains([item], n_tags, n_choices=[n_choices], ends=ends)
    for _ in range(100):
        truth = Oracle(structures, counts, scores_of(kind, chains.n_parts, rng))
        if (truth.totals > -np.inf).any():
            break
    return PartDistribution(chains, [truth.scores]), truth, rng


def close(actual, expected, scale=1.0):
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-9 * scale)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: f"{len(item)}-{len(item[-1].arcs)}")
def test_every_question(item, kind, ends):
    p, truth, rng = problem(item, kind, ends)
    close(p.log_partition, [truth.log_partition])
    close(p.marginals[0], truth.marginals)
    close(p.entropy, [truth.entropy], 1000.0 if kind in ("huge", "far") else 1.0)
    close(p.max_marginals[0], truth.max_marginals)
    direction = rng.normal(size=p.structures.n_parts)
    close(p.covariance_product([direction])[0], truth.covariance @ direction)
    close(p.score(p.argmax), [truth.totals.max()])
    found = p.k_best(10**4)[0]
    possible = np.sort(truth.totals[truth.totals > -np.inf])[::-1]
    close([score for _, score in found], possible)
    for rows, score in found[:20]:
        close(p.score([rows]), [score])
    for structure, row in list(zip(truth.structures, truth.counts, strict=True))[:50]:
        np.testing.assert_array_equal(p.structures.counts([structure]), row)


def test_samples():
    item = [LATTICES["two ways"], LATTICES["ends early"]]
    p, truth, rng = problem(item, "normal", True)
    drawn = p.sample(2000, rng)[0]
    mean = np.mean([p.structures.counts([rows]) for rows in drawn], axis=0)
    deviation = np.sqrt(np.diag(truth.covariance) / 2000)
    assert (np.abs(mean - truth.marginals) <= 5 * deviation + 1e-9).all()


def test_items_of_a_batch_do_not_touch():
    rng = np.random.default_rng(0)
    items = [[LATTICES["choice"]], [LATTICES["one word"], LATTICES["two ways"]]]
    both = LatticeChains(items, 3, n_choices=[4, 3], ends=True)
    scores = rng.normal(size=both.n_parts)
    inference = both.infer(scores)
    for index, (item, n) in enumerate(zip(items, [4, 3], strict=True)):
        block = slice(*both.part_offsets[index : index + 2])
        alone = LatticeChains([item], 3, n_choices=[n], ends=True).infer(scores[block])
        np.testing.assert_array_equal(inference.log_partition[index], alone.log_partition[0])
        np.testing.assert_array_equal(inference.marginals[block], alone.marginals)
    assert both.is_same_set(LatticeChains(items, 3, n_choices=[4, 3], ends=True))
    assert not both.is_same_set(LatticeChains(items, 3, n_choices=[4, 4], ends=True))
    assert both.is_choice().sum() == 7 * 3


def test_nothing_is_possible():
    chains = LatticeChains([LATTICES["choice"], LATTICES["one word"]], 2)
    scores = np.zeros(chains.n_parts)
    chains.split(scores)[0].unary[1] = -np.inf  # every sentence has word 1
    inference = chains.infer(scores)
    assert inference.log_partition[0] == -np.inf
    assert (inference.marginals[: chains.part_offsets[1]] == 0).all()
    assert inference.log_partition[1] == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="has no structure"):
        _ = PartDistribution.from_flat(chains, scores).log_partition


def test_the_smallest_lattice_of_its_sentences():
    """Two ways to the same sentence, and a state with the same future by two names."""
    arcs = {
        "s": [(1, "a"), (1, "b"), (None, "c")],
        "a": [(2, "f")],
        "b": [(2, "g"), (3, "f")],
        "g": [(None, "f")],
        "c": [(2, "f"), (3, "g")],
    }
    lattice = deterministic(arcs, "s", "f")
    assert sorted(lattice.sentences()) == [(1, 2), (1, 3), (2,), (3,)]
    assert lattice.n_states == 3
    assert lattice.n_choices == 4


def test_states_are_counted_whatever_the_arcs_offer():
    lattice = WordLattice([(0, 1, [k]) for k in range(4)], [1])
    assert lattice.n_states == 2
    assert lattice.is_final.tolist() == [False, True]


@pytest.mark.parametrize(
    "arcs, final, message",
    [
        ([], [1], "0 arcs"),
        ([(0, 1, [0])], [], "0 final states"),
        ([(1, 1, [0])], [1], "from state 1 to 1"),
        ([(0, 1, [])], [1], "offers"),
        ([(0, 1, [0]), (0, 2, [0])], [1], "two arcs out of state 0 offer word 0"),
        ([(0, 1, [0])], [0], "a sentence has at least one word"),
        ([(0, 1, [0])], [2], "that an arc leads to"),
    ],
)
def test_lattices_that_are_none(arcs, final, message):
    with pytest.raises(ValueError, match=message):
        WordLattice(arcs, final)


@pytest.mark.parametrize(
    "given, message",
    [
        ([[0, 0]], r"shape \(1, 2\)"),
        ([[0, 0, 5], [0, 1, 0]], "tags of item 0 range from 0 to 5"),
        ([[0, 1, 0], [0, 0, 0]], r"words \[1, 0\] are no sentence"),
        ([[0, 0, 0]], "are no sentence"),
    ],
)
def test_structures_that_are_none(given, message):
    chains = LatticeChains([LATTICES["choice"]], 2)
    with pytest.raises(ValueError, match=message):
        chains.counts([np.array(given)])


def test_numbers_of_words_that_do_not_fit():
    with pytest.raises(ValueError, match=r"n_choices\[0\] is 2"):
        LatticeChains([LATTICES["choice"]], 2, n_choices=[2])
    with pytest.raises(ValueError, match="2 numbers of words"):
        LatticeChains([LATTICES["choice"]], 2, n_choices=[3, 3])
    with pytest.raises(ValueError, match="item 0 has no lattice"):
        LatticeChains([[]], 2)
