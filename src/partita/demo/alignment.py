"""An aligner from pairs of sentences alone."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from partita import samples, show
from partita.data.alignments import Alignment
from partita.demo.page import Section, figure, table
from partita.demo.settings import Settings, clock, percent
from partita.estimators.alignment.aligner import Aligner
from partita.estimators.alignment.models import (
    AlignmentModel,
    HiddenMarkovAlignment,
    ItgAlignment,
    Model1,
)
from partita.evaluation.alignments import LinkCounts, link_counts
from partita.samples import AlignedPair

N_GOLD, N_GOLD_QUICK = 60, 10
"""Pairs whose gold alignment the conditional random field sees."""


class Trained(NamedTuple):
    """A model that has learnt, and how well it does."""

    name: str
    aligner: Aligner
    counts: LinkCounts
    seconds: float


def section(settings: Settings) -> Section:
    """Alignment error rates of three models, and one alignment as a grid."""
    train, test = samples.bitext("train"), samples.bitext("dev")
    train = train[: settings.choose(len(train), 100)]
    n_gold = settings.choose(N_GOLD, N_GOLD_QUICK)
    models = list(_trained(settings, train, test, n_gold))
    rows = [
        (name, *map(percent, (found.error_rate, found.precision, found.recall)), f"{seconds:.1f} s")
        for name, _, found, seconds in models
    ]
    aligner = models[-1].aligner
    example = _example(test)
    pair = example.pair
    (links,) = aligner.predict([pair.source], [pair.target])
    (probabilities,) = aligner.predict_marginals([pair.source], [pair.target])
    n_pairs, rates = len(train) + len(test), [row[1] for row in rows]
    return Section(
        name="aligner",
        title="An aligner from pairs of sentences",
        what=(
            "Which words of an English and a German sentence translate each other? From "
            f"{n_pairs} pairs without a single link, first each word alone (Model 1), then with "
            "the order of the words, in both directions, which learn only what both believe; then "
            f"a conditional random field also sees the gold links of {n_gold} pairs. The links of "
            f"the last {len(test)} pairs, which no model sees, are compared with the gold ones."
        ),
        see=(
            f"The alignment error rate is {rates[0]}, {rates[1]} and {rates[2]}. In the grid, the "
            "darker a cell the likelier the link; a disc is a link that was found, a red square "
            "one that is right, dashed where it is only possible."
        ),
        same=(
            "import partita as pt\nfrom partita import samples\n\n"
            "english, german = ([pair[i] for pair, _ in samples.bitext('train')] for i in (0, 1))\n"
            "aligner = pt.Aligner().fit(english, german)\n"
            "links = aligner.predict(english, german)\n"
            "pt.show.alignment(english[0], german[0], links[0])\n\n"
            "partita train aligner train.en train.de -o links.model"
        ),
        blocks=[
            table(("model", "error rate (AER)", "precision", "recall", "training"), rows),
            figure(
                show.alignment(
                    pair.source,
                    pair.target,
                    links,
                    sure=example.alignment.sure,
                    possible=example.alignment.possible,
                    probabilities=probabilities,
                ),
                "English down, German across: the pair whose word order changes most.",
            ),
            table(
                ("English", "German", "probability"),
                [
                    (a, b, f"{p:.3f}")
                    for a, b, p in _some(aligner.best_translations(1), settings.choose(10, 5))
                ],
                "Some translations that it learnt",
            ),
        ],
        headline=(rates[-1], "alignment errors (AER)"),
    )


def _trained(
    settings: Settings, train: Sequence[AlignedPair], test: Sequence[AlignedPair], n_gold: int
) -> Iterator[Trained]:
    """Each model in turn; they see the text that they are to align, but never its links."""
    source, target = (_sides([*train, *test], side) for side in ("source", "target"))
    new, gold = (_sides(test, "source"), _sides(test, "target")), [each.alignment for each in test]
    links: list[Alignment | None] = [each.alignment for each in train[:n_gold]]
    links += [None] * (len(source) - n_gold)
    models: list[tuple[AlignmentModel, str]] = [
        (Model1(), "IBM Model 1"),
        (HiddenMarkovAlignment(), "hidden Markov models that agree"),
        (
            ItgAlignment(max_iterations=settings.choose(4, 1)),
            f"conditional random field, {n_gold} gold alignments",
        ),
    ]
    for model, name in models:
        aligner = Aligner(model=model, seed=settings.seed, progress=False)
        with clock() as seconds:
            aligner.fit(source, target, links if model.learns_from_gold else None)
        counts = link_counts(gold, aligner.predict(*new))
        settings.say(
            f"An aligner ({name}) from {len(source)} pairs errs in {percent(counts.error_rate)} "
            f"({seconds():.1f} s)."
        )
        yield Trained(name, aligner, counts, seconds())


def _sides(pairs: Sequence[AlignedPair], side: str) -> list[tuple[str, ...]]:
    return [getattr(each.pair, side) for each in pairs]


def _example(test: Sequence[AlignedPair]) -> AlignedPair:
    """The pair, not too long, with the most crossings of sure links."""

    def crossings(each: AlignedPair) -> int:
        links = each.alignment.sure
        return sum(a < c and b > d for a, b in links for c, d in links)

    return max((each for each in test if len(each.pair.target) <= 16), key=crossings)


def _some(pairs: Sequence[tuple[str, str, float]], n: int) -> list[tuple[str, str, float]]:
    """Pairs of words from all over the vocabulary, no names or punctuation."""
    words = [pair for pair in pairs if pair[0].isalpha() and pair[0] != pair[1]]
    return words[:: max(1, len(words) // n)][:n]
