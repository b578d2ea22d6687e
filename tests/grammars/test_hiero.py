"""Parsing with synchronous rules against a recursion that tries every way to split a span."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from partita.baselines import hiero as plain
from partita.distribution.hypergraph import HypergraphDistribution
from partita.grammars import hiero_chart
from partita.grammars.forest import EmptyForestError
from partita.grammars.hiero import HieroGrammar
from partita.grammars.rules import (
    RuleError,
    Slot,
    SynchronousRule,
    glue_rules,
    parse_rule,
    read_rules,
)
from partita.structures.hypergraph import Hypergraph

LIGHT = [
    "[X] ||| apague [X,1] ||| switch [X,1] off ||| p=-0.5",
    "[X] ||| apague ||| switch off ||| p=-1",
    "[X] ||| a [X,1] ||| the [1]",
    "[X] ||| luz ||| light",
    "[X] ||| a luz ||| the light ||| p=-0.25 count=3",
]
SMALL = [
    "[X] ||| a ||| A",
    "[X] ||| b ||| B",
    "[X] ||| a b ||| A B",
    "[X] ||| c ||| ",
    "[X] ||| [X,1] b [X,2] ||| [X,2] B [X,1]",
    "[X] ||| a [X,1] ||| [X,1] A",
    "[X] ||| [X,1] c ||| [X,1] A",
    "[Y] ||| [X,1] ||| [X,1]",
    "[X] ||| [Y,1] [Y,2] ||| [Y,2] [Y,1]",
    "[Y] ||| b [Y,1] a ||| B [Y,1]",
]


def grammar_of(lines, start="S", symbol="X"):
    glue = glue_rules(symbol) if start == "S" else []
    return HieroGrammar([*map(parse_rule, lines), *glue], start)


def splits(items, words):
    """All ways to give each item of a side a piece of the words: a piece per nonterminal."""
    if not items:
        return [[]] if not words else []
    first, rest = items[0], items[1:]
    if not isinstance(first, Slot):
        return splits(rest, words[1:]) if words and words[0] == first else []
    found = []
    for n in range(1, len(words) - len(rest) + 1):
        found += [[(first, words[:n]), *pieces] for pieces in splits(rest, words[n:])]
    return found


def all_derivations(rules, symbol, words):
    """Derivations as (rule number, derivations of the nonterminals in the order of the source)."""
    found = []
    for number, rule in enumerate(rules):
        if rule.head == symbol:
            for pieces in splits(rule.source, words):
                below = [all_derivations(rules, slot.symbol, piece) for slot, piece in pieces]
                found += [(number, *children) for children in itertools.product(*below)]
    return found


def target_of(rules, derivation):
    number, *children = derivation
    rule = rules[number]
    filled = dict(zip([slot.number for slot in rule.slots], children, strict=True))
    words = []
    for item in rule.target:
        if isinstance(item, Slot):
            words += target_of(rules, filled[item.number])
        else:
            words.append(item)
    return words


def as_rules(derivation):
    """Rule numbers, top-down and left to right."""
    number, *children = derivation
    return [number, *itertools.chain.from_iterable(map(as_rules, children))]


def forest_derivations(forest):
    p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
    edges = [edges for edges, _ in p.k_best(10_000)]
    assert len(edges) == round(math.exp(p.log_partition))
    return edges


@pytest.mark.parametrize("sentence", ["a", "a b", "a b c", "b a b a", "a b c b a", "a b a b a"])
def test_the_forest_has_exactly_the_derivations_of_the_sentence(sentence):
    grammar = grammar_of(SMALL)
    words = sentence.split()
    expected = all_derivations(grammar.rules, "S", words)
    forest = grammar.parse(words)
    found = forest_derivations(forest)
    assert len(found) == len(expected)
    by_rules = sorted((forest.rule[edges].tolist(), forest.yield_of(edges)) for edges in found)
    assert by_rules == sorted((as_rules(d), target_of(grammar.rules, d)) for d in expected)


@pytest.mark.parametrize("sentence", ["a b", "a b c", "b a b a"])
def test_the_pair_forest_has_the_derivations_with_that_target(sentence):
    grammar = grammar_of(SMALL)
    words = sentence.split()
    expected = {}
    for derivation in all_derivations(grammar.rules, "S", words):
        target = tuple(target_of(grammar.rules, derivation))
        expected.setdefault(target, []).append(as_rules(derivation))
    assert len(expected) > 1
    for target, derivations in expected.items():
        forest = grammar.parse_pair(words, target)
        found = forest_derivations(forest)
        assert sorted(forest.rule[edges].tolist() for edges in found) == sorted(derivations)
        assert all(tuple(forest.yield_of(edges)) == target for edges in found)
        assert forest.node_spans[forest.hypergraph.root].tolist() == [0, len(words), 0, len(target)]
    with pytest.raises(EmptyForestError, match="though its source has"):
        grammar.parse_pair(words, ["Z"])


def test_kernels_find_the_edges_of_plain_python():
    """Rules with two nonterminals, several nonterminals, and rules without words."""
    grammar = grammar_of(SMALL)
    source = ["a", "b", "c", "b", "a"]
    target = target_of(grammar.rules, all_derivations(grammar.rules, "S", source)[0])
    for chart, forest in (
        (plain.parse(grammar.rules, source), grammar.parse(source)),
        (plain.parse_pair(grammar.rules, source, target), grammar.parse_pair(source, target)),
    ):
        keys = list(chart.nodes)
        whole = ("S", 0, len(source), 0, len(target))[: len(keys[0])]
        graph, kept = Hypergraph(chart.heads, chart.tails, chart.nodes[whole]).pruned()
        expected = sorted(
            (keys[chart.heads[e]], chart.rule[e], [keys[tail] for tail in chart.tails[e]])
            for e in kept.tolist()
        )
        spans = forest.node_spans.tolist()
        names = [(symbol, *span) for symbol, span in zip(forest.node_symbols, spans, strict=True)]
        found = sorted(
            (names[forest.hypergraph.heads[e]], forest.rule[e], [names[t] for t in tails])
            for e in range(forest.hypergraph.n_edges)
            for tails in [forest.hypergraph.tails(e).tolist()]
        )
        assert found == expected


def test_a_sentence_with_more_edges_than_expected_gets_more_room():
    grammar = grammar_of([f"[X] ||| a ||| {k}" for k in range(5000)])
    assert grammar.parse(["a"]).hypergraph.n_edges == 5001
    assert grammar.parse_pair(["a"], ["7"]).hypergraph.n_edges == 2


def test_what_needs_more_room_than_there_is_at_first(monkeypatch):
    """Kernels that run out of room are asked again, with four times as much."""
    grammar = grammar_of(SMALL)
    source = ["a", "b", "a", "b", "a", "c", "b"]
    whole = grammar.parse(source)
    target = whole.yield_of(forest_derivations(whole)[0])
    expected = [whole, grammar.parse_pair(source, target)]
    n_tries = Counter()

    def counted(name, kernel):
        def tried(*given):
            n_tries[name] += 1
            return kernel(*given)

        return tried

    monkeypatch.setattr(hiero_chart, "FIRST_ROOM", 1)
    kernels = {"derive": hiero_chart.hiero_source, "restrict": hiero_chart.hiero_targets}
    for name, module in kernels.items():
        monkeypatch.setattr(module, name, counted(name, getattr(module, name)))
    found = [grammar.parse(source), grammar.parse_pair(source, target)]
    assert n_tries["derive"] > 2
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.hypergraph.n_edges == theirs.hypergraph.n_edges
        np.testing.assert_array_equal(mine.rule, theirs.rule)
        np.testing.assert_array_equal(mine.node_spans, theirs.node_spans)


@pytest.mark.parametrize("source", ["a", "a b c", "b a b a c b"])
def test_every_node_of_a_sentence_comes_behind_its_tails(source):
    """Also by rules without words, whose head and tail have the same span."""
    graph = grammar_of(SMALL).parse(source.split()).hypergraph
    assert (graph.tails_flat < np.repeat(graph.heads, np.diff(graph.tail_offsets))).all()
    np.testing.assert_array_equal(np.unique(graph.heads), np.arange(graph.n_nodes))


def test_edges_know_their_rule_and_spans():
    grammar = grammar_of(SMALL)
    source = ["b", "a", "b", "a"]
    target = target_of(grammar.rules, all_derivations(grammar.rules, "S", source)[0])
    forest = grammar.parse_pair(source, target)
    for edge in range(forest.hypergraph.n_edges):
        rule = grammar.rules[forest.rule[edge]]
        tails = forest.hypergraph.tails(edge).tolist()
        spans = dict(zip([slot.number for slot in rule.slots], tails, strict=True))
        for side, words, first in ((rule.source, source, 0), (rule.target, target, 2)):
            place = int(forest.edge_spans[edge, first])
            for item in side:
                if isinstance(item, Slot):
                    node = spans[item.number]
                    assert forest.node_symbols[node] == item.symbol
                    assert forest.node_spans[node, first] == place
                    place = int(forest.node_spans[node, first + 1])
                else:
                    assert words[place] == item
                    place += 1
            assert place == forest.edge_spans[edge, first + 1]
        assert forest.node_symbols[forest.hypergraph.heads[edge]] == rule.head


def test_switch_the_light_off():
    grammar = grammar_of(LIGHT)
    source, target = ["apague", "a", "luz"], ["switch", "the", "light", "off"]
    forest = grammar.parse_pair(source, target)
    scores = [dict(rule.features).get("p", 0.0) for rule in grammar.rules]
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(scores))
    assert forest.yield_of(p.argmax) == target
    best = [str(grammar.rules[number]) for number in forest.rule[p.argmax]]
    assert best[1].startswith("[X] ||| apague [X,1] ||| switch [X,1] off")
    # The two ways to translate "a luz": word by word, and as a phrase.
    assert len(forest_derivations(forest)) == 2
    counts = forest.rule_counts(p.marginals)
    assert counts[0] == pytest.approx(1.0)
    assert counts[3] == pytest.approx(1.0 / (1.0 + math.exp(-0.25)))


def test_glue_alone_keeps_the_order():
    grammar = grammar_of(["[X] ||| as ||| the", "[X] ||| meninas ||| girls"])
    forest = grammar.parse(["as", "meninas"])
    (derivation,) = forest_derivations(forest)
    assert forest.yield_of(derivation) == ["the", "girls"]


def test_spans_can_be_limited():
    grammar = grammar_of(["[X] ||| a ||| A", "[X] ||| [X,1] a ||| [X,1] A"])
    assert len(forest_derivations(grammar.parse(["a"] * 4))) == 8
    assert len(forest_derivations(grammar.parse(["a"] * 4, longest_span=1))) == 1
    assert len(forest_derivations(grammar.parse(["a"] * 4, longest_span=2))) == 5


def test_grammars_and_sentences_that_cannot_be():
    with pytest.raises(ValueError, match=r"no rule has the head \[S\].*glue_rules"):
        HieroGrammar([parse_rule("[X] ||| a ||| b")])
    circle = ["[X] ||| [Y,1] ||| [Y,1]", "[Y] ||| [X,1] ||| [X,1]"]
    with pytest.raises(ValueError, match=r"\['X', 'Y'\] derive each other"):
        grammar_of(circle, start="X")
    grammar = grammar_of(LIGHT)
    with pytest.raises(EmptyForestError, match="no rule has the word 'porta'"):
        grammar.parse(["apague", "a", "porta"])
    with pytest.raises(EmptyForestError, match="do not join"):
        grammar.parse(["luz", "a"])
    with pytest.raises(ValueError, match="Split it first"):
        grammar.parse("apague a luz")
    with pytest.raises(EmptyForestError):
        grammar.parse([])


@pytest.mark.parametrize(
    "line, found, remedy",
    [
        ("[X] ||| a", "found 2 fields", "Separate them"),
        ("X ||| a ||| b", "found 'X' at the start", "square brackets"),
        ("[X] ||| [X] ||| b", r"found '\[X\]'", "Add the number"),
        ("[X] ||| a ||| [1]", r"found '\[1\]'", "Add the number"),
        ("[X] ||| [X,1] a ||| b", "target side none", r"\[X,1\] and \[X,2\]"),
        ("[X] ||| [X,1] [X,1] ||| [X,1] [X,1]", "each number once", "Write"),
        ("[X] ||| [X,1] ||| [Y,1]", "expected the same ones", "Write"),
        ("[X] ||| [X,1] [X,2] [X,3] ||| [X,1] [X,2] [X,3]", "3 nonterminals", "Split the rule"),
        ("[X] |||  ||| b", "source side is empty", "Use an ITG"),
        ("[X] ||| a ||| b ||| p=x", "feature 'p=x'", "Name it"),
        ("[X] ||| a ||| b ||| 0.5", "feature '0.5'", "Name it"),
    ],
)
def test_wrong_lines_say_where_and_what(tmp_path, line, found, remedy):
    table = tmp_path / "rules.txt"
    table.write_text(f"# a table\n\n{LIGHT[0]}\n{line}\n", encoding="utf-8")
    with pytest.raises(RuleError, match=rf"rules\.txt, line 4: (.|\n)*{found}") as caught:
        read_rules(table)
    assert caught.match(remedy)
    assert "expected" in str(caught.value)


def test_a_table_that_is_not_utf_8_says_where(tmp_path):
    table = tmp_path / "rules.txt"
    table.write_bytes(b"[X] ||| a ||| b\n[X] ||| l\xe1 ||| there\n")
    with pytest.raises(RuleError, match="line 2: found byte 0xe1; expected UTF-8"):
        read_rules(table)


def test_tables_are_read_as_written(tmp_path):
    rules = [*map(parse_rule, LIGHT), *map(parse_rule, SMALL), *glue_rules()]
    table = tmp_path / "rules.txt"
    table.write_text("\n".join(map(str, rules)), encoding="utf-8")
    assert read_rules(table) == rules
    moses = parse_rule("[X] ||| a [X,1] ||| [X,1] b ||| p=1e-3 ||| 0-1 1-0")
    assert moses == SynchronousRule("X", ("a", Slot("X", 1)), (Slot("X", 1), "b"), (("p", 1e-3),))
