"""Labelled brackets of constituency trees, counted as EVALB does (Sekine & Collins 1997).

A bracket is a phrase's first word, last word and label; tags of words are none. Each bracket of the
prediction matches one of gold at most. Before that, as in EVALB's COLLINS.prm: words that gold tags
as punctuation or as traces are taken out of both trees, a top bracket named TOP is not counted, and
ADVP counts as PRT.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from partita.evaluation.shares import share
from partita.structures.phrase_trees import PhraseTree

DELETED = frozenset({"TOP", "-NONE-", ",", ":", "``", "''", "."})
"""Labels of brackets and tags of words that do not count."""
ALIKE: Mapping[str, str] = {"PRT": "ADVP"}
"""Labels that count as others."""

Bracket = tuple[int, int, str]


@dataclass(frozen=True)
class BracketScores:
    """Brackets of all sentences.

    >>> scores = BracketScores(2, 10, 8, 6, 1, 1, 20, 19)
    >>> scores.precision, scores.recall, round(scores.f1, 4), scores.exact
    (0.75, 0.6, 0.6667, 0.5)
    """

    n_sentences: int
    n_gold: int
    n_predicted: int
    n_right: int
    n_exact: int
    """Sentences whose brackets are all right, none missing."""
    n_crossing: int
    """Predicted brackets that cross one of gold."""
    n_words: int
    n_right_tags: int

    @property
    def precision(self) -> float:
        """Right ones of the predicted; NaN if there are none."""
        return share(self.n_right, self.n_predicted)

    @property
    def recall(self) -> float:
        """Right ones of gold; NaN if there are none."""
        return share(self.n_right, self.n_gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return share(2 * self.n_right, self.n_gold + self.n_predicted)

    @property
    def exact(self) -> float:
        """The share of sentences whose brackets are all right."""
        return share(self.n_exact, self.n_sentences)

    @property
    def tag_accuracy(self) -> float:
        """The share of words with the right tag.

        >>> BracketScores(2, 10, 8, 6, 1, 1, 20, 19).tag_accuracy
        0.95
        """
        return share(self.n_right_tags, self.n_words)

    def __str__(self) -> str:
        return (
            f"{self.n_sentences} sentences: precision {self.precision:.2%}, recall "
            f"{self.recall:.2%}, F1 {self.f1:.2%}; all brackets right in {self.exact:.2%}; "
            f"{self.n_crossing} brackets cross; tags {self.tag_accuracy:.2%}"
        )


def compare_brackets(
    gold: Sequence[PhraseTree],
    predicted: Sequence[PhraseTree],
    *,
    deleted: Collection[str] = DELETED,
    alike: Mapping[str, str] = ALIKE,
) -> BracketScores:
    """Predicted trees against those of gold, sentence by sentence, with the same words.

    >>> from partita.data import parse_brackets
    >>> gold = parse_brackets("(S (NP (D a) (N b)) (VP (V c)) (. .))")
    >>> found = parse_brackets("(S (NP (D a)) (VP (N b) (V c)) (. .))")
    >>> print(compare_brackets(gold, found))
    1 sentences: precision 33.33%, recall 33.33%, F1 33.33%; all brackets right in 0.00%; \
1 brackets cross; tags 100.00%
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(predicted)} predicted trees came for {len(gold)} of gold; expected one for each."
        )
    totals: Counter[str] = Counter()
    for index, (truth, found) in enumerate(zip(gold, predicted, strict=True)):
        totals.update(_compared(truth, found, index, deleted, alike))
    return BracketScores(len(gold), **{name: totals[name] for name in _COUNTS})


_COUNTS = (
    "n_gold", "n_predicted", "n_right", "n_exact", "n_crossing", "n_words", "n_right_tags"
)  # fmt: skip


def _compared(
    gold: PhraseTree,
    found: PhraseTree,
    index: int,
    deleted: Collection[str],
    alike: Mapping[str, str],
) -> dict[str, int]:
    if gold.words != found.words:
        raise ValueError(
            f"tree {index} has the words {' '.join(found.words)!r}; expected those of gold: "
            f"{' '.join(gold.words)!r}."
        )
    keep = [tag not in deleted for tag in gold.tags]
    truth = _brackets(gold, keep, deleted, alike)
    brackets = _brackets(found, keep, deleted, alike)
    n_right = (truth & brackets).total()
    tags = zip(gold.tags, found.tags, keep, strict=True)
    right_tags = [a == b for a, b, is_kept in tags if is_kept]
    return {
        "n_gold": truth.total(),
        "n_predicted": brackets.total(),
        "n_right": n_right,
        "n_exact": int(truth == brackets),
        "n_crossing": sum(
            count for each, count in brackets.items() if any(_cross(each, other) for other in truth)
        ),
        "n_words": len(right_tags),
        "n_right_tags": sum(right_tags),
    }


def _brackets(
    tree: PhraseTree, keep: Sequence[bool], deleted: Collection[str], alike: Mapping[str, str]
) -> Counter[Bracket]:
    """The brackets over the words that are kept, numbered anew."""
    before = [0]
    for is_kept in keep:
        before.append(before[-1] + is_kept)
    return Counter(
        (before[first], before[last + 1] - 1, alike.get(label, label))
        for first, last, label in tree.spans
        if label not in deleted and before[last + 1] > before[first]
    )


def _cross(a: Bracket, b: Bracket) -> bool:
    return a[0] < b[0] <= a[1] < b[1] or b[0] < a[0] <= b[1] < a[1]
