"""What all that tags words can be asked: tags, probabilities, entropies."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray
from partita.data.schemes import UNKNOWN
from partita.estimators.answers import (
    LISTED,
    Asked,
    AtOnce,
    Finish,
    Turn,
    ask,
    drawn,
    listed_answers,
)
from partita.estimators.base import Estimator
from partita.estimators.groups import Runs
from partita.estimators.options import declared, option
from partita.estimators.tagging.material import TagModel
from partita.estimators.tagging.tags import Tags, checked_tags, tags_of
from partita.evaluation.tags import accuracy
from partita.text.sentences import listed, where

Answer = TypeVar("Answer")
Decoder = Literal["best", "risk"]


class TagMarginals(list[FloatArray]):
    """For each sentence the probability of every tag at every word, (n, s); and the tags' names.

    >>> marginals = TagMarginals([np.array([[0.25, 0.75]])], ("DET", "NOUN"))
    >>> marginals[0], marginals.named()
    (array([[0.25, 0.75]]), [[{'DET': 0.25, 'NOUN': 0.75}]])
    """

    def __init__(self, arrays: Iterable[FloatArray], names: tuple[str, ...]) -> None:
        super().__init__(arrays)
        self.names = names

    def named(self) -> list[list[dict[str, float]]]:
        """A dictionary for each word."""
        return [[dict(zip(self.names, row, strict=True)) for row in each.tolist()] for each in self]


@declared
class TagEstimator(Estimator, Runs):
    """A distribution over the tags of every sentence: all questions, whatever spells the tags."""

    tag_column: str | None = option(
        None, "the column of the tags, of `Sentence` objects that come without tags", is_flag=False
    )

    @abstractmethod
    def _model(self) -> TagModel:
        """All but the weights."""

    @abstractmethod
    def _weights(self) -> FloatArray:
        """The weights."""

    @abstractmethod
    def _named(self, structure: Any) -> list[str]:
        """The tags of a structure."""

    @abstractmethod
    def _all_named(self, structures: Sequence[Any]) -> list[list[str]]:
        """The tags of many structures."""

    @abstractmethod
    def _best_at_once(self, sentences: Sequence[Any], turn: Turn) -> Finish[list[str]] | None:
        """The most probable tags of sentences, none of which is empty, where there is a way."""

    @abstractmethod
    def _marginals(self, p: Any) -> Iterable[FloatArray]:
        """The probability of every tag at every word of each sentence, (n, s)."""

    @abstractmethod
    def _allowing(self, tags: Sequence[Any], place: str) -> BoolArray:
        """What each word may be, a row each, by known tags, sets of tags and `?`."""

    @abstractmethod
    def _restricted(self, asked: Asked, allowed: Sequence[BoolArray]) -> Any:
        """The distribution over what `_allowing` allows; `allowed` by number of sentence."""

    def _why_impossible(self) -> str | None:
        """Why a sentence may have no possible tags at all; None where that cannot be."""
        return None

    @property
    def tags_(self) -> tuple[str, ...]:
        """The tags, in the order of all arrays."""
        self._check_fitted()
        return self._model().tags.names

    @property
    def classes_(self) -> Array:
        """The tags, under scikit-learn's name."""
        return np.array(self.tags_)

    # ------------------------------------------------------------------ tags

    def predict(
        self, sentences: Iterable[Any], *, fixed: Tags | None = None, decoder: Decoder = "best"
    ) -> list[list[str]]:
        """Tags for every sentence.

        `fixed` has tags that must be kept (or sets of tags to choose from), and `?` elsewhere. The
        decoder is "best", the most probable sequence, or "risk", the one with the fewest wrong
        tags to be expected.
        """
        answers = self.predict_stream(sentences, fixed=fixed, decoder=decoder, chunk=LISTED)
        return listed_answers(sentences, answers)

    def predict_stream(
        self,
        sentences: Iterable[Any],
        *,
        fixed: Tags | None = None,
        decoder: Decoder = "best",
        chunk: int = 1000,
    ) -> Iterator[list[str]]:
        """As `predict`, one answer after the other; reads `chunk` sentences at a time."""
        if decoder not in ("best", "risk"):
            raise ValueError(f"decoder is {decoder!r}; expected 'best' or 'risk'.")
        named = self._all_named

        def question(asked: Asked) -> list[list[str]]:
            p = asked.p
            return named(p.best.structures if decoder == "best" else least_risk(p))

        at_once = self._best_at_once if decoder == "best" else None
        return self._ask(sentences, question, list, fixed, at_once=at_once, chunk=chunk)

    def k_best(self, sentences: Iterable[Any], k: int) -> list[list[tuple[list[str], float]]]:
        """The k most probable sequences of each sentence with their log-probabilities."""
        named = self._named

        def question(asked: Asked) -> Iterator[list[tuple[list[str], float]]]:
            for found, total in zip(asked.p.k_best(k), asked.p.log_partition, strict=True):
                yield [(named(tags), float(score - total)) for tags, score in found]

        return list(self._ask(sentences, question, lambda: [([], 0.0)]))

    def sample(
        self,
        sentences: Iterable[Any],
        size: int,
        rng: np.random.Generator,
        *,
        replace: bool = True,
    ) -> list[list[list[str]]]:
        """`size` independent sequences of tags of each sentence, drawn exactly.

        With `replace=False` no two are the same: each is drawn from those that are left, and there
        are fewer where there are fewer in all.
        """
        named = self._named

        def question(asked: Asked) -> Iterator[list[list[str]]]:
            return ([named(tags) for tags in found] for found in drawn(asked.p, size, rng, replace))

        def empty() -> list[list[str]]:
            return [[] for _ in range(size if replace else min(size, 1))]

        # One thread, so that the same generator gives the same tags.
        return list(self._ask(sentences, question, empty, workers=1))

    def score(
        self,
        sentences: Iterable[Any],
        tags: Tags | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> float:
        """The share of words whose tag is right, of those whose tag is known.

        With `sample_weight`, a number for each sentence, each word counts so much.
        """
        sentences = listed(sentences)
        wanted = [
            [tag if isinstance(tag, str) else UNKNOWN for tag in row]
            for row in self._tags_to_compare(sentences, tags)
        ]
        found = self.predict(sentences)
        if not any(tag != UNKNOWN for row in wanted for tag in row):
            raise ValueError("no word has a known tag to compare with; expected at least one.")
        return accuracy(wanted, found, sample_weight)

    # ------------------------------------------------------------------ probabilities

    def predict_marginals(self, sentences: Iterable[Any]) -> TagMarginals:
        """The probability of every tag at every word: for each sentence an array (n, s).

        The columns are in the order of `tags_`; `.named()` gives dictionaries.
        """
        n_tags = len(self.tags_)
        found = self._ask(
            sentences, lambda asked: self._marginals(asked.p), lambda: np.zeros((0, n_tags))
        )
        return TagMarginals(found, self.tags_)

    def log_prob(self, sentences: Iterable[Any], tags: Tags | None = None) -> FloatArray:
        """Log-probability of each sentence's tags; of all that agree with them where some are `?`.

        A tag that the model does not know is an error; one that it forbids has -inf.
        """
        sentences = listed(sentences)
        given = self._tags_to_compare(sentences, tags)
        allowed = self._allowed(sentences, given)

        def question(asked: Asked) -> FloatArray:
            agreeing = self._restricted(asked, allowed)
            # A sequence that is forbidden has probability 0; that is an answer, not an error.
            difference: FloatArray = log_evidence(agreeing) - asked.p.log_partition
            return difference

        return np.array(list(self._ask(sentences, question, float)), dtype=np.float64)

    def entropy(self, sentences: Iterable[Any]) -> FloatArray:
        """The exact entropy of each sentence's tag sequence, in nats."""
        found = self._ask(sentences, lambda asked: asked.p.entropy, float)
        return np.array(list(found), dtype=np.float64)

    def distributions(self, sentences: Iterable[Any], fixed: Tags | None = None) -> Iterator[Any]:
        """Distributions over tags, for batches of the sentences that have words, in order."""
        present = [each for each in listed(sentences) if len(each)]
        if fixed is not None:
            fixed = [each for each in fixed if each is None or len(each)]
        found: list[Any] = []

        def question(asked: Asked) -> Iterator[None]:
            found.append(asked.p)
            return (None for _ in asked.places)

        for _ in self._ask(present, question, lambda: None, fixed, workers=1):
            while found:
                yield found.pop(0)

    # ------------------------------------------------------------------ helpers

    def _ask(
        self,
        sentences: Iterable[Any],
        question: Callable[[Asked], Iterable[Answer]],
        empty: Callable[[], Answer],
        fixed: Tags | None = None,
        *,
        at_once: AtOnce[Answer] | None = None,
        workers: int | None = None,
        chunk: int = 1000,
        possible: bool = True,
    ) -> Iterator[Answer]:
        """The answer to each sentence, with some tags fixed if there are such.

        A sentence without possible tags is an error, unless they need not be `possible`.
        """
        self._check_fitted()
        fixed = None if fixed is None else list(fixed)
        if isinstance(sentences, Sequence):
            sentences = listed(sentences)
            if fixed is not None:
                checked_tags(sentences, fixed)
        allowed = None if fixed is None else self._allowed(sentences, fixed)
        is_doubtful = possible and (self._why_impossible() is not None or allowed is not None)

        def prepared(asked: Asked) -> Iterable[Answer]:
            if allowed is not None:
                asked = asked._replace(p=self._restricted(asked, allowed))
            if is_doubtful:
                self._check_possible(asked)
            return question(asked)

        return ask(
            self._model(),
            self._weights(),
            sentences,
            prepared,
            empty=empty,
            at_once=None if is_doubtful else at_once,
            workers=self.workers if workers is None else workers,
            chunk=chunk,
        )

    def _check_possible(self, asked: Asked) -> None:
        impossible = np.flatnonzero(log_evidence(asked.p) == -np.inf)
        for index in impossible[:1].tolist():
            scheme = self._model().tags.scheme
            rules = f" in the scheme {scheme}" if scheme else ""
            why = self._why_impossible() or "correct the tags that are fixed, or put '?' for some"
            raise ValueError(
                f"{where(asked.sentences[index], asked.places[index])} has no possible sequence of "
                f"tags{rules}: {why}."
            )

    def _allowed(self, sentences: Iterable[Any], tags: Tags) -> list[BoolArray]:
        asked = sentences if isinstance(sentences, Sequence) else [None] * len(tags)
        return [
            self._allowing([UNKNOWN] if each is None else each, where(sentence, index))
            for index, (sentence, each) in enumerate(zip(asked, tags, strict=True))
        ]

    def _tags_to_compare(self, sentences: Sequence[Any], tags: Tags | None) -> list[list[Any]]:
        found = tags_of(sentences, tags, self.tag_column)
        if found is None:
            raise ValueError(
                "no tags came to compare with; give tags, or sentences with a tag column "
                "(tag_column=...)."
            )
        return checked_tags(sentences, found)


def least_risk(p: Any) -> list[Any]:
    """The possible structure with the fewest wrong tags to be expected, of each sentence.

    Of segments, the one with the most right ones to be expected.
    """
    gains = np.where(p.structures.is_choice(), p.inference.marginals, 0.0)
    # A sequence may use tags that are likely one by one and still be forbidden as a whole.
    gains[p.scores == -np.inf] = -np.inf
    return list(p.with_scores(gains).best.structures)


def log_evidence(p: Any) -> FloatArray:
    """The log-partition of each sentence; -inf is an answer here, where `p` itself has none."""
    log_partition: FloatArray = p.structures.infer(p.scores).log_partition
    return log_partition
