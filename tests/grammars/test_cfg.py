"""Context-free grammars: forests against all trees, and inside-outside estimation."""

import itertools

import numpy as np
import pytest

import partita as pt
from partita.data import parse_brackets
from partita.grammars.cfg import ContextFreeGrammar, shares
from partita.grammars.inside_outside import estimate

RULES = [
    ("S", ("A", "B")),
    ("S", ("A", "B", "A")),
    ("S", ("B",)),
    ("A", ("A", "B")),
    ("A", "x"),
    ("A", "y"),
    ("B", ("A", "S")),
    ("B", "y"),
    ("B", ("C",)),
    ("C", "x"),
    ("C", ("B", "A", "A", "B")),
]


@pytest.fixture
def grammar():
    rng = np.random.default_rng(0)
    return ContextFreeGrammar.from_probabilities(RULES, rng.random(len(RULES)))


def all_trees(symbol, words, depth=0):
    """Every tree of a symbol over some words, with its weight's rules, by plain recursion."""
    for number, (head, tails) in enumerate(RULES):
        if head != symbol:
            continue
        if isinstance(tails, str):
            if words == (tails,):
                yield f"({head} {tails})", [number]
            continue
        for cuts in itertools.combinations(range(1, len(words)), len(tails) - 1):
            pieces = [words[a:b] for a, b in itertools.pairwise((0, *cuts, len(words)))]
            each = [list(all_trees(t, p)) for t, p in zip(tails, pieces, strict=True)]
            for choice in itertools.product(*each):
                text = f"({head} {' '.join(tree for tree, _ in choice)})"
                yield text, [number, *(n for _, used in choice for n in used)]


@pytest.mark.parametrize("words", ["x", "xy", "yyx", "xyxy", "yxyxy", "xyyxyx"])
def test_against_all_trees(grammar, words):
    trees = list(all_trees("S", tuple(words)))
    scores = [grammar.scores[used].sum() for _, used in trees]
    forest = grammar.forest(list(words))
    p = pt.HypergraphDistribution(forest.hypergraph, grammar.edge_scores(forest))
    assert p.log_partition == pytest.approx(np.logaddexp.reduce(scores), abs=1e-12)
    chances = np.exp(np.array(scores) - p.log_partition)
    expected = sum(
        chance * np.bincount(used, minlength=len(RULES))
        for chance, (_, used) in zip(chances, trees, strict=True)
    )
    scored = forest.rules >= 0
    counts = np.bincount(forest.rules[scored], p.marginals[scored], minlength=len(RULES))
    np.testing.assert_allclose(counts, expected, atol=1e-12)
    assert str(grammar.parse(list(words))) == trees[int(np.argmax(scores))][0]
    found = {str(grammar.tree(forest, edges)) for edges, _ in p.k_best(len(trees) + 1)}
    assert found == {tree for tree, _ in trees}


def test_a_tag_may_be_spelt_like_its_word():
    trees = parse_brackets("(S (N a) (. .)) (S (N b) (. .))")
    grammar = ContextFreeGrammar.of_trees(trees)
    assert str(grammar.parse(["b", "."])) == "(S (N b) (. .))"
    assert np.exp(grammar.scores).tolist() == [1.0, 0.5, 0.5, 1.0]


def test_mistakes():
    with pytest.raises(ValueError, match="circle of rules"):
        ContextFreeGrammar.from_probabilities([("A", ("B",)), ("B", ("A",)), ("A", "x")], [1, 1, 1])
    with pytest.raises(ValueError, match="circle of rules"):
        ContextFreeGrammar.from_probabilities([("A", ("A",)), ("A", "x")], [1, 1])
    with pytest.raises(ValueError, match="no tails"):
        ContextFreeGrammar.from_probabilities([("A", ())], [1])
    with pytest.raises(ValueError, match="2 rules and 1 scores"):
        ContextFreeGrammar.from_probabilities([("A", "a"), ("A", "b")], [1])
    grammar = ContextFreeGrammar.from_probabilities([("S", ("A", "A")), ("A", "a")], [1, 1])
    with pytest.raises(ValueError, match="no rule has the words b"):
        grammar.forest(["a", "b"])
    with pytest.raises(ValueError, match="no rules fit"):
        grammar.forest(["a", "a", "a"])
    with pytest.raises(ValueError, match="start= to say which"):
        ContextFreeGrammar.of_trees(parse_brackets("(S (N a)) (T (N a))"))
    with pytest.raises(ValueError, match="no rule has the head 'X'"):
        ContextFreeGrammar.of_trees(parse_brackets("(S (N a))"), start="X")


def test_estimation_never_makes_sentences_less_likely(grammar):
    rng = np.random.default_rng(1)
    sentences = []
    while len(sentences) < 12:
        words = rng.choice(["x", "y"], size=rng.integers(1, 7)).tolist()
        if any(True for _ in all_trees("S", tuple(words))):
            sentences.append(words)
    found = estimate(grammar, sentences, n_iterations=40, tolerance=0.0)
    assert (np.diff(found.log_likelihoods) > -1e-9).all()
    assert found.log_likelihoods[-1] > found.log_likelihoods[1]
    heads = [rule.head for rule in grammar.rules]
    for head in set(heads):
        mine = np.exp(found.grammar.scores)[[h == head for h in heads]]
        assert mine.sum() == pytest.approx(1.0)


def test_one_step_is_the_expected_counts(grammar):
    words = list("xyxy")
    grammar = grammar.with_scores(shares(grammar.rules, np.exp(grammar.scores)))
    trees = list(all_trees("S", tuple(words)))
    scores = np.array([grammar.scores[used].sum() for _, used in trees])
    chances = np.exp(scores - np.logaddexp.reduce(scores))
    counts = sum(
        chance * np.bincount(used, minlength=len(RULES))
        for chance, (_, used) in zip(chances, trees, strict=True)
    )
    heads = np.array([head for head, _ in RULES])
    totals = np.array([counts[heads == head].sum() for head in heads])
    found = estimate(grammar, [words], n_iterations=1).grammar
    np.testing.assert_allclose(np.exp(found.scores), counts / totals, atol=1e-12)
