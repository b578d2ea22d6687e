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

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.kernels import parts
from partita.torch.forms import Leaf, Template, as_array, placed, tensors_of


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


class Source(NamedTuple):
    """Where flat scores come from: tensors in a form, or without a template one flat tensor.

    What training asks for goes from the caller's tensors to numbers in one function, since each
    one more costs as much as the trees of a few sentences.
    """

    p: Distribution
    """What knows the form."""
    engine: Distribution
    """What answers questions on flat vectors."""
    template: Template = None

    def flat(self, tensors: Sequence[Tensor]) -> Tensor:
        """One vector over parts."""
        if self.template is None:
            return tensors[0]
        flat: Tensor = Flatten.apply(self.p, self.template, self.p.scores, *tensors)
        return flat

    def slopes(self, flat: Tensor) -> tuple[Tensor, ...]:
        """A gradient in the flat scores as those in the tensors."""
        if self.template is None:
            return (flat,)
        if not torch.is_grad_enabled():
            return shaped_tensors(self.p, self.template, flat)
        slopes: tuple[Tensor, ...] = Shape.apply(self.p, self.template, flat)
        return slopes

    def marginals(self, tensors: Sequence[Tensor]) -> Tensor:
        """Flat marginals; to be differentiated again only where a backward pass says so."""
        if not torch.is_grad_enabled():
            return torch.from_numpy(self.engine.inference.marginals)
        marginals: Tensor = Marginals.apply(self.engine, self.flat(tensors))
        return marginals


class LogPartition(torch.autograd.Function):
    """Scores -> log-partition of each sentence, in the type and on the device of `leaf`."""

    @staticmethod
    def forward(ctx: Any, source: Source, leaf: Leaf, *tensors: Tensor) -> Tensor:
        # Not saved for the backward pass: the engine has a copy, so they may change meanwhile.
        ctx.source, ctx.tensors = source, tensors
        found = source.engine.inference.log_partition
        return torch.tensor(found, dtype=leaf.dtype, device=leaf.device)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        source = ctx.source
        slopes = times(source.engine, slope, source.marginals(ctx.tensors))
        return None, None, *source.slopes(slopes)


class LogProb(torch.autograd.Function):
    """Scores -> log-probability of a structure of each sentence, given by its counts.

    In the type and on the device of `leaf`; as one function, since it is what training asks for.
    """

    @staticmethod
    def forward(ctx: Any, source: Source, counts: Tensor, leaf: Leaf, *tensors: Tensor) -> Tensor:
        p = source.engine
        sums = np.empty(p.structures.n_sentences)
        parts.sum_products(counts.numpy(), p.scores, p.structures.part_offsets, sums)
        if -np.inf in sums:
            # The score of a part that is forbidden has no say.
            counts = torch.where(torch.from_numpy(p.scores) == -torch.inf, 0.0, counts)
        ctx.source, ctx.tensors, ctx.counts = source, tensors, counts
        sums -= p.inference.log_partition
        return torch.tensor(sums, dtype=leaf.dtype, device=leaf.device)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        source = ctx.source
        difference = ctx.counts - source.marginals(ctx.tensors)
        in_place = not torch.is_grad_enabled()
        slopes = times(source.engine, slope, difference, in_place=in_place)
        return None, None, None, *source.slopes(slopes)


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
    """sum over the parts of each sentence of counts * values, where 0 times infinity is 0."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, counts: Tensor, values: Tensor) -> Tensor:
        ctx.p = p
        ctx.save_for_backward(counts, values)
        sums = counts.new_empty(p.structures.n_sentences)
        parts.sum_products(counts.numpy(), values.numpy(), p.structures.part_offsets, sums.numpy())
        return sums

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        counts, values = ctx.saved_tensors
        by_counts = by_values = None
        # A part that never occurs has no say, nor has the score of one that is forbidden.
        if ctx.needs_input_grad[1]:
            by_counts = times(ctx.p, slope, torch.where(counts == 0, 0.0, values))
        if ctx.needs_input_grad[2]:
            by_values = times(ctx.p, slope, torch.where(values == -torch.inf, 0.0, counts))
        return None, by_counts, by_values


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
