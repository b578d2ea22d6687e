"""Taggers in model files: their tags, features, options and weights."""

import os
from collections.abc import Mapping
from typing import Any

from partita.arrays import FloatArray
from partita.estimators.tagging.chain_model import AnyFeatures, ChainModel
from partita.estimators.tagging.tag_labels import TagSet
from partita.features.pairs import Pairs
from partita.text.extraction import TemplateFeatures
from partita.text.named_features import NamedFeatures
from partita.training.model_file import read_model, write_model

ESTIMATOR = "tagger"
KINDS: dict[str, type[AnyFeatures]] = {
    kind.kind: kind for kind in (TemplateFeatures, NamedFeatures)
}
NOT_KEPT = ("warm_start", "constraints", "features", "checkpoint", "resume", "log")
"""Arguments that only training needs, or that the features themselves hold."""


def write(
    path: str | os.PathLike[str],
    model: ChainModel,
    weights: FloatArray,
    params: Mapping[str, Any],
    more: Mapping[str, Any],
) -> None:
    """Write a model file in one step, with `more` entries of its header."""
    header = {
        **more,
        "kind": "model",
        "estimator": ESTIMATOR,
        "options": {name: _plain(value) for name, value in params.items() if name not in NOT_KEPT},
        "own_features": params["features"] is not None,
        "tags": list(model.tags.names),
        "scheme": model.tags.scheme,
        "features": {"kind": model.features.kind, **model.features.header()},
    }
    arrays = {"weights": weights, **model.features.arrays()}
    if model.pairs is not None:
        arrays |= {"pairs": model.pairs.firsts, "pair_tags": model.pairs.columns}
    write_model(path, header, arrays)


def read(path: str | os.PathLike[str]) -> tuple[ChainModel, FloatArray, dict[str, Any]]:
    """Model, weights and the arguments of the tagger."""
    contents = read_model(path, estimator=ESTIMATOR)
    header = contents.header
    kind = KINDS[header["features"]["kind"]]
    features = kind.restored(header["features"], contents.arrays)
    arrays = contents.arrays
    tags = TagSet(header["tags"], header["scheme"])
    pairs = None
    if "pairs" in arrays:
        pairs = Pairs(arrays["pairs"], arrays["pair_tags"], len(tags))
    model = ChainModel(tags, features, pairs)
    params = dict(header["options"])
    if header["own_features"] and isinstance(features, TemplateFeatures):
        params["features"] = features.templates
    return model, contents.arrays["weights"], params


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Mapping):
        return {str(key): float(number) for key, number in value.items()}
    if isinstance(value, tuple | list):
        return list(value)
    return value.item() if hasattr(value, "item") else value
