"""The dependency parser: a conditional random field over the trees of a sentence."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.arc_rules import ArcRule
from partita.distribution.trees import Tree
from partita.estimators.parameters import Parameters
from partita.estimators.parsing import answers, parser_file
from partita.estimators.parsing.answers import Arcs
from partita.estimators.parsing.explain import (
    Explanation,
    Inspection,
    explain_word,
    inspect_weights,
)
from partita.estimators.parsing.fit import fit_parser
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.material import targets_of
from partita.estimators.parsing.model import ParserModel, Piece
from partita.estimators.parsing.plan import Path, Plan
from partita.estimators.parsing.templates import Description
from partita.training.trainer import TrainingResult

Heads = Sequence[Sequence[int] | IntArray]
Labels = Sequence[Sequence[str]]
Parse = tuple[IntArray, list[str] | None]
"""The head of every word, 0 for the root, and the label of every arc."""


class DependencyParser(Parameters):
    """A conditional random field over dependency trees: p(tree) ~ exp(sum of its arcs' scores).

    An arc's score is the sum of the weights of its features, which templates describe (see
    `partita.estimators.parsing.templates`); they are hashed into 2**n_bits weights. Labels come
    from a second model, which looks at the tree that was found.

    Sentences are `partita.data.Sentence` objects (as `read_conllu` gives them), lists of words, or
    lists of tuples (form, universal tag, ...). Heads and labels are taken from the columns HEAD and
    DEPREL if they are not given; a head that is `_` or `?` (or -1) is not known.

    Parameters
    ----------
    projective
        Whether arcs may not cross; if left out, whether they do in less than 5 % of the training
        sentences: a smaller set of trees is easier to learn. In training, a tree whose arcs cross
        is then replaced by the nearest projective one (see `nearest_projective`); `n_lifted_` says
        how many were.
    single_root
        Whether exactly one word hangs on the root.
    features
        Templates: objects, their text, or a path to a file with it; good defaults if left out.
    min_count
        Forms and lemmas that occur less often in training are all the same rare word.
    n_bits, label_bits
        Logarithms of the number of weights of arcs, and of rows of weights of labels.
    labels
        Whether to learn labels, too.
    objective
        "likelihood", or "risk": the expected number of wrong arcs, starting from the likelihood.
    l2
        l2 / 2 times the squares of the weights is added to the loss (1 with "lbfgs" if left out,
        else 0, since the passes are few).
    optimiser, rate, max_iterations, batch_sentences
        "adam", "adagrad" or "sgd" by mini-batches of so many sentences on average, "lbfgs" on all
        sentences at once ("lbfgs" with rules if left out, else "adagrad"); the first learning rate,
        which falls to 0; the most passes.
    n_models
        Models to train, each with a seed and an order of the sentences of its own, whose weights
        are averaged: the mean errs less than any of them. With `optimiser="lbfgs"` there is only
        one, since it depends on no order.
    entropy_weight, entropy_ramp, renyi_alpha
        Weight of the entropy of sentences without heads, reached after so many iterations, which
        follow a training without it; its order if it is Rényi's.
    rules, rule_weight
        Rules about arcs (see `partita.data.arc_rules`), which sentences without heads should obey,
        or all if there are no such; their weight. They take optimiser="lbfgs".
    warm_start
        A fitted parser, or its weights, to start from.
    patience
        Passes without a better result on held-out sentences after which training stops.
    n_threads
        Threads that share the work of `fit` and of `predict`; all cores if left out. Results do
        not depend on it.
    seed, progress, checkpoint, checkpoint_seconds, resume, log
        As for `partita.training.train`.

    >>> sentences = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB")]]
    >>> parser = DependencyParser(n_bits=12, n_threads=1, progress=False, min_count=1)
    >>> parser = parser.fit(sentences, heads=[[2, 0], [2, 0]], labels=[["nsubj", "root"]] * 2)
    >>> heads, labels = parser.predict([[("cats", "NOUN"), ("bark", "VERB")]])[0]
    >>> heads, labels
    (array([2, 0]), ['nsubj', 'root'])
    """

    model_: ParserModel
    weights_: FloatArray
    label_model_: LabelModel | None
    label_weights_: FloatArray | None
    training_: TrainingResult | None
    n_lifted_: int
    strongest_: dict[str, list[tuple[str, float]]]

    def __init__(
        self,
        *,
        projective: bool | None = None,
        single_root: bool = True,
        features: Description | None = None,
        min_count: int = 2,
        n_bits: int = 23,
        labels: bool = True,
        label_bits: int = 17,
        objective: str = "likelihood",
        l2: float | None = None,
        optimiser: str | None = None,
        rate: float | None = None,
        max_iterations: int | None = None,
        batch_sentences: int = 150,
        n_models: int = 2,
        entropy_weight: float = 0.0,
        entropy_ramp: int = 5,
        renyi_alpha: float | None = None,
        rules: Sequence[ArcRule] | None = None,
        rule_weight: float = 1000.0,
        warm_start: "DependencyParser | FloatArray | None" = None,
        patience: int = 3,
        checkpoint_seconds: float = 60.0,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        log: Path | None = None,
    ) -> None:
        self.projective = projective
        self.single_root = single_root
        self.features = features
        self.min_count = min_count
        self.n_bits = n_bits
        self.labels = labels
        self.label_bits = label_bits
        self.objective = objective
        self.l2 = l2
        self.optimiser = optimiser
        self.rate = rate
        self.max_iterations = max_iterations
        self.batch_sentences = batch_sentences
        self.n_models = n_models
        self.entropy_weight = entropy_weight
        self.entropy_ramp = entropy_ramp
        self.renyi_alpha = renyi_alpha
        self.rules = rules
        self.rule_weight = rule_weight
        self.warm_start = warm_start
        self.patience = patience
        self.checkpoint_seconds = checkpoint_seconds
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress
        self.checkpoint = checkpoint
        self.resume = resume
        self.log = log

    def fit(
        self,
        sentences: Sequence[Any],
        heads: Heads | None = None,
        labels: Labels | None = None,
        *,
        unlabelled: Sequence[Any] = (),
        held_out: Sequence[Any] | None = None,
        sample_weights: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences with heads, or with some of them, and from `unlabelled` ones.

        `held_out` sentences have heads, too: passes end when they are parsed no better any more,
        and the best weights on the way are kept. `sample_weights` has a number for each sentence.
        """
        arguments = self.get_params()
        if isinstance(self.warm_start, DependencyParser):
            self.warm_start._fitted()
            arguments["warm_start"] = self.warm_start.weights_
        fitted = fit_parser(
            Plan(**arguments), sentences, heads, labels, unlabelled, held_out, sample_weights
        )
        self.model_, self.training_ = fitted.model, fitted.training
        self.weights_ = fitted.training.weights
        self.label_model_, self.label_weights_ = fitted.label_model, fitted.label_weights
        self.n_lifted_, self.strongest_ = fitted.n_lifted, fitted.strongest
        return self

    @property
    def labels_(self) -> tuple[str, ...]:
        """The labels, in order; none for a parser without labels."""
        self._fitted()
        return () if self.label_model_ is None else self.label_model_.names

    # ------------------------------------------------------------------ trees

    def predict(
        self,
        sentences: Sequence[Any],
        *,
        required: Sequence[Arcs] | None = None,
        forbidden: Sequence[Arcs] | None = None,
        decoder: str = "best",
        projective: bool | None = None,
        one_subject: bool = False,
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
            the most accurate and the slowest, since labels look at more than one arc.
        projective
            Whether arcs may not cross; as in training if left out.
        one_subject
            Whether a word has at most one modifier whose label is a subject (nsubj, csubj).
        """
        if decoder not in answers.DECODERS:
            raise ValueError(f"decoder is {decoder!r}; expected 'best', 'risk' or 'joint'.")
        if decoder == "joint":
            self._label_model()
        found: list[Any] = []
        limits = answers.ArcLimits(sentences, required, forbidden)
        model = self._model(projective)
        encoded = model.encode(sentences)

        def answer(piece: Piece) -> list[Any]:
            p = limits.restricted(model.distribution(piece, self.weights_), piece)
            return answers.candidates(p) if decoder == "joint" else answers.decoded(p, decoder)

        for trees in answers.in_threads(answer, model.pieces(encoded), self.n_threads):
            found += trees
        if decoder == "joint":
            labels = self._label_model()
            found = answers.most_probable_labelled(*labels, encoded.words, found)
        names = self._labels(encoded.words, found, one_subject=one_subject)
        return list(zip(found, names, strict=True))

    def score(self, sentences: Sequence[Any], heads: Heads | None = None) -> float:
        """The share of words whose head is right, of those whose head is known."""
        known, _ = targets_of(sentences, heads, None, single_root=False)
        n_right = n_known = 0
        for (found, _), right in zip(self.predict(sentences), known, strict=True):
            n_known += int((right >= 0).sum())
            n_right += int(((found == right) & (right >= 0)).sum())
        if n_known == 0:
            raise ValueError("no word has a known head to compare with; expected at least one.")
        return n_right / n_known

    def k_best(self, sentences: Sequence[Any], k: int) -> list[list[tuple[IntArray, float]]]:
        """The k most probable trees of each sentence, with their log-probabilities."""
        result: list[list[tuple[IntArray, float]]] = [[] for _ in sentences]
        for piece, p in self._pieces(sentences):
            pairs = zip(piece.sentences, p.k_best(k), p.log_partition, strict=True)
            for index, found, log_partition in pairs:
                result[index] = [(tree, float(score - log_partition)) for tree, score in found]
        return result

    def sample(
        self, sentences: Sequence[Any], size: int, rng: np.random.Generator
    ) -> list[IntArray]:
        """`size` independent trees of each sentence, (size, n) heads."""
        result: list[IntArray] = [np.zeros((size, 0), dtype=np.int64) for _ in sentences]
        for piece, p in self._pieces(sentences):
            for index, trees in zip(piece.sentences, p.sample(size, rng), strict=True):
                result[index] = trees
        return result

    # ------------------------------------------------------------------ probabilities

    def predict_marginals(self, sentences: Sequence[Any]) -> list[FloatArray]:
        """The probability of every arc [head, modifier], (n+1, n+1), with the root as row 0."""
        result: list[FloatArray] = [np.zeros((1, 1)) for _ in sentences]
        for piece, p in self._pieces(sentences):
            for index, marginals in zip(piece.sentences, p.marginals, strict=True):
                result[index] = marginals
        return result

    def predict_labels(self, sentences: Sequence[Any], heads: Heads) -> list[FloatArray]:
        """The probability of every label of every arc of given trees, (n, n_labels)."""
        model, weights = self._label_model()
        known, _ = targets_of(sentences, heads, None, single_root=False)
        if not known:
            return []
        encoded = self._fitted().encode(sentences)
        flat = np.concatenate(known)
        if (flat < 0).any():
            raise ValueError("some heads are not known; expected whole trees to label.")
        table = np.exp(model.log_probabilities(weights, encoded.words, flat))
        return np.split(table, np.cumsum(encoded.words.n_words)[:-1])

    def log_prob(self, sentences: Sequence[Any], heads: Heads | None = None) -> FloatArray:
        """Log-probability of each sentence's tree; of all that agree with the heads that are known.

        A tree that is none of the set (crossing arcs in a projective parser) has -inf.
        """
        known, _ = targets_of(sentences, heads, None, single_root=False)
        result = np.zeros(len(sentences))
        for piece, p in self._pieces(sentences):
            agreeing = answers.agreeing(p, [known[index] for index in piece.sentences])
            result[piece.sentences.start : piece.sentences.stop] = agreeing - p.log_partition
        return result

    def entropy(self, sentences: Sequence[Any]) -> FloatArray:
        """The exact entropy of each sentence's tree, in nats."""
        result = np.zeros(len(sentences))
        for piece, p in self._pieces(sentences):
            result[piece.sentences.start : piece.sentences.stop] = p.entropy
        return result

    def distribution(self, sentence: Any) -> Tree:
        """The distribution over the trees of one sentence, for every other question."""
        ((_, p),) = self._pieces([sentence])
        (arcs,) = p.structures.split(p.scores)
        return type(p)(arcs, single_root=self._fitted().single_root)

    # ------------------------------------------------------------------ why

    def inspect(self, n_features: int = 10) -> Inspection:
        """The strongest features by template, among those of arcs in the first training trees."""
        self._fitted()
        return inspect_weights(self.strongest_, self.weights_, n_features)

    def explain(self, sentence: Any, word: int) -> Explanation:
        """Which features gave a word (counted from 0) its head, against the runner-up."""
        model = self._fitted()
        return explain_word(model, self.weights_, model.encode([sentence]), word)

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Write a model file: numbers and text, nothing that can run; `extra` joins its header."""
        self._fitted()
        contents = parser_file.Contents(
            self.model_,
            self.weights_,
            self.label_model_,
            self.label_weights_,
            self.n_lifted_,
            self.strongest_,
        )
        parser_file.write(path, contents, self.get_params(), extra or {})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The parser of a model file, with the same answers to the last bit."""
        found, params = parser_file.read(path)
        parser = cls(**params)
        parser.model_, parser.weights_ = found.model, found.weights
        parser.label_model_, parser.label_weights_ = found.label_model, found.label_weights
        parser.n_lifted_, parser.strongest_ = found.n_lifted, found.strongest
        parser.training_ = None
        return parser

    # ------------------------------------------------------------------ helpers

    def _fitted(self) -> ParserModel:
        if not hasattr(self, "model_"):
            raise ValueError("this parser has learnt nothing yet; call fit, or load a model file.")
        return self.model_

    def _label_model(self) -> tuple[LabelModel, FloatArray]:
        self._fitted()
        if self.label_model_ is None or self.label_weights_ is None:
            raise ValueError("this parser has no labels; train it with labels=True.")
        return self.label_model_, self.label_weights_

    def _pieces(self, sentences: Sequence[Any]) -> Iterator[tuple[Piece, Tree]]:
        model = self._fitted()
        for piece in model.pieces(model.encode(sentences)):
            yield piece, model.distribution(piece, self.weights_)

    def _model(self, projective: bool | None) -> ParserModel:
        model = self._fitted()
        return model if projective is None else answers.with_projective(model, projective)

    def _labels(
        self, words: Any, heads: Sequence[IntArray], *, one_subject: bool
    ) -> list[list[str] | None]:
        if self.label_model_ is None or self.label_weights_ is None or not heads:
            return [None] * len(heads)
        return list(
            answers.labels_of_trees(
                self.label_model_, self.label_weights_, words, heads, one_subject=one_subject
            )
        )
