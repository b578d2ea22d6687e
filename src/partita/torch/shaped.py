"""Scores in tensors, held in the form that they came in; and what answers questions about them."""

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from partita.distribution.base import Distribution
from partita.structures.settling import PRECISE
from partita.torch.forms import (
    SINGLE,
    Leaf,
    Template,
    as_array,
    is_single,
    leaves,
    placed,
    plain,
)
from partita.torch.functions import (
    NO_ENDS,
    Ends,
    Flatten,
    LogPartition,
    Replace,
    Shape,
    Source,
    check_unchanged,
    flat_scores,
    version,
)
from partita.torch.threads import in_blocks


class ShapedTensors:
    """Tensors of scores beside the distribution on arrays that they make."""

    numpy_class: ClassVar[Callable[..., Distribution]]
    """The distribution on arrays that does the work."""
    _names: ClassVar[tuple[str, ...]]
    """The arguments that hold scores."""
    _parts: ClassVar[Callable[..., Any] | None] = None
    """The named tuple of several kinds of parts."""

    __signature__: ClassVar[inspect.Signature]
    _arguments: ClassVar[tuple[str, ...]]
    """The names of all arguments."""
    _n_leading: ClassVar[int]
    """How many of them hold scores, where these come first; else -1."""

    _leaf: Leaf
    """The type and the device that answers have."""
    _template: Template
    """The form of the scores, with that in every place."""
    numpy: Distribution
    """The same distribution on arrays, for all that needs no gradient."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        scores, options = self._bound(arguments, options)
        rest = {name: plain(value) for name, value in options.items()} if options else options
        template: Template
        if len(scores) == 1 and isinstance(scores[0], Tensor) and is_single(scores[0]):
            # What nearly all networks have: nothing to look for in lists, and nothing to convert.
            tensors = [scores[0]]
            self._leaf = self._template = template = SINGLE
            known = {self._names[0]: as_array(scores[0], SINGLE)}
        else:
            template, tensors = self._leaves(scores if self._parts else scores[0])
            arrays = placed(template, [as_array(tensor) for tensor in tensors])
            known = dict(zip(self._names, arrays if self._parts else (arrays,), strict=True))
            self._leaf = _common(tensors)
            self._template = placed(template, [self._leaf] * len(tensors))
        self._hold(type(self).numpy_class(**known, **rest), template, tensors)

    @classmethod
    def _bound(
        cls, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The scores, and all other arguments by their names."""
        if len(arguments) == cls._n_leading and options.keys().isdisjoint(cls._names):
            return arguments, options
        given = cls._named_arguments(arguments, options)
        return tuple(given.pop(name) for name in cls._names), given

    @classmethod
    def _named_arguments(
        cls, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> dict[str, Any]:
        """All arguments by their names."""
        names = cls._arguments
        given = dict(zip(names, arguments, strict=False))
        is_plain = len(arguments) <= len(names) and not given.keys() & options.keys()
        if is_plain and all(name in given or name in options for name in cls._names):
            return given | options
        # It knows better what is wrong.
        return dict(cls.__signature__.bind(*arguments, **options).arguments)

    def _hold(
        self,
        p: Distribution,
        template: Template,
        tensors: Sequence[Tensor],
        ends: Ends = NO_ENDS,
    ) -> None:
        """Take over a distribution on arrays and the tensors of its scores (see `Source`)."""
        # Not cached properties, whose locks take as long as a sentence each.
        self._kept_engine: Distribution | None = None
        self._kept_source: Source | None = None
        self._kept_flat: Tensor | None = None
        self.numpy = p
        self._given, self._tensors, self._ends = template, tensors, ends
        self._versions = list(map(version, tensors))

    def _with(self, p: Distribution, flat: Tensor) -> Self:
        """Other scores of the same form."""
        other = copy.copy(self)
        other._hold(p, None, [flat])
        return other

    def _settled(self, p: Distribution) -> Self:
        """The same distribution from other scores of `p`, which differ in what structures share.

        Probabilities are the same functions of either, so derivatives are too.
        """
        return self if p is self.numpy else self._with(p, Replace.apply(self._flat, p.scores))

    # ------------------------------------------------------------------ what answers

    @property
    def _engine(self) -> Distribution:
        """What answers questions on flat vectors: the distribution on arrays, or it in blocks.

        Its scores are small enough for that, or there is an error: see `Distribution.certain`.
        """
        if self._kept_engine is None:
            self._kept_engine = in_blocks(self.numpy.certain)
        return self._kept_engine

    @property
    def _chooser(self) -> Distribution:
        """What answers questions about several structures, of which `certain` has not all."""
        return self.numpy if self.numpy.largest > PRECISE else self._engine

    @property
    def _source(self) -> Source:
        if self._kept_source is None:
            self._kept_source = Source(
                self.numpy, self._engine, self._versions, self._given, self._ends
            )
        if torch.is_grad_enabled():
            check_unchanged(self._tensors, self._versions)
        return self._kept_source

    @property
    def _flat(self) -> Tensor:
        """The scores as one vector over parts."""
        if self._kept_flat is not None:
            return self._kept_flat
        if torch.is_grad_enabled():
            check_unchanged(self._tensors, self._versions)
        flat = flat_scores(self.numpy, self._given, self._ends, self._tensors)
        # One that was made without gradients would stay without them.
        self._kept_flat = flat if torch.is_grad_enabled() else None
        return flat

    def _log_partition(self) -> Tensor:
        """That of each sentence, in the main memory and as exactly as it was computed."""
        leaf = Leaf(torch.float64, torch.device("cpu"))
        found: Tensor = LogPartition.apply(self._source, leaf, *self._tensors)
        return found

    # ------------------------------------------------------------------ forms

    def _leaves(self, values: Any) -> tuple[Template, list[Tensor]]:
        """The form of values for every part, and the tensors in it."""
        if self._parts is None or not isinstance(values, list | tuple):
            return leaves(values)
        fields = [leaves(value) for value in values]
        return (
            tuple(template for template, _ in fields),
            [tensor for _, tensors in fields for tensor in tensors],
        )

    def _flatten(self, values: Any) -> Tensor:
        template, tensors = self._leaves(values)
        return Flatten.apply(self.numpy, template, None, *tensors)

    def _shaped(self, flat: Tensor) -> Any:
        return self._named(Shape.apply(self.numpy, self._template, flat))

    def _named(self, tensors: Sequence[Tensor]) -> Any:
        """Tensors in the form of the scores, with the names of several kinds of parts."""
        shaped = placed(self._template, tensors)
        parts = type(self)._parts
        return parts(*shaped) if parts else shaped

    def _scalar(self, values: Tensor) -> Tensor:
        return self._back(self._first(values))

    def _first(self, values: Tensor) -> Tensor:
        """A number alone for one sentence."""
        return values[0] if self.numpy._form.kind == "one" else values

    def _back(self, tensor: Tensor) -> Tensor:
        """As the scores came."""
        return tensor.to(self._leaf.device, self._leaf.dtype)


def _common(tensors: Sequence[Tensor]) -> Leaf:
    """The type that all tensors fit into, and the device of the first."""
    if tensors and all(map(is_single, tensors)):
        return SINGLE
    floats = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
    dtype = reduce(torch.promote_types, floats or [torch.get_default_dtype()])
    return Leaf(dtype, tensors[0].device if tensors else torch.device("cpu"))
