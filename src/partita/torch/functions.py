"""A few functions with their derivatives: all that PyTorch has to know of structures.

Two are linear and each other's adjoint, `Flatten` (the caller's form to a vector over parts) and
`Shape` (back). Between them stands `LogPartition`: its first derivative is the marginals, its
second the covariance product. `Products` sums over the parts of each sentence.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from partita.arrays import FloatArray, IntArray
from partita.distribution import exact
from partita.distribution.base import Distribution
from partita.kernels import parts
from partita.structures.settling import PRECISE
from partita.structures.slopes import merged, own_slopes, single_slopes
from partita.torch.forms import (
    Leaf,
    Template,
    as_array,
    is_single,
    numbers,
    placed,
    tensors_of,
)


class Flatten(torch.autograd.Function):
    """Tensors in the form of the scores -> one vector over parts; `flat` where it is known."""

    @staticmethod
    def forward(
        ctx: Any, p: Distribution, template: Any, flat: FloatArray | None, *tensors: Tensor
    ) -> Tensor:
        ctx.p, ctx.template = p, template
        if flat is None:
            flat = p._flatten(placed(template, [as_array(tensor) for tensor in tensors]), float)
        return torch.from_numpy(flat)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        if torch.is_grad_enabled():
            return None, None, None, *Shape.apply(ctx.p, ctx.template, slope)
        return None, None, None, *shaped_tensors(ctx.p, ctx.template, slope)


class Replace(torch.autograd.Function):
    """Other numbers for a tensor, with the same derivatives: settled scores for those that came."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, values: FloatArray) -> Tensor:
        return torch.from_numpy(values)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        return slope, None


class Include(torch.autograd.Function):
    """A vector over parts as it is; it includes `start` and `stop` at the parts of the two ends.

    `ends` has a row of parts a sentence for each of them.
    """

    @staticmethod
    def forward(
        ctx: Any, flat: Tensor, ends: tuple[Tensor, Tensor], start: Tensor, stop: Tensor
    ) -> Tensor:
        ctx.ends, ctx.likes = ends, (start, stop)
        return flat.view_as(flat)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        slopes = [
            None if like is None else slope[rows].sum(dim=0).to(like)
            for rows, like in zip(ctx.ends, ctx.likes, strict=True)
        ]
        return slope, None, *slopes


class Shape(torch.autograd.Function):
    """A vector over parts -> tensors in the form of the scores, summed where scores are shared."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, template: Any, flat: Tensor) -> tuple[Tensor, ...]:
        ctx.p, ctx.template = p, template
        return shaped_tensors(p, template, flat)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        return None, None, Flatten.apply(ctx.p, ctx.template, None, *slopes)


class Ends(NamedTuple):
    """Scores of first and last tags, which the scores of the words there include."""

    parts: tuple[IntArray, IntArray]
    """The parts of the tags of each sentence's first and last word, a row a sentence."""
    is_given: tuple[bool, bool]
    """Whether there are `start` and `stop`."""

    @property
    def n_tensors(self) -> int:
        """How many of the two there are."""
        return sum(self.is_given)

    def include(self, flat: Tensor, given: Sequence[Tensor]) -> Tensor:
        """A vector over parts, as a function of what it includes too."""
        scores, rows = iter(given), tuple(map(torch.from_numpy, self.parts))
        included: Tensor = Include.apply(
            flat, rows, *(next(scores) if is_given else None for is_given in self.is_given)
        )
        return included

    def rows(self) -> list[IntArray]:
        """The parts of those that there are."""
        return [rows for rows, is_given in zip(self.parts, self.is_given, strict=True) if is_given]


NO_ENDS = Ends((np.zeros((0, 0), dtype=np.int64),) * 2, (False, False))


def flat_scores(
    p: Distribution, template: Template, ends: Ends, tensors: Sequence[Tensor]
) -> Tensor:
    """One vector over parts; needs nothing that could be refused (see `Source`)."""
    if template is None:
        return tensors[0]
    n_shaped = len(tensors) - ends.n_tensors
    shaped, given = tensors[:n_shaped], tensors[n_shaped:]
    flat: Tensor = Flatten.apply(p, template, p.scores, *shaped)
    return ends.include(flat, given) if given else flat


class Source(NamedTuple):
    """Where flat scores come from: tensors in a form, or without a template one flat tensor.

    What training asks for goes from the caller's tensors to numbers in one function, and back in
    one pass over the parts, since each one more costs as much as the trees of a few sentences.
    """

    p: Distribution
    """What knows the form."""
    engine: Distribution
    """What answers questions on flat vectors."""
    versions: Sequence[int]
    """Those of the tensors when their scores were read."""
    template: Template = None
    ends: Ends = NO_ENDS
    """Of a chain; their tensors come behind those in the form."""

    def log_partition(self) -> FloatArray:
        """That of each sentence, and beside it what `slopes` asks for."""
        found = self.engine.infer_single()
        if found is not None:
            return found
        self.engine.infer_once()
        if self.p.largest > PRECISE:
            return exact.log_partition(self.p)
        return self.engine.inference.log_partition

    def slopes(
        self, slope: Tensor, tensors: Sequence[Tensor], counts: FloatArray | None = None
    ) -> tuple[Tensor, ...]:
        """Gradients in the tensors of slope * A, or of slope * (<counts, scores> - A)."""
        if torch.is_grad_enabled():
            # To be differentiated again, so by functions that know how.
            check_unchanged(tensors, self.versions)
            moved: Tensor = Marginals.apply(
                self.engine, flat_scores(self.p, self.template, self.ends, tensors)
            )
            moved = moved if counts is None else torch.from_numpy(counts) - moved
            return self._spread(times(self.engine, slope, moved), tensors)
        taken = self.engine.take_single_marginals() if counts is None else None
        if taken is not None:
            own = own_slopes(self.p.structures, self.p._form, taken, slope.numpy())
            if own is not None:
                return (torch.from_numpy(own[0]),)
        marginals = self.engine.inference.marginals
        parts = marginals if counts is None else counts - marginals
        if self.template is not None and all(map(is_single, tensors)):
            factors = np.ascontiguousarray(slope.numpy(), dtype=np.float64)
            found = single_slopes(self.p.structures, self.p._form, parts, factors)
            if found is not None:
                found += [
                    merged(parts, factors, rows[:, 0].copy(), rows.shape[1:])
                    for rows in self.ends.rows()
                ]
                return tuple(map(torch.from_numpy, found))
        in_place = counts is not None
        moved = times(self.engine, slope, torch.from_numpy(parts), in_place=in_place)
        return self._spread(moved, tensors)

    def _spread(self, flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """A gradient in the flat scores as those in the tensors."""
        if self.template is None:
            return (flat,)
        shape = Shape.apply if torch.is_grad_enabled() else shaped_tensors
        shaped: tuple[Tensor, ...] = shape(self.p, self.template, flat)
        likes = tensors[len(shaped) :]
        return *shaped, *(
            flat[torch.from_numpy(rows)].sum(dim=0).to(like)
            for rows, like in zip(self.ends.rows(), likes, strict=True)
        )


def check_unchanged(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Refuse tensors that were changed in place: gradients would go to the change.

    One that is no result of anything, such as a parameter that an optimiser has moved, gets the
    gradient at the scores that were read.
    """
    for tensor, known in zip(tensors, versions, strict=True):
        if tensor.grad_fn is not None and version(tensor) != known:
            raise RuntimeError(
                f"a tensor of scores of shape {tuple(tensor.shape)} was changed in place by "
                f"{tensor.grad_fn.name()} after the distribution was made; a gradient would "
                "miss the scores it has read. Change it before, make the distribution anew, or "
                "give it tensor.clone()."
            )


def version(tensor: Tensor) -> int:
    """How often a tensor was changed in place; 0 where nobody counts, and no gradient flows."""
    return 0 if tensor.is_inference() else tensor._version


class LogPartition(torch.autograd.Function):
    """Scores -> log-partition of each sentence, in the type and on the device of `leaf`."""

    @staticmethod
    def forward(ctx: Any, source: Source, leaf: Leaf, *tensors: Tensor) -> Tensor:
        # Not saved for the backward pass: the engine has a copy, so they may change meanwhile.
        ctx.source, ctx.tensors = source, tensors
        return numbers(source.log_partition(), leaf)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        return None, None, *ctx.source.slopes(slope, ctx.tensors)


class LogProb(torch.autograd.Function):
    """Scores -> log-probability of a structure of each sentence, given by its counts.

    In the type and on the device of `leaf`; as one function, since it is what training asks for.
    """

    @staticmethod
    def forward(
        ctx: Any, source: Source, counts: FloatArray, leaf: Leaf, *tensors: Tensor
    ) -> Tensor:
        p = source.p
        sums = np.empty(p.structures.n_sentences)
        parts.sum_products(counts, p.scores, p.structures.part_offsets, sums)
        source.engine.infer_once()
        is_small = p.largest <= PRECISE
        found = (
            sums - source.engine.inference.log_partition if is_small else exact.log_prob(p, counts)
        )
        if -np.inf in sums:
            # The score of a part that is forbidden has no say.
            counts = np.where(p.scores == -np.inf, 0.0, counts)
        ctx.source, ctx.tensors, ctx.counts = source, tensors, counts
        return numbers(found, leaf)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        return None, None, None, *ctx.source.slopes(slope, ctx.tensors, ctx.counts)


class Marginals(torch.autograd.Function):
    """Flat scores -> flat marginals."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, flat: Tensor) -> Tensor:
        ctx.p = p
        ctx.save_for_backward(flat)
        return torch.from_numpy(p.inference.marginals)

    @staticmethod
    def backward(ctx: Any, direction: Tensor) -> Any:
        (flat,) = ctx.saved_tensors
        return None, CovarianceProduct.apply(ctx.p, flat, direction)


def shaped_tensors(p: Distribution, template: Any, flat: Tensor) -> tuple[Tensor, ...]:
    """A vector over parts as tensors in the form of the scores."""
    return tensors_of(template, p._shaped(flat.numpy(), copied=False), flat)


class CovarianceProduct(torch.autograd.Function):
    """The covariance of the parts times a direction; symmetric, so its own adjoint."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, flat: Tensor, direction: Tensor) -> Tensor:
        ctx.p = p
        return torch.from_numpy(p.flat_covariance_product(direction.numpy()))

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        _, is_third, is_second = ctx.needs_input_grad
        if is_third:
            raise NotImplementedError(
                "a third derivative of the log-partition was asked for (a second one of marginals, "
                "entropy, expectation or kl_divergence); there are two. Detach the scores of the "
                "term that needs it, or leave out create_graph=True."
            )
        flat = slope.new_empty(0)  # of no consequence: p knows its scores
        return None, None, CovarianceProduct.apply(ctx.p, flat, slope) if is_second else None


class Products(torch.autograd.Function):
    """sum over the parts of each sentence of counts * values, where 0 times infinity is 0.

    `found` is the sums where they are known.
    """

    @staticmethod
    def forward(
        ctx: Any, p: Distribution, counts: Tensor, values: Tensor, found: FloatArray | None
    ) -> Tensor:
        ctx.p = p
        ctx.save_for_backward(counts, values)
        if found is None:
            found = p._sum_by_sentence("the expectation", counts.numpy(), values.numpy())
        return torch.from_numpy(found)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        counts, values = ctx.saved_tensors
        by_counts = by_values = None
        # A part that never occurs has no say, nor has the score of one that is forbidden.
        if ctx.needs_input_grad[1]:
            by_counts = times(ctx.p, slope, torch.where(counts == 0, 0.0, values))
        if ctx.needs_input_grad[2]:
            by_values = times(ctx.p, slope, torch.where(values == -torch.inf, 0.0, counts))
        return None, by_counts, by_values, None


def times(p: Distribution, slope: Tensor, flat: Tensor, *, in_place: bool = False) -> Tensor:
    """A vector over parts, those of each sentence times a number for the sentence."""
    slope, n_each = slope.to("cpu", torch.float64), p.structures.n_parts_each
    if n_each is not None and in_place:
        flat.view(-1, n_each).mul_(slope[:, None])
        return flat
    if n_each is not None:
        return (slope[:, None] * flat.view(-1, n_each)).view(-1)
    n_parts = torch.from_numpy(np.diff(p.structures.part_offsets))
    return slope.repeat_interleave(n_parts, output_size=len(flat)) * flat
