"""An aligner from pairs of sentences alone."""

from collections.abc import Sequence
from typing import Literal

from partita import samples, show
from partita.demo.page import Section, figure, table
from partita.demo.settings import Settings, clock, percent
from partita.estimators.alignment.aligner import Aligner
from partita.evaluation.alignments import link_counts
from partita.samples import AlignedPair

MODELS: dict[Literal["model1", "hmm"], str] = {
    "model1": "IBM Model 1",
    "hmm": "hidden Markov models that agree",
}


def section(settings: Settings) -> Section:
    """Alignment error rates of two models, and one alignment as a grid."""
    train, test = samples.bitext("train"), samples.bitext("dev")
    # An aligner may see the text it is to align: it never sees the links.
    source, target = (_sides(train + test, side) for side in ("source", "target"))
    new = _sides(test, "source"), _sides(test, "target")
    gold = [each.alignment for each in test]
    rows, counts = [], None
    for model, name in MODELS.items():
        with clock() as seconds:
            aligner = Aligner(model, seed=settings.seed, progress=False).fit(source, target)
        counts = link_counts(gold, aligner.predict(*new))
        rows.append(
            (
                name,
                percent(counts.error_rate),
                percent(counts.precision),
                percent(counts.recall),
                f"{seconds():.1f} s",
            )
        )
        settings.say(
            f"An aligner by {name}, from {len(source)} pairs without a link, errs in "
            f"{percent(counts.error_rate)} ({seconds():.1f} s)."
        )
    example = _example(test)
    pair = example.pair
    (links,) = aligner.predict([pair.source], [pair.target])
    (probabilities,) = aligner.predict_marginals([pair.source], [pair.target])
    error = rows[-1][1]
    return Section(
        name="aligner",
        title="An aligner from pairs of sentences",
        what=(
            "Which words of an English and a German sentence translate each other? From "
            f"{len(source)} pairs without a single link, first each word alone (Model 1), then "
            "with the order of the words, in both directions, which learn only what both believe. "
            f"The links of {len(test)} pairs are compared with the gold alignment."
        ),
        see=(
            f"The alignment error rate falls from {rows[0][1]} to {error}. In the grid the darker "
            "a cell the likelier the link; a disc is a link that was found, a red square one that "
            "is right, dashed where it is only possible."
        ),
        same=(
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
        headline=(error, "alignment errors (AER)"),
    )


def _sides(pairs: Sequence[AlignedPair], side: str) -> list[tuple[str, ...]]:
    return [getattr(each.pair, side) for each in pairs]


def _example(test: Sequence[AlignedPair]) -> AlignedPair:
    """The pair, not too long, with the most crossings of sure links."""

    def crossings(each: AlignedPair) -> int:
        links = each.alignment.sure
        return sum(a < c and b > d for a, b in links for c, d in links)

    return max((each for each in test if len(each.pair.target) <= 16), key=crossings)


def _some(pairs: Sequence[tuple[str, str, float]], n: int) -> list[tuple[str, str, float]]:
    """Pairs of words from all over the vocabulary, real words only."""
    words = [pair for pair in pairs if pair[0].isalpha() and pair[1].isalpha()]
    return words[:: max(1, len(words) // n)][:n]
