"""Words of a hidden Markov model that share what is known of them: features of its emissions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.log_linear import LogLinear
from partita.features.matrix import FixedScores
from partita.features.rows import RowFeatures
from partita.text.attributes import Attributes
from partita.text.views import find_parts

USUAL_VIEWS = (
    "lower.suffix1",
    "lower.suffix2",
    "lower.suffix3",
    "capital",
    "digit",
    "hyphen",
)
"""What words are seen by beside themselves, unless a user says otherwise."""

NO_CLASSES: Mapping[str, str] = MappingProxyType({})


class EmissionFeatures:
    """Weights of features below the table of a hidden Markov model whose words are all its own.

    The score of a word with a tag is the weight of the word itself and of all that `views` see of
    it, each with the tag; transitions and first tags have a weight each. The weights are
    (n_attributes, s), (s, s) and (s,), end to end. `counts` say how often each word occurs.
    Where case is folded, a word that occurs as often in lower case, or more, has the features of
    that; words that then occur less than `own_count` times have no weight of their own; and where
    words are `by_frequency` the logarithm of its count is part of a word's score, so that without
    any weights a tag has words as often as the text does.

    >>> from partita.estimators.tagging.tags import TagSet
    >>> from partita.text.word_symbols import WordSymbols
    >>> words = WordSymbols(["walked", "talked", "sea"], [])
    >>> model = HiddenMarkovModel(TagSet(["N", "V"]), words, {"sea": ["N"]})
    >>> features = EmissionFeatures(model, ["suffix2", "suffix1"])
    >>> features.names  # suffix1=a says no more than the word
    ['walked', 'talked', 'sea', 'suffix2=ed', 'suffix1=d']
    >>> table = np.exp(features.log_linear.log_probabilities(np.zeros(features.n_weights)))
    >>> table.reshape(model.layout.shape)[:3].round(3)
    array([[0.333, 0.5  ],
           [0.333, 0.5  ],
           [0.333, 0.   ]])
    """

    def __init__(
        self,
        model: HiddenMarkovModel,
        views: Sequence[str],
        classes: Mapping[str, str] = NO_CLASSES,
        *,
        counts: Mapping[str, int] | None = None,
        fold_case: bool = False,
        own_count: int = 1,
        by_frequency: bool = False,
    ) -> None:
        self.model = model
        words = model.symbols.words
        counts = dict.fromkeys(words, 1) if counts is None else counts
        occurrences = np.array([counts[word] for word in words], dtype=np.float64)
        self.base: FloatArray = np.log(occurrences) if by_frequency else np.zeros(len(words))
        """Scores of words without any weights."""
        known_as = _folded(words, counts) if fold_case else words
        totals: Counter[str] = Counter()
        for name, word in zip(known_as, words, strict=True):
            totals[name] += counts[word]
        own = [name for name, n in totals.items() if n >= own_count]
        functions = {view: find_parts(view) for view in views}
        seen = [
            [f"{view}={part}" for view, see in functions.items() for part in see(word)]
            for word in known_as
        ]
        for word, names in zip(words, seen, strict=True):
            if word.lower() in classes:
                names.append(f"class={classes[word.lower()]}")
        # What only one word has says no more than the word itself.
        n_words_with = Counter(name for names in seen for name in names)
        shared = [name for name, n in n_words_with.items() if n > 1]
        self.names = [*own, *shared]
        # A view is named with an equals sign, which a word may have: two tables.
        of_words = {name: number for number, name in enumerate(own)}
        of_views = {name: number for number, name in enumerate(shared, start=len(own))}
        self.words = Attributes.from_lists(
            [
                [
                    *([of_words[word]] if word in of_words else ()),
                    *(of_views[name] for name in names if name in of_views),
                ]
                for word, names in zip(known_as, seen, strict=True)
            ]
        )

    @property
    def n_attributes(self) -> int:
        """Words, and what they share."""
        return len(self.names)

    @property
    def n_weights(self) -> int:
        """Of words with tags, of transitions, and of first tags."""
        s = self.model.layout.n_tags
        return (self.n_attributes + s + 1) * s

    @cached_property
    def table(self) -> FeatureMap:
        """From weights to the scores of all rows of the model's table."""
        layout = self.model.layout
        s, n_parts = layout.n_tags, layout.shape[0] * layout.n_tags
        starts = np.arange(layout.n_symbols) * s
        emissions = np.where(layout.allowed, self.base[:, None], -np.inf).ravel()
        fixed = np.flatnonzero(emissions)
        one = Attributes.from_lists([[0]])
        return JoinedFeatures(
            [
                RowFeatures(self.words, starts, s, self.n_attributes, n_parts),
                RowFeatures(one, [layout.n_attributes * s], s * s, 1, n_parts),
                RowFeatures(one, [layout.n_symbols * s], s, 1, n_parts),
                FixedScores(n_parts, fixed, emissions[fixed]),
            ]
        )

    @cached_property
    def log_linear(self) -> LogLinear:
        """The same, normalised: words of a tag, first tags, and tags behind a tag."""
        layout = self.model.layout
        s, fixed = layout.n_tags, np.zeros(layout.shape)
        contexts = np.full(layout.shape, -1)
        start, transitions, emissions = layout.split(contexts)
        emissions[:], start[:] = np.arange(s), s
        transitions[:] = s + 1 + np.arange(s)[:, None]
        fixed[layout.n_symbols + 1 : layout.n_attributes] = np.where(layout.masks, 0.0, -np.inf)
        return LogLinear(self.table, contexts.ravel(), fixed=fixed.ravel())

    def weights_of(
        self, model: HiddenMarkovModel, weights: FloatArray, *, normalised: bool
    ) -> FloatArray:
        """The flat table of a model with classes of rare words, see `HiddenMarkovLayout`.

        A class has the sum of its words, also of those that a dictionary keeps from a tag, since
        that says nothing of other words of the class. What is not `normalised` stays a score.
        """
        layout, s = model.layout, model.layout.n_tags
        words, transitions, start = np.split(weights, [-s * (s + 1), -s])
        starts = np.arange(self.words.n_rows) * s
        of_words = RowFeatures(self.words, starts, s, self.n_attributes, len(starts) * s)
        emissions = np.full((layout.n_symbols, s), -np.inf)
        numbers = model.symbols.numbers(self.model.symbols.words)
        scores = of_words.scores(words).reshape(-1, s) + self.base[:, None]
        np.logaddexp.at(emissions, numbers, scores)
        emissions[~layout.allowed] = -np.inf
        transitions = transitions.reshape(s, s)
        if not normalised:
            return layout.weights(start, transitions, emissions)
        return layout.weights(
            _log_softmax(start, 0), _log_softmax(transitions, 1), _log_softmax(emissions, 0)
        )


def _folded(words: Sequence[str], counts: Mapping[str, int]) -> list[str]:
    """In lower case what occurs so as often, or more."""
    lower = [word.lower() for word in words]
    return [
        small if counts.get(small, 0) >= counts[word] else word
        for small, word in zip(lower, words, strict=True)
    ]


def _log_softmax(scores: FloatArray, axis: int) -> FloatArray:
    """Normalised along an axis; what is forbidden altogether stays so."""
    sums = np.logaddexp.reduce(scores, axis=axis, keepdims=True)
    return scores - np.where(sums > -np.inf, sums, 0.0)
