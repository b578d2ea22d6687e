"""A parser from trees."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partita import samples, show
from partita.arrays import FloatArray
from partita.data.dependencies import relations, tree_heads
from partita.data.sentences import Sentence
from partita.demo.page import Html, Section, figure, paragraph, table
from partita.demo.settings import Settings, clock, percent
from partita.estimators.parsing.parser import DependencyParser
from partita.evaluation.trees import compare_trees
from partita.structures.tree_tools import is_projective

N_BITS = 18


class Drawn(NamedTuple):
    """A sentence to draw, with what the parser thinks of it."""

    sentence: Sentence
    heads: Sequence[int]
    labels: Sequence[str] | None
    marginals: FloatArray

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""
        return self.sentence.column("FORM")


def section(settings: Settings) -> Section:
    """Learning curve, attachment scores, and two trees with the probabilities of their arcs."""
    train, test = samples.treebank("train"), samples.treebank("dev")
    curve = []
    for n in (50, 100) if settings.quick else (25, 75, len(train)):
        with clock() as seconds:
            parser = DependencyParser(
                projective=False,
                n_bits=N_BITS,
                label_bits=12,
                min_count=1,
                max_iterations=settings.choose(15, 4),
                seed=settings.seed,
                progress=False,
            ).fit(train[:n])
            scores = compare_trees(test, parser.predict(test))
        curve.append((n, scores.uas, scores.las))
        settings.say(
            f"A parser from {n} trees finds the right head of {percent(scores.uas)} of the words "
            f"({seconds():.1f} s)."
        )
    crossing, uncertain = _examples(parser, test)
    n_crossing = sum(not is_projective(np.array(tree_heads(sentence))) for sentence in test)
    rows = [(f"{n} trees", percent(uas), percent(las)) for n, uas, las in curve]
    entropies = parser.entropy(test)
    return Section(
        name="parser",
        title="A parser from trees",
        what=(
            f"A conditional random field over all spanning trees learns from {curve[-1][0]} "
            f"sentences of the sample treebank and parses {len(test)} others, {n_crossing} of "
            "which have crossing arcs. The matrix-tree theorem gives the probability of every arc "
            "exactly."
        ),
        see=(
            "Thick arcs are certain, thin ones are not, and what else might have been is drawn "
            "faintly below the words. The entropy of a tree is "
            f"{float(np.mean(entropies)):.2f} nats on average, {float(np.max(entropies)):.2f} at "
            "most."
        ),
        same=(
            "import partita as pt\nfrom partita.data import read_conllu\n\n"
            "sentences = read_conllu('test.conllu')\n"
            "parser = pt.DependencyParser(projective=False).fit(read_conllu('train.conllu'))\n"
            "heads, labels = parser.predict(sentences)[0]\n"
            "words = sentences[0].column('FORM')\n"
            "pt.show.tree(words, heads, probabilities=parser.predict_marginals(sentences)[0])\n\n"
            "partita train parser train.conllu -o trees.model"
        ),
        blocks=[
            figure(
                show.curves(
                    {
                        "right heads (UAS)": [(n, 100 * uas) for n, uas, _ in curve],
                        "and relations (LAS)": [(n, 100 * las) for n, _, las in curve],
                    },
                    x_label="trees to learn from",
                    y_label="words in new sentences, %",
                    title="Learning curve of the parser",
                ),
                "Attachment scores against the number of trees.",
            ),
            table(("learnt from", "right heads (UAS)", "and relations (LAS)"), rows),
            _tree(crossing, "A sentence with crossing arcs"),
            _tree(uncertain, "The most uncertain of the shorter sentences"),
            paragraph("The same sentence as a table of all arcs: heads down, modifiers across."),
            figure(
                show.arcs(uncertain.words, uncertain.marginals, heads=uncertain.heads),
                "Each column sums to 1; the squares are the tree above.",
            ),
        ],
        headline=(percent(curve[-1][1]), f"right heads from {curve[-1][0]} trees"),
    )


def drawn(parser: DependencyParser, sentence: Sentence) -> Drawn:
    """The best tree of a sentence, and the probabilities of all arcs."""
    ((heads, labels),) = parser.predict([sentence])
    (marginals,) = parser.predict_marginals([sentence])
    return Drawn(sentence, [int(head) for head in heads], labels, marginals)


def _examples(parser: DependencyParser, test: Sequence[Sentence]) -> tuple[Drawn, Drawn]:
    """A sentence with crossing arcs (right, if one is), and the most uncertain short one."""
    short = [sentence for sentence in test if 7 <= len(sentence) <= 12]
    crossing = [
        sentence
        for sentence in test
        if len(sentence) <= 14 and not is_projective(np.array(tree_heads(sentence)))
    ]
    pictures = [drawn(parser, sentence) for sentence in crossing or short[:1]]
    right = [picture for picture in pictures if list(tree_heads(picture.sentence)) == picture.heads]
    entropies = parser.entropy(short)
    return (right or pictures)[0], drawn(parser, short[int(np.argmax(entropies))])


def _tree(picture: Drawn, what: str) -> Html:
    gold = tree_heads(picture.sentence)
    n_right = sum(a == b for a, b in zip(gold, picture.heads, strict=True))
    labels = picture.labels or relations(picture.sentence)
    return figure(
        show.tree(
            picture.words,
            picture.heads,
            labels=labels,
            probabilities=picture.marginals,
            tags=picture.sentence.column("UPOS"),
        ),
        f"{what}: {n_right} of {len(gold)} heads are right.",
    )
