"""A sitting: questions, answers that are never lost, and a model that learns in the background."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partita.data.formats import write_sentences
from partita.files import StrPath
from partita.label.effort import Effort
from partita.label.journal import Journal, Record
from partita.label.ledger import KnownLabels, Label, Ledger, Place, n_known
from partita.label.listing import listed_answers
from partita.label.panel import figures
from partita.label.rounds import Background, Round, learnt
from partita.label.task import Chosen, Span, Task, View

LEASE = 1800.0
"""Seconds for which a question belongs to the tab that shows it."""
Said = Mapping[Place, Mapping[str, Label]]
"""What several annotators said of words about which they disagree, by their names."""


@dataclass(frozen=True)
class Lease:
    """The question that a tab shows."""

    span: Span
    since: float
    why: str = "uncertain"


class Sitting:
    """Everything about labelling but the page; all methods may be called by any thread.

    With `background`, a thread learns whenever there are new answers; without it, `learn` does
    when it is called.
    """

    def __init__(
        self,
        task: Task,
        output: StrPath,
        *,
        said: Said | None = None,
        given: KnownLabels | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.task, self.output, self._clock = task, output, clock
        self.said = dict(said or {})
        corpus = hashlib.sha256()
        for number in range(len(task.sentences)):
            corpus.update("\t".join(task.words(number)).encode() + b"\n")
        about = {**task.about(), "corpus": corpus.hexdigest()}
        self.journal = Journal(f"{output}.journal", about)
        self.ledger = Ledger(task.given if given is None else given)
        for record in self.journal.records:
            self.ledger.add(record)
        self._rounds = [record for record in self.journal.records if record["kind"] == "round"]
        self._lock = threading.RLock()
        self.changed = threading.Condition(self._lock)
        self.version = len(self.journal.records)
        self._touched: dict[int, int] = {}
        self._leases: dict[str, Lease] = {}
        self._ready: dict[str, dict[str, Any]] = {}
        self._background: Background | None = None
        self.trouble: str | None = None
        """Why the last round of learning failed, if it did."""
        self.round = self._learnt(None)
        self.write()

    # ------------------------------------------------------------------ questions

    def question(self, tab: str) -> dict[str, Any]:
        """The next question for a tab; the same one until it is answered or skipped."""
        with self._lock:
            lease = self._leases.pop(tab, None)
            why = "uncertain" if self.round.survey.is_informed else "first"
            if lease is not None and (lease.why == "undone" or self._is_unknown(lease.span)):
                why = lease.why
                found = self._payload(lease.span, why)
            else:
                ready = self._ready.pop(tab, None)
                if ready is None or not self._is_open(_span(ready)):
                    span = self._next(tab)
                    ready = None if span is None else self._payload(span, why)
                if ready is None:
                    return {"done": True, "skipped": len(self.ledger.skipped)}
                found = ready
            self._leases[tab] = Lease(_span(found), self._clock(), why)
            return found

    def prepare(self, tab: str) -> None:
        """Have the question after the one that a tab shows ready before that is answered."""
        with self._lock:
            span = self._next(tab)
            if span is not None:
                self._ready[tab] = self._payload(span)

    def is_ready(self, tab: str) -> bool:
        """Whether the question after the one that a tab shows is there already."""
        with self._lock:
            return tab in self._ready

    def opened(
        self, sentence: int, first: int | None = None, last: int | None = None, *, tab: str = ""
    ) -> dict[str, Any]:
        """Some words of a sentence, or all of it, as a question."""
        n_words = len(self.task.sentences[sentence])
        first, last = 0 if first is None else first, n_words - 1 if last is None else last
        if not 0 <= first <= last < n_words:
            raise ValueError(f"words {first} to {last} came; expected some of 0 to {n_words - 1}.")
        with self._lock:
            return self._payload(Span(sentence, first, last), why="opened")

    def view(self, sentence: int, first: int, last: int, chosen: Chosen) -> dict[str, Any]:
        """A question again, under what was chosen so far: probabilities move as one types."""
        outside = [word for word, _ in chosen if not first <= word <= last]
        if outside:
            raise ValueError(f"word {outside[0]} came; expected words from {first} to {last}.")
        with self._lock:
            span = Span(sentence, first, last)
            view = self.task.view(self.round.model, span, self._labels(sentence), chosen)
            return _shown(view)

    def _payload(self, span: Span, why: str = "uncertain") -> dict[str, Any]:
        task, number = self.task, span.sentence
        labels = self._labels(number)
        asked = range(span.first, span.last + 1)
        chosen: dict[tuple[int, str], str] = {}
        for word in asked:
            label = labels[word]
            if label is not None:
                chosen |= {(word, kind): v for kind, v in task.values(label).items()}
        view = task.view(self.round.model, span, labels, chosen)
        said = {
            str(word): {who: task.text(number, label) for who, label in self.said[place].items()}
            for word in asked
            if (place := (number, word)) in self.said and self.ledger.label(place) is None
        }
        return {
            **_shown(view),
            "sentence": number,
            "n_sentences": len(task.sentences),
            "first": span.first,
            "last": span.last,
            "words": task.words(number),
            "known": [None if each is None else task.text(number, each) for each in labels],
            "entropy": span.entropy,
            "seconds": span.seconds,
            "said": said,
            "why": "disagreement" if said else why,
            "round": self.round.number,
        }

    def _labels(self, sentence: int) -> list[Label | None]:
        n_words = len(self.task.sentences[sentence])
        return [self.ledger.label((sentence, word)) for word in range(n_words)]

    def _unknown(self, span: Span) -> set[Place]:
        places = {(span.sentence, word) for word in range(span.first, span.last + 1)}
        return {place for place in places if self.ledger.label(place) is None}

    def _is_unknown(self, span: Span) -> bool:
        return bool(self._unknown(span))

    def _is_open(self, span: Span) -> bool:
        return bool(self._unknown(span) - self.ledger.skipped)

    def _next(self, tab: str) -> Span | None:
        """The best span that no tab shows, not touched since the model learnt."""
        now = self._clock()
        taken = {
            lease.span.sentence for lease in self._leases.values() if now - lease.since < LEASE
        }
        taken |= {ready["sentence"] for other, ready in self._ready.items() if other != tab}
        disputed = self._disputed(taken)
        if disputed is not None:
            return disputed
        fresh = self.round.version
        for span in self.round.survey.spans:
            is_fresh = self._touched.get(span.sentence, 0) <= fresh
            if span.sentence not in taken and is_fresh and self._is_open(span):
                return span
        # What is left was touched: ask the model again, now.
        for closed in (self.ledger.skipped, set()):
            survey = self.task.survey(self.round.model, self.ledger.known(), closed, self._effort())
            spans = [span for span in survey.spans if span.sentence not in taken]
            if spans or survey.spans:
                if not spans and tab in self._leases:
                    # The only sentence left is the one that is shown.
                    return None
                return (spans or survey.spans)[0]
            if not self.ledger.skipped:
                break
        return None

    def _disputed(self, taken: set[int]) -> Span | None:
        """The first words that annotators disagree about, with those next to them."""
        open_ = sorted(
            place
            for place in self.said
            if place[0] not in taken
            and self.ledger.label(place) is None
            and place not in self.ledger.skipped
        )
        if not open_:
            return None
        sentence, first = open_[0]
        last = first
        while (sentence, last + 1) in open_:
            last += 1
        return Span(sentence, first, last)

    # ------------------------------------------------------------------ answers

    def answer(
        self, tab: str, id: str, sentence: int, values: Chosen, seconds: float
    ) -> dict[str, Any]:
        """Record what was said of some words of a sentence; on the disk when this returns."""
        if not 0 <= sentence < len(self.task.sentences):
            raise ValueError(f"sentence {sentence} came; expected 0 to {len(self.task.sentences)}.")
        with self.changed:
            if self.ledger.has(id):
                return {"saved": True, "again": True}
            n_words = len(self.task.sentences[sentence])
            labels, said = self._labels(sentence), self.task.read(n_words, values)
            # What is known already and was only looked at is no new answer.
            new = {word: label for word, label in said.items() if labels[word] != label}
            if not new:
                self._leases.pop(tab, None)
                return {"saved": True, "words": 0}
            guesses = self.task.guesses(self.round.model, sentence, labels, new)
            survey, lease = self.round.survey, self._leases.get(tab)
            n_open = survey.n_words - n_known(self.ledger.known())
            is_asked = (
                lease is not None
                and lease.span.sentence == sentence
                and all(lease.span.first <= word <= lease.span.last for word in new)
            )
            record = {
                "kind": "answer",
                "id": id,
                "tab": tab,
                "time": round(self._clock(), 3),
                "seconds": round(float(seconds), 2),
                "sentence": sentence,
                "labels": {str(word): label for word, label in new.items()},
                "guesses": {str(word): guess for word, guess in guesses.items()},
                # What the words told, and what an open word tells on average.
                "entropy": lease.span.entropy if is_asked and lease else None,
                "usual": survey.entropy / max(n_open, 1),
            }
            self._record(record)
            self._leases.pop(tab, None)
            return {"saved": True, "words": len(new)}

    def skip(self, tab: str, id: str, sentence: int, words: Sequence[int]) -> dict[str, Any]:
        """Leave words for later."""
        with self.changed:
            if not self.ledger.has(id):
                n_words = len(self.task.sentences[sentence])
                if not all(0 <= word < n_words for word in words):
                    raise ValueError(f"the words {list(words)} came; expected 0 to {n_words - 1}.")
                record = {"kind": "skip", "id": id, "tab": tab, "time": round(self._clock(), 3)}
                self._record(record | {"sentence": sentence, "words": list(words)})
            self._leases.pop(tab, None)
            return {"saved": True}

    def undo(self, tab: str, id: str) -> dict[str, Any]:
        """Take the last answer or skip back; that is a record, too. Its words are shown again."""
        with self.changed:
            last = self.ledger.last(tab)
            if self.ledger.has(id) or last is None:
                return {"saved": True, "undone": None}
            when = round(self._clock(), 3)
            self._record({"kind": "undo", "id": id, "of": last["number"], "time": when})
            words = last.get("words") or sorted(map(int, last["labels"]))
            span = Span(last["sentence"], min(words), max(words))
            self._leases[tab] = Lease(span, self._clock(), "undone")
            return {"saved": True, "undone": last["number"], "sentence": span.sentence}

    def _record(self, record: Record) -> None:
        written = self.journal.append(record)
        self.ledger.add(written)
        self.version = written["number"]
        if "sentence" in record:
            self._touched[record["sentence"]] = self.version
        self.changed.notify_all()

    def answers(self, search: str = "", *, doubtful: bool = False) -> list[dict[str, Any]]:
        """All answers that hold, the newest first; those with some text, or those to look at."""
        with self._lock:
            fresh = {s for s, version in self._touched.items() if version > self.round.version}
            return listed_answers(
                self.task, self.ledger, self.round.doubts, fresh, search, doubtful=doubtful
            )

    def progress(self) -> dict[str, Any]:
        """What was learnt, for the panel."""
        with self._lock:
            n_disputed = sum(self.ledger.label(place) is None for place in self.said)
            return figures(self.ledger, self.round.survey, self._rounds, self.round.held_out) | {
                "round": self.round.number,
                "version": self.version,
                "learning": self.round.version < self.version,
                "learning_seconds": self.round.seconds,
                "trouble": self.trouble,
                "disputed": n_disputed,
                "disputes": len(self.said),
                "output": str(self.output),
            }

    # ------------------------------------------------------------------ learning

    def start(self) -> None:
        """Learn in the background from now on."""
        self._background = Background(self)
        self._background.start()

    def learn(self) -> None:
        """A round of learning from all that is known, now."""
        new = self._learnt(self.round)
        with self._lock:
            self.round = new
            # What was prepared is of an older model.
            for tab in list(self._ready):
                self._ready.pop(tab)
                self.prepare(tab)
            self._note_round()
        self.write()

    def close(self) -> None:
        """End the learning, write the output, and let go of the journal."""
        if self._background is not None:
            self._background.end()
        self.write()
        self.journal.close()

    def write(self) -> None:
        """Write the output anew, in one step."""
        with self._lock:
            known = self.ledger.known()
        sentences, format = self.task.written(known)
        write_sentences(self.output, sentences, format)

    def _learnt(self, last: Round | None) -> Round:
        with self._lock:
            version, known = self.version, self.ledger.known()
            closed, effort = set(self.ledger.skipped), self._effort()
        return learnt(self.task, last, version, known, closed, effort)

    def _note_round(self) -> None:
        """A point of the curve: into the journal, so that the curve outlives the process."""
        survey = self.round.survey
        n_asked = sum(len(record["labels"]) for record in self.ledger.held())
        if self._rounds and self._rounds[-1]["asked"] == n_asked:
            return
        point = {
            "kind": "round",
            "id": f"round-{len(self._rounds)}",
            "asked": n_asked,
            "expected": round(survey.expected_accuracy, 6),
            "held_out": self.round.held_out,
            "entropy": round(survey.entropy, 4),
        }
        self._rounds.append(self.journal.append(point))

    def _effort(self) -> Effort:
        sentences = self.task.sentences
        return Effort.learnt(
            (len(record["labels"]), len(sentences[record["sentence"]]), record["seconds"])
            for record in self.ledger.held()
            if record["seconds"] > 0
        )


def _shown(view: View) -> dict[str, Any]:
    slots = [
        {
            "word": slot.word,
            "kind": slot.kind,
            "options": [[o.value, o.text, o.probability] for o in slot.options],
            "proposed": slot.proposed,
        }
        for slot in view.slots
    ]
    return {"slots": slots, "drawing": view.drawing, "spans": view.spans}


def _span(payload: Mapping[str, Any]) -> Span:
    numbers = (payload[name] for name in ("sentence", "first", "last", "entropy", "seconds"))
    return Span(*numbers)
