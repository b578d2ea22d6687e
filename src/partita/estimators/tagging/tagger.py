"""The linear-chain tagger: a conditional random field over the tags of a sentence."""

import os
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from partita.arrays import FloatArray
from partita.data.constraints import ExpectationConstraint
from partita.distribution.chain_entropy import UncertainSpan
from partita.distribution.linear_chain import LinearChain
from partita.estimators.parameters import Parameters
from partita.estimators.tagging import tagger_answers as answers
from partita.estimators.tagging import tagger_file
from partita.estimators.tagging.chain_model import ChainModel
from partita.estimators.tagging.tag_labels import checked_tags, where
from partita.estimators.tagging.tagger_fit import Curriculum, fit_tagger, tags_of
from partita.text.templates import Description
from partita.training.trainer import Path, TrainingResult

Tags = Sequence[Sequence[str]]


class Tagger(Parameters):
    """A conditional random field that gives every word of a sentence a tag.

    Sentences are lists of tokens, of tuples of columns, or of dictionaries of features (as for
    sklearn-crfsuite), or `partita.data.Sentence` objects. Tags are lists of text; `?` is a tag
    that is not known.

    Parameters
    ----------
    features
        Templates: objects, their text, or a path to a file with it (ours or CRF++'s); good
        defaults if left out. Not used for dictionaries of features.
    min_count
        Attributes that occur less often are left out. If left out itself it is 1; or 2 for the
        default features of 50,000 words or more, which makes a model of a third of the size that
        is as good.
    pairs
        Which pairs of attribute and tag have weights: "all", or "observed", those that occur in
        the labels, as in CRFsuite. That is a tenth of the weights or less and several times faster
        to train, but a little less accurate: nothing then speaks against a tag.
    columns, tag_column
        Of `Sentence` objects: the columns to learn from (in CoNLL-U the words, elsewhere all but
        the tags if left out), and the column of the tags where no `y` is given.
    scheme
        "IOB1", "IOB2", "BIOES" or "auto": tags must spell out chunks, in training and after it.
    objective
        "likelihood", or "risk": the expected number of wrong tags, starting from the likelihood.
    l2, l1
        Penalties: l2 / 2 times the squares of the weights, l1 times their sizes.
    optimiser
        "lbfgs" (OWL-QN with an L1 penalty), or by mini-batches "adam", "adagrad" or "sgd".
    max_iterations
        The most iterations; as many as it takes if left out (20 passes with mini-batches).
    class_weights
        A weight by tag, or "balanced": a sentence counts as much as its tags do on average, and
        with the objective "risk" a wrong tag costs the weight of the right one.
    entropy_weight, entropy_ramp
        Weight of the mean entropy of a word in sentences without tags, times the number of words
        with tags, so that it means the same however much text there is; reached after so many
        iterations, which follow a training without it. Too large a weight ends in a model that is
        sure of nonsense: begin with 0.03, and judge on held-out data.
    share_weight
        Weight of the divergence, per word with a tag, of the shares of tags in sentences without
        tags from those in the labels. If left out, 1 beside entropy and otherwise 0: entropy alone
        is least where only a few tags are left.
    constraints, constraint_weight, constraint_distance
        Expectation constraints (see `partita.data.constraints`), which sentences without tags
        should meet, or all if there are no such; their weight; and how to measure how far off an
        expectation is: "kl", the divergence of its tags, or "squared".
    warm_start
        A fitted Tagger (of any features), or weights, to start from.
    patience
        Iterations without progress on held-out sentences (see `fit`) after which to stop.
    checkpoint, checkpoint_seconds, resume, log
        A file to which the run is written this often; whether to go on from there, if it exists,
        which ends in the same model bit for bit; and a file for a line of JSON an iteration. Risk
        and entropy are trained in two runs: `resume` finds the one that was interrupted, and the
        log of the first has `.first` behind its name.
    seed, n_threads, progress
        Randomness; threads (all cores if left out; the model is the same for any number); whether
        to show progress (where standard error is a terminal if left out).

    >>> sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> tagger = Tagger().fit(sentences, [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]])
    >>> tagger.predict([["the", "cat", "barks"]])
    [['DET', 'NOUN', 'VERB']]
    >>> tagger.score(sentences, [["DET", "NOUN", "VERB"], ["DET", "NOUN", "X"]])
    0.8333333333333334
    """

    model_: ChainModel
    weights_: FloatArray
    training_: TrainingResult | None

    def __init__(
        self,
        *,
        features: Description | None = None,
        min_count: int | None = None,
        pairs: str = "all",
        columns: Sequence[str] | None = None,
        tag_column: str | None = None,
        scheme: str | None = None,
        objective: str = "likelihood",
        l2: float = 1.0,
        l1: float = 0.0,
        optimiser: str = "lbfgs",
        max_iterations: int | None = None,
        class_weights: Mapping[str, float] | str | None = None,
        entropy_weight: float = 0.0,
        entropy_ramp: int = 20,
        share_weight: float | None = None,
        constraints: Sequence[ExpectationConstraint] | None = None,
        constraint_weight: float = 10.0,
        constraint_distance: str = "kl",
        warm_start: "Tagger | FloatArray | None" = None,
        patience: int = 10,
        checkpoint: Path | None = None,
        checkpoint_seconds: float = 60.0,
        resume: bool = False,
        log: Path | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.features = features
        self.min_count = min_count
        self.pairs = pairs
        self.columns = columns
        self.tag_column = tag_column
        self.scheme = scheme
        self.objective = objective
        self.l2 = l2
        self.l1 = l1
        self.optimiser = optimiser
        self.max_iterations = max_iterations
        self.class_weights = class_weights
        self.entropy_weight = entropy_weight
        self.entropy_ramp = entropy_ramp
        self.share_weight = share_weight
        self.constraints = constraints
        self.constraint_weight = constraint_weight
        self.constraint_distance = constraint_distance
        self.warm_start = warm_start
        self.patience = patience
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.log = log
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self,
        X: Sequence[Any],
        y: Tags | None = None,
        *,
        unlabelled: Sequence[Any] = (),
        sample_weights: Sequence[float] | None = None,
        held_out: tuple[Sequence[Any], Tags | None] | None = None,
    ) -> Self:
        """Learn from sentences with tags, and from `unlabelled` ones.

        Without `y`, tags are taken from `tag_column`; without that, all sentences are unlabelled.
        `sample_weights` has a number for each sentence of X. With `held_out`, a pair of sentences
        and tags (or None, as for `y`), training stops after `patience` iterations that did not
        lower the share of wrong tags to be expected there, 1 - mean p(tag | sentence), and the
        best weights on the way are kept. Ctrl-C ends the training, and keeps the best so far.
        """
        arguments = self.get_params()
        if isinstance(self.warm_start, Tagger):
            arguments["warm_start"] = self.warm_start._fitted(), self.warm_start.weights_
        curriculum = Curriculum(**arguments)
        self.model_, self.training_ = fit_tagger(
            curriculum, X, y, unlabelled, sample_weights, held_out
        )
        self.weights_ = self.training_.weights
        return self

    @property
    def tags_(self) -> tuple[str, ...]:
        """The tags, in the order of `predict_marginals(..., arrays=True)`."""
        return self._fitted().tags.names

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns that sentences must have; none for dictionaries of features."""
        return self._fitted().features.columns

    # ------------------------------------------------------------------ tags

    def predict(
        self, X: Sequence[Any], *, fixed: Tags | None = None, decoder: str = "best"
    ) -> list[list[str]]:
        """Tags for every sentence.

        `fixed` has tags that must be kept, and `?` elsewhere. The decoder is "best", the most
        probable sequence, or "risk", the one with the fewest wrong tags to be expected.
        """
        if decoder not in ("best", "risk"):
            raise ValueError(f"decoder is {decoder!r}; expected 'best' or 'risk'.")
        known = None if fixed is None else self._numbers(X, fixed)
        names = np.array(self.tags_, dtype=object)
        tags: list[list[str]] = [[] for _ in X]
        for answer in self._answers(X):
            p = answer.p if known is None else self._restricted(X, answer, known)
            found = p.best.structures if decoder == "best" else answers.least_risk(p)
            for index, numbers in zip(answer.sentences, found, strict=True):
                tags[index] = names[numbers].tolist()
        return tags

    def score(self, X: Sequence[Any], y: Tags | None = None) -> float:
        """The share of words whose tag is right, of those whose tag is known."""
        wanted = self._tags_to_compare(X, y)
        pairs = [
            (found, right)
            for found_tags, tags in zip(self.predict(X), wanted, strict=True)
            for found, right in zip(found_tags, tags, strict=True)
            if right != "?"
        ]
        if not pairs:
            raise ValueError("no word has a known tag to compare with; expected at least one.")
        return sum(found == right for found, right in pairs) / len(pairs)

    def k_best(self, X: Sequence[Any], k: int) -> list[list[tuple[list[str], float]]]:
        """The k most probable sequences of each sentence with their log-probabilities."""
        result: list[list[tuple[list[str], float]]] = [[([], 0.0)] for _ in X]
        for answer in self._answers(X):
            pairs = zip(answer.p.k_best(k), answer.p.log_partition, strict=True)
            for index, (found, log_partition) in zip(answer.sentences, pairs, strict=True):
                result[index] = [
                    (self.model_.tags.named(tags), float(score - log_partition))
                    for tags, score in found
                ]
        return result

    # ------------------------------------------------------------------ probabilities

    def predict_marginals(self, X: Sequence[Any], *, arrays: bool = False) -> list[Any]:
        """The probability of every tag at every word: dictionaries, or arrays (n, s)."""
        result: list[Any] = [np.zeros((0, len(self.tags_))) for _ in X]
        for answer in self._answers(X):
            for index, unary in zip(answer.sentences, answer.p.marginals.unary, strict=True):
                result[index] = unary.copy()
        if arrays:
            return result
        tags = self.tags_
        return [[dict(zip(tags, row, strict=True)) for row in unary.tolist()] for unary in result]

    def log_prob(self, X: Sequence[Any], y: Tags | None = None) -> FloatArray:
        """Log-probability of each sentence's tags; of all that agree with them where some are `?`.

        A tag that training never saw is an error.
        """
        known = self._numbers(X, self._tags_to_compare(X, y))
        result = np.zeros(len(X))
        for answer in self._answers(X):
            agreeing = answers.with_known(answer, known)
            # A sequence that is forbidden has probability 0; that is an answer, not an error.
            log_partition = agreeing.structures.infer(agreeing.scores).log_partition
            result[answer.sentences] = log_partition - answer.p.log_partition
        return result

    def entropy(self, X: Sequence[Any]) -> FloatArray:
        """The exact entropy of each sentence's tag sequence, in nats."""
        result = np.zeros(len(X))
        for answer in self._answers(X):
            result[answer.sentences] = answer.p.entropy
        return result

    def span_entropy(self, X: Sequence[Any], first: int, last: int) -> FloatArray:
        """The entropy of the tags of words `first` to `last`, counted from 0, both included."""
        result = np.zeros(len(X))
        for answer in self._answers(X):
            result[answer.sentences] = answer.p.span_entropy(first, last)
        return result

    def most_uncertain_span(self, X: Sequence[Any], n_words: int) -> list[UncertainSpan | None]:
        """The span of so many words whose tags are least certain; None in shorter sentences."""
        result: list[UncertainSpan | None] = [None] * len(X)
        for index, sentence in enumerate(X):
            if len(sentence) >= n_words:
                (answer,) = self._answers([sentence])
                (result[index],) = answer.p.most_uncertain_span(n_words)
        return result

    def distribution(self, sentence: Any) -> LinearChain:
        """The distribution over the tags of one sentence, for every other question."""
        (answer,) = self._answers([sentence])
        unary, pairwise = answer.p.structures.split(answer.p.scores)
        return LinearChain(unary[0], pairwise[0])

    def distributions(self, X: Sequence[Any], fixed: Tags | None = None) -> Iterator[LinearChain]:
        """Distributions over tags, for batches of the sentences that have words, in order."""
        known = None if fixed is None else self._numbers(X, fixed)
        for answer in self._answers(X):
            yield answer.p if known is None else self._restricted(X, answer, known)

    # ------------------------------------------------------------------ why

    def inspect(self, n_features: int = 10) -> answers.Inspection:
        """The strongest features for and against every tag, and the transition table."""
        return answers.inspect_weights(self._fitted(), self.weights_, n_features)

    def explain(self, sentence: Any, word: int) -> answers.Explanation:
        """Which features gave a word (counted from 0) its tag, against the runner-up."""
        return answers.explain_word(self._fitted(), self.weights_, sentence, word)

    # ------------------------------------------------------------------ files

    def save(
        self, path: str | os.PathLike[str], more: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """Write a model file: numbers and text, nothing that can run.

        `more` entries of its header are for the caller, see `partita.training.read_header`.
        """
        tagger_file.write(path, self._fitted(), self.weights_, self.get_params(), more)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The tagger of a model file, with the same answers to the last bit."""
        model, weights, params = tagger_file.read(path)
        tagger = cls(**params)
        tagger.model_, tagger.weights_, tagger.training_ = model, weights, None
        return tagger

    # ------------------------------------------------------------------ helpers

    def _fitted(self) -> ChainModel:
        if not hasattr(self, "model_"):
            raise ValueError("this tagger has learnt nothing yet; call fit, or load a model file.")
        return self.model_

    def _answers(self, sentences: Sequence[Any]) -> Iterator[answers.Answer]:
        return answers.distributions(self._fitted(), self.weights_, sentences)

    def _restricted(
        self, sentences: Sequence[Any], answer: answers.Answer, known: list[Any]
    ) -> LinearChain:
        """The distribution over sequences with the known tags, of which there must be one."""
        p = answers.with_known(answer, known)
        scheme = self.model_.tags.scheme
        # Without a scheme every sequence is possible.
        if scheme is not None:
            impossible = p.structures.infer(p.scores).log_partition == -np.inf
            for index in np.array(answer.sentences)[impossible].tolist():
                raise ValueError(
                    f"{where(sentences[index], index)} has fixed tags that no sequence in the "
                    f"scheme {scheme} can keep. Correct them, or put '?' for some."
                )
        return p

    def _tags_to_compare(self, sentences: Sequence[Any], tags: Tags | None) -> list[list[str]]:
        found = tags_of(sentences, tags, self.tag_column)
        if found is None:
            raise ValueError(
                "no tags came to compare with; give y, or sentences with a tag column "
                "(tag_column=...)."
            )
        return checked_tags(sentences, found)

    def _numbers(self, sentences: Sequence[Any], tags: Tags) -> list[Any]:
        known = self._fitted().tags
        return [
            known.numbers(given, where(sentence, index))
            for index, (sentence, given) in enumerate(
                zip(sentences, checked_tags(sentences, tags), strict=True)
            )
        ]
