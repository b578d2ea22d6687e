"""What tasks have in common: a word has slots, a slot has choices; a model ranks what to ask."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from partita.arrays import BoolArray, FloatArray
from partita.data.formats import Format
from partita.data.sentences import Sentence
from partita.distribution.base import Distribution
from partita.label.effort import Effort
from partita.label.ledger import KnownLabels, Label, Place
from partita.label.merging import Merged

Chosen = Mapping[tuple[int, str], str]
"""What a person has chosen so far: by word and kind of slot, the value of the choice."""


class Possibility(NamedTuple):
    """One choice for a slot."""

    value: str
    text: str
    """What the page shows."""
    probability: float


class LabelSlot(NamedTuple):
    """Something to be said of one word: its tag, its head, or its relation to its head."""

    word: int
    kind: str
    options: list[Possibility]
    """The likeliest first."""
    proposed: str
    """What is shown until a person chooses, and what Enter accepts."""


class Span(NamedTuple):
    """Words of a sentence, `first` to `last`, both included; what to ask for next."""

    sentence: int
    first: int
    last: int
    entropy: float = 0.0
    """Of what is not known of them, in nats; exactly, of the spans that are asked for next."""
    seconds: float = 1.0
    """What an answer is expected to take."""

    @property
    def value(self) -> float:
        """Nats for a second of work."""
        return self.entropy / self.seconds


class Guess(NamedTuple):
    """What a model thinks of one word: the likeliest label, and the probability of any."""

    label: Label
    probability: float
    of_answer: float


@dataclass(frozen=True)
class Survey:
    """What a model knows of the whole corpus, given all that is known."""

    spans: list[Span]
    """The most uncertain span of each sentence, most nats for a second first."""
    entropy: float
    """Of all labels that are not known, in nats; of trees, of their heads one by one."""
    sure: float
    """Words expected to be right if the model labelled all that is not known."""
    n_words: int
    is_informed: bool = True
    """Whether the model knows anything that the words do not say."""

    @property
    def expected_accuracy(self) -> float:
        """The share of words expected to be right; 1 for those that are known."""
        return self.sure / max(self.n_words, 1)


@dataclass(frozen=True)
class View:
    """A question about one sentence, under what was chosen so far."""

    slots: list[LabelSlot]
    drawing: str
    """A picture as SVG."""
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    """Where labels spell out spans: type, first and last word."""


class LabelLearner(Protocol):
    """A model of all sentences, those that judge it behind those that are labelled."""

    def learn(self, known: KnownLabels, start: Any = None) -> Any:
        """Weights: the marginal likelihood of what is known, a few iterations from the last."""

    def distributions(
        self, model: Any, order: Sequence[int], known: Sequence[Any] | None
    ) -> Iterator[tuple[Any, range]]:
        """Distributions over the labels of sentences, given what is known; a batch at a time."""


class Task(ABC):
    """Sentences to label, and a model of them that learns from part of the labels."""

    sentences: Sequence[Sentence]
    given: KnownLabels
    """What came with the sentences."""
    _learner: LabelLearner
    _latest: tuple[Any, list[tuple[Any, range]]] = None, []

    def learn(self, known: KnownLabels, start: Any = None) -> Any:
        """A model from what is known, from `start` on where there was one; takes seconds."""
        return self._learner.learn(known, start)

    def _everything(self, model: Any) -> list[tuple[Any, range]]:
        """The distributions of all sentences, nothing known; kept, since a round asks twice."""
        last, found = self._latest
        if last is not model:
            found = list(self._learner.distributions(model, range(len(self.sentences)), None))
            self._latest = model, found
        return found

    def _one(self, model: Any, sentence: int, labels: Sequence[Any]) -> Any:
        """The distribution over the labels of a sentence, given some; an error if there is none."""
        ((p, _),) = self._learner.distributions(model, [sentence], [labels])
        if is_empty(p):
            raise ValueError(f"{self.impossible(labels)}. Change one of them.")
        return p

    @abstractmethod
    def impossible(self, labels: Sequence[Any]) -> str:
        """What a person is told of labels that cannot be together: a clause."""

    @abstractmethod
    def survey(self, model: Any, known: KnownLabels, closed: set[Place], effort: Effort) -> Survey:
        """What is most worth asking, words that are `closed` apart; O(words) inferences."""

    @abstractmethod
    def view(self, model: Any, span: Span, labels: Sequence[Label | None], chosen: Chosen) -> View:
        """The slots of a span, given the labels of the sentence and what was chosen so far."""

    @abstractmethod
    def read(self, n_words: int, values: Chosen) -> dict[int, Label]:
        """Labels of words, from the values of their slots; what cannot be is a ValueError."""

    @abstractmethod
    def guesses(
        self, model: Any, sentence: int, labels: Sequence[Label | None], answers: dict[int, Label]
    ) -> dict[int, Guess]:
        """What the model thinks of words, given the other labels, and of some answers to them.

        An answer that cannot be beside the labels is a ValueError.
        """

    @abstractmethod
    def doubts(self, model: Any, known: KnownLabels) -> dict[Place, Guess]:
        """Of each known label, what the model thinks of the word by itself."""

    @abstractmethod
    def written(self, known: KnownLabels) -> tuple[list[Sentence], Format]:
        """The sentences with all that is known, as `train` reads them."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What the journal must be about, and what the page says of the task."""

    @abstractmethod
    def held_out(self, model: Any) -> float | None:
        """The share of right labels in held-out sentences; None if there are none."""

    def labels_of(self, sentences: Sequence[Sentence]) -> KnownLabels:
        """The labels that sentences bring, checked."""
        return [self.labels_in(sentence) for sentence in sentences]

    @abstractmethod
    def labels_in(self, sentence: Sentence) -> list[Label | None]:
        """The labels that a sentence brings, checked."""

    def possible_together(
        self, found: Merged, ours: KnownLabels, theirs: KnownLabels, name: str
    ) -> Merged:
        """What two annotators say together, where it can be.

        Two trees in part may each be fine, and together a cycle; then what only the second one
        says is disputed, too.
        """
        model, known, said = self.learn([[None] * len(each) for each in ours]), [], {**found.said}
        for number, labels in enumerate(found.known):
            answers = {word: each for word, each in enumerate(labels) if each is not None}
            try:
                self.guesses(model, number, [None] * len(labels), answers)
            except ValueError:
                for word in answers:
                    label = theirs[number][word]
                    if ours[number][word] is None and label is not None:
                        said[number, word] = {name: label}
                labels = [
                    None if (number, word) in said else label for word, label in enumerate(labels)
                ]
            known.append(labels)
        return found._replace(known=known, said=said)

    @abstractmethod
    def values(self, label: Label) -> dict[str, str]:
        """A label as the values of its slots, by kind."""

    @abstractmethod
    def text(self, sentence: int, label: Label) -> str:
        """A label as people read it."""

    def words(self, sentence: int) -> list[str]:
        """The words of a sentence."""
        found = self.sentences[sentence]
        return list(found.column("FORM" if "FORM" in found.names else found.names[0]))


def is_empty(p: Distribution) -> bool:
    """Whether a distribution over one sentence has no structure."""
    return bool(p.structures.infer(p.scores).log_partition[0] == -np.inf)


def ranked(options: Sequence[tuple[str, str, float]], most: int | None = None) -> list[Possibility]:
    """Options, the likeliest first.

    >>> [option.value for option in ranked([("a", "a", 0.2), ("b", "b", 0.8)])]
    ['b', 'a']
    """
    return [Possibility(*each) for each in sorted(options, key=lambda each: -each[2])][:most]


def best_span(
    sentence: int,
    entropies: Sequence[FloatArray],
    is_open: BoolArray,
    effort: Effort,
    interest: FloatArray | None = None,
) -> tuple[float, Span] | None:
    """The span with the most nats for a second, and these; None if no word is open.

    `entropies[k - 1]` has the entropy of every span of k words; spans begin and end with a word
    that is open, since others need no answer. With `interest`, a number for each word, nats count
    as much as the words of the span interest on average.
    """
    n, best = len(is_open), None
    counts = np.concatenate([[0], np.cumsum(is_open)])
    sums = np.concatenate([[0.0], np.cumsum(np.ones(n) if interest is None else interest)])
    for length, values in enumerate(entropies, start=1):
        first = np.arange(n - length + 1)
        fits = is_open[first] & is_open[first + length - 1]
        if not fits.any():
            continue
        asked = counts[first + length] - counts[first]
        seconds = effort.seconds(asked, n)
        share = (sums[first + length] - sums[first]) / length
        worth = np.where(fits, share * values / seconds, -np.inf)
        place = int(worth.argmax())
        if best is None or worth[place] > best[0]:
            numbers = float(values[place]), float(seconds[place])
            best = float(worth[place]), Span(sentence, place, place + length - 1, *numbers)
    return best
