"""The truth by enumeration. It shares no code with the library.

A set of structures is a matrix of part counts, a row per structure; every quantity is then its
definition.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass
class Oracle:
    """All structures of one sentence, their part counts (a row each), and a score per part."""

    structures: list
    counts: np.ndarray
    scores: np.ndarray

    @cached_property
    def totals(self):
        """Score of every structure; a part that does not occur contributes 0 even at -inf."""
        used = np.where(self.counts != 0, self.counts * np.nan_to_num(self.scores, neginf=0.0), 0.0)
        forbidden = (self.counts != 0) & (self.scores == -np.inf)
        return np.where(forbidden.any(axis=1), -np.inf, [math.fsum(row) for row in used])

    @cached_property
    def log_partition(self):
        largest = self.totals.max()
        return largest + np.log(np.exp(self.totals - largest).sum())

    @cached_property
    def probabilities(self):
        weights = np.exp(self.totals - self.totals.max())
        return weights / weights.sum()

    @cached_property
    def marginals(self):
        return self.probabilities @ self.counts

    @cached_property
    def covariance(self):
        centred = self.counts - self.marginals
        return centred.T @ (self.probabilities[:, None] * centred)

    @cached_property
    def entropy(self):
        p = self.probabilities[self.probabilities > 0]
        return -(p * np.log(p)).sum()

    def renyi_entropy(self, alpha):
        p = self.probabilities[self.probabilities > 0]
        return np.log((p**alpha).sum()) / (1 - alpha)

    @cached_property
    def max_marginals(self):
        return np.array([self.totals[column != 0].max(initial=-np.inf) for column in self.counts.T])

    def restricted(self, allowed):
        """The oracle whose structures use allowed parts only."""
        return Oracle(self.structures, self.counts, np.where(allowed, self.scores, -np.inf))
