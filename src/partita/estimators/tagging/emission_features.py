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
    (n_attributes, s), (s, s) and (s,), end to end.

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
    ) -> None:
        self.model = model
        words = model.symbols.words
        functions = {view: find_parts(view) for view in views}
        seen = [
            [f"{view}={part}" for view, see in functions.items() for part in see(word)]
            for word in words
        ]
        for word, names in zip(words, seen, strict=True):
            if word.lower() in classes:
                names.append(f"class={classes[word.lower()]}")
        # What only one word has says no more than the word itself.
        counts = Counter(name for names in seen for name in names)
        shared = [name for name, count in counts.items() if count > 1]
        self.names = [*words, *shared]
        numbers = {name: number for number, name in enumerate(shared, start=len(words))}
        self.words = Attributes.from_lists(
            [
                [number, *(numbers[name] for name in names if name in numbers)]
                for number, names in enumerate(seen)
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
        row, tag = np.nonzero(~layout.allowed)
        one = Attributes.from_lists([[0]])
        return JoinedFeatures(
            [
                RowFeatures(self.words, starts, s, self.n_attributes, n_parts),
                RowFeatures(one, [layout.n_attributes * s], s * s, 1, n_parts),
                RowFeatures(one, [layout.n_symbols * s], s, 1, n_parts),
                FixedScores(n_parts, row * s + tag, np.full(len(row), -np.inf)),
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
        np.logaddexp.at(emissions, numbers, of_words.scores(words).reshape(-1, s))
        emissions[~layout.allowed] = -np.inf
        transitions = transitions.reshape(s, s)
        if not normalised:
            return layout.weights(start, transitions, emissions)
        return layout.weights(
            _log_softmax(start, 0), _log_softmax(transitions, 1), _log_softmax(emissions, 0)
        )


def _log_softmax(scores: FloatArray, axis: int) -> FloatArray:
    """Normalised along an axis; what is forbidden altogether stays so."""
    sums = np.logaddexp.reduce(scores, axis=axis, keepdims=True)
    return scores - np.where(sums > -np.inf, sums, 0.0)
