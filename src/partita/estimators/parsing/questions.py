"""What a parser can be asked: trees, probabilities, entropies."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import starmap
from typing import Any, Literal, TypeVar

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.sibling_tree import SiblingTree
from partita.estimators.answers import CHUNK, LISTED, Asked, ask, drawn, listed_answers
from partita.estimators.base import Estimator
from partita.estimators.groups import Runs
from partita.estimators.options import declared
from partita.estimators.parsing.answers import (
    N_CANDIDATES,
    ArcLimits,
    Arcs,
    Labeller,
    agreeing,
    least_risk,
)
from partita.estimators.parsing.labels import Labels
from partita.estimators.parsing.lifting import MARK, lowered
from partita.estimators.parsing.material import Heads, trees_of
from partita.estimators.parsing.model import (
    KeyedWords,
    ParserModel,
    TreeDistribution,
    without_labels,
)
from partita.estimators.parsing.rescoring import N_PROPOSED, Rescorer, best_scored
from partita.estimators.sample_weights import NAME
from partita.objectives.base import checked_weights
from partita.text.sentences import listed, shown_words

Answer = TypeVar("Answer")
Decoder = Literal["best", "risk", "joint"]
Parse = tuple[IntArray, list[str] | None]
"""The head of every word, 0 for the root, and the label of every arc."""


@declared
class TreeEstimator(Estimator, Runs):
    """A distribution over dependency trees for every sentence, and all questions about them."""

    model_: ParserModel = field(init=False)
    weights_: FloatArray = field(init=False)
    label_model_: Labels | None = field(init=False)
    label_weights_: FloatArray | None = field(init=False)
    """Of a second model; None where the arcs have labels of their own."""

    @property
    def labels_(self) -> tuple[str, ...]:
        """The labels, in the order of all arrays; none for a parser without labels."""
        self._check_fitted()
        return () if self.label_model_ is None else self.label_model_.names

    # ------------------------------------------------------------------ trees

    def predict(
        self,
        sentences: Iterable[Any],
        *,
        required: Sequence[Arcs] | None = None,
        forbidden: Sequence[Arcs] | None = None,
        decoder: Decoder | None = None,
        projective: bool | None = None,
        one_subject: bool = False,
        rescorer: "TreeEstimator | None" = None,
    ) -> list[Parse]:
        """Heads and labels of every sentence.

        Parameters
        ----------
        required, forbidden
            For each sentence a list of arcs (head, modifier) that the tree must or may not have;
            words count from 1, and 0 is the root.
        decoder
            "best", the most probable tree; "risk", the one with the fewest wrong arcs to be
            expected: the tree whose arcs have the largest sum of marginals; or "joint", the most
            probable tree with its labels, p(tree) p(labels | tree), among the eight best trees:
            the most accurate and the slowest, since labels look at more than one arc. If left out,
            "joint" with order=2 and labels, at three times the cost of "best", else "best".
        projective
            Whether arcs may not cross; as in training if left out.
        one_subject
            Whether a word has at most one modifier whose label is a subject (nsubj, csubj).
        rescorer
            Another parser, which helps to choose among the 32 best trees of this one: two that
            differ, one of the second order and one whose arcs may cross, err less together.
        """
        sentences = listed(sentences)
        limits = ArcLimits(required, forbidden)
        limits.check(len(sentences))
        answers = self._parses(
            sentences, limits, decoder, projective, one_subject, LISTED, rescorer
        )
        return listed_answers(sentences, answers)

    def predict_stream(
        self,
        sentences: Iterable[Any],
        *,
        decoder: Decoder | None = None,
        projective: bool | None = None,
        one_subject: bool = False,
        rescorer: "TreeEstimator | None" = None,
        chunk: int = CHUNK,
    ) -> Iterator[Parse]:
        """As `predict`, one answer after the other; reads `chunk` sentences at a time."""
        return self._parses(
            sentences, ArcLimits(), decoder, projective, one_subject, chunk, rescorer
        )

    def _parses(
        self,
        sentences: Iterable[Any],
        limits: ArcLimits,
        chosen: Decoder | None,
        projective: bool | None,
        one_subject: bool,
        chunk: int = CHUNK,
        rescorer: "TreeEstimator | None" = None,
    ) -> Iterator[Parse]:
        decoder = self._decoder(chosen)
        labeller = self.labeller() if decoder == "joint" or self.labels_ else None
        # Arcs that have labels of their own tell the best tree with its labels at once.
        reranks = decoder == "joint" and self.model_.labels is None
        other = None if rescorer is None else _rescorer(rescorer, decoder)

        def question(asked: Asked) -> Any:
            p = limits.restricted(asked)
            if other is not None:
                found = other.rescored(asked.sentences, p.k_best(N_PROPOSED))
                return found if reranks else [best_scored(each) for each in found]
            if reranks:
                return p.k_best(N_CANDIDATES)
            return least_risk(p) if decoder == "risk" else p.best.structures

        def finish(encoded: KeyedWords, trees: list[Any]) -> Iterable[Parse]:
            if labeller is None:
                return ((heads, None) for heads in trees)
            if reranks:
                trees = labeller.most_probable(encoded, trees)
            alone = [[heads] for heads in trees]
            named = labeller.best(encoded, alone, single_subject=one_subject)
            found = zip(trees, named, strict=True)
            return (self._taken_down(heads, names) for heads, [names] in found)

        return self._ask(
            sentences,
            question,
            self._no_parse,
            finish,
            projective=projective,
            arcs="best" if decoder == "joint" else "summed",
            chunk=chunk,
        )

    def k_best(self, sentences: Iterable[Any], k: int) -> list[list[tuple[Parse, float]]]:
        """The k most probable trees of each sentence, with their best labels.

        Each has the log-probability of the tree, whatever its labels are.
        """

        def question(asked: Asked) -> Iterator[list[tuple[IntArray, float]]]:
            for found, total in zip(asked.p.k_best(k), asked.p.log_partition, strict=True):
                yield [(heads, float(score - total)) for heads, score in found]

        def finish(encoded: KeyedWords, found: list[Any]) -> Iterator[list[tuple[Parse, float]]]:
            parses = self._labelled(encoded, [[heads for heads, _ in each] for each in found])
            for trees, each in zip(parses, found, strict=True):
                yield [(tree, log_prob) for tree, (_, log_prob) in zip(trees, each, strict=True)]

        return list(self._ask(sentences, question, lambda: [(self._no_parse(), 0.0)], finish))

    def sample(
        self,
        sentences: Iterable[Any],
        size: int,
        rng: np.random.Generator,
        *,
        replace: bool = True,
    ) -> list[list[Parse]]:
        """`size` independent trees of each sentence with their labels, drawn exactly.

        With `replace=False` no two are the same: each is drawn from those that are left, and there
        are fewer where there are fewer in all. Labels of a second model are drawn once a tree.
        """

        def question(asked: Asked) -> Any:
            return drawn(asked.p, size, rng, replace)

        def finish(encoded: KeyedWords, found: list[Any]) -> Iterable[list[Parse]]:
            return self._labelled(encoded, [list(trees) for trees in found], rng)

        def empty() -> list[Parse]:
            return [self._no_parse() for _ in range(size if replace else min(size, 1))]

        # One thread, so that the same generator gives the same trees.
        return list(self._ask(sentences, question, empty, finish, workers=1))

    def score(
        self,
        sentences: Iterable[Any],
        heads: Heads | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> float:
        """The share of words whose head is right, of those whose head is known.

        With `sample_weight`, a number for each sentence, each of its words counts so much.
        """
        sentences = listed(sentences)
        known, _ = trees_of(sentences, heads)
        weights = checked_weights(sample_weight, len(sentences), NAME)
        n_right = n_known = 0.0
        for (found, _), right, weight in zip(
            self.predict(sentences), known, weights.tolist(), strict=True
        ):
            n_known += weight * int((right >= 0).sum())
            n_right += weight * int(((found == right) & (right >= 0)).sum())
        if n_known == 0:
            raise ValueError("no word has a known head to compare with; expected at least one.")
        return n_right / n_known

    # ------------------------------------------------------------------ probabilities

    def predict_marginals(self, sentences: Iterable[Any]) -> list[FloatArray]:
        """The probability of every arc [head, modifier], (n+1, n+1), with the root as row 0."""

        def question(asked: Asked) -> Iterator[FloatArray]:
            # Copies, so that an answer does not hold the memory of its whole batch.
            arcs = asked.p.structures.split_arrays(asked.p.inference.marginals)[0]
            return (marginals.copy() for marginals in arcs)

        return list(self._ask(sentences, question, lambda: np.zeros((1, 1))))

    def predict_labels(self, sentences: Iterable[Any], heads: Heads) -> list[FloatArray]:
        """The probability of every label of every arc of given trees, (n, n_labels)."""
        labeller, sentences = self.labeller(), listed(sentences)
        known, _ = trees_of(sentences, heads)
        if not known:
            return []
        if any((each < 0).any() for each in known):
            raise ValueError("some heads are not known; expected whole trees to label.")
        tables = labeller.tables(self.model_.encode(sentences), range(len(known)), known)
        return [np.exp(table) for table in tables]

    def log_prob(self, sentences: Iterable[Any], heads: Heads | None = None) -> FloatArray:
        """Log-probability of each sentence's tree; of all that agree with the heads that are known.

        A tree that is none of the set (crossing arcs in a projective parser) has -inf.
        """
        sentences = listed(sentences)
        known, _ = trees_of(sentences, heads)

        def question(asked: Asked) -> Any:
            found = agreeing(asked.p, [known[place] for place in asked.places])
            return found - asked.p.log_partition

        return np.array(list(self._ask(sentences, question, float)), dtype=np.float64)

    def entropy(self, sentences: Iterable[Any]) -> FloatArray:
        """The exact entropy of each sentence's tree, in nats."""
        found = self._ask(sentences, lambda asked: asked.p.entropy, float)
        return np.array(list(found), dtype=np.float64)

    def distribution(self, sentence: Any) -> TreeDistribution:
        """The distribution over the trees of one sentence, for every other question."""
        if not len(sentence):
            raise ValueError("the sentence has no words; expected at least one.")
        (p,) = self.distributions([sentence])
        single_root, has_labels = self.model_.single_root, self.model_.labels is not None
        if isinstance(p, SiblingTree):
            (arcs,), (siblings,) = p.structures.split_arrays(p.scores)
            found = SiblingTree(arcs, siblings, single_root=single_root)
            return found.named(shown_words(sentence))
        (arcs,) = p.structures.split(p.scores)
        tree = type(p)(arcs, single_root=single_root, labelled=has_labels)
        return tree.named(shown_words(sentence), self.labels_ if has_labels else ())

    def distributions(self, sentences: Iterable[Any]) -> Iterator[TreeDistribution]:
        """Distributions over trees, for batches of the sentences that have words, in order."""
        found: list[TreeDistribution] = []

        def question(asked: Asked) -> Iterator[None]:
            found.append(asked.p)
            return (None for _ in asked.places)

        for _ in self._ask(sentences, question, lambda: None, arcs="labelled", workers=1):
            while found:
                yield found.pop(0)

    # ------------------------------------------------------------------ helpers

    def _decoder(self, chosen: Decoder | None) -> Decoder:
        self._check_fitted()
        if chosen is None:
            # The second order is there for better trees, the first for speed.
            return "joint" if self.model_.siblings is not None and self.labels_ else "best"
        if chosen not in ("best", "risk", "joint"):
            raise ValueError(f"decoder is {chosen!r}; expected 'best', 'risk' or 'joint'.")
        return chosen

    def _ask(
        self,
        sentences: Iterable[Any],
        question: Callable[[Asked], Iterable[Any]],
        empty: Callable[[], Answer],
        finish: Callable[[KeyedWords, list[Any]], Iterable[Answer]] | None = None,
        *,
        projective: bool | None = None,
        arcs: Literal["summed", "best", "labelled"] = "summed",
        workers: int | None = None,
        chunk: int = CHUNK,
    ) -> Iterator[Answer]:
        """The answer to each sentence; `arcs` says what becomes of labels that arcs have."""
        self._check_fitted()
        model = self.model_
        if projective is not None and projective != model.projective:
            if model.siblings is not None:
                raise ValueError(
                    "projective=False came for a parser of the second order; its arcs cannot "
                    "cross. Leave it out, or train with order=1."
                )
            model = replace(model, projective=projective)

        def prepared(asked: Asked) -> Iterable[Any]:
            if arcs == "labelled":
                return question(asked)
            return question(asked._replace(p=without_labels(asked.p, best=arcs == "best")))

        return ask(
            model,
            self.weights_,
            sentences,
            prepared,
            empty=empty,
            finish=finish,
            workers=self.workers if workers is None else workers,
            chunk=chunk,
        )

    def _no_parse(self) -> Parse:
        return np.zeros(0, dtype=np.int64), [] if self.labels_ else None

    def labeller(self) -> Labeller:
        """What gives the arcs of whole trees their labels."""
        self._check_fitted()
        if self.label_model_ is None:
            raise ValueError("this parser has no labels; train it with labels=True.")
        weights = self.label_weights_
        if weights is None:
            weights = self.weights_[self.model_.n_arc_weights :]
        return Labeller(self.label_model_, weights)

    def _labelled(
        self,
        encoded: KeyedWords,
        trees: Sequence[Sequence[IntArray]],
        rng: np.random.Generator | None = None,
    ) -> Iterator[list[Parse]]:
        """Some trees of each sentence with their best labels, or with some that are drawn."""
        found: Sequence[Sequence[list[str] | None]] = [[None] * len(each) for each in trees]
        if self.labels_:
            labeller = self.labeller()
            found = (
                labeller.best(encoded, trees)
                if rng is None
                else labeller.drawn(encoded, trees, rng)
            )
        for each, names in zip(trees, found, strict=True):
            yield list(starmap(self._taken_down, zip(each, names, strict=True)))

    def _taken_down(self, heads: IntArray, names: list[str] | None) -> Parse:
        """A tree and its labels, without marks of arcs that were lifted."""
        if names is None or MARK not in "".join(names):
            return heads, names
        return lowered(heads, names)


def _rescorer(parser: TreeEstimator, decoder: Decoder) -> Rescorer:
    parser._check_fitted()
    if decoder == "risk":
        raise ValueError(
            "decoder='risk' came with a rescorer, which compares whole trees; expected 'best' or "
            "'joint'."
        )
    return Rescorer(parser.model_, parser.weights_)
