"""Estimators in model files: options, what they learnt, and what the command adds."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from partita.arrays import Array
from partita.estimators.options import options_of
from partita.training.model_file import read_model, write_model

if TYPE_CHECKING:
    from partita.estimators.base import Estimator

NOTHING: Mapping[str, Any] = MappingProxyType({})


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
    options = {
        each.name: plain(getattr(estimator, each.name))
        for each in options_of(type(estimator))
        if each.about.is_kept and is_plain(getattr(estimator, each.name))
    }
    header = {
        **more,
        **stored.header,
        "kind": "model",
        "estimator": estimator.kind,
        "options": options,
    }
    write_model(path, header, dict(stored.arrays))


def read(path: str | os.PathLike[str], kind: str) -> ModelContents:
    """Options, header and arrays of a model of a kind."""
    contents = read_model(path, estimator=kind)
    header = dict(contents.header)
    return ModelContents(dict(header["options"]), header, dict(contents.arrays))


def is_plain(value: Any) -> bool:
    """Whether JSON has such a value; an object that a user gave is not kept.

    >>> is_plain({"NOUN": 2.0}), is_plain([1, None]), is_plain(object())
    (True, True, False)
    """
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(each) for key, each in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str) or _is_number(value)


def plain(value: Any) -> Any:
    """A plain value as JSON has it."""
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
