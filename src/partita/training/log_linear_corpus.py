"""A corpus whose weights are log-probabilities, as a function of weights of features below them."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from partita.arrays import FloatArray
from partita.features.log_linear import LogLinear
from partita.training.corpus import Corpus
from partita.training.digests import digest
from partita.training.summation import Sums
from partita.training.support import Support, find_support


class LogLinearCorpus(Corpus):
    """The loss of a corpus at `model.log_probabilities(weights)`, and its gradient by the weights.

    The direct way to train a model with log-linear probabilities (Berg-Kirkpatrick et al. 2010);
    any optimiser serves. Each pass costs one of the corpus, and normalising the table twice.

    >>> from partita import LinearChain
    >>> from partita.features import Attributes, MatrixFeatures, tag_features
    >>> from partita.objectives.evidence import Evidence
    >>> from partita.structures.chains import Chains
    >>> from partita.training import Batch, build_corpus
    >>> chains = Chains([2], n_tags=1, shared=True)  # words 0 and 1; one tag
    >>> words = tag_features(chains, Attributes.from_lists([[0], [1]]), n_attributes=2)
    >>> corpus = build_corpus(Evidence(), [Batch(LinearChain, chains, words, {"Evidence": None})])
    >>> table = LogLinear(MatrixFeatures(np.array([[1.0], [0.0], [0.0]])), contexts=[0, 0, 1])
    >>> loss, gradient = LogLinearCorpus(corpus, table).value_and_gradient(np.log([3.0]))
    >>> round(float(np.exp(-loss)), 4), gradient.round(2)  # 3/4 times 1/4
    (0.1875, array([0.5]))
    """

    def __init__(self, corpus: Corpus, model: LogLinear) -> None:
        if corpus.n_weights != model.features.n_parts:
            raise ValueError(
                f"the table has {model.features.n_parts} outcomes, but the corpus "
                f"{corpus.n_weights} weights; expected a log-probability for each weight."
            )
        self.corpus, self.model = corpus, model
        self.objective, self.n_weights = corpus.objective, model.n_weights
        self.n_sentences, self.n_words = corpus.n_sentences, corpus.n_words
        self.n_parts, self.n_threads = corpus.n_parts, corpus.n_threads
        self.batch_sizes = corpus.batch_sizes

    def sums(
        self, weights: FloatArray, names: Sequence[str], slopes: Mapping[str, FloatArray] | None
    ) -> Sums:
        """Those of the corpus, the gradient pulled back."""
        self.corpus.watcher = self.watcher
        logs = self.model.log_probabilities(weights)
        found = self.corpus.sums(logs, names, slopes)
        if found.gradient is None:
            return found
        return Sums(found.statistics, self.model.gradient(logs, found.gradient))

    def expected_counts(self, weights: FloatArray, iteration: int) -> tuple[float, FloatArray]:
        """The loss, and how often each outcome of the table is expected: the E-step of EM.

        For a loss that is minus the log-likelihood of what was observed.
        """
        self.corpus.watcher = self.watcher
        logs = self.model.log_probabilities(weights)
        loss, slopes = self.corpus.value_and_gradient(logs, iteration)
        return loss, -slopes

    def feature_counts(self, weights: FloatArray | None = None) -> FloatArray:
        """How often each feature occurs in the parts of the corpus, or how much these vary."""
        logs = None if weights is None else self.model.log_probabilities(weights)
        return self.model.features.gradient(self.corpus.feature_counts(logs))

    def add_gradient(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        names: Sequence[str],
        slopes: Mapping[str, FloatArray],
        out: FloatArray,
    ) -> dict[str, FloatArray]:
        """The statistics of some batches; adds the gradient to `out`."""
        logs = self.model.log_probabilities(weights)
        gradient = np.zeros_like(logs)
        statistics = self.corpus.add_gradient(logs, indices, names, slopes, gradient)
        out += self.model.gradient(logs, gradient)
        return statistics

    def statistics_by_batch(
        self, weights: FloatArray, names: Sequence[str]
    ) -> list[dict[str, FloatArray]]:
        """Those of the corpus."""
        return self.corpus.statistics_by_batch(self.model.log_probabilities(weights), names)

    @cached_property
    def support(self) -> Support:
        """Every batch touches all weights: probabilities share their sums."""
        maps = [self.model.features] * len(self.batch_sizes)
        return find_support(maps, self.n_weights)

    @cached_property
    def digest(self) -> str:
        """Tells its batches, and its table, from others."""
        return digest([self.corpus.digest, self.model])

    def close(self) -> None:
        """Close the corpus."""
        self.corpus.close()
