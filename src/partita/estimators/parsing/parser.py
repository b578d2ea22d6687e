"""The dependency parser: a conditional random field over the trees of a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.data.arc_rule import ArcRule
from partita.data.arc_rules import read_arc_rules
from partita.data.files import SentenceFiles
from partita.estimators.base import Stored
from partita.estimators.blocks import refuse_beside_files
from partita.estimators.explain import Cell, run_facts
from partita.estimators.groups import Descent, OptimiserName, Runs, Uncertainty
from partita.estimators.options import again, at_least, between, declared, option, without
from partita.estimators.parsing.explain import (
    HeadExplanation,
    ParserInspection,
    explain_word,
)
from partita.estimators.parsing.from_files import fit_from_files
from partita.estimators.parsing.joint import ArcLabels
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.learning import BATCHES_PER_STEP, LearntParser, fit_parser
from partita.estimators.parsing.material import GivenLabels, Heads, read_material
from partita.estimators.parsing.model import ParserModel, Siblings
from partita.estimators.parsing.questions import TreeEstimator
from partita.estimators.parsing.strongest import strongest_features
from partita.estimators.runs import RunPlan
from partita.estimators.supervision import Known
from partita.features.arc_keys import KeyMaker
from partita.features.siblings import SiblingKeyMaker
from partita.kept import kept_array, kept_texts
from partita.text.arc_templates import ArcDescription, read_arc_template_file
from partita.text.markers import MARKER
from partita.training import Penalty
from partita.training.optimisers import Cosine, Optimiser
from partita.training.optimisers.stochastic import Stochastic

RATES = {"adam": 0.003, "adagrad": 0.03, "sgd": 0.1}
N_PASSES = 6
AVERAGE_FROM = 1
"""The pass, counted from 0, from which on weights are averaged over steps."""
N_SHOWN = 200
"""Training trees among whose arcs the strongest features are looked for."""


@declared
class DependencyParser(TreeEstimator, Descent, Uncertainty):
    """A conditional random field over dependency trees: p(tree) ~ exp(sum of its arcs' scores).

    An arc's score is the sum of the weights of its features, which templates describe (see
    `partita.text.arc_templates`); they are hashed into 2**n_bits weights. Labels come
    from a second model, which looks at the tree that was found.

    Sentences are `partita.data.Sentence` objects (as `read_conllu` gives them), lists of words, or
    lists of tuples (form, universal tag, ...). Heads and labels are taken from the columns HEAD and
    DEPREL if they are not given; a head that is `_` or `?` (or -1) is not known. After `fit` it has
    `model_`, `weights_`, `labels_`, `n_lifted_` and `training_`.

    >>> sentences = [[("dogs", "NOUN"), ("bark", "VERB")], [("cats", "NOUN"), ("sleep", "VERB")]]
    >>> parser = DependencyParser(n_bits=12, workers=1, progress=False, min_count=1)
    >>> parser = parser.fit(sentences, heads=[[2, 0], [2, 0]], labels=[["nsubj", "root"]] * 2)
    >>> heads, labels = parser.predict([[("cats", "NOUN"), ("bark", "VERB")]])[0]
    >>> heads, labels
    (array([2, 0]), ['nsubj', 'root'])
    """

    kind: ClassVar[str] = "parser"
    unlabelled_terms: ClassVar[tuple[str, ...]] = ("entropy_weight", "rules")
    n_lifted_: int = field(init=False)
    """Training sentences whose arcs crossed, and which gave way to the nearest projective tree."""
    """What `inspect` says first."""
    strongest_: Mapping[str, Sequence[tuple[str, float]]] = field(init=False)
    """For each template features of training trees with their weights, the largest first."""

    projective: bool | None = option(
        None,
        "arcs may not cross; if left out, where they do in less than 5 % of the training "
        "sentences: a smaller set of trees is easier to learn. In training, a tree whose arcs "
        "cross is then replaced by the nearest projective one",
    )
    order: int = option(
        1,
        "1 scores arcs; 2 pairs of neighbouring modifiers of a word, too, which makes trees better "
        "and everything slower. Arcs cannot cross then",
        between(1, 2),
    )
    pseudo_projective: bool | None = option(
        None,
        "where arcs cannot cross, labels remember which arcs were lifted in training, and answers "
        "are taken back down by them, so that arcs of answers may cross; if left out, with order=2 "
        "where arcs cross in 5 % of the training sentences or more",
        needs=without(
            "labels, or where arcs may cross (projective=False)",
            lambda parser: (
                not parser.pseudo_projective or (parser.labels and parser.projective is not False)
            ),
        ),
    )
    single_root: bool = option(True, "exactly one word hangs on the root")
    features: ArcDescription | None = option(
        None,
        "templates: objects, their text, or a path to a file with it; good defaults if left out",
        read=read_arc_template_file,
        metavar="FILE",
        is_kept=False,
    )
    min_count: int = option(
        2,
        "what templates see less often in training (a form, a lemma, a suffix) is rare, and alike",
        at_least(1),
    )
    n_bits: int = option(23, "arcs have 2 to the power of this many weights", between(3, 28))
    sibling_bits: int = option(
        24, "siblings have 2 to the power of this many weights", between(3, 28)
    )
    labels: Literal["second", "joint"] | bool = option(
        "second",
        'learn labels of arcs, too: by a second model ("second", or True), which looks at the '
        'whole tree, or together with the arcs ("joint"), each of which then has a score for every '
        "label",
    )
    label_bits: int = option(
        17, "labels have 2 to the power of this many rows of weights", between(1, 24)
    )
    l2: float | None = option(
        None,
        "l2 / 2 times the squares of the weights is added to the loss; 1 on all sentences at once "
        "if left out, and 0 by mini-batches, whose passes are few",
        at_least(0),
    )
    optimiser: OptimiserName | Optimiser[Any] | None = again(
        Descent,
        "optimiser",
        None,
        'by mini-batches "adam", "adagrad" or "sgd", on all sentences at once "lbfgs" (which rules '
        'take if it is left out, else it is "adagrad"); or an optimiser of `partita.training`',
    )
    rate: float | None = option(
        None,
        "the first learning rate of mini-batches, which falls to 0; by the optimiser if left out",
        at_least(0),
        needs=without(
            "'adam', 'adagrad' or 'sgd' by name (an optimiser that is an object has its own)",
            lambda parser: parser.has_mini_batches and not isinstance(parser.optimiser, Optimiser),
        ),
    )
    batch_sentences: int = option(150, "sentences of a mini-batch, on average", at_least(1))
    n_models: int = option(
        2,
        "models to train, each with a seed and an order of the sentences of its own, whose weights "
        "are averaged: the mean errs less than any of them. One on all sentences at once, since "
        "that depends on no order",
        at_least(1),
        needs=without(
            "mini-batches (optimiser='adagrad', say)",
            lambda parser: parser.n_models == 1 or parser.has_mini_batches,
        ),
    )
    entropy_ramp: int = again(Uncertainty, "entropy_ramp", 5)
    patience: int = again(Runs, "patience", 3)
    rules: Sequence[ArcRule] | None = option(
        None,
        "rules about arcs (see `partita.data.arc_rules`), which sentences without heads should "
        "obey, or all if there are no such",
        read=read_arc_rules,
        metavar="FILE",
        is_kept=False,
    )
    rule_weight: float = option(
        1000.0,
        "weight of the rules: without trees 10,000 is better where some say `at most 0`; beside "
        "trees 100 or less",
        at_least(0),
        needs=without("rules", lambda parser: parser.rules),
    )
    warm_start: "DependencyParser | Array | None" = option(
        None,
        "a fitted parser, or its weights, to start from",
        metavar="MODEL",
        is_kept=False,
    )

    def fit(
        self,
        sentences: Iterable[Any] | SentenceFiles,
        heads: Heads | None = None,
        labels: GivenLabels | None = None,
        *,
        unlabelled: Iterable[Any] = (),
        held_out: Sequence[Any] | tuple[Sequence[Any], Heads | None] | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences with heads, or with some of them, and from `unlabelled` ones.

        `held_out` has sentences with heads, too, or is a pair of sentences and heads: training
        stops after `patience` iterations that did not lower the share of wrong heads to be
        expected there, and the best weights on the way are kept. `sample_weight` has a number for
        each sentence. Of `SentenceFiles` (`partita.data.files`) each worker reads its own part.
        Ctrl-C ends the training, and keeps the best so far.
        """
        with self._fitting(sentences, held_out=held_out is not None):
            if isinstance(sentences, SentenceFiles):
                given = None if heads is None and labels is None else (heads, labels)
                refuse_beside_files(given, sample_weight, unlabelled)
                learnt = fit_from_files(self, sentences, held_out)
            else:
                more = unlabelled, sample_weight
                read = read_material(sentences, heads, labels, *more, single_root=self.single_root)
                learnt = fit_parser(self, read, held_out)
            about = _about(learnt) | dict(learnt.more_facts)
            strongest = _strongest(learnt, self.seed)
            self.model_, self.weights_ = learnt.model, learnt.training.weights
            self.label_model_, self.label_weights_ = learnt.labels, learnt.label_weights
            self.n_lifted_ = int(about["trees made projective"])
            self.strongest_, self.about_, self.training_ = strongest, about, learnt.training
        return self

    def inspect(self, n_features: int = 10) -> ParserInspection:
        """What the parser is, and the strongest features of arcs in the first training trees."""
        self._check_fitted()
        return ParserInspection(self.about_, self.strongest_, n_features)

    def explain(self, sentence: Any, word: int) -> HeadExplanation:
        """Which features gave a word (counted from 0) its head, against the runner-up."""
        self._check_fitted()
        return explain_word(self.model_, self.weights_, sentence, word)

    # ------------------------------------------------------------------ for the layers below

    def way(self) -> RunPlan:
        """How the options say to train."""
        usual: OptimiserName = "lbfgs" if self.rules else "adagrad"
        is_convex = not self.rules and not self.entropy_weight and self.course().is_convex
        optimiser = self.chosen_optimiser(
            usual, is_convex=is_convex, mini_batches=self._mini_batches
        )
        # Few passes keep weights small; to the end of the way, a penalty must.
        l2 = float(not isinstance(optimiser, Stochastic)) if self.l2 is None else self.l2
        # A shard has a gradient of its own, as long as the weights.
        return RunPlan(self, optimiser, Penalty(l2=l2), n_shards=1)

    @property
    def has_mini_batches(self) -> bool:
        """Whether it learns by mini-batches, and not from all sentences at once."""
        return isinstance(self.way().optimiser, Stochastic)

    def _mini_batches(self, name: str) -> dict[str, Any]:
        return {
            "rate": Cosine(RATES[name] if self.rate is None else self.rate),
            "n_iterations": N_PASSES,
            "batches_per_step": BATCHES_PER_STEP,
            "average_from": AVERAGE_FROM,
        }

    def _check_together(self) -> None:
        super()._check_together()
        if self.order == 2 and self.projective is False:
            raise ValueError(
                "projective=False came with order=2; arcs cannot cross in trees of the second "
                "order. Leave one of them out."
            )
        if self.order == 2 and self.labels == "joint":
            raise ValueError(
                "labels='joint' came with order=2; expected labels='second', a model of its own, "
                "or order=1."
            )

    def _stored(self) -> Stored:
        model, label_model = self.model_, self.label_model_
        header = {
            "own_features": self.features is not None,
            "arcs": model.maker.header(),
            "siblings": None if model.siblings is None else model.siblings.maker.header(),
            "columns": list(model.columns),
            "projective": model.projective,
            "labels": None if label_model is None else label_model.header(),
            "joint": model.labels is not None,
            "n_lifted": self.n_lifted_,
            "strongest": dict(self.strongest_),
        }
        arrays = _packed("weights", self.weights_)
        if self.label_weights_ is not None:
            arrays |= _packed("label_weights", self.label_weights_)
        return Stored(header, arrays)

    def _restore(self, stored: Stored) -> None:
        header, arrays = stored
        maker, columns = (
            KeyMaker.restored(header["arcs"]),
            tuple(kept_texts(header["columns"], "columns")),
        )
        unseen = {column for column, _ in maker.known.values} - {*columns, MARKER}
        if unseen:
            raise ValueError(f"features look at {', '.join(unseen)}, which is no column.")
        joint = ArcLabels.restored(header["labels"], self.label_bits) if header["joint"] else None
        siblings = None
        if header["siblings"] is not None:
            siblings = Siblings(SiblingKeyMaker.restored(header["siblings"]), self.sibling_bits)
        self.model_ = ParserModel(
            maker, self.n_bits, header["projective"], self.single_root, columns, joint, siblings
        )
        self.weights_ = _unpacked("weights", arrays, self.model_.n_weights)
        self.label_model_, self.label_weights_ = joint, None
        if header["labels"] is not None and joint is None:
            self.label_model_ = LabelModel.restored(header["labels"], self.label_bits)
            self.label_weights_ = _unpacked("label_weights", arrays, self.label_model_.n_weights)
        if header["own_features"]:
            self.features = maker.templates
        self.n_lifted_ = header["n_lifted"]
        self.strongest_ = {
            template: [(name, float(weight)) for name, weight in pairs]
            for template, pairs in header["strongest"].items()
        }


def _about(learnt: LearntParser) -> dict[str, Cell]:
    model, material = learnt.model, learnt.material
    n_words, known = int(learnt.words.n_words.sum()), material.known
    weights, names = learnt.training.weights, () if learnt.labels is None else learnt.labels.names
    n_used = int(np.count_nonzero(weights))
    return {
        "model": "dependency parser, a conditional random field over trees",
        "order": "1: arcs" if model.siblings is None else "2: arcs and pairs of siblings",
        "trees": ("projective, " if model.projective else "arcs may cross, ")
        + ("one root" if model.single_root else "one or more roots"),
        "learnt from": f"{len(known):,} sentences, {n_words:,} words",
        "trees known": f"{known.count(Known.ALL):,} whole, {known.count(Known.SOME):,} in part",
        "trees made projective": material.n_lifted,
        **run_facts(learnt.training, "of the heads wrong, to be expected"),
        "features": f"{len(model.maker.templates)} templates of {', '.join(model.columns)}",
        "weights": f"{len(weights):,}, {n_used:,} of them not 0",
        "labels": f"{len(names)}: {', '.join(names)}" if names else "none",
    }


def _strongest(learnt: LearntParser, seed: int) -> dict[str, list[tuple[str, float]]]:
    """The strongest features of the first trees that were learnt from."""
    model, material = learnt.model, learnt.material
    whole = material.order(seed)[: material.known.count(Known.ALL)][:N_SHOWN]
    encoded = model.encode_words(learnt.words.chosen(whole))
    trees = [(place, material.heads[index]) for place, index in enumerate(whole)]
    return strongest_features(model, learnt.training.weights, encoded, trees)


def _packed(name: str, weights: FloatArray) -> dict[str, Array]:
    """Weights that are not 0, and a bit for each that says which they are."""
    used = weights != 0.0
    return {f"{name}.used": np.packbits(used), name: weights[used]}


def _unpacked(name: str, arrays: Mapping[str, Array], n_weights: int) -> FloatArray:
    bits = kept_array(arrays, f"{name}.used", np.uint8, (n_weights + 7) // 8)
    used = np.unpackbits(bits, count=n_weights).astype(np.bool_)
    weights = np.zeros(n_weights)
    weights[used] = kept_array(arrays, name, np.float64, int(used.sum()))
    return weights
