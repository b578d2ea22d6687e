"""Tables of probabilities that are log-linear in features: multinomials, each normalised."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap


class LogLinear:
    """log p(outcome | context) = <features, weights> - log sum over the outcomes of the context.

    The rules of a generative model, such as the emissions and transitions of a hidden Markov model
    (Berg-Kirkpatrick et al. 2010): in place of a free probability for each, words with the same
    suffix share what they know. Its log-probabilities are the weights of the plain model, so that
    the model's expected counts give the gradient, and either way of learning is open:

    * directly: loss and gradient at `log_probabilities(weights)`, pulled back by `gradient`;
    * EM: expected counts at the log-probabilities, then the weights that minimise `loss(counts)`.

    Parameters
    ----------
    features
        A map onto one part for each outcome, n outcomes in all; -inf forbids one.
    contexts
        (n,): the context of each outcome, numbered from 0; -1 for one that is no probability and
        has the value 0, or what `fixed` says.
    fixed
        (n,): the values where the context is -1.

    >>> from partita.features.matrix import MatrixFeatures
    >>> words = MatrixFeatures(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    >>> table = LogLinear(words, contexts=[0, 0, 0])
    >>> np.exp(table.log_probabilities(np.log([2.0, 3.0]))).round(3)  # 2, 2 x 3 and 1 out of 9
    array([0.222, 0.667, 0.111])
    """

    def __init__(
        self, features: FeatureMap, contexts: ArrayLike, *, fixed: FloatArray | None = None
    ) -> None:
        self.features = features
        self.n_weights = features.n_weights
        self.contexts = _checked(contexts, features.n_parts)
        self._counted = np.flatnonzero(self.contexts >= 0)
        # Outcomes of a context side by side, so that each is one slice.
        self._order = self._counted[np.argsort(self.contexts[self._counted], kind="stable")]
        ordered = self.contexts[self._order]
        self._starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        self._sizes = np.diff(np.append(self._starts, len(ordered)))
        self._fixed = np.zeros(features.n_parts) if fixed is None else fixed

    def log_probabilities(self, weights: FloatArray) -> FloatArray:
        """log p of each outcome, (n,); -inf for all of a context in which all are forbidden."""
        values = self._fixed.copy()
        scores = self.features.scores(weights)[self._order]
        largest = np.maximum.reduceat(scores, self._starts) if len(scores) else scores
        shift = np.repeat(np.where(largest > -np.inf, largest, 0.0), self._sizes)
        sums = np.add.reduceat(np.exp(scores - shift), self._starts) if len(scores) else scores
        # Where nothing is possible, 0 in place of the logarithm leaves the scores at -inf.
        logs = np.log(sums, out=np.zeros_like(sums), where=sums > 0.0)
        values[self._order] = scores - shift - np.repeat(logs, self._sizes)
        return values

    def gradient(self, log_probabilities: FloatArray, slopes: FloatArray) -> FloatArray:
        """A gradient with respect to the log-probabilities, (n,), as one with respect to weights.

        Fᵀ (slopes - p * sum of the slopes of the context): of minus a log-likelihood, expected
        features minus counted ones.
        """
        moved = np.zeros_like(slopes)
        own = slopes[self._order]
        sums = np.add.reduceat(own, self._starts) if len(own) else own
        shares = np.exp(log_probabilities[self._order])
        moved[self._order] = own - shares * np.repeat(sums, self._sizes)
        return self.features.gradient(moved)

    def loss(self, counts: FloatArray) -> Callable[[FloatArray], tuple[float, FloatArray]]:
        """The M-step: weights -> -sum of counts times log p, and its gradient. Convex.

        Counts may be expectations; those of forbidden outcomes must be 0.

        >>> from partita.features.matrix import MatrixFeatures
        >>> from partita.training import minimise
        >>> coin = LogLinear(MatrixFeatures(np.array([[1.0], [0.0]])), contexts=[0, 0])
        >>> found = minimise(coin.loss(np.array([3.0, 1.0])), np.zeros(1)).weights
        >>> np.exp(coin.log_probabilities(found)).round(3)
        array([0.75, 0.25])
        """
        used = np.flatnonzero((counts != 0) & (self.contexts >= 0))

        def function(weights: FloatArray) -> tuple[float, FloatArray]:
            logs = self.log_probabilities(weights)
            return -float(counts[used] @ logs[used]), -self.gradient(logs, counts)

        return function


def _checked(contexts: ArrayLike, n_outcomes: int) -> IntArray:
    numbers = np.asarray(contexts)
    if numbers.shape != (n_outcomes,) or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"contexts is an array of {numbers.dtype} of shape {numbers.shape}; expected "
            f"({n_outcomes},) whole numbers, the context of each outcome, -1 for none."
        )
    if numbers.size and numbers.min() < -1:
        raise ValueError(f"contexts go down to {numbers.min()}; expected 0 or more, -1 for none.")
    return numbers.astype(np.int64)


def markov_contexts(n_words: int, n_tags: int) -> IntArray:
    """Contexts of a hidden Markov model's table: emissions (n_words, s), start (s,), then (s, s).

    An emission is normalised over the words for each tag, the start over tags, and a transition
    over the next tag for each tag.

    >>> markov_contexts(n_words=3, n_tags=2).reshape(6, 2)
    array([[0, 1],
           [0, 1],
           [0, 1],
           [2, 2],
           [3, 3],
           [4, 4]])
    """
    tags = np.arange(n_tags)
    return np.concatenate(
        [np.tile(tags, n_words), np.full(n_tags, n_tags), np.repeat(n_tags + 1 + tags, n_tags)]
    )
