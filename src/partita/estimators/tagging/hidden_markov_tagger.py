"""`HiddenMarkovTagger`: tags from counts, from words alone, or from some of both."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray
from partita.data.dictionaries import read_dictionary
from partita.data.files import SentenceFiles
from partita.estimators.answers import Turn
from partita.estimators.base import Stored
from partita.estimators.groups import Penalties
from partita.estimators.options import (
    Check,
    above,
    again,
    at_least,
    beside,
    between,
    declared,
    option,
    without,
    without_data,
)
from partita.estimators.tagging.chain_questions import ChainEstimator
from partita.estimators.tagging.described import DescribedWords
from partita.estimators.tagging.emission_features import USUAL_VIEWS
from partita.estimators.tagging.explanations import TagExplanation, explain_word
from partita.estimators.tagging.hidden_markov_files import fit_from_files
from partita.estimators.tagging.hidden_markov_inspection import (
    HiddenMarkovInspection,
    inspect_hidden_markov,
)
from partita.estimators.tagging.hidden_markov_learning import fit_hidden_markov
from partita.estimators.tagging.hidden_markov_model import Dictionary, HiddenMarkovModel, log_tables
from partita.estimators.tagging.material import GivenTags, tag_facts
from partita.estimators.tagging.neighbourhoods import Neighbourhood
from partita.estimators.tagging.questions import log_evidence
from partita.estimators.tagging.tags import HeldOutTags, Tags, TagSet
from partita.estimators.tagging.word_classes import WordClasses
from partita.kept import kept_array, kept_texts
from partita.text.views import find_parts
from partita.text.word_symbols import WordSymbols

USUAL = "usual"
MOST_TAGS = 10_000
"""The table of transitions has a number for every two: gigabytes, from here on."""


FEATURES = without("features ('usual', or a list of views)", lambda tagger: tagger.features)
UNKNOWN_TAGS = without_data("unknown_tags", "any word whose tag is not known")


def _is_dictionary(value: Any) -> bool:
    return all(not isinstance(tags, str) and len(tags) for tags in value.values())


def read_views(text: str) -> str | list[str]:
    """`usual`, or names of views with commas between them."""
    return text if text == USUAL else [name for name in text.split(",") if name]


def _are_views(value: Any) -> bool:
    if isinstance(value, str):
        return value == USUAL
    for name in value:
        find_parts(name)
    return True


@declared
class HiddenMarkovTagger(ChainEstimator):
    """p(words, tags) = p(y_1) p(w_1 | y_1) prod_t p(y_t | y_(t-1)) p(w_t | y_t).

    Learns from labelled sentences (counts), from words alone (expectation-maximisation), or from
    both: see `fit`. Sentences are lists of words, None for one that is missing, or `Sentence`
    objects. Everything it answers is exact.

    After `fit` it has `tags_` (names), `symbols_` (words and classes), `log_start_` (s,),
    `log_transitions_` (s, s) [left, right], `log_emissions_` (n_symbols, s); and of
    expectation-maximisation `histories_`, for each start the log-likelihood (with the prior)
    after each iteration, and `reasons_`, why each ended.

    >>> tagger = HiddenMarkovTagger(min_count=1).fit(
    ...     [["the", "dog", "barks"], ["dogs", "bark"]], [["D", "N", "V"], ["N", "V"]]
    ... )
    >>> tagger.predict([["the", "bark"], ["dogs", None]])
    [['D', 'N'], ['N', 'V']]
    """

    kind: ClassVar[str] = "hmm"
    model_: HiddenMarkovModel = field(init=False)
    log_start_: FloatArray = field(init=False)
    log_transitions_: FloatArray = field(init=False)
    log_emissions_: FloatArray = field(init=False)
    histories_: list[FloatArray] = field(init=False)
    reasons_: list[str] = field(init=False)

    n_tags: int | None = option(
        None,
        "number of tags; needed where no tag is named by a label or the dictionary. If it is more "
        "than are named, the others are called T0, T1, ...",
        between(1, MOST_TAGS),
    )
    alpha: float = option(
        0.01,
        "added to every count of what is allowed (a Dirichlet prior, and part of the likelihood "
        "that expectation-maximisation raises); with 0, what was never seen is impossible",
        at_least(0),
        needs=beside(
            "features or a neighbourhood, which have the penalty l2 in its place",
            lambda tagger: tagger.has_weights,
        ),
    )
    min_count: int = option(
        2,
        "a word seen less often is emitted as its class: its shape, such as capitals or digits, "
        "and its suffix, where unknown words get their probability from. With 1 every word stands "
        "for itself, and a word that training never saw counts as missing",
        at_least(1),
    )
    dictionary: Mapping[str, Sequence[str]] | None = option(
        None,
        "the tags that a word may have, for any words; others may have any (in a file, "
        '"word tag ..." a line)',
        Check(_is_dictionary, "a dictionary from words to lists of at least one tag", True),
        read=read_dictionary,
        metavar="FILE",
    )
    features: Literal["usual"] | Sequence[str] | None = option(
        None,
        "views of words (see `partita.text.views`) in which emissions are log-linear "
        "(Berg-Kirkpatrick et al. 2010), so that words share what is known of them: a list of "
        f'names, or "usual", which are {", ".join(USUAL_VIEWS)}. Trained by the gradient or by '
        "expectation-maximisation (see `optimiser`), with the penalty `l2` in place of `alpha`",
        Check(_are_views, f"{USUAL!r}, a list of names of views, or None", True),
        read=read_views,
        metavar="VIEW,...",
    )
    classes: WordClasses | Mapping[str, str] | None = again(
        DescribedWords,
        "classes",
        None,
        "classes of words, by word in lower case, as one more feature beside `features`: those of "
        "`WordClasses`, a dictionary, or a file that `partita train classes` wrote",
        needs=FEATURES,
    )
    base: Literal["even", "frequency"] = option(
        "even",
        "how probable the words of a tag are where all weights are 0: all alike, or as frequent as "
        "they are in the text, so that weights (and `l2`) only have to say how tags differ; with "
        "`features`",
        needs=FEATURES,
    )
    fold_case: bool = option(
        False,
        "a word that the text has as often in lower case, or more, has the features of that, so "
        "that capitals say something of names, and nothing of the first words of sentences",
        needs=FEATURES,
    )
    own_count: int = option(
        1,
        "a word seen less often has no weight of its own and is known by its `features` alone",
        at_least(1),
        needs=FEATURES,
    )
    neighbourhood: Neighbourhood | None = option(
        None,
        "contrastive estimation (Smith and Eisner 2005): instead of all sentences, compare each "
        "one with its neighbours, from which a word is deleted (del1), a run of words "
        "(del1subseq), in which two words are exchanged (trans1), either (delortrans1), any pairs "
        "that do not overlap (dynasearch), or which are as long (length). Tables are then scores, "
        "not log-probabilities; needs a dictionary to be of use",
    )
    optimiser: Literal["em", "lbfgs"] | None = option(
        None,
        'how to raise the likelihood: "em", expectation-maximisation, the only way without '
        '`features`; or "lbfgs", along its gradient, the default with them and the only way with '
        "a `neighbourhood`. Both lead to the same hills",
    )
    l2: float = again(
        Penalties,
        "l2",
        10.0,
        "l2 / 2 times the squares of the weights is added to the loss; with `features` or a "
        "`neighbourhood`",
        needs=without("features or a neighbourhood", lambda tagger: tagger.has_weights),
    )
    unlabelled_weight: float | None = option(
        None,
        "what a sentence without (all) labels counts beside a labelled one; if left out, so much "
        "that all of them together count 0.3 times what the labelled ones do, and at most 1. The "
        "likeliest tags are not those that a linguist means: on English parts of speech this "
        "gained 3 points with 50 labelled sentences (1 lost 6), but lost 2 with 500. Give `fit` "
        "some held-out sentences to stop by",
        above(0),
        needs=UNKNOWN_TAGS,
    )
    start: Literal["chance", "classes"] = option(
        "chance",
        "where training starts if nothing is known of any tag: by chance, or from as many classes "
        "of words that stand beside the same words (see `WordClasses`), which start by chance",
        needs=UNKNOWN_TAGS,
    )
    n_restarts: int = option(
        1,
        "how often to start expectation-maximisation at random; the likeliest model is kept",
        at_least(1),
        needs=UNKNOWN_TAGS,
    )
    max_iterations: int | None = option(
        None,
        "the most iterations; if left out 100 of expectation-maximisation, or 300 by the gradient",
        at_least(1),
    )
    loss_tolerance: float = option(
        1e-6, "stop when the loss falls by less than this fraction of it", at_least(0)
    )
    warm_start: "HiddenMarkovTagger | None" = option(
        None,
        "a model whose probabilities expectation-maximisation starts from, see `from_tables`; "
        "with alpha above 0 what is impossible by it gets a little probability, with 0 it stays so",
        metavar="MODEL",
        is_kept=False,
    )

    # ------------------------------------------------------------------ learning

    def fit(
        self,
        sentences: Iterable[Any] | SentenceFiles,
        tags: Tags | None = None,
        *,
        unlabelled: Iterable[Any] = (),
        held_out: HeldOutTags | None = None,
        sample_weight: Sequence[float] | None = None,
    ) -> Self:
        """Learn from sentences, and from the tags of some, all or none of their words.

        A sentence's tags are None if none is known, else a list with `?` (or None) for words whose
        tag is not known, or sets of tags one of which is right; those of `unlabelled` are not
        known. Without `tags` they are taken from `tag_column`, if there is one. Where all tags are
        known, the model is the counts. Of `SentenceFiles` (`partita.data.files`) each worker reads
        its own part. Otherwise expectation-maximisation raises the likelihood of everything that is
        known; it starts from the model of the sentences that are fully labelled, if any are. With
        `held_out`, a pair of sentences and tags (or sentences with `tag_column`), it ends after
        `patience` iterations that did not lower the share of wrong tags to be expected there, and
        the best model on the way is kept, be it the first; nothing else says whether unlabelled
        sentences help.

        >>> words = [["a", "b"], ["a", "b", "a"], ["b", "a", "b"]] * 5
        >>> tagger = HiddenMarkovTagger(n_tags=2).fit(words)
        >>> first, second = tagger.predict([["a", "b"]])[0]
        >>> first != second
        True
        """
        given = GivenTags(sentences, tags, unlabelled, held_out, sample_weight)
        with self._fitting(sentences, held_out=held_out is not None):
            learnt, learnt_from = given.learnt_by(
                self, fit_from_files, fit_hidden_markov, self.tag_column
            )
            self.about_ = {"learnt from": learnt_from, **tag_facts(learnt.training)}
            self._take(learnt.model, learnt.training.weights)
            self.histories_, self.reasons_ = learnt.histories, learnt.reasons
            self.training_ = learnt.training
        return self

    @classmethod
    def from_tables(
        cls,
        start: ArrayLike,
        transition: ArrayLike,
        emission: ArrayLike,
        *,
        tags: Sequence[str],
        words: Sequence[str],
        **options: Any,
    ) -> Self:
        """A model of given probabilities: p(tag) at the start, p(tag | tag before), p(word | tag).

        `start` is (s,), `transition` (s, s) [tag before, tag], `emission` (s, n_words) [tag, word];
        rows sum to 1. `options` are those of the constructor. It can be asked at once, and `fit`
        of another model starts from it (`warm_start`).

        >>> tagger = HiddenMarkovTagger.from_tables(
        ...     [0.5, 0.5],
        ...     [[0.9, 0.1], [0.1, 0.9]],
        ...     [[0.8, 0.2], [0.2, 0.8]],
        ...     tags=["sun", "rain"],
        ...     words=["walk", "read"],
        ... )
        >>> tagger.predict([["walk", "walk", "read"]])
        [['sun', 'sun', 'sun']]
        """
        tagger = cls(**options)
        tagger.check()
        logs = log_tables(start, transition, emission, n_tags=len(tags), n_words=len(words))
        model = HiddenMarkovModel(TagSet(tags), WordSymbols(words, []), tagger.dictionary or {})
        tagger._take(model, model.layout.weights(logs[0], logs[1], logs[2].T))
        tagger.histories_, tagger.reasons_, tagger.training_ = [], [], None
        tagger.about_ = {"learnt from": "nothing: the probabilities were given"}
        return tagger

    @property
    def has_weights(self) -> bool:
        """Whether weights are learnt, and not tables by counts."""
        return self.features is not None or self.neighbourhood is not None

    @property
    def views(self) -> Sequence[str]:
        """What words are seen by beside themselves."""
        return USUAL_VIEWS if self.features == USUAL else self.features or ()

    @property
    def class_table(self) -> Mapping[str, str]:
        """The classes of words that features see."""
        given = self.classes
        return given.classes_ if isinstance(given, WordClasses) else given or {}

    def _check_together(self) -> None:
        if self.base != "even" and self.neighbourhood is not None:
            raise ValueError(
                f"base={self.base!r} came beside a neighbourhood; expected one of the two, since "
                "only probabilities of words have a base."
            )
        if self.optimiser == "em" and self.neighbourhood is not None:
            raise ValueError(
                "optimiser='em' came beside a neighbourhood, whose scores are no probabilities; "
                "expected 'lbfgs', or no neighbourhood."
            )
        if self.optimiser == "lbfgs" and not self.has_weights:
            raise ValueError(
                "optimiser='lbfgs' came without features or a neighbourhood, so that there are no "
                "weights to follow a gradient with; expected 'em', or one of these beside it."
            )
        if self.has_weights and self.warm_start is not None:
            raise ValueError(
                "warm_start came beside features or a neighbourhood, whose weights cannot be found "
                "from probabilities; expected one of the two."
            )
        super()._check_together()

    @property
    def symbols_(self) -> WordSymbols:
        """The words and classes of words, in the order of `log_emissions_`."""
        self._check_fitted()
        return self.model_.symbols

    def log_likelihood(self, sentences: Iterable[Any]) -> FloatArray:
        """log p(words) of each sentence; a missing word counts as any word."""
        if self.neighbourhood is not None:
            raise ValueError(
                f"the model was learnt by contrast (neighbourhood={self.neighbourhood!r}), so that "
                "sentences have scores and no probabilities; train without for those."
            )
        found = self._ask(sentences, lambda asked: log_evidence(asked.p), float, possible=False)
        return np.array(list(found), dtype=np.float64)

    def inspect(self, n_features: int = 10) -> HiddenMarkovInspection:
        """The likeliest words of every tag, and the probabilities of transitions."""
        self._check_fitted()
        unit = "probability" if self.neighbourhood is None else "exp(score)"
        return inspect_hidden_markov(self.model_, self._weights(), n_features, self.about_, unit)

    def explain(self, sentence: Any, word: int) -> TagExplanation:
        """Which probabilities gave a word (counted from 0) its tag, against the runner-up."""
        self._check_fitted()
        return explain_word(self.model_, self._weights(), sentence, word)

    # ------------------------------------------------------------------ for the layers below

    def _take(self, model: HiddenMarkovModel, weights: FloatArray) -> None:
        self.model_ = model
        self.log_start_, self.log_transitions_, self.log_emissions_ = model.layout.split(weights)

    def _model(self) -> HiddenMarkovModel:
        return self.model_

    def _weights(self) -> FloatArray:
        tables = self.log_start_, self.log_transitions_, self.log_emissions_
        return self.model_.layout.weights(*tables)

    def _why_impossible(self) -> str | None:
        allowed = self.model_.layout.allowed
        tables = self.log_start_, self.log_transitions_, self.log_emissions_[allowed]
        if all((table > -np.inf).all() for table in tables):
            return None
        return "no tags explain its words; allow others, or train with alpha above 0"

    def _best_at_once(self, sentences: Sequence[Any], turn: Turn) -> None:
        return None

    def _stored(self) -> Stored:
        symbols = self.symbols_
        return Stored(
            {"tags": self.tags_, "words": symbols.words, "classes": symbols.classes},
            {
                "start": self.log_start_,
                "transitions": self.log_transitions_,
                "emissions": self.log_emissions_,
            },
        )

    def _restore(self, stored: Stored) -> None:
        header, arrays = stored
        words, classes = (kept_texts(header[name], name) for name in ("words", "classes"))
        symbols = WordSymbols(words, classes)
        dictionary: Dictionary = self.dictionary or {}
        tags = TagSet(kept_texts(header["tags"], "tags"))
        self.model_ = HiddenMarkovModel(tags, symbols, dictionary)
        shape, s = self.model_.layout.allowed.shape, len(tags)
        self.log_start_ = kept_array(arrays, "start", np.float64, s, is_log=True)
        self.log_transitions_ = kept_array(arrays, "transitions", np.float64, s, s, is_log=True)
        self.log_emissions_ = kept_array(arrays, "emissions", np.float64, *shape, is_log=True)
        self.histories_, self.reasons_ = [], []
