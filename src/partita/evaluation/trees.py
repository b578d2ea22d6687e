"""Attachment scores of dependency trees, as the CoNLL 2018 shared task counts them.

UAS is the share of words with the right head, LAS with the right head and the right relation, of
which only the universal part counts, before the colon: nsubj:pass is as good as nsubj. Punctuation
counts, unless it is left out. https://universaldependencies.org/conll18/evaluation.html
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, IntArray
from partita.data.dependencies import UNKNOWN, relations, sentence_name, tree_heads
from partita.data.errors import DataError
from partita.data.sentences import Sentence
from partita.evaluation.bootstrap import Interval, bootstrap
from partita.evaluation.shares import share

Measure: TypeAlias = Literal["uas", "las"]
PredictedTree: TypeAlias = tuple[ArrayLike, Sequence[str] | None]
"""Heads from 1 with 0 for the root, and relations if there are any: what a parser predicts."""

LENGTHS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, None))
"""Words of the sentences of each class, from and to."""
# Relations of content words, for CLAS; from the program of the shared task.
# fmt: off
CONTENT = frozenset([
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated",
    "advcl", "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed",
    "flat", "compound", "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
])
# fmt: on


class RelationScores(NamedTuple):
    """What became of the words of one relation.

    >>> found = RelationScores(n_gold=4, n_predicted=3, n_right_heads=3, n_right=2)
    >>> round(found.precision, 3), found.recall, round(found.f1, 3)
    (0.667, 0.5, 0.571)
    """

    n_gold: int
    n_predicted: int
    n_right_heads: int
    """Of the gold words, those with the right head, whatever their relation."""
    n_right: int
    """Of the gold words, those with the right head and relation."""

    @property
    def precision(self) -> float:
        """Right heads and relations, of the words that were given this relation."""
        return share(self.n_right, self.n_predicted)

    @property
    def recall(self) -> float:
        """Right heads and relations, of the words that have this relation."""
        return share(self.n_right, self.n_gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return share(2 * self.n_right, self.n_gold + self.n_predicted)


@dataclass(frozen=True)
class ComparedTrees:
    """Words of gold and predicted trees side by side, all sentences end to end.

    Made by `compare_trees`. `las` and all that is about relations is NaN or empty where the
    prediction has none.

    >>> gold = Sentence({"FORM": ("a", "b"), "HEAD": ("2", "0"), "DEPREL": ("nsubj", "root")})
    >>> scores = compare_trees([gold], [([2, 0], ["obj", "root"])])
    >>> scores.uas, scores.las, scores.clas, scores.exact
    (1.0, 0.5, 0.5, 1.0)
    >>> scores.right, scores.where(scores.right).gold
    (array([False,  True]), ('root',))
    >>> scores.by_relation()["nsubj"]
    RelationScores(n_gold=1, n_predicted=0, n_right_heads=1, n_right=0)
    >>> list(scores.by_length()), len(scores.without_punctuation())
    (['1 to 10'], 2)
    >>> scores.interval("uas")
    Interval(value=1.0, low=1.0, high=1.0)
    """

    n_sentences: int
    sentence: IntArray
    """Of each word, the number of its sentence, from 0."""
    n_words: IntArray
    """Of each sentence, how many words it has, those left out included."""
    right_head: BoolArray
    gold: tuple[str, ...]
    """The universal relation of each word."""
    predicted: tuple[str, ...] | None
    is_punctuation: BoolArray

    def __len__(self) -> int:
        return len(self.sentence)

    def __add__(self, other: "ComparedTrees") -> "ComparedTrees":
        """These sentences, and then the others; relations only where both have some."""
        predicted = None
        if self.predicted is not None and other.predicted is not None:
            predicted = self.predicted + other.predicted
        return ComparedTrees(
            self.n_sentences + other.n_sentences,
            np.concatenate([self.sentence, other.sentence + self.n_sentences]),
            np.concatenate([self.n_words, other.n_words]),
            np.concatenate([self.right_head, other.right_head]),
            self.gold + other.gold,
            predicted,
            np.concatenate([self.is_punctuation, other.is_punctuation]),
        )

    @property
    def right(self) -> BoolArray:
        """Which words have the right head and relation."""
        same = np.array([a == b for a, b in zip(self.gold, self.predicted or (), strict=False)])
        return self.right_head & same if self.predicted else np.zeros_like(self.right_head)

    @property
    def uas(self) -> float:
        """The share of words with the right head."""
        return share(int(self.right_head.sum()), len(self))

    @property
    def las(self) -> float:
        """The share of words with the right head and relation."""
        return share(int(self.right.sum()), len(self)) if self.predicted else float("nan")

    @property
    def clas(self) -> float:
        """F1 of heads and relations of content words (CLAS): gold ones found, found ones gold."""
        if not self.predicted:
            return float("nan")
        in_gold = np.array([relation in CONTENT for relation in self.gold], dtype=np.bool_)
        n_predicted = sum(relation in CONTENT for relation in self.predicted)
        n_right = int((self.right & in_gold).sum())
        return share(2 * n_right, int(in_gold.sum()) + n_predicted)

    @property
    def exact(self) -> float:
        """The share of sentences whose heads are all right, of those that have words here."""
        words, right = self._counts("uas")
        return share(int((right == words)[words > 0].sum()), int((words > 0).sum()))

    def where(self, chosen: BoolArray) -> "ComparedTrees":
        """Some of the words only."""
        predicted = self.predicted and tuple(np.array(self.predicted, dtype=object)[chosen])
        return ComparedTrees(
            self.n_sentences,
            self.sentence[chosen],
            self.n_words,
            self.right_head[chosen],
            tuple(np.array(self.gold, dtype=object)[chosen]),
            predicted,
            self.is_punctuation[chosen],
        )

    def without_punctuation(self) -> "ComparedTrees":
        """The words whose universal tag is not PUNCT."""
        return self.where(~self.is_punctuation)

    def by_length(self) -> dict[str, "ComparedTrees"]:
        """The words by the length of their sentences; classes without words are left out."""
        lengths = self.n_words[self.sentence]
        found = {}
        for first, last in LENGTHS:
            name = f"{first} or more" if last is None else f"{first} to {last}"
            chosen = (lengths >= first) & (lengths <= (np.inf if last is None else last))
            if chosen.any():
                found[name] = self.where(chosen)
        return found

    def by_relation(self) -> dict[str, RelationScores]:
        """Of each relation, gold or predicted, how many words were found; the most frequent first.

        A predicted relation counts as right only with the right head.
        """
        gold = np.array(self.gold, dtype=object)
        predicted = np.array(self.predicted or [""] * len(self), dtype=object)
        right = self.right
        found = {}
        for name in sorted({*self.gold, *(self.predicted or ())}):
            here = gold == name
            found[name] = RelationScores(
                int(here.sum()),
                int((predicted == name).sum()),
                int((here & self.right_head).sum()),
                int((here & right).sum()),
            )
        return dict(sorted(found.items(), key=lambda item: -item[1].n_gold))

    def interval(
        self, measure: Measure = "las", *, n_samples: int = 1000, seed: int = 0
    ) -> Interval:
        """A score and its 95 % bootstrap interval, by resampling sentences."""
        words, right = self._counts(measure)
        return bootstrap(_ratio, right.tolist(), words.tolist(), n_samples=n_samples, seed=seed)

    def _counts(self, measure: Measure) -> tuple[IntArray, IntArray]:
        """Words, and right words, of each sentence."""
        hits = self.right_head if measure == "uas" else self.right
        words = np.bincount(self.sentence, minlength=self.n_sentences)
        return words, np.bincount(self.sentence[hits], minlength=self.n_sentences)


class Difference(NamedTuple):
    """How much better a second system is than a first, on the same sentences."""

    difference: Interval
    """Second minus first, with its bootstrap interval over sentences."""
    p_value: float
    """How often a difference of this size comes by chance, if the systems were exchangeable."""


def compare_trees(gold: Sequence[Sentence], predicted: Sequence[PredictedTree]) -> ComparedTrees:
    """Gold sentences against predicted trees; words without a gold head are left out.

    >>> gold = Sentence({"FORM": ("a", "b"), "HEAD": ("2", "0"), "DEPREL": ("nsubj:x", "root")})
    >>> scores = compare_trees([gold], [([2, 1], ["nsubj", "root"])])
    >>> scores.uas, scores.las
    (0.5, 0.5)
    """
    found = compare_some(gold, predicted)
    if not len(found):
        raise ValueError("no word of the gold sentences has a head; expected some in column 7.")
    return found


def compare_some(gold: Sequence[Sentence], predicted: Sequence[PredictedTree]) -> ComparedTrees:
    """As `compare_trees`, of a part of a corpus, which may have no heads; parts add up."""
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(predicted)} predicted trees came for {len(gold)} gold sentences; expected as "
            "many. Were some left out when predicting?"
        )
    has_labels = all(labels is not None for _, labels in predicted)
    rows: list[tuple[int, bool, str, str, bool]] = []
    for index, (sentence, (heads, labels)) in enumerate(zip(gold, predicted, strict=True)):
        found = np.asarray(heads).tolist()
        if len(found) != len(sentence) or (labels is not None and len(labels) != len(sentence)):
            raise ValueError(
                f"{sentence.where()}: {len(found)} heads came for {sentence_name(sentence)} of "
                f"{len(sentence)} words; expected one for each, and as many relations."
            )
        n_words = len(sentence)
        wanted = tree_heads(sentence, single_root=False, partial=True)
        gold_labels = sentence.columns.get("DEPREL") or ("_",) * n_words
        tags = sentence.columns.get("UPOS") or ("_",) * n_words
        names = labels if has_labels and labels is not None else ("",) * n_words
        rows += [
            (index, head == guess, _universal(a), _universal(b), tag == "PUNCT")
            for head, guess, a, b, tag in zip(wanted, found, gold_labels, names, tags, strict=True)
            if head >= 0
        ]
    columns = tuple(zip(*rows, strict=True)) or ((),) * 5
    sentence_of, right, gold_names, names_found, is_punctuation = columns
    return ComparedTrees(
        len(gold),
        np.array(sentence_of, dtype=np.int64),
        np.array([len(sentence) for sentence in gold], dtype=np.int64),
        np.array(right, dtype=np.bool_),
        gold_names,
        names_found if has_labels else None,
        np.array(is_punctuation, dtype=np.bool_),
    )


def trees_of(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> list[PredictedTree]:
    """The trees of a parsed file, whose words must be those of the gold sentences.

    >>> gold = Sentence({"FORM": ("a", "b"), "HEAD": ("2", "0"), "DEPREL": ("nsubj", "root")})
    >>> trees_of([gold], [gold.replaced("HEAD", ("0", "1"))])
    [((0, 1), ('nsubj', 'root'))]
    """
    if len(gold) != len(parsed):
        source = parsed[0].source if parsed else "<memory>"
        raise DataError(
            source,
            None,
            f"there are {len(parsed)} sentences, but {len(gold)} gold ones; expected the same.",
        )
    trees: list[PredictedTree] = []
    for right, found in zip(gold, parsed, strict=True):
        _check_words(right, found)
        values = found.columns.get("DEPREL", ("_",))
        has_labels = not all(value in UNKNOWN for value in values)
        labels = relations(found, partial=True) if has_labels else None
        trees.append((tree_heads(found, single_root=False), labels))
    return trees


def compare_systems(
    first: ComparedTrees,
    second: ComparedTrees,
    measure: Measure = "las",
    *,
    n_samples: int = 1000,
    seed: int = 0,
) -> Difference:
    """Second minus first, on the same words: bootstrap interval, and a randomisation test.

    The test swaps the systems' trees of a sentence, for each by the toss of a coin, and counts how
    often the difference gets as large (approximate randomisation, two-sided).

    >>> gold = Sentence({"FORM": ("a", "b"), "HEAD": ("2", "0"), "DEPREL": ("nsubj", "root")})
    >>> wrong, right = ([0, 1], ["nsubj", "root"]), ([2, 0], ["nsubj", "root"])
    >>> better = compare_systems(
    ...     compare_trees([gold] * 8, [wrong] * 8), compare_trees([gold] * 8, [right] * 8)
    ... )
    >>> better.difference.value, better.p_value < 0.05
    (1.0, True)
    """
    if not (
        first.n_sentences == second.n_sentences
        and np.array_equal(first.sentence, second.sentence)
        and first.gold == second.gold
    ):
        raise ValueError("the systems were compared with different words; expected the same gold.")
    words, right_first = first._counts(measure)
    _, right_second = second._counts(measure)
    better = right_second - right_first
    interval = bootstrap(_ratio, better.tolist(), words.tolist(), n_samples=n_samples, seed=seed)
    rng = np.random.default_rng(seed)
    signs = 2 * rng.integers(2, size=(n_samples, len(better))) - 1
    as_large = np.abs(signs @ better) >= abs(int(better.sum()))
    # The data as they are count as one of the samples, so that no p-value is 0.
    return Difference(interval, (int(as_large.sum()) + 1) / (n_samples + 1))


def _check_words(gold: Sentence, parsed: Sentence) -> None:
    words, found = gold.column("FORM"), parsed.column("FORM")
    if words == found:
        return
    word = next(
        (index for index, pair in enumerate(zip(words, found, strict=False)) if len(set(pair)) > 1),
        min(len(words), len(found)) - 1,
    )
    raise DataError(
        parsed.source,
        parsed.line(word),
        f"{sentence_name(parsed)} has the {len(found)} words {' '.join(found)[:60]!r}; expected "
        f"the {len(words)} of {gold.where()}, {' '.join(words)[:60]!r}: only trees over the same "
        "words can be compared here. The script of the CoNLL 2018 shared task (conll18_ud_eval.py) "
        "aligns words by their letters; parse the gold words to do without it.",
    )


def _universal(relation: str) -> str:
    # One text for all words of a relation.
    return sys.intern(relation.partition(":")[0])


def _ratio(parts: Sequence[int], wholes: Sequence[int]) -> float:
    return sum(parts) / max(sum(wholes), 1)
