"""Precision, recall and F1 of chunks, as the program conlleval of CoNLL-2000 counts them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from partita.data.schemes import OUTSIDE, Chunk, chunks, split_tag
from partita.evaluation.tags import Tagged, accuracy, check_alike

Reading = Literal["schemes", "conlleval"]
"""Whose rules say where chunks begin and end."""


@dataclass(frozen=True)
class Counted:
    """Chunks in the gold data, in the prediction, and in both with the same words and type.

    >>> counted = Counted(n_gold=4, n_predicted=3, n_correct=2)
    >>> round(counted.precision, 3), counted.recall, round(counted.f1, 3)
    (0.667, 0.5, 0.571)
    """

    n_gold: int
    n_predicted: int
    n_correct: int

    @property
    def precision(self) -> float:
        """The share of predicted chunks that are right; 0 if none was predicted."""
        return self.n_correct / self.n_predicted if self.n_predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of gold chunks that were found; 0 if there are none."""
        return self.n_correct / self.n_gold if self.n_gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are."""
        total = self.n_gold + self.n_predicted
        return 2 * self.n_correct / total if total else 0.0

    def __str__(self) -> str:
        return (
            f"precision: {self.precision:7.2%}; recall: {self.recall:7.2%}; FB1: "
            f"{100 * self.f1:6.2f}"
        )


@dataclass(frozen=True)
class ChunkScores:
    """What conlleval prints; `str` prints it in its layout.

    >>> scores = chunk_scores([["B-NP", "O"]], [["B-NP", "B-VP"]])
    >>> scores.overall.n_correct, list(scores.by_type), scores.accuracy
    (1, ['NP', 'VP'], 0.5)
    """

    overall: Counted
    by_type: dict[str, Counted]
    """In the order of the alphabet."""
    n_words: int
    accuracy: float
    """The share of words whose tag is right."""

    def __str__(self) -> str:
        overall = self.overall
        lines = [
            f"processed {self.n_words} tokens with {overall.n_gold} phrases; found: "
            f"{overall.n_predicted} phrases; correct: {overall.n_correct}.",
            f"accuracy: {self.accuracy:7.2%}; {overall}",
        ]
        lines += [
            f"{kind:>17}: {counted}  {counted.n_predicted}"
            for kind, counted in self.by_type.items()
        ]
        return "\n".join(lines)


def conlleval_chunks(tags: Sequence[str]) -> list[Chunk]:
    """The chunks that the program conlleval.pl finds, letter for letter.

    In IOB1 and IOB2 these are those of `partita.data.schemes.chunks`. In BIOES they are not: the
    program has no rule for S, and none for what follows E but E, I and O, so that chunks of one
    type that touch become one.

    >>> conlleval_chunks(["S-NP", "S-NP", "O", "S-VP"])
    [Chunk(type='NP', first=0, last=1), Chunk(type='VP', first=3, last=3)]
    """
    found: list[Chunk] = []
    start, before = 0, (OUTSIDE, "")
    for position, tag in enumerate([*tags, OUTSIDE]):
        after = split_tag(tag)
        is_same = before[1] == after[1] and (before[0] + after[0]) not in ("BB", "IB", "EE", "EI")
        if before[0] != OUTSIDE and (after[0] == OUTSIDE or not is_same):
            found.append(Chunk(before[1], start, position - 1))
        if after[0] != OUTSIDE and (before[0] == OUTSIDE or not is_same):
            start = position
        before = after
    return found


def chunk_scores(gold: Tagged, predicted: Tagged, reading: Reading = "schemes") -> ChunkScores:
    """Chunks of IOB1, IOB2 or BIOES tags: overall and by type.

    One set of rules reads all schemes (see `partita.data.schemes`), so gold and prediction need
    not even share one; the accuracy of tags, of course, is then of no use. Where E and S stand,
    `reading="conlleval"` gives the numbers of conlleval.pl, which does not know S (see
    `conlleval_chunks`).

    >>> print(chunk_scores([["B-NP", "O"]], [["B-NP", "B-VP"]]))
    processed 2 tokens with 1 phrases; found: 2 phrases; correct: 1.
    accuracy:  50.00%; precision:  50.00%; recall: 100.00%; FB1:  66.67
                   NP: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
                   VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1
    """
    counts = ChunkCounts.of(gold, predicted, reading)
    return counts.scores(sum(map(len, gold)), accuracy(gold, predicted))


@dataclass(frozen=True)
class ChunkCounts:
    """Chunks by type: in the gold data, predicted, and right; to be added up over a corpus."""

    gold: Counter[str]
    predicted: Counter[str]
    right: Counter[str]

    @classmethod
    def of(cls, gold: Tagged, predicted: Tagged, reading: Reading = "schemes") -> "ChunkCounts":
        """See `chunk_scores`."""
        check_alike(gold, predicted)
        read = conlleval_chunks if reading == "conlleval" else chunks
        golds, guesses, right = Counter[str](), Counter[str](), Counter[str]()
        for a, b in zip(gold, predicted, strict=True):
            there, found = set(read(a)), set(read(b))
            golds.update(chunk.type for chunk in there)
            guesses.update(chunk.type for chunk in found)
            right.update(chunk.type for chunk in there & found)
        return cls(golds, guesses, right)

    def __add__(self, other: "ChunkCounts") -> "ChunkCounts":
        return ChunkCounts(
            self.gold + other.gold, self.predicted + other.predicted, self.right + other.right
        )

    def scores(self, n_words: int, accuracy: float) -> ChunkScores:
        """With what they do not know: the number of words, and the share of right tags."""
        golds, guesses, right = self.gold, self.predicted, self.right
        return ChunkScores(
            Counted(golds.total(), guesses.total(), right.total()),
            {
                kind: Counted(golds[kind], guesses[kind], right[kind])
                for kind in sorted(golds | guesses)
            },
            n_words,
            accuracy,
        )
