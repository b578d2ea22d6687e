"""Between tensors in a caller's form and arrays: nested lists and tuples of them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from partita.arrays import Array, FloatArray

Template = Any
"""The form alone: `Leaf` where there is a tensor, None where there is nothing, lists and tuples."""


class Leaf:
    """The place of a tensor in a form."""


LEAF = Leaf()


def as_tensor(values: Any) -> torch.Tensor:
    """A caller's tensor, or array, or nested list of numbers."""
    if isinstance(values, torch.Tensor):
        return values
    try:
        return torch.as_tensor(np.asarray(values))
    except (TypeError, ValueError):
        raise ValueError(
            f"a {type(values).__name__} came among the scores; expected a tensor, or a list with "
            "one for each sentence."
        ) from None


def leaves(values: Any) -> tuple[Template, list[torch.Tensor]]:
    """The form of a caller's values, and the tensors in it, in order; None is nothing.

    Values are a tensor, or a list or tuple with one for each sentence.
    """
    if values is None:
        return None, []
    if isinstance(values, list | tuple):
        return [LEAF] * len(values), [as_tensor(value) for value in values]
    return LEAF, [as_tensor(values)]


def computed(tensor: torch.Tensor) -> torch.Tensor:
    """As kernels want it: float64 in the main memory. The gradient goes the way back by itself."""
    return tensor.to("cpu", torch.float64)


def arrays_of(template: Template, tensors: Sequence[torch.Tensor]) -> Any:
    """Tensors put into their places, as arrays that share their memory."""
    return placed(template, [tensor.detach().numpy() for tensor in tensors])


def placed(template: Template, values: Sequence[Any]) -> Any:
    """A value for each leaf, put into its place."""
    return _filled(template, iter(values))


def _filled(template: Template, values: Iterator[Any]) -> Any:
    if template is None:
        return None
    if template is LEAF:
        return next(values)
    return type(template)(_filled(place, values) for place in template)


def tensors_of(template: Template, values: Any, source: FloatArray) -> tuple[torch.Tensor, ...]:
    """The arrays in the places of a template, as tensors that share no memory with `source`."""
    return tuple(
        torch.from_numpy(array.copy() if np.may_share_memory(array, source) else array)
        for array in _picked(template, values)
    )


def _picked(template: Template, values: Any) -> Iterator[Array]:
    if template is LEAF:
        yield values
    elif template is not None:
        for place, value in zip(template, values, strict=True):
            yield from _picked(place, value)


def plain(values: Any) -> Any:
    """Tensors as arrays, in lists and tuples too; anything else as it is."""
    if isinstance(values, torch.Tensor):
        return values.detach().cpu().numpy()
    if isinstance(values, list | tuple) and not hasattr(values, "_fields"):
        return type(values)(plain(value) for value in values)
    return values


def integers(structures: Any, device: torch.device) -> Any:
    """Arrays of integers as tensors, in lists and tuples too; anything else as it is."""
    if isinstance(structures, np.ndarray):
        return torch.tensor(structures, device=device)
    if isinstance(structures, list | tuple):
        return type(structures)(integers(value, device) for value in structures)
    return structures
