"""The arguments of a translator, checked, and what became of the pairs it was given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from partita.estimators.translation.lexicon import LexiconOptions
from partita.text.sentences import Tokens
from partita.training import SGD, AdaGrad, Adam, Penalty
from partita.training.optimisers import Optimiser
from partita.training.optimisers.schedules import Constant, InverseSquareRoot, Linear, Rate
from partita.training.trainer import Path

Say = Callable[[str], None]
GRAMMARS = ("itg", "hiero")
OPTIMISERS: dict[str, type[Adam | AdaGrad | SGD]] = {"adam": Adam, "adagrad": AdaGrad, "sgd": SGD}
SCHEDULES = ("linear", "constant", "inverse-square-root")
WARM_UP = 20
"""Steps in which the learning rate grows to its value."""


@dataclass(frozen=True)
class TranslatorOptions:
    """The arguments of `Translator`."""

    grammar: str
    n_translations: int
    n_insertions: int
    n_companions: int
    model1_iterations: int
    max_words: int
    n_pairs: int | None
    n_bits: int
    n_targets: int
    min_count: int
    longest_phrase: int
    n_tuning: int
    optimiser: str
    rate: float
    schedule: str
    batch_size: int
    l2: float
    average: bool
    max_iterations: int
    patience: int
    cache_megabytes: int
    checkpoint: Path | None
    checkpoint_seconds: float
    resume: bool
    log: Path | None
    seed: int
    n_threads: int | None
    progress: bool | None

    def __post_init__(self) -> None:
        choices: dict[str, tuple[str, Sequence[str]]] = {
            "grammar": (self.grammar, GRAMMARS),
            "optimiser": (self.optimiser, tuple(OPTIMISERS)),
            "schedule": (self.schedule, SCHEDULES),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}.")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise ValueError(f"{name} is {value}; expected {least} or more.")
        if self.n_bits > MOST_BITS:
            raise ValueError(
                f"n_bits is {self.n_bits}; expected at most {MOST_BITS}, for {2**MOST_BITS:,} "
                "weights."
            )

    @property
    def lexicon(self) -> LexiconOptions:
        """Those of the lexicon."""
        return LexiconOptions(
            self.n_translations, self.n_insertions, self.n_companions, self.model1_iterations
        )

    @property
    def penalty(self) -> Penalty:
        """On the weights."""
        return Penalty(l2=self.l2)

    def stochastic(self, pairs_per_batch: int) -> Optimiser[Any]:
        """The mini-batch method."""
        rates: dict[str, Rate] = {
            "linear": Linear(self.rate, warm_up=WARM_UP),
            "constant": Constant(self.rate),
            "inverse-square-root": InverseSquareRoot(self.rate, quarter=100.0),
        }
        return OPTIMISERS[self.optimiser](
            rate=rates[self.schedule],
            n_iterations=self.max_iterations,
            batches_per_step=max(1, round(self.batch_size / pairs_per_batch)),
            average_from=1 if self.average and self.max_iterations > 1 else None,
        )


MOST_BITS = 28
LEAST: dict[str, float] = {
    "n_translations": 1,
    "n_insertions": 0,
    "n_companions": 0,
    "model1_iterations": 1,
    "max_words": 1,
    "n_pairs": 1,
    "n_bits": 4,
    "n_targets": 1,
    "min_count": 1,
    "longest_phrase": 1,
    "n_tuning": 0,
    "rate": 0.0,
    "batch_size": 1,
    "l2": 0.0,
    "max_iterations": 1,
    "patience": 1,
    "cache_megabytes": 0,
}


@dataclass(frozen=True)
class PairCounts:
    """What became of the pairs of a bitext.

    >>> print(PairCounts(n_pairs=10, n_empty=1, n_long=2, n_unreachable=3, n_used=4))
    10 pairs: 4 used; skipped: 1 with an empty side, 2 too long, 3 not reachable by the grammar
    """

    n_pairs: int
    n_empty: int = 0
    n_long: int = 0
    n_unreachable: int = 0
    n_used: int = 0
    n_edges: int = 0
    """Of the forests of the pairs that are used, both of each. (itg)"""
    n_spare: int = 0
    """Left aside for the weights, and not needed. (hiero)"""

    def __str__(self) -> str:
        reasons = [
            (self.n_empty, "with an empty side"),
            (self.n_long, "too long"),
            (self.n_unreachable, "not reachable by the grammar"),
            (self.n_spare, "not needed"),
        ]
        skipped = ", ".join(f"{count:,} {reason}" for count, reason in reasons if count)
        text = f"{self.n_pairs:,} pairs: {self.n_used:,} used"
        return f"{text}; skipped: {skipped}" if skipped else text


def usable(
    source: Sequence[Tokens], target: Sequence[Tokens], max_words: int
) -> tuple[list[int], PairCounts]:
    """The places of pairs with words on both sides, at most `max_words` each; and the counts."""
    kept, n_empty, n_long = [], 0, 0
    for index, (words, others) in enumerate(zip(source, target, strict=True)):
        if not words or not others:
            n_empty += 1
        elif max(len(words), len(others)) > max_words:
            n_long += 1
        else:
            kept.append(index)
    return kept, PairCounts(len(source), n_empty, n_long)
