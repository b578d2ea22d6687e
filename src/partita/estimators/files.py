"""Estimators in model files: options, what they learnt, and what the command adds."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from partita.arrays import Array
from partita.estimators.options import Declared, options_of
from partita.training.model_file import read_model, write_model

if TYPE_CHECKING:
    from partita.estimators.base import Estimator

NOTHING: Mapping[str, Any] = MappingProxyType({})
CLASS = "class"
"""What says in a file that an option's value has options of its own."""


class ModelContents(NamedTuple):
    """What a model file holds of an estimator."""

    options: dict[str, Any]
    header: dict[str, Any]
    arrays: dict[str, Array]


def write(
    path: str | os.PathLike[str], estimator: "Estimator", more: Mapping[str, Any] = NOTHING
) -> None:
    """Write an estimator in one step, with `more` entries of the header for the caller."""
    estimator._check_fitted()
    stored = estimator._stored()
    options = kept_options(estimator)
    header = {
        **more,
        **stored.header,
        "kind": "model",
        "estimator": estimator.kind,
        "options": options,
        "about": dict(estimator.about_),
    }
    write_model(path, header, dict(stored.arrays))


def read(path: str | os.PathLike[str], kind: str) -> ModelContents:
    """Options, header and arrays of a model of a kind."""
    contents = read_model(path, estimator=kind)
    options = contents.take("options", dict[str, Any])
    return ModelContents(options, dict(contents.header), dict(contents.arrays))


def kept_options(owner: Declared) -> dict[str, Any]:
    """The options that a model file keeps, as JSON has them."""
    return {
        each.name: plain(getattr(owner, each.name))
        for each in options_of(type(owner))
        if each.about.is_kept and is_plain(getattr(owner, each.name))
    }


def restored_options(owner: type[Declared], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Options out of a model file, those that have options of their own as objects again."""
    options = dict(kept)
    for each in options_of(owner):
        value = options.get(each.name)
        if isinstance(value, Mapping) and CLASS in value:
            kind = _subclass(each.kind.classes, value[CLASS])
            options[each.name] = kind(**restored_options(kind, value["options"]))
    return options


def _subclass(classes: tuple[type, ...], name: str) -> Any:
    """A class of this name among some classes and what inherits from them."""
    for each in classes:
        if each.__name__ == name:
            return each
        if issubclass(each, Declared) and each.__subclasses__():
            found = _subclass(tuple(each.__subclasses__()), name)
            if found is not None:
                return found
    return None


def prefixed(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays of a part of a model, under its name.

    >>> import numpy as np
    >>> under("words", prefixed("words", {"counts": np.ones(1)}))
    {'counts': array([1.])}
    """
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """What `prefixed` put under a name."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def is_plain(value: Any) -> bool:
    """Whether a file can hold such a value; an object that a user made is not kept.

    >>> is_plain({"NOUN": 2.0}), is_plain([1, None]), is_plain(object())
    (True, True, False)
    """
    if isinstance(value, Declared):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(each) for key, each in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str) or _is_number(value)


def plain(value: Any) -> Any:
    """A plain value as JSON has it."""
    if isinstance(value, Declared):
        return {CLASS: type(value).__name__, "options": kept_options(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return value.item() if _is_number(value) else value


def _is_number(value: Any) -> bool:
    """Whether it is a number of NumPy's."""
    return hasattr(value, "item") and getattr(value, "shape", None) == ()
