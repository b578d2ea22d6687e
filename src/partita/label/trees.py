"""Labelling trees: a distribution over dependency trees that learns from some heads of a sentence.

Heads are asked for with their relations; `tree_survey` says by which entropy.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita import show
from partita.arrays import FloatArray
from partita.data.conllu import EMPTY, UNKNOWN_HEAD
from partita.data.dependencies import UNKNOWN, relations, tree_heads
from partita.data.formats import Format
from partita.data.sentences import Sentence
from partita.label.effort import Effort
from partita.label.ledger import KnownLabels, Label, Place
from partita.label.task import (
    Chosen,
    Guess,
    LabelSlot,
    Span,
    Survey,
    Task,
    View,
    ranked,
)
from partita.label.tree_learner import TreeLearner, TreeOptions, TreeWeights, given_known
from partita.label.tree_survey import TreeSurvey

UNIVERSAL: list[str] = re.findall(
    r"\w+",
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse "
    "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis "
    "punct reparandum root vocative xcomp",
)
"""The relations of Universal Dependencies, for those who name none."""


class TreeTask(Task):
    """Heads and relations of words, in CoNLL-U.

    `base` is a trained parser, whose scores of arcs ours are added to.

    >>> rows = {"FORM": ("dogs", "bark"), "UPOS": ("NOUN", "VERB")}
    >>> task = TreeTask([Sentence(rows), Sentence(rows)], ["nsubj", "root"])
    >>> known = [[(2, "nsubj"), (0, "root")], [None, None]]
    >>> model = task.learn(known)
    >>> guesses = task.guesses(model, 1, known[1], {0: (2, "nsubj")})
    >>> guesses[0].label, guesses[0].probability > 0.5
    ((2, 'nsubj'), True)
    """

    _learner: TreeLearner

    def __init__(
        self,
        sentences: Sequence[Sentence],
        names: Sequence[str] = UNIVERSAL,
        *,
        base: Any = None,
        options: TreeOptions | None = None,
        held_out: Sequence[Sentence] | None = None,
        format: Format = "conllu",
    ) -> None:
        self.format: Format = format
        self.sentences, self.names = sentences, tuple(names)
        self.given = self.labels_of(sentences)
        self._judged = [] if held_out is None else list(held_out)
        self._learner = TreeLearner(
            [*sentences, *self._judged], names, base, options or TreeOptions()
        )

    def impossible(self, labels: Sequence[Any]) -> str:
        """The heads that no tree has together."""
        given = [f"{w + 1} on {each[0]}" for w, each in enumerate(labels) if each is not None]
        crossing = " whose arcs do not cross" if self._learner.options.projective else ""
        return f"no tree with one root{crossing} has these heads together: {', '.join(given)}"

    # ------------------------------------------------------------------ questions

    def survey(
        self, model: TreeWeights, known: KnownLabels, closed: set[Place], effort: Effort
    ) -> Survey:
        """The words whose heads and relations are least certain, and how much is in all."""
        knows = self._learner.knows_something or any(map(any, known))
        batches = (
            (given_known(p, known[places.start : places.stop]), places)
            for p, places in self._everything(model)
        )
        relations = partial(self._learner.relations.expected_entropies, model.relations)
        return TreeSurvey(known, closed, effort, self._learner.options.most_words, relations).of(
            batches, knows
        )

    def view(
        self, model: TreeWeights, span: Span, labels: Sequence[Label | None], chosen: Chosen
    ) -> View:
        """Two slots for each word of the span, head and relation; and the likeliest tree."""
        words = self.words(span.sentence)
        open_ = range(span.first, span.last + 1)
        fixed: list[Any] = [None if w in open_ else label for w, label in enumerate(labels)]
        for (word, kind), value in chosen.items():
            if kind == "head":
                fixed[word] = (int(value), EMPTY)
        p = self._one(model, span.sentence, fixed)
        (marginals,), (best,) = p.marginals, p.best.structures
        (table,) = self._learner.relations.probabilities(model.relations, [best], [span.sentence])
        names = [self.names[number] for number in table.argmax(axis=1).tolist()]
        slots = []
        for word in open_:
            row = marginals[:, word + 1]
            if fixed[word] is not None:
                freed = [None if w == word else label for w, label in enumerate(fixed)]
                row = self._one(model, span.sentence, freed).marginals[0][:, word + 1]
            heads = [
                (str(head), f"{head} {words[head - 1]}" if head else "root", float(row[head]))
                for head in range(len(words) + 1)
                if head != word + 1
            ]
            slots.append(LabelSlot(word, "head", ranked(heads), str(int(best[word]))))
            likely = zip(self.names, table[word].tolist(), strict=True)
            named = [(name, name, q) for name, q in likely]
            names[word] = chosen.get((word, "relation"), names[word])
            slots.append(LabelSlot(word, "relation", ranked(named), names[word]))
        for word, label in enumerate(fixed):
            if word not in open_ and label is not None and label[1] != EMPTY:
                names[word] = label[1]
        marked = [(int(best[word]), word + 1) for word in open_]
        drawn = show.tree(
            words, best, labels=names, probabilities=np.minimum(marginals, 1.0), marked=marked
        )
        return View(slots, drawn.text)

    def read(self, n_words: int, values: Chosen) -> dict[int, Label]:
        """Heads and relations of words; both must be there."""
        found: dict[int, dict[str, str]] = {}
        for (word, kind), value in values.items():
            found.setdefault(word, {})[kind] = value
        labels: dict[int, Label] = {}
        for word, slots in found.items():
            head, name = slots.get("head", ""), slots.get("relation", EMPTY)
            is_head = head.isascii() and head.isdigit() and int(head) <= n_words
            if not (0 <= word < n_words and is_head and int(head) != word + 1):
                raise ValueError(
                    f"{head!r} came as the head of word {word + 1}; expected 0 for the root, or "
                    f"another word, 1 to {n_words}."
                )
            if name != EMPTY and name not in self.names:
                raise ValueError(
                    f"{name!r} came as a relation; expected one of {', '.join(self.names)}."
                )
            labels[word] = (int(head), name)
        return labels

    def values(self, label: Any) -> dict[str, str]:
        """The head and, if it is known, the relation."""
        found = {"head": str(label[0])}
        return found if label[1] == EMPTY else {**found, "relation": label[1]}

    def text(self, sentence: int, label: Any) -> str:
        """The relation, and the head as its number and word."""
        head, name = label
        return f"{name} of {f'{head} {self.words(sentence)[head - 1]}' if head else 'the root'}"

    def guesses(
        self,
        model: TreeWeights,
        sentence: int,
        labels: Sequence[Label | None],
        answers: dict[int, Label],
    ) -> dict[int, Guess]:
        """By the heads' probabilities, given the heads of the other words, and the relations'."""
        others = [None if word in answers else label for word, label in enumerate(labels)]
        (marginals,) = self._one(model, sentence, others).marginals
        self._one(model, sentence, [answers.get(w, label) for w, label in enumerate(others)])
        return self._judged_by(model, sentence, marginals, answers)

    def _judged_by(
        self, model: TreeWeights, sentence: int, marginals: FloatArray, answers: dict[int, Any]
    ) -> dict[int, Guess]:
        """A guess for each answer: p(head) p(relation | head), of the best and of the answer."""
        best = marginals[:, 1:].argmax(axis=0)
        said = best.copy()
        for word, (head, _) in answers.items():
            said[word] = head
        by_best, by_answer = self._learner.relations.probabilities(
            model.relations, [best, said], [sentence, sentence]
        )
        found = {}
        for word, (head, name) in answers.items():
            likely = int(by_best[word].argmax())
            p = float(marginals[best[word], word + 1] * by_best[word, likely])
            of_name = 1.0 if name == EMPTY else by_answer[word, self.names.index(name)]
            of_answer = float(marginals[head, word + 1] * of_name)
            found[word] = Guess((int(best[word]), self.names[likely]), p, of_answer)
        return found

    def doubts(self, model: TreeWeights, known: KnownLabels) -> dict[Place, Guess]:
        """Of each known label, what the model would say if nothing were known."""
        found: dict[Place, Guess] = {}
        for p, places in self._everything(model):
            if not any(map(any, known[places.start : places.stop])):
                continue
            for place, marginals in zip(places, p.marginals, strict=True):
                answers = {w: label for w, label in enumerate(known[place]) if label is not None}
                if not answers:
                    continue
                guesses = self._judged_by(model, place, marginals, answers)
                found |= {(place, word): guess for word, guess in guesses.items()}
        return found

    def held_out(self, model: TreeWeights) -> float | None:
        """The share of right heads."""
        if not self._judged:
            return None
        order = range(len(self.sentences), len(self.sentences) + len(self._judged))
        found = [
            best for p, _ in self._learner.distributions(model, order, None) for best in p.best[0]
        ]
        n_right = n_known = 0
        for sentence, heads in zip(self._judged, found, strict=True):
            gold = np.array(tree_heads(sentence, single_root=False, partial=True))
            n_known += int((gold >= 0).sum())
            n_right += int(((gold == heads) & (gold >= 0)).sum())
        return n_right / max(n_known, 1)

    # ------------------------------------------------------------------ files

    def written(self, known: KnownLabels) -> tuple[list[Sentence], Format]:
        """The sentences with the columns HEAD and DEPREL, `_` for what is not known."""
        sentences = []
        for sentence, labels in zip(self.sentences, known, strict=True):
            heads = [EMPTY if label is None else str(label[0]) for label in labels]
            names = [EMPTY if label is None else str(label[1]) for label in labels]
            sentences.append(sentence.replaced("HEAD", heads).replaced("DEPREL", names))
        return sentences, self.format

    def about(self) -> dict[str, Any]:
        """The task as the journal and the page name it."""
        return {"task": "trees", "column": "HEAD", "labels": list(self.names)}

    def labels_in(self, sentence: Sentence) -> list[Label | None]:
        """The heads and relations in HEAD and DEPREL."""
        if "HEAD" not in sentence.names:
            return [None] * len(sentence)
        heads = tree_heads(sentence, partial=True)
        found = [EMPTY] * len(sentence)
        if "DEPREL" in sentence.names:
            found = list(relations(sentence, partial=True))
        for word, name in enumerate(found):
            if name not in UNKNOWN and name not in self.names:
                raise ValueError(
                    f"{sentence.where(word)}: found the relation {name!r}; expected one of "
                    f"{', '.join(self.names)}. Name it, too (--tags), or correct it."
                )
        return [
            None if head == UNKNOWN_HEAD else (head, name)
            for head, name in zip(heads, found, strict=True)
        ]
