"""Parsers from rules, without trees: generalized expectation on EWT10, and what its gradient costs.

    PARTITA_DATA=... python -m benchmarks.parser_rules [--quick]

EWT10 is English EWT, sentences of at most 10 words without punctuation, gold tags. Learnt from the
tags of its training part (5,386 sentences), judged by UAS on the development part (1,160).
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.timing import Table, best_time, show_help, spread, write_json
from partita import DependencyParser, SpanningTree, samples
from partita.baselines.spanning_trees import product_by_pairs_of_arcs
from partita.data.arc_rule import ANY, ROOT, ArcPattern, ArcRule, measured_arc_rules
from partita.data.arc_rules import arc_rules_text, parse_arc_rules, read_arc_rules
from partita.data.conllu import read_conllu
from partita.data.dependencies import tree_heads
from partita.data.sentences import Sentence
from partita.evaluation import compare_trees
from partita.features.arc_constraints import arc_constraints, rule_targets
from partita.objectives import Constraints, GeneralizedExpectation, gradient_from_covariance

TAGS = """head.UPOS
modifier.UPOS
head.UPOS modifier.UPOS
"""
"""Each with the direction, and with direction and distance."""
CONTEXT = (
    TAGS
    + """head.UPOS head.UPOS[1] modifier.UPOS[-1] modifier.UPOS
head.UPOS head.UPOS[-1] modifier.UPOS[-1] modifier.UPOS
head.UPOS head.UPOS[1] modifier.UPOS modifier.UPOS[1]
head.UPOS head.UPOS[-1] modifier.UPOS modifier.UPOS[1]
head.UPOS between.UPOS modifier.UPOS
"""
)
COMPOUNDS = "NOUN <- NOUN right within 1\n    NOUN <- NOUN left beyond 1\n"
DISTANCES = f"""at least 0.8 of arcs:
    VERB <- ROOT
    NOUN <- VERB
    PROPN <- VERB
    PRON <- VERB
    ADV <- VERB
    VERB <- VERB left
    AUX <- VERB right
    ADJ <- NOUN right
    DET <- NOUN right
    {COMPOUNDS}    NUM <- NOUN right
    ADP <- NOUN right
    ADP <- PROPN right
    PROPN <- PROPN left within 1
    ADV <- ADJ right
"""
"""The universal rules, with the order of words in English: what comes before its head, and what
behind it, that a noun right before a noun is part of a compound, a name's words stand together."""
STEPS = {
    "leaves": "function words and pronouns have no modifiers",
    "equals": "the first of equal words is the head",
    "sides": "function words stand before their heads",
    "root": "what a preposition belongs to is not the root",
}
"""What the rules for English that come with the package say beside pairs, a part at a time."""
FIRMLY = {"rule_weight": 1e4}
NEAR = parse_arc_rules("at least 0.5 of arcs:\n    * <- * within 1\n")
N_TREES = 100
QUICK = 300
"""Sentences of a quick run."""
LENGTHS = (10, 20, 40, 80, 160)
DENSE = 80
"""Words of the longest sentence whose (N+1)⁴ covariances fit into memory."""


def gradient_times(lengths: Sequence[int]) -> Table:
    """Time of one gradient of a sentence with 20 rules, in three ways that give the same."""
    table = Table(
        "A generalized-expectation gradient of one sentence of N words, 20 rules, non-projective, "
        "many roots: covariance product, O(N³); all pairs of arcs as Druck and Smith (2009) sum "
        "them, O(N⁴), in NumPy; dense covariance matrix, O(N⁴), ours"
    )
    rng = np.random.default_rng(0)
    tags = [f"T{number}" for number in range(8)]
    for n_words in lengths:
        row = [tags[number] for number in rng.integers(len(tags), size=n_words)]
        heads = [0, *rng.integers(1, np.arange(2, n_words + 1))]
        rules = measured_arc_rules([row], [heads], n_rules=20)
        arcs = rng.normal(size=(n_words + 1, n_words + 1))
        table.add(n_words=n_words, **_gradients(arcs, row, rules))
    return table


def _gradients(arcs, tags, rules):
    targets, bounds = rule_targets(rules)
    objective = GeneralizedExpectation(targets, bounds=bounds)
    trees = SpanningTree(arcs).structures
    constraints = Constraints(*arc_constraints(trees, [tags], rules))

    def product():
        p = SpanningTree(arcs)
        statistic, pullback = objective(p, constraints)
        return pullback(objective.loss(statistic)[1])

    def all_pairs():
        p = SpanningTree(arcs)
        slope = objective.loss(objective(p, constraints)[0])[1]
        direction = constraints.features.T @ slope[: len(rules)]
        return product_by_pairs_of_arcs(arcs, direction.reshape(arcs.shape)).ravel()

    def dense():
        p = SpanningTree(arcs)
        slope = objective.loss(objective(p, constraints)[0])[1]
        return gradient_from_covariance(p, constraints, slope)

    ways = {"product": product, "all_pairs": all_pairs}
    if len(arcs) - 1 <= DENSE:
        ways["dense"] = dense
    expected = product()
    found: dict[str, float] = {}
    for name, way in ways.items():
        np.testing.assert_allclose(way(), expected, rtol=0, atol=1e-9)
        found[f"{name}_ms"] = 1e3 * best_time(way)
    found["all_pairs_over_product"] = found["all_pairs_ms"] / found["product_ms"]
    found["largest_difference"] = max(
        float(np.abs(way() - expected).max()) for way in ways.values()
    )
    return found


# ---------------------------------------------------------------------- rules and no trees


class Data:
    """EWT10, and the rules that come with it."""

    def __init__(self, most: int | None) -> None:
        folder = Path(os.environ["PARTITA_DATA"])
        ewt10, rules = folder / "ud_en_ewt10", folder / "ge_constraints"
        self.train = read_conllu(ewt10 / "en_ewt10-train.conllu")[:most]
        self.dev = read_conllu(ewt10 / "en_ewt10-dev.conllu")[:most]
        self.universal = read_arc_rules(rules / "universal_rules_ud_adapted.tsv")
        self.english = read_arc_rules(samples.path("english-rules.txt"))
        self.measured = read_arc_rules(rules / "ewt10_gold_edge_expectations.tsv")

    def uas(
        self, parser: DependencyParser, decoder: str, gold: Sequence[Sentence] | None = None
    ) -> float:
        """On the development part unless on another, in percent."""
        gold = self.dev if gold is None else gold
        return 100 * compare_trees(gold, parser.predict(gold, decoder=decoder)).uas


def bare(sentence: Sentence) -> Sentence:
    """Without its tree."""
    nothing = ["_"] * len(sentence)
    return sentence.replaced("HEAD", nothing).replaced("DEPREL", nothing)


def counted(sentences: Sequence[Sentence], n_rules: int | None, min_count: int) -> list[ArcRule]:
    """The most frequent arcs of trees, with their probabilities."""
    tags = [sentence.column("UPOS") for sentence in sentences]
    heads = [tree_heads(sentence) for sentence in sentences]
    return measured_arc_rules(tags, heads, n_rules=n_rules, min_count=min_count)


def ruled(
    data: Data, rules: Sequence[ArcRule], sentences: Sequence[Sentence] | None = None, **options
) -> DependencyParser:
    """A parser from rules alone, learnt on the training part unless on other sentences."""
    given = {"features": TAGS, "rule_weight": 3000.0, "max_iterations": 100, **options}
    parser = DependencyParser(
        rules=rules,
        optimiser="lbfgs",
        labels=False,
        workers=1,
        progress=False,
        **{"l2": 1.0, "n_bits": 14, **given},
    )
    text = data.train if sentences is None else sentences
    return parser.fit([], unlabelled=[bare(sentence) for sentence in text])


def rules_alone(data: Data) -> list[Table]:
    """UAS without a single tree, by rules and kind of tree; then by features and by start."""
    n_measured = len(data.measured)
    sets = {
        "universal: at least 0.8 of arcs": data.universal,
        f"measured, all {n_measured} of the file": data.measured,
        "measured, 5 most frequent": data.measured[:5],
        "measured, 20 most frequent": data.measured[:20],
        "measured, 100 most frequent": counted(data.train, 100, 1),
    }
    main = Table(
        f"EWT10 dev, UAS in percent, from rules and {len(data.train):,} tagged sentences, no "
        "trees; the paper reaches 61.3 on WSJ10 with 20 rules"
    )
    for name, rules in sets.items():
        for projective in (True, False):
            began = time.perf_counter()
            parser = ruled(data, rules, projective=projective)
            main.add(
                rules=name,
                trees="projective" if projective else "all",
                UAS=data.uas(parser, "best"),
                UAS_least_risk=data.uas(parser, "risk"),
                seconds=time.perf_counter() - began,
            )
            print(main.rows[-1], flush=True)
    n_draws = 5 if len(data.train) > QUICK else 2
    known = [universal_steps(data), halves_of_text(data, n_draws)]
    return [main, *known, baselines(data), starts(data, sets)]


def universal_steps(data: Data) -> Table:
    """From universal rules, what brings the parser nearer to one that has seen trees."""
    table = Table(
        "EWT10, UAS in percent, projective, universal rules (at least 0.8 of arcs) and what was "
        "tried beside them; the last two columns are the training part, whose trees nobody saw"
    )
    context = {"features": CONTEXT, "n_bits": 18}
    english = data.english
    short = [sentence for sentence in data.train if len(sentence) <= 5]
    start = ruled(data, english, sentences=short, **FIRMLY)
    given: list[tuple[str, Sequence[ArcRule], dict]] = [
        ("pairs as given", data.universal, {}),
        ("the same, weight 10,000", data.universal, FIRMLY),
        ("the same, and features of neighbours", data.universal, {**FIRMLY, **context}),
        ("the same, at least 0.7", shares(data.universal, 0.7), FIRMLY),
        ("the same, with entropy 0.01", data.universal, {**FIRMLY, "entropy_weight": 0.01}),
        ("the same, half the arcs of neighbours", [*data.universal, *NEAR], FIRMLY),
    ]
    steps = [
        (f"{'and ' * (number > 0)}{name}", up_to(english, list(STEPS)[: number + 1]), FIRMLY)
        for number, name in enumerate(STEPS.values())
    ]
    beside: list[tuple[str, Sequence[ArcRule], dict]] = [
        ("all of these, weight 1,000", english, {"rule_weight": 1000.0}),
        ("all of these, weight 100,000", english, {"rule_weight": 1e5}),
        ("all of these, at least 0.7", shares(english, 0.7), FIRMLY),
        ("all of these, features of neighbours", english, {**FIRMLY, **context}),
        ("all of these, from short sentences", english, {**FIRMLY, "warm_start": start}),
        ("all of these, with entropy 0.01", english, {**FIRMLY, "entropy_weight": 0.01}),
        ("all of these, any number of roots", english, {**FIRMLY, "single_root": False}),
        ("all of these, trees of all kinds", english, {**FIRMLY, "projective": False}),
        ("all of these, and compounds, adjectives", parse_arc_rules(compounds(english)), FIRMLY),
        ("an earlier set, written with dev in view", parse_arc_rules(DISTANCES), context),
    ]
    for name, rules, options in [*given, *steps, *beside]:
        parser = ruled(data, rules, **{"projective": True, **options})
        table.add(
            learnt_from=name,
            UAS=data.uas(parser, "best"),
            UAS_least_risk=data.uas(parser, "risk"),
            train_UAS=data.uas(parser, "best", data.train),
            train_least_risk=data.uas(parser, "risk", data.train),
        )
        print(table.rows[-1], flush=True)
    return table


def halves_of_text(data: Data, n_draws: int) -> Table:
    """Whether it depends on the text: half of it, judged on the half that was not there, too."""
    table = Table(
        f"EWT10, UAS in percent, projective, all of these rules and half of the text ({n_draws} "
        "draws), tree of least risk"
    )
    ways = (("pairs as given", data.universal), ("all of these rules", data.english))
    for name, rules in ways:
        found = [_half(data, rules, draw) for draw in range(n_draws)]
        dev, other = zip(*found, strict=True)
        table.add(rules=name, development_part=spread(dev), other_half=spread(other))
        print(table.rows[-1], flush=True)
    return table


def _half(data: Data, rules: Sequence[ArcRule], draw: int) -> tuple[float, float]:
    order = np.random.default_rng(draw).permutation(len(data.train))
    middle = len(order) // 2
    seen, other = ([data.train[i] for i in part] for part in (order[:middle], order[middle:]))
    parser = ruled(data, rules, sentences=seen, projective=True, **FIRMLY)
    return data.uas(parser, "risk"), data.uas(parser, "risk", other)


def step_of(pattern: ArcPattern) -> str:
    """Which of `STEPS` a pattern of the English rules, or its side, belongs to."""
    if pattern.modifier == ANY:
        return "leaves"
    if pattern.head == ROOT:
        return "root"
    return "equals" if pattern.head == pattern.modifier else "sides"


def up_to(rules: Sequence[ArcRule], steps: Sequence[str]) -> list[ArcRule]:
    """The pairs, with the sides that some steps say, and what must not be by these steps."""
    [usual, never] = rules
    pairs = tuple(p if step_of(p) in steps else replace(p, side="any") for p in usual.patterns)
    banned = tuple(p for p in never.patterns if step_of(p) in steps)
    return [replace(usual, patterns=pairs), replace(never, patterns=banned)]


def compounds(rules: Sequence[ArcRule]) -> str:
    """The English rules, and that the last noun of a compound is its head, behind adjectives."""
    text = arc_rules_text(rules)
    for pair in ("ADJ <- NOUN", "NUM <- NOUN", "ADV <- ADJ"):
        text = text.replace(f"    {pair}\n", f"    {pair} right\n")
    return text.replace("NOUN <- NOUN\n", COMPOUNDS)


def shares(rules: Sequence[ArcRule], share: float) -> list[ArcRule]:
    """The same with another share of arcs that obey the first group."""
    return [replace(rules[0], target=share), *rules[1:]]


def baselines(data: Data) -> Table:
    """What the figures are to be compared with."""
    table = Table("EWT10 dev, UAS in percent: what is known without rules, and with all trees")
    first = [([0, *range(1, len(s))], None) for s in data.dev]
    last = [([*range(2, len(s) + 1), 0], None) for s in data.dev]
    for name, trees in (("the word before", first), ("the word after", last)):
        table.add(head=name, UAS=100 * compare_trees(data.dev, trees).uas)
    for name, features in (("tags", TAGS), ("tags and their neighbours", CONTEXT)):
        parser = DependencyParser(
            features=features,
            projective=False,
            optimiser="lbfgs",
            l2=1.0,
            n_bits=18,
            labels=False,
            workers=1,
            progress=False,
            max_iterations=50,
        )
        parser.fit(data.train)
        table.add(head=f"all {len(data.train):,} trees, {name}", UAS=data.uas(parser, "best"))
    print(table, flush=True)
    return table


def starts(data: Data, sets: dict[str, Sequence[ArcRule]]) -> Table:
    """Other features, and other first weights: the loss is not convex."""
    table = Table("EWT10 dev, UAS in percent, projective: features, and first weights")
    n_weights = 0
    ways = [("zero", None, CONTEXT), ("zero", None, TAGS)]
    ways += [(f"random {seed}", seed, TAGS) for seed in (1, 2, 3)]
    for name in list(sets)[::3]:
        for start, seed, features in ways:
            options = {"projective": True, "features": features}
            if seed is not None:
                rng = np.random.default_rng(seed)
                options["warm_start"] = rng.normal(scale=0.5, size=n_weights)
            parser = ruled(data, sets[name], **options)
            n_weights = len(parser.weights_)
            table.add(
                rules=name,
                features="tags" if features == TAGS else "tags and their neighbours",
                start=start,
                loss=parser.training_.loss,
                UAS=data.uas(parser, "best"),
            )
            print(table.rows[-1], flush=True)
    return table


# ---------------------------------------------------------------------- some trees and no more


def few_trees(data: Data, n_draws: int) -> Table:
    """100 trees alone, and with something to learn from the sentences that are left."""
    table = Table(
        f"EWT10 dev, UAS in percent: {N_TREES} trees, and the tags of the other training sentences "
        f"(all trees, features of tags and their neighbours; {n_draws} draws)"
    )
    ways: list[tuple[str, dict]] = [("trees alone", {})]
    ways += [(f"entropy {w}", {"entropy_weight": w}) for w in (0.001, 0.01)]
    ways += [
        (f"Rényi entropy (order 2) {w}", {"entropy_weight": w, "renyi_alpha": 2.0}) for w in (0.01,)
    ]
    ways += [
        (f"expectations of these trees, weight {w:g}", {"rules": None, "rule_weight": w})
        for w in (1.0, 10.0)
    ]
    ways += [
        (name, {"rules": rules, "rule_weight": 100.0})
        for name, rules in (
            ("universal rules", data.universal),
            ("rules for English", data.english),
        )
    ]
    ways += [
        (f"expectations of all trees, weight {w:g}", {"rules": data.measured, "rule_weight": w})
        for w in (100.0, 1000.0)
    ]
    alone = None
    for name, options in ways:
        found = [_few(data, draw, dict(options)) for draw in range(n_draws)]
        alone = found if alone is None else alone
        gains = np.subtract(found, alone)
        table.add(learnt_from=name, UAS=spread(found), gain=spread(gains, "+"))
        print(table.rows[-1], flush=True)
    return table


def _few(data: Data, draw: int, options: dict) -> float:
    order = np.random.default_rng(draw).permutation(len(data.train))
    trees = [data.train[index] for index in sorted(order[:N_TREES])]
    rest = [bare(data.train[index]) for index in sorted(order[N_TREES:])]
    if "rules" in options and options["rules"] is None:
        options["rules"] = counted(trees, None, 3)
    parser = DependencyParser(
        features=CONTEXT,
        projective=False,
        optimiser="lbfgs",
        l2=0.1,
        n_bits=18,
        labels=False,
        workers=1,
        progress=False,
        max_iterations=60,
        **options,
    )
    parser.fit(trees, unlabelled=rest if options else ())
    return data.uas(parser, "best")


def main(quick: bool) -> None:
    """Run everything."""
    tables = [gradient_times(LENGTHS[:3] if quick else LENGTHS)]
    print(tables[0], flush=True)
    data = Data(QUICK if quick else None)
    tables += rules_alone(data)
    tables.append(few_trees(data, 1 if quick else 5))
    for table in tables[1:]:
        print(table, flush=True)
    if not quick:
        print(f"written to {write_json('parser_rules', tables)}")


if __name__ == "__main__":
    show_help(__doc__)
    main("--quick" in sys.argv)
