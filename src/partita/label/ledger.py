"""What is known of every word: labels that came with the corpus, answers, and what was undone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partita.label.journal import Record

Label = str | tuple[int, str]
"""A tag; or a head, 0 for the root, and the relation to it, `_` if that is not known."""
KnownLabels = list[list[Label | None]]
"""The label of each word of each sentence, None where it is not known."""
Place = tuple[int, int]
"""A sentence and a word of it, both from 0."""
KINDS = ("answer", "skip", "undo")
"""Records that say what a person did."""


@dataclass(frozen=True)
class Answer:
    """What a person said of one word, and what the model had thought before."""

    number: int
    """Of the record."""
    label: Label
    guess: Label | None
    guess_probability: float
    probability: float
    """Of the answer, before it was learnt."""


class Ledger:
    """Records replayed: the last answer to each word that was not undone holds.

    `given` are labels that came with the corpus; an answer takes their place.

    >>> ledger = Ledger([[None, None]])
    >>> ledger.add({"kind": "answer", "id": "x", "number": 1, "sentence": 0, "labels": {"1": "A"}})
    >>> ledger.add({"kind": "undo", "id": "y", "number": 2, "of": 1})
    >>> ledger.known(), ledger.has("x")
    ([[None, None]], True)
    """

    def __init__(self, given: KnownLabels) -> None:
        self._given = given
        self._answers: dict[Place, list[Answer]] = {}
        self._records: dict[int, Record] = {}
        self._undone: set[int] = set()
        self._ids: dict[str, int] = {}
        self.skipped: set[Place] = set()

    def add(self, record: Record) -> None:
        """Take a record in, in the order of their numbers; other kinds are none of its business."""
        if record["kind"] not in KINDS:
            return
        number, kind = int(record["number"]), record["kind"]
        self._records[number] = record
        self._ids[record["id"]] = number
        if kind == "answer":
            for place, answer in _answers_of(record):
                self._answers.setdefault(place, []).append(answer)
                self.skipped.discard(place)
        elif kind == "skip":
            self.skipped.update((record["sentence"], word) for word in record["words"])
        elif kind == "undo":
            self._undo(int(record["of"]))

    def _undo(self, number: int) -> None:
        self._undone.add(number)
        record = self._records[number]
        if record["kind"] == "skip":
            self.skipped.difference_update((record["sentence"], w) for w in record["words"])
        for place, _ in _answers_of(record):
            kept = [each for each in self._answers[place] if each.number != number]
            self._answers[place] = kept

    def has(self, id: str) -> bool:
        """Whether a record with this id is there, so that it need not come twice."""
        return id in self._ids

    def last(self, tab: str) -> Record | None:
        """The last answer or skip of a tab that was not undone; of any, if the tab has none.

        Whoever opens the page anew, which makes a new tab, can still take back what was said last.
        """
        held = [
            record
            for number, record in sorted(self._records.items(), reverse=True)
            if record["kind"] != "undo" and number not in self._undone
        ]
        return next((record for record in held if record.get("tab") == tab), next(iter(held), None))

    def answers(self) -> Iterator[tuple[Place, Answer]]:
        """The answer that holds for each word that has one, the newest first."""
        held = [(place, found[-1]) for place, found in self._answers.items() if found]
        yield from sorted(held, key=lambda item: (-item[1].number, item[0]))

    def n_answers_to(self, place: Place) -> int:
        """How often a word was answered, differently or not, and not undone."""
        return len(self._answers.get(place, ()))

    def label(self, place: Place) -> Label | None:
        """What is known of a word."""
        found = self._answers.get(place)
        return found[-1].label if found else self._given[place[0]][place[1]]

    def known(self) -> KnownLabels:
        """What is known of every word; a copy."""
        known = [list(labels) for labels in self._given]
        for (sentence, word), answer in self.answers():
            known[sentence][word] = answer.label
        return known

    def held(self) -> list[Record]:
        """The answers that were not undone, in order."""
        return [
            record
            for number, record in sorted(self._records.items())
            if record["kind"] == "answer" and number not in self._undone
        ]


def _answers_of(record: Record) -> Iterator[tuple[Place, Answer]]:
    if record["kind"] != "answer":
        return
    guesses: Mapping[str, Any] = record.get("guesses", {})
    for word, label in record["labels"].items():
        guess, p_guess, p = guesses.get(word, (None, 0.0, 0.0))
        answer = Answer(record["number"], as_label(label), as_label(guess), p_guess, p)
        yield (record["sentence"], int(word)), answer


def as_label(value: Any) -> Any:
    """A label as JSON has it: text, or a list of head and relation."""
    return (int(value[0]), str(value[1])) if isinstance(value, list | tuple) else value


def n_known(known: Sequence[Sequence[Label | None]]) -> int:
    """How many words have a label."""
    return sum(label is not None for labels in known for label in labels)
