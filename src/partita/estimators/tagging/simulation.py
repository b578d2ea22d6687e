"""What active learning would save: a labelled corpus replayed as if labels had to be bought."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita import show
from partita.data.schemes import UNKNOWN
from partita.estimators.tagging.selection import Choice, check_strategy, rank, take
from partita.evaluation.tags import accuracy

Tagged = Sequence[Sequence[str]]


class CurvePoint(NamedTuple):
    """How good a model is after so many words were labelled."""

    n_words: int
    accuracy: float


@dataclass(frozen=True)
class TaggedCorpus:
    """Sentences with their tags."""

    sentences: Sequence[Any]
    tags: Tagged

    def __post_init__(self) -> None:
        if len(self.sentences) != len(self.tags):
            raise ValueError(
                f"{len(self.tags)} tag sequences came for {len(self.sentences)} sentences; "
                "expected one for each."
            )

    @property
    def n_words(self) -> int:
        """Words of all sentences."""
        return sum(map(len, self.tags))


@dataclass(frozen=True)
class Simulation:
    """The curve of each strategy, and the accuracy with all labels."""

    curves: dict[str, tuple[CurvePoint, ...]]
    full: CurvePoint

    def words_needed(self, share: float = 0.99) -> dict[str, float | None]:
        """For each strategy, words to label for `share` of the full accuracy; None if never.

        Between two points of a curve the accuracy is taken to grow evenly.
        """
        goal = share * self.full.accuracy
        return {name: _reached(curve, goal) for name, curve in self.curves.items()}

    def diagram(self, title: str = "Active learning") -> show.Svg:
        """The curves; the dashed line is the accuracy with all labels."""
        return show.curves(
            self.curves,
            title=title,
            x_label="words labelled",
            y_label="accuracy",
            best=self.full.accuracy,
        )


def simulate(
    estimator: Any,
    pool: TaggedCorpus,
    test: TaggedCorpus,
    *,
    strategies: Sequence[str] = ("entropy", "random"),
    seed_words: int = 500,
    batch_words: int = 500,
    max_words: int | None = None,
    n_words: int = 5,
    k: int = 10,
    beta: float = 1.0,
    per_word: bool = True,
    seed: int = 0,
    measure: Callable[[Tagged, Tagged], float] = accuracy,
    report: Callable[[str, CurvePoint], None] | None = None,
) -> Simulation:
    """Replay active learning: train, rank what is unlabelled, label the first, and again.

    Every strategy begins with the same random sentences. With "span" only the span is labelled,
    and the other tags of its sentence are `?`, so the estimator must learn from partial labels;
    later entropies are those given what is labelled already.

    Parameters
    ----------
    estimator
        Arguments of the tagger to train; it is copied, not changed.
    pool, test
        Sentences to be labelled, with the labels that asking would give; and held-out ones.
    seed_words, batch_words, max_words
        Words labelled at first, in each round, and at most (all of the pool if left out).
    measure
        Of gold and predicted tags; more is better.
    report
        Called after each round, with the strategy and the point of its curve.

    Others as in `rank`.

    >>> from partita import HiddenMarkovTagger
    >>> corpus = TaggedCorpus(
    ...     [["a", "b"], ["b", "a"], ["c", "a"]], [["X", "Y"], ["Y", "X"], ["Y", "X"]]
    ... )
    >>> result = simulate(HiddenMarkovTagger(), corpus, corpus, seed_words=2, batch_words=2)
    >>> [point.n_words for point in result.curves["entropy"]]
    [2, 4, 6]
    """
    for strategy in strategies:
        check_strategy(strategy)
    if not (seed_words >= 1 and batch_words >= 1):
        raise ValueError(
            f"seed_words is {seed_words} and batch_words {batch_words}; expected 1 or more."
        )
    kept = [index for index, tags in enumerate(pool.tags) if len(tags)]
    pool = TaggedCorpus([pool.sentences[i] for i in kept], [pool.tags[i] for i in kept])
    if not kept:
        raise ValueError("the pool has no words; expected labelled sentences to replay.")
    options = {"n_words": n_words, "k": k, "beta": beta, "per_word": per_word}
    replay = _Replay(estimator, pool, test, batch_words, options, seed, measure)
    most = pool.n_words if max_words is None else max_words
    first = take(rank(None, pool.sentences, "random", seed=seed), seed_words)
    curves: dict[str, tuple[CurvePoint, ...]] = {}
    for strategy in strategies:
        points = []
        for point in replay.points(strategy, first, most):
            points.append(point)
            if report is not None:
                report(strategy, point)
        curves[strategy] = tuple(points)
    full = replay.tested(replay.trained(pool.tags))
    return Simulation(curves, CurvePoint(pool.n_words, full))


@dataclass(frozen=True)
class _Replay:
    """What does not change from round to round."""

    estimator: Any
    pool: TaggedCorpus
    test: TaggedCorpus
    batch_words: int
    options: dict[str, Any]
    seed: int
    measure: Callable[[Tagged, Tagged], float]

    def points(self, strategy: str, first: list[Choice], most: int) -> Iterator[CurvePoint]:
        """The curve of a strategy, a round at a time."""
        pool = self.pool
        shown = [[UNKNOWN] * len(tags) for tags in pool.tags]
        self._label(shown, first)
        # Each round labels a word at least.
        model = None
        for turn in range(pool.n_words):
            model = self.trained(shown, model)
            n_words = sum(tag != UNKNOWN for tags in shown for tag in tags)
            yield CurvePoint(n_words, self.tested(model))
            rest = [index for index, tags in enumerate(shown) if UNKNOWN in tags]
            if not rest or n_words >= most:
                return
            # A new seed for each round, or chance would ask for the same places again.
            seed = int(np.random.SeedSequence([self.seed, turn]).generate_state(1)[0])
            ranked = rank(
                model,
                [pool.sentences[index] for index in rest],
                strategy,
                # Elsewhere a sentence is labelled as a whole, and then no longer asked about.
                fixed=[shown[index] for index in rest] if strategy == "span" else None,
                seed=seed,
                **self.options,
            )
            chosen = take(ranked, min(self.batch_words, most - n_words))
            self._label(shown, [c._replace(sentence=rest[c.sentence]) for c in chosen])

    def _label(self, shown: list[list[str]], choices: Sequence[Choice]) -> None:
        """Show the tags of the words that were chosen."""
        for index, first, last, _ in choices:
            shown[index][first : last + 1] = self.pool.tags[index][first : last + 1]

    def trained(self, shown: Sequence[Sequence[str]], last: Any = None) -> Any:
        """A copy of the estimator, trained on the sentences that have labels.

        It starts from the `last` model where it can: a few labels more change little.
        """
        used = [index for index, tags in enumerate(shown) if any(tag != UNKNOWN for tag in tags)]
        params = self.estimator.get_params(deep=False)
        if last is not None and params.get("warm_start", last) is None:
            params["warm_start"] = last
        copy = type(self.estimator)(**params)
        return copy.fit([self.pool.sentences[i] for i in used], [list(shown[i]) for i in used])

    def tested(self, model: Any) -> float:
        """How good a model is on the test sentences."""
        return float(self.measure(self.test.tags, model.predict(self.test.sentences)))


def _reached(curve: Sequence[CurvePoint], goal: float) -> float | None:
    before: CurvePoint | None = None
    for point in curve:
        if point.accuracy >= goal:
            if before is None:
                return float(point.n_words)
            share = (goal - before.accuracy) / (point.accuracy - before.accuracy)
            return before.n_words + share * (point.n_words - before.n_words)
        before = point
    return None
