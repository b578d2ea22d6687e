"""A few functions with their derivatives: all that PyTorch has to know of structures.

Two are linear and each other's adjoint, `Flatten` (the caller's form to a vector over parts) and
`Shape` (back). Between them stands `LogPartition`: its first derivative is the marginals, its
second the covariance product. `Products` sums over the parts of each sentence.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.kernels import parts
from partita.torch.forms import Leaf, as_array, placed, tensors_of


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


class LogPartition(torch.autograd.Function):
    """Flat scores -> log-partition of each sentence, in the type and on the device of `leaf`."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, flat: Tensor, leaf: Leaf) -> Tensor:
        ctx.p = p
        ctx.save_for_backward(flat)
        return torch.tensor(p.inference.log_partition, dtype=leaf.dtype, device=leaf.device)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        (flat,) = ctx.saved_tensors
        return None, times(ctx.p, slope, marginals_of(ctx.p, flat)), None


class LogProb(torch.autograd.Function):
    """Flat scores -> log-probability of a structure of each sentence, given by its counts.

    In the type and on the device of `leaf`; as one function, since it is what training asks for.
    """

    @staticmethod
    def forward(ctx: Any, p: Distribution, flat: Tensor, counts: Tensor, leaf: Leaf) -> Tensor:
        sums = np.empty(p.structures.n_sentences)
        parts.sum_products(counts.numpy(), flat.numpy(), p.structures.part_offsets, sums)
        if -np.inf in sums:
            # The score of a part that is forbidden has no say.
            counts = torch.where(flat == -torch.inf, 0.0, counts)
        ctx.p = p
        ctx.save_for_backward(flat, counts)
        sums -= p.inference.log_partition
        return torch.tensor(sums, dtype=leaf.dtype, device=leaf.device)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        flat, counts = ctx.saved_tensors
        difference = counts - marginals_of(ctx.p, flat)
        return (
            None,
            times(ctx.p, slope, difference, in_place=not torch.is_grad_enabled()),
            None,
            None,
        )


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


def marginals_of(p: Distribution, flat: Tensor) -> Tensor:
    """Flat marginals; to be differentiated again only where a backward pass says so."""
    if not torch.is_grad_enabled():
        return torch.from_numpy(p.inference.marginals)
    marginals: Tensor = Marginals.apply(p, flat)
    return marginals


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
