"""Taggers from few labels, from unlabelled text beside them, and from expectations alone."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from partita import samples, show
from partita.data.constraints import ExpectationConstraint
from partita.demo.page import Html, Section, figure, paragraph, table
from partita.demo.settings import Settings, clock, percent
from partita.estimators.tagging.tagger import Tagger

COLUMN = "UPOS"
FEW = 40
"""Labelled sentences of the taggers that the later sections look at."""
L2, ENTROPY = 0.1, 0.1
EXPECTATION_FEATURES = (
    "FORM[0].lower\nFORM[0].lower.suffix3\nFORM[0].lower.suffix2\nFORM[0].capital\ntransition:"
)

Words = Sequence[str]
Curve = list[tuple[int, float]]
"""Accuracy for each number of labelled sentences."""


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences and their tags."""

    words: Sequence[Words]
    tags: Sequence[Words]

    def __len__(self) -> int:
        return len(self.words)


def tagged(part: samples.Part) -> TaggedSentences:
    """The words and tags of the sample treebank."""
    sentences = samples.treebank(part)
    return TaggedSentences(
        [sentence.column("FORM") for sentence in sentences],
        [sentence.column(COLUMN) for sentence in sentences],
    )


@lru_cache(maxsize=4)
def few_labels_tagger(n_labelled: int, seed: int) -> Tagger:
    """A tagger from the first sentences of the treebank, which several sections look at."""
    train = tagged("train")
    tagger = Tagger(l2=L2, seed=seed, progress=False)
    return tagger.fit(train.words[:n_labelled], train.tags[:n_labelled])


def section(settings: Settings) -> Section:
    """Learning curves with and without unlabelled text, and a tagger that saw no label."""
    train, test = tagged("train"), tagged("dev")
    sizes = (FEW, 80) if settings.quick else (20, FEW, 80, 160)
    few, more = _curves(settings, train, test, sizes)
    everything = None
    if not settings.quick:
        tagger = few_labels_tagger(len(train), settings.seed)
        everything = tagger.score(test.words, test.tags)
        settings.say(f"With all {len(train)} sentences labelled it is {percent(everything)}.")
    constraints = expectations(train, settings.choose(100, 30), settings.choose(30, 10))
    expecting = _expecting_tagger(settings, train, test, constraints)
    from_expectations = expecting.score(test.words, test.tags)
    gain = more[-1][1] - few[-1][1]
    return Section(
        name="tagger",
        title="A tagger from few labels, and from none",
        what=(
            f"A linear-chain CRF learns {len(expecting.tags_)} parts of speech. First from a few "
            f"labelled sentences; then the rest of the {len(train)} joins in without labels, and "
            "the training also lowers the entropy of its tags while their shares stay as labelled; "
            "last, no sentence is labelled at all, and the tagger only knows which tags "
            f"{len(constraints)} frequent words and word endings have on average (counted in the "
            "treebank here; a dictionary or a person would tell them elsewhere). Accuracies are of "
            f" {sum(map(len, test.words)):,} words in {len(test)} other sentences."
        ),
        see=(
            f"Unlabelled text changes the accuracy of {sizes[-1]} labelled sentences by "
            f"{100 * gain:+.1f} points (too little data is a weak guide: with fewer labels it may "
            f"hurt), and expectations without a single label reach {percent(from_expectations)}."
        ),
        same=SAME,
        blocks=[
            _learning_curves(few, more, from_expectations),
            _accuracies(few, more, everything),
            paragraph(
                "Probabilities of every tag, in a new sentence, of the tagger with the "
                f"fewest labels ({sizes[0]} sentences):"
            ),
            _trellis(few_labels_tagger(sizes[0], settings.seed), test),
        ],
        headline=(percent(more[-1][1]), f"right from {sizes[-1]} labelled sentences"),
    )


SAME = """\
tagger = pt.Tagger(l2=0.1, entropy_weight=0.1)
tagger.fit(sentences, tags, unlabelled=more_sentences)
tagger.score(test_sentences, test_tags)

partita train tagger few.conllu --unlabelled rest.conllu \\
    --entropy-weight 0.1 -o pos.model"""


def expectations(
    train: TaggedSentences, n_words: int, n_endings: int
) -> list[ExpectationConstraint]:
    """The share of each tag among frequent words and endings, as a dictionary would tell it."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in zip(train.words, train.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts[f"w={word.lower()}"][tag] += 1
            if len(word) > 4:
                counts[f"FORM[0].lower.suffix3={word.lower()[-3:]}"][tag] += 1
    frequent = sorted(counts, key=lambda name: (-counts[name].total(), name))
    chosen = [name for name in frequent if name.startswith("w=")][:n_words]
    chosen += [name for name in frequent if not name.startswith("w=")][:n_endings]
    return [
        ExpectationConstraint(
            name, {tag: n / counts[name].total() for tag, n in counts[name].items()}
        )
        for name in chosen
    ]


def _curves(
    settings: Settings, train: TaggedSentences, test: TaggedSentences, sizes: Sequence[int]
) -> tuple[Curve, Curve]:
    """Accuracies without and with unlabelled text."""
    few: Curve = []
    more: Curve = []
    for n in sizes:
        with clock() as seconds:
            alone = few_labels_tagger(n, settings.seed)
            helped = Tagger(
                l2=L2,
                entropy_weight=ENTROPY,
                max_iterations=settings.choose(60, 10),
                seed=settings.seed,
                progress=False,
            ).fit(train.words[:n], train.tags[:n], unlabelled=train.words[n:])
        few.append((n, alone.score(test.words, test.tags)))
        more.append((n, helped.score(test.words, test.tags)))
        settings.say(
            f"A tagger from {n} labelled sentences gets {percent(few[-1][1])} right, with "
            f"unlabelled text {percent(more[-1][1])} ({seconds():.1f} s)."
        )
    return few, more


def _expecting_tagger(
    settings: Settings,
    train: TaggedSentences,
    test: TaggedSentences,
    constraints: Sequence[ExpectationConstraint],
) -> Tagger:
    """A tagger that sees no tag of any sentence."""
    with clock() as seconds:
        tagger = Tagger(
            features=EXPECTATION_FEATURES,
            constraints=constraints,
            l2=1.0,
            max_iterations=settings.choose(80, 15),
            seed=settings.seed,
            progress=False,
        ).fit(train.words)
    settings.say(
        f"A tagger that saw no label, only {len(constraints)} expectations, gets "
        f"{percent(tagger.score(test.words, test.tags))} right ({seconds():.1f} s)."
    )
    return tagger


def _learning_curves(few: Curve, more: Curve, from_expectations: float) -> Html:
    curves = {
        "labels alone": few,
        "and unlabelled text": more,
        "expectations, no labels": [(0, from_expectations), (few[-1][0], from_expectations)],
    }
    curves = {name: [(n, 100 * share) for n, share in curve] for name, curve in curves.items()}
    return figure(
        show.curves(
            curves,
            x_label="labelled sentences",
            y_label="accuracy on new sentences, %",
            title="Learning curves of the tagger",
        ),
        "Accuracy against the number of labelled sentences.",
    )


def _accuracies(few: Curve, more: Curve, everything: float | None) -> Html:
    rows = [
        (f"{n} sentences with labels", percent(alone), percent(helped))
        for (n, alone), (_, helped) in zip(few, more, strict=True)
    ]
    if everything is not None:
        rows.append(("all sentences with labels", percent(everything), "–"))
    return table(("learnt from", "labels alone", "and unlabelled text"), rows)


def _trellis(tagger: Tagger, test: TaggedSentences) -> Html:
    """The most uncertain sentence of middle length."""
    of_length = [words for words in test.words if 7 <= len(words) <= 11]
    words = max(of_length, key=lambda words: float(tagger.entropy([words])[0]))
    p = tagger.distribution(words)
    marginals = p.by_position.marginals
    entropy = f"{p.entropy:.2f}"
    return figure(
        show.trellis(words, tagger.tags_, marginals.unary, transitions=marginals.pairwise),
        f"The area of a disc is the probability of the tag, the width of a line that of the two "
        f"tags it joins. The whole sequence has an entropy of {entropy} nats.",
    )
