"""Alignment error rate, precision, recall and F1 of word alignments."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray
from partita.data.alignments import Alignment, Link
from partita.evaluation.bootstrap import Interval, bootstrap


class LinkCounts(NamedTuple):
    """How many links were found, and how many of them are right.

    >>> counts = LinkCounts(n_found=4, n_sure=3, n_found_sure=2, n_found_allowed=3)
    >>> counts.precision, round(counts.recall, 3), round(counts.error_rate, 3), round(counts.f1, 3)
    (0.75, 0.667, 0.286, 0.706)
    """

    n_found: float
    """Links that were predicted, |A|."""
    n_sure: float
    """Sure gold links, |S|."""
    n_found_sure: float
    """|A and S|."""
    n_found_allowed: float
    """|A and P|, where P are the possible links and the sure ones."""

    @property
    def precision(self) -> float:
        """|A and P| / |A|; 1 where nothing was predicted."""
        return self.n_found_allowed / self.n_found if self.n_found else 1.0

    @property
    def recall(self) -> float:
        """|A and S| / |S|; 1 where nothing is sure."""
        return self.n_found_sure / self.n_sure if self.n_sure else 1.0

    @property
    def error_rate(self) -> float:
        """AER = 1 - (|A and S| + |A and P|) / (|A| + |S|) (Och & Ney 2003); 0 is best."""
        total = self.n_found + self.n_sure
        return 1 - (self.n_found_sure + self.n_found_allowed) / total if total else 0.0

    @property
    def f1(self) -> float:
        """2 precision recall / (precision + recall); where all links are sure, 1 - AER."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


class LinkScores(NamedTuple):
    """The scores of a bitext, each with a bootstrap interval over sentence pairs."""

    error_rate: Interval
    precision: Interval
    recall: Interval
    f1: Interval
    counts: LinkCounts

    def __str__(self) -> str:
        counts = self.counts
        lines = [
            f"links found        {counts.n_found:,} "
            f"({counts.n_found_sure:,} sure, {counts.n_found_allowed:,} sure or possible)",
            f"sure links         {counts.n_sure:,}",
        ]
        for name, (value, low, high) in zip(
            ("AER", "precision", "recall", "F1"), self[:4], strict=True
        ):
            lines.append(f"{name:18} {value:.2%} (95 % of samples: {low:.2%} to {high:.2%})")
        return "\n".join(lines)


def link_counts(
    gold: Sequence[Alignment],
    found: Sequence[Iterable[Link]],
    sample_weight: Sequence[float] | FloatArray | None = None,
) -> LinkCounts:
    """The counts of a bitext: what was found of each pair against its gold links.

    With `sample_weight`, a number for each pair, its links count so much.

    >>> gold = [Alignment(sure=((0, 0), (1, 1)), possible=((1, 2),))]
    >>> link_counts(gold, [[(0, 0), (1, 2), (2, 2)]])
    LinkCounts(n_found=3, n_sure=2, n_found_sure=1, n_found_allowed=2)
    """
    each = counts_of_pairs(gold, found)
    if sample_weight is None:
        return _summed(each)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (len(each),):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; expected ({len(each)},), a number for each "
            "pair."
        )
    sums = weights @ np.array(each, dtype=np.float64).reshape(-1, len(LinkCounts._fields))
    return LinkCounts(*sums.tolist())


def alignment_scores(
    gold: Sequence[Alignment], found: Sequence[Iterable[Link]], *, n_samples: int = 1000
) -> LinkScores:
    """Error rate, precision, recall and F1 with bootstrap intervals.

    >>> gold = [Alignment(((0, 0), (1, 1))), Alignment(((0, 0),))]
    >>> scores = alignment_scores(gold, [[(0, 0)], [(0, 0)]])
    >>> round(scores.error_rate.value, 3), scores.precision.value
    (0.2, 1.0)
    """
    return scores_of(counts_of_pairs(gold, found), n_samples=n_samples)


def scores_of(each: Sequence[LinkCounts], *, n_samples: int = 1000) -> LinkScores:
    """As `alignment_scores`, from the counts of each pair."""

    def interval(measure: Callable[[LinkCounts], float]) -> Interval:
        return bootstrap(lambda rows: measure(_summed(rows)), each, n_samples=n_samples)

    return LinkScores(
        interval(lambda counts: counts.error_rate),
        interval(lambda counts: counts.precision),
        interval(lambda counts: counts.recall),
        interval(lambda counts: counts.f1),
        _summed(each),
    )


def counts_of_pairs(gold: Sequence[Alignment], found: Sequence[Iterable[Link]]) -> list[LinkCounts]:
    """The counts of each pair."""
    if len(gold) != len(found):
        raise ValueError(
            f"{len(found)} predicted alignments came for {len(gold)} gold ones; expected as many. "
            "Were some pairs left out when predicting?"
        )
    counts = []
    for right, links in zip(gold, found, strict=True):
        predicted, sure = set(links), set(right.sure)
        allowed = sure | set(right.possible)
        counts.append(
            LinkCounts(len(predicted), len(sure), len(predicted & sure), len(predicted & allowed))
        )
    return counts


def _summed(counts: Iterable[LinkCounts]) -> LinkCounts:
    return LinkCounts(*map(sum, zip(*counts, strict=True))) if counts else LinkCounts(0, 0, 0, 0)
