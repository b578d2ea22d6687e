"""A few functions with their derivatives: all that PyTorch has to know of structures.

Two are linear and each other's adjoint, `Flatten` (the caller's form to a vector over parts) and
`Shape` (back). Between them stands `Infer`: its first derivative is the marginals, its second the
covariance product. `Products` sums over the parts of each sentence.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.kernels import parts
from partita.torch.forms import as_array, placed, tensors_of


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
        return None, None, None, *Shape.apply(ctx.p, ctx.template, slope)


class Include(torch.autograd.Function):
    """A vector over parts as it is; it includes `scores` at `rows` of parts, a row a sentence."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, rows: Tensor, scores: Tensor) -> Tensor:
        ctx.rows, ctx.like = rows, scores
        return flat.view_as(flat)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        return slope, None, slope[ctx.rows].sum(dim=0).to(ctx.like)


class Shape(torch.autograd.Function):
    """A vector over parts -> tensors in the form of the scores, summed where scores are shared."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, template: Any, flat: Tensor) -> tuple[Tensor, ...]:
        ctx.p, ctx.template = p, template
        return tensors_of(template, p._shaped(flat.numpy()), flat.numpy())

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> Any:
        return None, None, Flatten.apply(ctx.p, ctx.template, None, *slopes)


class Infer(torch.autograd.Function):
    """Flat scores -> log-partition of each sentence, and marginals."""

    @staticmethod
    def forward(ctx: Any, p: Distribution, flat: Tensor) -> tuple[Tensor, Tensor]:
        log_partition = torch.from_numpy(p.inference.log_partition.copy())
        marginals = torch.from_numpy(p.inference.marginals)
        ctx.p = p
        # An output that is saved knows where it came from, and so can be differentiated again.
        ctx.save_for_backward(flat, marginals)
        ctx.set_materialize_grads(False)
        return log_partition, marginals

    @staticmethod
    def backward(ctx: Any, slope: Tensor | None, direction: Tensor | None) -> Any:
        flat, marginals = ctx.saved_tensors
        gradient = None
        if slope is not None:
            gradient = times(ctx.p, slope, marginals)
        if direction is not None:
            product = CovarianceProduct.apply(ctx.p, flat, direction)
            gradient = product if gradient is None else gradient + product
        return None, gradient


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


def times(p: Distribution, slope: Tensor, flat: Tensor) -> Tensor:
    """A vector over parts, those of each sentence times a number for the sentence."""
    offsets, n_sentences = p.structures.part_offsets, p.structures.n_sentences
    n_parts = np.diff(offsets)
    if n_sentences and (n_parts == n_parts[0]).all():
        return (slope[:, None] * flat.view(n_sentences, -1)).view(-1)
    spread = slope.repeat_interleave(torch.from_numpy(n_parts), output_size=len(flat))
    return spread * flat
