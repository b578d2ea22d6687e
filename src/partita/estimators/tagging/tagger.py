"""The linear-chain tagger: a conditional random field over the tags of a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from partita.arrays import Array
from partita.data.constraints import ExpectationConstraint, read_constraints
from partita.data.files import SentenceFiles
from partita.estimators.answers import Finish, Turn
from partita.estimators.base import Stored
from partita.estimators.groups import Descent, OptimiserName, Penalties, Uncertainty
from partita.estimators.options import Check, again, at_least, declared, option, without
from partita.estimators.tagging.at_once import best_tags
from partita.estimators.tagging.chain_model import ChainModel
from partita.estimators.tagging.chain_questions import ChainEstimator
from partita.estimators.tagging.described import DescribedWords
from partita.estimators.tagging.explanations import (
    TagExplanation,
    TaggerInspection,
    WeightTable,
    explain_word,
    inspect_weights,
    weight_table,
)
from partita.estimators.tagging.from_files import fit_from_files
from partita.estimators.tagging.learning import fit_tagger
from partita.estimators.tagging.material import GivenTags, tag_facts
from partita.estimators.tagging.tags import HeldOutTags, Tags, TagSet
from partita.features.pairs import Pairs
from partita.kept import kept_array, kept_offsets, kept_texts
from partita.objectives import ExpectedCost, Likelihood, SoftmaxMargin
from partita.text.learning import restored_features, stored_features
from partita.training.optimisers import Optimiser


def read_class_weights(text: str) -> dict[str, float] | str:
    """`balanced`, or `TAG=WEIGHT,...`."""
    if text == "balanced":
        return text
    pairs = [item.rpartition("=") for item in text.split(",")]
    return {tag: float(weight) for tag, _, weight in pairs}


def _are_class_weights(value: Any) -> bool:
    if isinstance(value, str):
        return value == "balanced"
    return all(isinstance(tag, str) and 0 <= weight < np.inf for tag, weight in value.items())


CONSTRAINTS = without("constraints", lambda tagger: tagger.constraints)


def _has_classes(tagger: Any) -> bool:
    """Whether the objective counts sentences, or what is wrong, by the classes of tags."""
    return isinstance(tagger.course().full, Likelihood | ExpectedCost | SoftmaxMargin)


@declared
class Tagger(DescribedWords, ChainEstimator, Penalties, Descent, Uncertainty):
    """A conditional random field that gives every word of a sentence a tag.

    Sentences are lists of tokens, of tuples of columns, or of dictionaries of features (as for
    sklearn-crfsuite), arrays of text, data frames, `partita.data.Sentence` objects, or matrices of
    features, a row for each word (also sparse). Tags are lists of text; `?` is a tag that is not
    known, and a set of tags one that is known in part. After `fit` it has `tags_`, `weights_`,
    `columns_` and `training_`.

    >>> sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    >>> tagger = Tagger().fit(sentences, [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]])
    >>> tagger.predict([["the", "cat", "barks"]])
    [['DET', 'NOUN', 'VERB']]
    >>> tagger.score(sentences, [["DET", "NOUN", "VERB"], ["DET", "NOUN", "X"]])
    0.8333333333333334
    """

    kind: ClassVar[str] = "tagger"
    unlabelled_terms: ClassVar[tuple[str, ...]] = ("entropy_weight", "share_weight", "constraints")
    model_: ChainModel = field(init=False)

    optimiser: OptimiserName | Optimiser[Any] | None = again(
        Descent,
        "optimiser",
        None,
        'on all sentences at once "lbfgs" ("owlqn" with an L1 penalty), by mini-batches "adam", '
        '"adagrad" or "sgd"; or an optimiser of `partita.training`. If left out, "adagrad" learns '
        "tags out of words alone: default features of one column, all tags of 1,000 words or more "
        "known, none of them of chunks, and nothing said of iterations or tolerances; otherwise "
        '"lbfgs" does',
    )
    pairs: Literal["all", "observed"] = option(
        "all",
        "which pairs of attribute and tag have weights: all, or those that occur in the labels, as "
        "in CRFsuite. That is a tenth of the weights or less and several times faster to train, "
        "but a little less accurate: nothing then speaks against a tag",
    )
    boundaries: bool = option(
        False,
        "weights for the first tag of a sentence and for the last, <*, tag> and <tag, stop>; the "
        "default features know both ends of a sentence anyway",
    )
    normalisation: Literal["global", "local"] = option(
        "global",
        'what sums to 1: the probabilities of all sequences of a sentence, or "local" those of the '
        "tags at every step, given the tag before (a maximum-entropy Markov model): there a tag "
        "that has few successors passes on what came to it whatever the words say (label bias)",
    )
    scheme: Literal["auto", "IOB1", "IOB2", "BIOES"] | None = option(
        "auto",
        'tags must spell out chunks, in training and after it; "auto": if they are B-, I- and O',
    )
    class_weights: Mapping[str, float] | Literal["balanced"] | None = option(
        None,
        "a weight by tag: a sentence counts as much as its tags do on average, and with a cost a "
        "wrong tag costs the weight of the right one",
        Check(_are_class_weights, "'balanced', or a dictionary of finite numbers, 0 or more", True),
        read=read_class_weights,
        metavar="TAG=WEIGHT,...",
        needs=without("objective='likelihood', 'risk' or 'softmax-margin'", _has_classes),
    )
    share_weight: float | None = option(
        None,
        "weight of the divergence, per word with a tag, of the shares of tags in sentences without "
        "tags from those in the labels; if left out, 1 beside entropy and otherwise 0: entropy "
        "alone is least where only a few tags are left",
        at_least(0),
    )
    constraints: Sequence[ExpectationConstraint] | None = option(
        None,
        "expectation constraints (see `partita.data.constraints`), which sentences without tags "
        "should meet, or all if there are no such",
        read=read_constraints,
        metavar="FILE",
        is_kept=False,
    )
    constraint_weight: float = option(
        10.0, "weight of the constraints", at_least(0), needs=CONSTRAINTS
    )
    constraint_distance: Literal["kl", "squared"] = option(
        "kl",
        "how far off an expectation is: the divergence of its tags, or squares",
        needs=CONSTRAINTS,
    )
    warm_start: "Tagger | Array | None" = option(
        None,
        "a fitted Tagger (of any features), or weights, to start from",
        metavar="MODEL",
        is_kept=False,
    )

    def fit(
        self,
        sentences: Iterable[Any] | SentenceFiles,
        tags: Tags | None = None,
        *,
        unlabelled: Iterable[Any] = (),
        held_out: HeldOutTags | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences with tags, and from `unlabelled` ones.

        Without `tags`, they are taken from `tag_column`; without that, all sentences are
        unlabelled. Of `SentenceFiles` (`partita.data.files`) each worker reads its own part.
        `sample_weight` has a number for each sentence. With `held_out`, a pair of sentences and
        tags (or sentences with `tag_column`), training stops after `patience` iterations that did
        not lower the share of wrong tags to be expected there, 1 - mean p(tag | sentence), and the
        best weights on the way are kept. Ctrl-C ends the training, and keeps the best so far.
        """
        given = GivenTags(sentences, tags, unlabelled, held_out, sample_weight)
        with self._fitting(sentences, held_out=held_out is not None):
            (model, training), learnt_from = given.learnt_by(
                self, fit_from_files, fit_tagger, self.tag_column
            )
            self.model_, self.weights_, self.training_ = model, training.weights, training
            self.about_ = {"learnt from": learnt_from, **tag_facts(training)}
        return self

    @property
    def columns_(self) -> tuple[str, ...]:
        """The columns that sentences must have; none for dictionaries of features."""
        self._check_fitted()
        return self.model_.features.columns

    def inspect(self, n_features: int = 10) -> TaggerInspection:
        """The strongest features for and against every tag, and the transition table."""
        self._check_fitted()
        return inspect_weights(self.model_, self.weights_, n_features, self.about_)

    def weight_table(self) -> WeightTable:
        """All weights by name, the largest first: print it, or make a data frame of its columns.

        >>> tagger = Tagger().fit([["dogs", "bark"]], [["NOUN", "VERB"]])
        >>> sorted(tagger.weight_table().columns)
        ['feature', 'tag', 'weight']
        """
        self._check_fitted()
        return weight_table(self.model_, self.weights_)

    def explain(self, sentence: Any, word: int) -> TagExplanation:
        """Which features gave a word (counted from 0) its tag, against the runner-up."""
        self._check_fitted()
        return explain_word(self.model_, self.weights_, sentence, word)

    # ------------------------------------------------------------------ for the layers below

    def _model(self) -> ChainModel:
        return self.model_

    def _best_at_once(self, sentences: Sequence[Any], turn: Turn) -> Finish[list[str]] | None:
        return best_tags(self.model_, self.weights_, sentences, turn)

    def _stored(self) -> Stored:
        model = self.model_
        of_features, of_arrays = stored_features(model.features)
        header = {
            "own_features": self.features is not None,
            "tags": list(model.tags.names),
            "scheme": model.tags.scheme,
            "features": of_features,
        }
        arrays = {"weights": self.weights_, **of_arrays}
        if model.pairs is not None:
            arrays |= {"pairs": model.pairs.firsts, "pair_tags": model.pairs.columns}
        return Stored(header, arrays)

    def _restore(self, stored: Stored) -> None:
        header, arrays = stored
        features = restored_features(header["features"], arrays)
        tags = TagSet(kept_texts(header["tags"], "tags"), header["scheme"])
        pairs = None
        if "pairs" in arrays:
            columns = kept_array(arrays, "pair_tags", np.int32, None)
            n_rows = features.n_attributes + 2 * self.boundaries
            firsts = kept_offsets(arrays, "pairs", n_rows, len(columns))
            pairs = Pairs(firsts, columns, len(tags))
        is_local = self.normalisation == "local"
        self.model_ = ChainModel(tags, features, pairs, self.boundaries, is_local)
        self.weights_ = kept_array(arrays, "weights", np.float64, self.model_.n_weights)
        self._take_templates(header, features)
