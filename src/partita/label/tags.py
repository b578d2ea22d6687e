"""Labelling tags: a chain that learns from part of the tags, and asks for spans of words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from partita import show
from partita.arrays import FloatArray
from partita.data.formats import Format
from partita.data.schemes import OUTSIDE, UNKNOWN, Chunk, chunks, split_tag
from partita.data.sentences import Sentence
from partita.label.effort import Effort
from partita.label.ledger import KnownLabels, Label, Place
from partita.label.tag_learner import TagLearner, TagOptions, all_span_entropies
from partita.label.task import (
    Chosen,
    Guess,
    LabelSlot,
    Span,
    Survey,
    Task,
    View,
    best_span,
    ranked,
)


class TagTask(Task):
    """Tags of words: any column, or spans that tags of a chunk scheme spell out.

    `base` is a trained tagger to start from.

    >>> sentences = [Sentence({"FORM": ("dogs", "bark")}), Sentence({"FORM": ("cats", "purr")})]
    >>> task = TagTask(sentences, ["NOUN", "VERB"], column="tag")
    >>> model = task.learn([["NOUN", None], [None, None]])
    >>> survey = task.survey(model, [["NOUN", None], [None, None]], set(), Effort())
    >>> survey.spans[0].sentence
    1
    """

    _learner: TagLearner

    def __init__(
        self,
        sentences: Sequence[Sentence],
        tags: Sequence[str],
        *,
        column: str,
        format: Format = "columns",
        base: Any = None,
        options: TagOptions | None = None,
        held_out: tuple[Sequence[Sentence], Sequence[Sequence[str]]] | None = None,
    ) -> None:
        self.sentences, self.column, self.format = sentences, column, format
        self._held_out = held_out
        judged = [] if held_out is None else list(held_out[0])
        self._learner = TagLearner(
            [*sentences, *judged], tags, column, base, options or TagOptions()
        )
        self.tags = self._learner.tags
        self.given = self.labels_of(sentences)
        counts = Counter(word.lower() for n in range(len(sentences)) for word in self.words(n))
        self._interest = [
            np.log1p([counts[word.lower()] for word in self.words(n)])
            for n in range(len(sentences))
        ]

    def impossible(self, labels: Sequence[Any]) -> str:
        """The tags, and the scheme that forbids them."""
        scheme = f" in the scheme {self.tags.scheme}" if self.tags.scheme else ""
        shown = " ".join(UNKNOWN if label is None else str(label) for label in labels)
        return f"these tags cannot stand together{scheme}: {shown}"

    # ------------------------------------------------------------------ questions

    def survey(
        self, model: FloatArray, known: KnownLabels, closed: set[Place], effort: Effort
    ) -> Survey:
        """The most uncertain span of each sentence, and how much is uncertain in all."""
        found: list[tuple[float, Span]] = []
        entropy = sure = 0.0
        # Before anything is known all words are as uncertain; common ones teach the most.
        knows = self._learner.knows_something or any(map(any, known))
        for p, places in self._everything(model):
            p = self._learner.given_known(p, known[places.start : places.stop])
            entropy += float(p.entropy.sum())
            for place, unary, pairs in zip(places, *p.by_position.marginals, strict=True):
                sure += float(unary.max(axis=1).sum())
                is_open = np.array(
                    [
                        label is None and (place, word) not in closed
                        for word, label in enumerate(known[place])
                    ]
                )
                lengths = range(1, min(self._learner.options.most_words, len(unary)) + 1)
                entropies = all_span_entropies(unary, pairs, lengths)
                interest = None if knows else self._interest[place]
                best = best_span(place, entropies, is_open, effort, interest)
                if best is not None:
                    found.append(best)
        found.sort(key=lambda each: (-each[0], each[1].sentence))
        return Survey([span for _, span in found], entropy, sure, sum(map(len, known)), knows)

    def view(
        self, model: FloatArray, span: Span, labels: Sequence[Label | None], chosen: Chosen
    ) -> View:
        """A slot for each word of the span; the tags that were chosen hold for the others."""
        open_ = range(span.first, span.last + 1)
        fixed = [None if word in open_ else label for word, label in enumerate(labels)]
        for (word, _), value in chosen.items():
            fixed[word] = value
        p = self._one(model, span.sentence, fixed)
        (unary,), (pairs,) = p.by_position.marginals
        (best,) = p.best.structures
        slots = []
        for word in open_:
            # What else the word could be, whatever was chosen for it; the others stay as chosen.
            row = unary[word]
            if fixed[word] is not None:
                freed = [None if each == word else label for each, label in enumerate(fixed)]
                (others,), _ = self._one(model, span.sentence, freed).marginals
                row = others[word]
            names = zip(self.tags.names, row.tolist(), strict=True)
            options = [(tag, self.shown(tag), q) for tag, q in names]
            slots.append(LabelSlot(word, "tag", ranked(options), self.tags.names[int(best[word])]))
        drawn = show.trellis(self.words(span.sentence), self.tags.names, unary, transitions=pairs)
        spans = [] if self.tags.scheme is None else self._spans(best.tolist())
        return View(slots, drawn.text, [(each.type, each.first, each.last) for each in spans])

    def _spans(self, numbers: list[int]) -> list[Chunk]:
        return chunks([self.tags.names[number] for number in numbers])

    def shown(self, tag: str) -> str:
        """A tag as people say it: where tags spell out spans, "PER begins" for B-PER."""
        if self.tags.scheme is None:
            return tag
        letter, kind = split_tag(tag)
        if letter == OUTSIDE:
            return "outside"
        verbs = {"B": "begins", "I": "goes on", "E": "ends", "S": "alone"}
        return f"{kind} {verbs[letter]}".strip()

    def read(self, n_words: int, values: Chosen) -> dict[int, Label]:
        """The tags of words."""
        labels: dict[int, Label] = {}
        for (word, kind), value in values.items():
            if not (0 <= word < n_words and kind == "tag" and value in self.tags.names):
                raise ValueError(
                    f"{value!r} came as the {kind} of word {word}; expected one of "
                    f"{', '.join(self.tags.names)} for a word from 0 to {n_words - 1}."
                )
            labels[word] = value
        return labels

    def values(self, label: Label) -> dict[str, str]:
        """The tag."""
        return {"tag": str(label)}

    def text(self, sentence: int, label: Label) -> str:
        """The tag."""
        return str(label)

    def guesses(
        self,
        model: FloatArray,
        sentence: int,
        labels: Sequence[Label | None],
        answers: dict[int, Label],
    ) -> dict[int, Guess]:
        """By the tags' probabilities, given the labels of the words that no answer is about."""
        others = [None if word in answers else label for word, label in enumerate(labels)]
        (unary,), _ = self._one(model, sentence, others).marginals
        together = [answers.get(word, label) for word, label in enumerate(others)]
        self._one(model, sentence, together)
        return {word: self._guess(unary[word], label) for word, label in answers.items()}

    def _guess(self, row: FloatArray, label: Label) -> Guess:
        best = int(row.argmax())
        of_answer = float(row[self.tags.names.index(str(label))])
        return Guess(self.tags.names[best], float(row[best]), of_answer)

    def doubts(self, model: FloatArray, known: KnownLabels) -> dict[Place, Guess]:
        """Of each known tag, what the model would say if nothing were known."""
        found: dict[Place, Guess] = {}
        for p, places in self._everything(model):
            if not any(map(any, known[places.start : places.stop])):
                continue
            for place, unary in zip(places, p.marginals.unary, strict=True):
                for word, label in enumerate(known[place]):
                    if label is not None:
                        found[place, word] = self._guess(unary[word], label)
        return found

    def held_out(self, model: FloatArray) -> float | None:
        """The share of right tags."""
        if self._held_out is None:
            return None
        first = len(self.sentences)
        order = range(first, first + len(self._held_out[0]))
        found = [
            self.tags.named(best)
            for p, _ in self._learner.distributions(model, order, None)
            for best in p.best.structures
        ]
        pairs = [
            (tag, right)
            for tags, gold in zip(found, self._held_out[1], strict=True)
            for tag, right in zip(tags, gold, strict=True)
            if right != UNKNOWN
        ]
        return sum(tag == right for tag, right in pairs) / max(len(pairs), 1)

    # ------------------------------------------------------------------ files

    def written(self, known: KnownLabels) -> tuple[list[Sentence], Format]:
        """The sentences with a column of tags; `?`, or `_` in CoNLL-U, for what is not known."""
        unknown = "_" if self.format == "conllu" else UNKNOWN
        sentences = []
        for sentence, labels in zip(self.sentences, known, strict=True):
            tags = [unknown if label is None else str(label) for label in labels]
            if self.format == "plain":
                # Blank lines between lines of text would be empty sentences between columns.
                sentence = replace(sentence, before=(), after=())
            sentences.append(sentence.replaced(self.column, tags))
        return sentences, "columns" if self.format == "plain" else self.format

    def about(self) -> dict[str, Any]:
        """The task as the journal and the page name it."""
        return {"task": "tags", "column": self.column, "labels": list(self.tags.names)}

    def labels_in(self, sentence: Sentence) -> list[Label | None]:
        """The tags in the column of tags."""
        if self.column not in sentence.names:
            return [None] * len(sentence)
        unknown = (UNKNOWN, "_") if self.format == "conllu" else (UNKNOWN,)
        tags = sentence.column(self.column)
        for word, tag in enumerate(tags):
            if tag not in unknown and tag not in self.tags.names:
                raise ValueError(
                    f"{sentence.where(word)}: found the tag {tag!r}; expected one of "
                    f"{', '.join(self.tags.names)}, or {unknown[-1]} where it is not known. Name "
                    "the tag, too (--tags), or correct it."
                )
        return [None if tag in unknown else tag for tag in tags]
