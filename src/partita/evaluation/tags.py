"""Shares of words that are tagged right."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from partita.data.schemes import UNKNOWN

Tagged = Sequence[Sequence[str]]
"""The tags of each sentence."""


def accuracy(
    gold: Tagged, predicted: Tagged, sample_weight: Sequence[float] | None = None
) -> float:
    """The share of words whose tag is right, of those whose gold tag is known (not `?`).

    With `sample_weight`, a number for each sentence, each of its words counts so much. NaN if there
    are no such words.

    >>> accuracy([["D", "N"], ["V"]], [["D", "V"], ["V"]])
    0.6666666666666666
    >>> accuracy([["D", "N"], ["V"]], [["D", "V"], ["V"]], sample_weight=[1.0, 2.0])
    0.75
    """
    check_alike(gold, predicted)
    weights = [1.0] * len(gold) if sample_weight is None else list(map(float, sample_weight))
    if len(weights) != len(gold):
        raise ValueError(
            f"sample_weight has {len(weights)} numbers for {len(gold)} sentences; expected one for "
            "each."
        )
    right = known = 0.0
    for tags, others, weight in zip(gold, predicted, weights, strict=True):
        known += weight * sum(a != UNKNOWN for a in tags)
        right += weight * sum(a == b and a != UNKNOWN for a, b in zip(tags, others, strict=True))
    return right / known if known else float("nan")


class TagScores(NamedTuple):
    """How one tag was found."""

    n_gold: int
    """Words that have it."""
    n_predicted: int
    """Words that were given it."""
    n_correct: int
    """Words that have it and were given it."""


def accuracy_by_tag(gold: Tagged, predicted: Tagged) -> dict[str, TagScores]:
    """For each tag how many words have it, were given it, and both; in order of the alphabet.

    >>> accuracy_by_tag([["D", "N"], ["V"]], [["D", "V"], ["V"]])["V"]
    TagScores(n_gold=1, n_predicted=2, n_correct=1)
    """
    return scores_by_tag(Counter(tag_pairs(gold, predicted)))


def scores_by_tag(pairs: Mapping[tuple[str, str], int]) -> dict[str, TagScores]:
    """As `accuracy_by_tag`, from how often each gold tag met each predicted one."""
    golds, guesses, right = Counter[str](), Counter[str](), Counter[str]()
    for (a, b), count in pairs.items():
        golds[a] += count
        guesses[b] += count
        right[a] += count * (a == b)
    return {tag: TagScores(golds[tag], guesses[tag], right[tag]) for tag in sorted(golds | guesses)}


def many_to_one(gold: Tagged, induced: Tagged) -> tuple[float, dict[str, str]]:
    """Accuracy if each induced tag stands for its commonest gold tag, and what it stands for.

    Several induced tags may stand for one gold tag, so more of them never hurt: compare only
    models with the same number. A tie goes to the first tag of the alphabet.

    >>> many_to_one([["D", "N", "N"], ["V", "N"]], [["0", "1", "2"], ["2", "1"]])
    (0.8, {'0': 'D', '1': 'N', '2': 'N'})
    """
    return stands_for(Counter(tag_pairs(gold, induced)))


def stands_for(pairs: Counter[tuple[str, str]]) -> tuple[float, dict[str, str]]:
    """As `many_to_one`, from how often each gold tag met each induced one."""
    best: dict[str, tuple[int, str]] = {}
    for (tag, cluster), count in sorted(pairs.items()):
        if cluster not in best or count > best[cluster][0]:
            best[cluster] = (count, tag)
    share = sum(count for count, _ in best.values()) / pairs.total() if pairs else float("nan")
    return share, {cluster: tag for cluster, (_, tag) in sorted(best.items())}


def tag_pairs(gold: Tagged, predicted: Tagged) -> Iterator[tuple[str, str]]:
    """Gold and predicted tag of every word; the sentences must be the same."""
    check_alike(gold, predicted)
    for a, b in zip(gold, predicted, strict=True):
        yield from zip(a, b, strict=True)


def check_alike(gold: Tagged, predicted: Tagged) -> None:
    """As many sentences, and as many words in each."""
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(predicted)} predicted sentences came for {len(gold)} gold ones; expected as "
            "many. Were some left out when predicting?"
        )
    for index, (a, b) in enumerate(zip(gold, predicted, strict=True)):
        if len(a) != len(b):
            raise ValueError(
                f"sentence {index} (counting from 0) has {len(a)} gold tags and {len(b)} predicted "
                "ones; expected one of each for every word."
            )
