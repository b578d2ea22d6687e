"""Scores in tensors: a distribution through which gradients flow."""

import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from partita.distribution.base import Distribution
from partita.distribution.checks import check_largest
from partita.distribution.entropies import NEAR_ONE, places
from partita.structures.settling import PRECISE
from partita.torch.forms import integers, plain, tensors_of
from partita.torch.functions import (
    CovarianceProduct,
    LogPartition,
    LogProb,
    Marginals,
    Products,
)
from partita.torch.shaped import ShapedTensors


class TensorDistribution(ShapedTensors):
    """p(structure) = exp(score(structure) - A), for scores in tensors.

    Arguments are those of the class of the same name in `partita`: one sentence, a list of
    sentences, or a padded batch with `n_words`; scores are tensors. Numbers are tensors with no
    axis for one sentence and of shape (n_sentences,) for a batch; values of parts come back in the
    form the scores came in; all in the scores' type and on their device.

    `log_partition`, `score` and `log_prob` can be differentiated twice: the marginals are the first
    derivative, the covariance product is the second. `marginals`, `expectation`, `entropy`,
    `cross_entropy`, `kl_divergence` and `renyi_entropy` can be differentiated once in the scores
    that the expectation is under. A score of -inf forbids its part, and its gradient is 0.

    Everything is computed in float64 in the main memory, and by `torch.get_num_threads()` threads
    where a batch is large enough; answers are the same for any number of threads. Tensors on
    another device are copied over, and results back, which waits for the device both times.

    >>> import partita.torch as ptt
    >>> scores = torch.tensor([[0.0, 1.0986]], requires_grad=True)  # one word: 0 and log 3
    >>> p = ptt.LinearChain(scores, torch.zeros(2, 2))
    >>> p.log_partition.exp().round(decimals=3)
    tensor(4., grad_fn=<RoundBackward1>)
    >>> p.entropy.backward()
    >>> scores.grad
    tensor([[ 0.2060, -0.2060]])
    """

    def __init_subclass__(cls, of: Callable[..., Distribution], parts: str | type[Any]) -> None:
        """`of` is the class on arrays; `parts` names the argument of scores, or has their names."""
        cls.numpy_class = of
        cls._names = (parts,) if isinstance(parts, str) else parts._fields
        cls._parts = None if isinstance(parts, str) else parts
        cls.__signature__ = inspect.signature(of)
        cls._arguments = tuple(cls.__signature__.parameters)
        n_scores = len(cls._names)
        cls._n_leading = n_scores if cls._arguments[:n_scores] == cls._names else -1

    # ------------------------------------------------------------------ log-partition and gradient

    @property
    def log_partition(self) -> Tensor:
        """A = log sum over structures of exp(score).

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.log_partition.exp().round(decimals=3)
        tensor(4.)
        """
        return self._first(LogPartition.apply(self._source, self._leaf, *self._tensors))

    @property
    def marginals(self) -> Any:
        """Expected count of every part: the gradient of the log-partition.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.marginals.unary.round(decimals=3)
        tensor([[0.2500, 0.7500]])
        """
        return self._shaped(Marginals.apply(self._engine, self._flat))

    @property
    def flat_marginals(self) -> Tensor:
        """The marginals of all sentences end to end, in the order of `numpy.structures`.

        For features of parts that are sparse matrices over all of them, such as
        `partita.features.arc_constraints` makes of rules: the product is their expectations.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.flat_marginals.round(decimals=3)  # two tags, then four transitions
        tensor([0.2500, 0.7500, 0.0000, 0.0000, 0.0000, 0.0000])
        """
        return self._back(Marginals.apply(self._engine, self._flat))

    def covariance_product(self, direction: Any) -> Any:
        """Covariance of the part counts, times a direction in the form of the scores.

        Can be differentiated in the direction, not in the scores.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.covariance_product((torch.tensor([[1.0, 0.0]]), torch.zeros(2, 2))).unary.round(
        ...     decimals=3
        ... )
        tensor([[ 0.1880, -0.1880]])
        """
        flat = self._flat.detach()
        return self._shaped(CovarianceProduct.apply(self._engine, flat, self._flatten(direction)))

    # ------------------------------------------------------------------ what follows from them

    def expectation(self, values: Any) -> Tensor:
        """Expected sum of `values`, one per part in the form of the scores: <values, marginals>.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.expectation((torch.tensor([[8.0, 4.0]]), torch.zeros(2, 2))).round(decimals=3)
        tensor(5.)
        """
        return self._scalar(self._expected(self._flatten(values)))

    @property
    def entropy(self) -> Tensor:
        """H = -sum p log p = A - <scores, marginals>, in nats.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.entropy.round(decimals=3)
        tensor(0.5620)
        """
        p = self._settled(self.numpy.certain.settled)
        # First, since it asks for what covariance products need.
        expected = p._expected(p._flat)
        return p._scalar(p._log_partition() - expected)

    def cross_entropy(self, other: Self) -> Tensor:
        """-sum p log q = A_q - <scores_q, marginals_p>; infinite where q forbids what p allows.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> q = ptt.LinearChain(torch.zeros(1, 2), torch.zeros(2, 2))
        >>> p.cross_entropy(q).exp().round(decimals=3)
        tensor(2.)
        """
        other_numpy: Any = getattr(other, "numpy", other)
        self.numpy._check_comparable(other_numpy)
        q = other._settled(other_numpy.settled)
        if q.numpy.largest > PRECISE:
            self.numpy.cross_entropy(other_numpy)  # An error where digits are lost.
        return self._scalar(q._log_partition() - self._expected(q._flat))

    def kl_divergence(self, other: Self) -> Tensor:
        """sum p log(p / q) = cross_entropy(other) - entropy.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.kl_divergence(p)
        tensor(0.)
        """
        return self.cross_entropy(other) - self.entropy

    def renyi_entropy(self, alpha: float) -> Tensor:
        """log(sum p^alpha) / (1 - alpha) = (A(alpha scores) - alpha A(scores)) / (1 - alpha).

        For alpha from 0 on, without 1, which is the entropy.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.renyi_entropy(2.0).exp().round(decimals=3)
        tensor(1.6000)
        """
        if not 0 <= alpha < np.inf or alpha == 1:
            raise ValueError(
                f"alpha is {alpha}; expected a finite number from 0 on other than 1. For 1 take "
                "entropy, for infinity -log_prob(argmax)."
            )
        if alpha == 0:
            return self._tempered(alpha).log_partition
        p = self._settled(self.numpy.certain_within(max(1.0, 1.0 / alpha)).settled)
        log_partition = p._log_partition()
        if abs(alpha - 1) < NEAR_ONE:
            # The quotient loses its digits there; see `partita.distribution.entropies`.
            found = log_partition - sum(
                share * p._tempered(t)._expected(p._flat) for t, share in places(alpha)
            )
        else:
            tempered = p._tempered(alpha)._log_partition()
            found = (tempered - alpha * log_partition) / (1 - alpha)
        return self._scalar(found)

    def _tempered(self, alpha: float) -> Self:
        # Not alpha times -inf, which is NaN for alpha 0.
        flat = torch.where(self._flat == -torch.inf, -torch.inf, alpha * self._flat)
        return self._with(self.numpy.tempered(alpha), flat)

    def _expected(self, values: Tensor) -> Tensor:
        """<values, marginals> of each sentence, of a flat tensor over parts."""
        marginals = Marginals.apply(self._engine, self._flat)
        expected: Tensor = Products.apply(self._engine, marginals, values, None)
        return expected

    def restricted(self, allowed: Any) -> Self:
        """The same distribution on the structures that use allowed parts only.

        `allowed` holds a boolean per part, in the form of the scores. The log-partition of the
        result minus that of this one is the log-probability of the restriction.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> allowed = p.restricted(
        ...     (torch.tensor([[True, False]]), torch.ones(2, 2, dtype=torch.bool))
        ... )
        >>> (allowed.log_partition - p.log_partition).exp().round(decimals=3)
        tensor(0.2500)
        """
        p = self.numpy.restricted(plain(allowed))
        is_allowed = torch.from_numpy(p.scores > -np.inf)
        return self._with(p, torch.where(is_allowed, self._flat, -torch.inf))

    # ------------------------------------------------------------------ structures

    def score(self, structure: Any) -> Tensor:
        """Sum of the scores of a structure's parts, a structure per sentence; -inf if forbidden.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.score([1])
        tensor(1.0986)
        """
        counts = self.numpy.counts(plain(structure))
        found = self.numpy._score(counts)
        return self._scalar(Products.apply(self.numpy, torch.from_numpy(counts), self._flat, found))

    def log_prob(self, structure: Any) -> Tensor:
        """log p(structure) = score(structure) - A.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.log_prob([1]).exp().round(decimals=3)
        tensor(0.7500)
        """
        counts = self.numpy.counts(plain(structure))
        return self._first(LogProb.apply(self._source, counts, self._leaf, *self._tensors))

    @property
    def count(self) -> Any:
        """How many structures have a probability above 0, a whole number; a list for a batch.

        >>> import partita.torch as ptt
        >>> ptt.LinearChain(torch.zeros(3, 2), torch.tensor([[0.0, -torch.inf], [0.0, 0.0]])).count
        4
        """
        return self.numpy.count

    @property
    def argmax(self) -> Any:
        """A structure with the highest score, in integers.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.argmax
        tensor([1])
        """
        best = self._engine.best.structures
        return integers(
            self.numpy._form.join_structures(self.numpy.structures, best), self._leaf.device
        )

    @property
    def max_marginals(self) -> Any:
        """For each part the score of the best structure that uses it; -inf if none can.

        These are plain numbers, through which no gradient flows.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.max_marginals.unary
        tensor([[0.0000, 1.0986]])
        """
        p = self.numpy
        if p.largest > PRECISE:
            found = p.max_marginals
        else:
            flat = self._engine.flat_max_marginals()
            check_largest(p.structures, p.scores, flat)
            found = p._shaped(flat, largest=True)
        return self._named(tensors_of(self._template, found))

    def k_best(self, k: int) -> Any:
        """The k best structures as `(structure, score)`, best first; a list of lists for a batch.

        Scores are plain numbers; `score(structure)` is one to differentiate.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> [(tags.tolist(), round(score, 3)) for tags, score in p.k_best(2)]
        [([1], 1.099), ([0], 0.0)]
        """
        best = self._chooser.k_best(k)
        if self._chooser is not self.numpy:
            best = self.numpy._form.join_k_best(self.numpy.structures, best)
        return integers(best, self._leaf.device)

    def sample(
        self,
        size: int,
        rng: np.random.Generator | torch.Generator | None = None,
        *,
        replace: bool = True,
    ) -> Any:
        """`size` independent structures, exactly from p, along the first axis of each sentence.

        With `replace=False` no two are the same.
        `rng` is NumPy's generator or PyTorch's; without one, `torch.manual_seed` decides.

        >>> import partita.torch as ptt
        >>> p = ptt.LinearChain(torch.tensor([[0.0, 1.0986]]), torch.zeros(2, 2))
        >>> p.sample(1000, np.random.default_rng(0)).shape
        torch.Size([1000, 1])
        """
        if rng is None or isinstance(rng, torch.Generator):
            # PyTorch draws the seed, so that its generator moves on.
            device = "cpu" if rng is None else rng.device
            seed = torch.randint(2**63 - 1, (), generator=rng, device=device)
            rng = np.random.default_rng(seed.item())
        samples = self._chooser.sample(size, rng, replace=replace)
        if self._chooser is not self.numpy:
            samples = self.numpy._form.join_samples(self.numpy.structures, samples)
        return integers(samples, self._leaf.device)

    def __repr__(self) -> str:
        sets = self.numpy.structures
        return (
            f"{type(self).__name__}({sets.n_sentences} sentences, {sets.n_parts} parts, on tensors)"
        )
