"""Between tensors in a caller's form and arrays: nested lists and tuples of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from partita.arrays import Array, FloatArray

Template = Any
"""The form alone: `Leaf` where there is a tensor, None where there is nothing, lists and tuples."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of a tensor in a form: what type it has there, and on which device."""

    dtype: torch.dtype
    device: torch.device


SINGLE = Leaf(torch.float32, torch.device("cpu"))
"""What networks have on a processor."""


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
        tensors = [as_tensor(value) for value in values]
        return [leaf_of(tensor) for tensor in tensors], tensors
    tensor = as_tensor(values)
    return leaf_of(tensor), [tensor]


def leaf_of(tensor: torch.Tensor) -> Leaf:
    """The place of a tensor."""
    return SINGLE if is_single(tensor) else Leaf(tensor.dtype, tensor.device)


def as_array(tensor: torch.Tensor, leaf: Leaf | None = None) -> FloatArray:
    """As distributions take it: float64 or float32 in the main memory; shared where it is.

    `leaf` is the place of the tensor where that is known.
    """
    try:
        if leaf is SINGLE or is_single(tensor):
            # Nearly always; each call of a tensor takes a good part of a microsecond.
            single: FloatArray = tensor.numpy(force=True)
            return single
        if tensor.is_complex():
            raise TypeError("its numbers are complex")
        array: FloatArray = tensor.detach().resolve_neg().to("cpu", torch.float64).numpy()
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"a tensor of {tensor.dtype} ({tensor.layout}) on {tensor.device} came that holds no "
            f"array of numbers ({error}); expected a dense one of real numbers. to_dense() makes "
            "one of a sparse tensor; in torch.vmap and torch.func give a batch instead."
        ) from None
    return array


def is_single(tensor: torch.Tensor) -> bool:
    """Whether it is what networks have on a processor."""
    return bool(tensor.dtype == torch.float32 and tensor.is_cpu)


def placed(template: Template, values: Sequence[Any]) -> Any:
    """A value for each leaf, put into its place."""
    return _filled(template, iter(values))


def _filled(template: Template, values: Iterator[Any]) -> Any:
    if template is None:
        return None
    if isinstance(template, Leaf):
        return next(values)
    return type(template)(_filled(place, values) for place in template)


def tensors_of(
    template: Template, values: Any, source: torch.Tensor | None = None
) -> tuple[torch.Tensor, ...]:
    """The arrays in the places of a template, as tensors that share no memory with `source`."""
    memory = None if source is None else source.untyped_storage().data_ptr()
    found = []
    for leaf, array in _picked(template, values):
        tensor = torch.from_numpy(array).to(leaf.device, leaf.dtype)
        is_shared = tensor.untyped_storage().data_ptr() == memory or not array.flags.owndata
        found.append(tensor.clone() if is_shared and tensor.dtype == torch.float64 else tensor)
    return tuple(found)


def _picked(template: Template, values: Any) -> Iterator[tuple[Leaf, Array]]:
    if isinstance(template, Leaf):
        yield template, values
    elif template is not None:
        for place, value in zip(template, values, strict=True):
            yield from _picked(place, value)


def numbers(values: FloatArray, leaf: Leaf) -> torch.Tensor:
    """A tensor of its own with a few numbers, of the type and on the device of `leaf`."""
    if leaf is SINGLE or leaf == SINGLE:
        # `torch.tensor` takes ten times as long, as much as the trees of several sentences.
        return torch.from_numpy(values.astype(np.float32))
    return torch.tensor(values, dtype=leaf.dtype, device=leaf.device)


def plain(values: Any) -> Any:
    """Tensors as arrays, in lists and tuples too; anything else as it is."""
    if isinstance(values, torch.Tensor):
        # NumPy has no bfloat16.
        is_score = values.is_floating_point()
        return as_array(values) if is_score else values.detach().cpu().numpy()
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
