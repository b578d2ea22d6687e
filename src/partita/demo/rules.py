"""A parser from rules alone: no tree is ever seen in training."""

from collections.abc import Sequence

import numpy as np

from partita import samples, show
from partita.data.arc_rules import read_arc_rules
from partita.data.dependencies import tree_heads
from partita.data.sentences import Sentence
from partita.demo.page import Html, Section, figure, table
from partita.demo.parsing import drawn
from partita.demo.settings import Settings, clock, percent
from partita.estimators.parsing.parser import DependencyParser
from partita.evaluation.trees import compare_trees

N_BITS = 14


def section(settings: Settings) -> Section:
    """Generalized expectation on trees: rules that most arcs should obey."""
    train, test = samples.treebank("train"), samples.treebank("dev")
    # The heads are taken away, so that nothing can be learnt from them by mistake.
    bare = [sentence.replaced("HEAD", ["_"] * len(sentence)) for sentence in train]
    rules = read_arc_rules(samples.path("arc-rules.txt"))
    n_patterns = sum(len(rule.patterns) for rule in rules)
    with clock() as seconds:
        parser = DependencyParser(
            projective=True,
            rules=rules,
            optimiser="lbfgs",
            max_iterations=settings.choose(40, 8),
            n_bits=N_BITS,
            labels=False,
            min_count=1,
            l2=1.0,
            seed=settings.seed,
            progress=False,
        ).fit(bare)
    found = parser.predict(test)
    scores = compare_trees(test, found)
    settings.say(
        f"A parser from {n_patterns} rules and no tree at all finds {percent(scores.uas)} of the "
        f"heads ({seconds():.1f} s)."
    )
    rows = _of_neighbours(test)
    rows.append((f"{n_patterns} rules, no trees", percent(scores.uas)))
    short = [index for index, sentence in enumerate(test) if 8 <= len(sentence) <= 12]
    example = drawn(parser, test[short[0]])
    gold = tree_heads(example.sentence)
    n_right = sum(a == b for a, b in zip(gold, example.heads, strict=True))
    return Section(
        name="rules",
        title="A parser from rules alone",
        what=(
            f"The same {len(train)} sentences without their trees, and {n_patterns} rules that "
            "anybody could write down, such as: a determiner hangs on a noun to its right. "
            "Training asks that a given share of all arcs, in expectation, obeys one of them; the "
            "gradient is one covariance product per sentence, however many rules there are."
        ),
        see=(
            f"Without a single tree the parser finds {percent(scores.uas)} of the heads, where "
            "hanging every word on its neighbour finds "
            f"{rows[0][1]} or {rows[1][1]}. Of a tree it is not sure: the entropy is "
            f"{float(np.mean(parser.entropy(test))):.1f} nats on average."
        ),
        same=(
            "import partita as pt\nfrom partita.data import read_conllu\n"
            "from partita.data.arc_rules import read_arc_rules\n\n"
            "sentences = read_conllu('unlabelled.conllu')\n"
            "rules = read_arc_rules('arc-rules.txt')\n"
            "parser = pt.DependencyParser(rules=rules, optimiser='lbfgs', labels=False)\n"
            "parser.fit([], unlabelled=sentences).predict(sentences[:3])\n\n"
            "partita train parser unlabelled.conllu --rules arc-rules.txt \\\n"
            "    --optimiser lbfgs --no-labels -o rules.model"
        ),
        blocks=[
            table(("learnt from", "right heads (UAS)"), rows),
            figure(
                show.tree(
                    example.words,
                    example.heads,
                    probabilities=example.marginals,
                    tags=example.sentence.column("UPOS"),
                ),
                f"A new sentence by rules alone: {n_right} of {len(gold)} heads are right.",
            ),
            Html(f'<pre tabindex="0"><code>{_rules_text()}</code></pre>'),
        ],
        headline=(percent(scores.uas), "right heads from no trees"),
    )


def _of_neighbours(test: Sequence[Sentence]) -> list[tuple[str, str]]:
    """How many heads are right where every word hangs on a neighbour."""
    chains = {
        "the word before": [(np.arange(len(sentence)), None) for sentence in test],
        "the word after": [
            (np.append(np.arange(2, len(sentence) + 1), 0), None) for sentence in test
        ],
    }
    return [
        ("every word hangs on " + name, percent(compare_trees(test, trees).uas))
        for name, trees in chains.items()
    ]


def _rules_text() -> str:
    return samples.path("arc-rules.txt").read_text(encoding="utf-8").replace("<", "&lt;").strip()
