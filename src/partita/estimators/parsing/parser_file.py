"""Parsers in model files: their templates, lexicon, labels, options and weights."""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import Array, FloatArray
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.model import ParserModel
from partita.estimators.parsing.templates import parse_templates
from partita.estimators.parsing.words import Lexicon
from partita.training.model_file import read_model, write_model

ESTIMATOR = "parser"
NOT_KEPT = ("warm_start", "rules", "features", "checkpoint", "resume", "log")
"""Arguments that only training needs, or that the templates themselves hold."""


class Contents(NamedTuple):
    """What a parser is made of."""

    model: ParserModel
    weights: FloatArray
    label_model: LabelModel | None
    label_weights: FloatArray | None
    n_lifted: int
    strongest: dict[str, list[tuple[str, float]]]


def write(
    path: str | os.PathLike[str],
    contents: Contents,
    params: Mapping[str, Any],
    extra: Mapping[str, Any],
) -> None:
    """Write a model file in one step."""
    model, label_model = contents.model, contents.label_model
    header = {
        "kind": "model",
        "estimator": ESTIMATOR,
        "options": {name: value for name, value in params.items() if name not in NOT_KEPT},
        "own_features": params["features"] is not None,
        "templates": [template.text for template in model.templates],
        "known": {view: sorted(values) for view, values in model.lexicon.known.items()},
        "kinds": list(model.lexicon.kinds),
        "n_lifted": contents.n_lifted,
        "strongest": contents.strongest,
        "labels": None if label_model is None else list(label_model.names),
        "columns": list(model.columns),
        "projective": model.projective,
        **extra,
    }
    arrays = _packed("weights", contents.weights)
    if contents.label_weights is not None:
        arrays |= _packed("label_weights", contents.label_weights)
    write_model(path, header, arrays)


def read(path: str | os.PathLike[str]) -> tuple[Contents, dict[str, Any]]:
    """What a parser is made of, and its arguments."""
    found = read_model(path, estimator=ESTIMATOR)
    header = found.header
    params = dict(header["options"])
    templates = parse_templates("\n".join(header["templates"]), os.fspath(path))
    known = {view: frozenset(values) for view, values in header["known"].items()}
    lexicon = Lexicon(known, tuple(header["kinds"]))
    columns = tuple(header["columns"])
    model = ParserModel(
        templates, lexicon, params["n_bits"], header["projective"], params["single_root"], columns
    )
    if header["own_features"]:
        params["features"] = templates
    label_model, label_weights = None, None
    if header["labels"] is not None:
        label_model = LabelModel(tuple(header["labels"]), lexicon, params["label_bits"], columns)
        label_weights = _unpacked("label_weights", found.arrays, label_model.n_weights)
    weights = _unpacked("weights", found.arrays, model.n_weights)
    strongest = {
        template: [(name, float(weight)) for name, weight in pairs]
        for template, pairs in header["strongest"].items()
    }
    n_lifted = header["n_lifted"]
    return Contents(model, weights, label_model, label_weights, n_lifted, strongest), params


def _packed(name: str, weights: FloatArray) -> dict[str, Array]:
    """Weights that are not 0, and a bit for each that says which they are."""
    used = weights != 0.0
    return {f"{name}.used": np.packbits(used), name: weights[used]}


def _unpacked(name: str, arrays: Mapping[str, Array], n_weights: int) -> FloatArray:
    weights = np.zeros(n_weights)
    weights[np.unpackbits(arrays[f"{name}.used"], count=n_weights).astype(np.bool_)] = arrays[name]
    return weights
