"""Distributions as hostile callers make them: every structure, form of batch and type of array."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import partita as pt
from partita.arrays import Array

FORMS = ["plain", "plain", "plain", "list", "float32", "integers", "fortran", "reversed", "object"]
FORMS += ["text", "flat", "deeper", "short"]
WORDS: Callable[[int], int] = lambda n: n  # noqa: E731
PAIRS: Callable[[int], int] = lambda n: n - 1  # noqa: E731
ROOTED: Callable[[int], int] = lambda n: n + 1  # noqa: E731
TAGS = "n_tags"
KINDS: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "chain": ("LinearChain", [(WORDS, TAGS), (TAGS, TAGS)]),
    "chain-by-position": ("LinearChain", [(WORDS, TAGS), (PAIRS, TAGS, TAGS)]),
    "chain-with-ends": ("LinearChain", [(WORDS, TAGS), (TAGS, TAGS)]),
    "segments": ("SegmentChain", [(WORDS, 3, TAGS), (TAGS, TAGS)]),
    "constituents": ("ConstituencyTree", [(WORDS, WORDS)]),
    "labelled-constituents": ("ConstituencyTree", [(WORDS, WORDS, TAGS)]),
    "siblings": ("SiblingTree", [(ROOTED, ROOTED), (ROOTED, ROOTED, ROOTED)]),
    "projective": ("ProjectiveTree", [(ROOTED, ROOTED)]),
    "spanning": ("SpanningTree", [(ROOTED, ROOTED)]),
    "labelled": ("ProjectiveTree", [(ROOTED, ROOTED, TAGS)]),
    "labelled-spanning": ("SpanningTree", [(ROOTED, ROOTED, TAGS)]),
    "forest": ("HypergraphDistribution", [(6,)]),
}
"""The class, and the axes of its arrays: along words, of the tags, or of one size."""
ROOTS = ("siblings", "projective", "spanning", "labelled", "labelled-spanning")
GRAPH = ([0, 1, 2, 2, 3, 3], [[], [], [0, 1], [1, 1], [2, 2, 0], [1]], 3)


def distribution(case: Any, rng: np.random.Generator) -> Any:
    """What an input describes; whatever the caller's error is comes out."""
    kind = case["kind"]
    name, axes = KINDS[kind]
    given = [_for_sentences(case, rng, each) for each in axes]
    options: dict[str, Any] = {}
    if kind.startswith("labelled"):
        options["labelled"] = True
    if kind in ROOTS:
        options["single_root"] = case["single_root"]
    if kind == "chain-with-ends":
        options |= {end: _scores(case, rng, (case["n_tags"],)) for end in ("start", "stop")}
    if kind == "forest":
        graph = pt.Hypergraph(*GRAPH)
        given = [[graph] * len(case["n_words"]) if case["batch"] else graph, *given]
    elif _is_padded(case):
        given, words = _padded(case, rng, given, axes)
        options |= words
    if case.get("torch"):
        return _on_tensors(name, given, options, case["torch"])
    return getattr(pt, name)(*given, **options)


def _for_sentences(case: Any, rng: np.random.Generator, axes: tuple[Any, ...]) -> Any:
    """An array for each sentence in a list, or one; once for all where no axis is along words."""
    tags = min(case["n_tags"], 3) if case["kind"].startswith("labelled") else case["n_tags"]
    if not any(map(callable, axes)) and case["kind"] != "forest":
        return _scores(case, rng, [tags if axis == TAGS else axis for axis in axes])
    arrays = []
    for n in case["n_words"]:
        shape = [axis(n) if callable(axis) else tags if axis == TAGS else axis for axis in axes]
        arrays.append(_scores(case, rng, shape))
    return arrays if case["batch"] else arrays[0]


def _scores(case: Any, rng: np.random.Generator, shape: Any) -> Any:
    array = case["sigma"] * rng.normal(size=[max(size, 0) for size in shape])
    array[rng.random(array.shape) < case["forbidden"]] = -np.inf
    for place, value in case["extremes"]:
        if array.size:
            array.flat[int(place * array.size)] = value
    return _in_form(array, case["form"])


def _is_padded(case: Any) -> bool:
    return bool(case["batch"] and case.get("padding") and case["form"] == "plain")


def _padded(
    case: Any, rng: np.random.Generator, given: list[Any], axes: list[tuple[Any, ...]]
) -> tuple[list[Any], dict[str, Any]]:
    """One array for all sentences, with anything in between, and which words there are."""
    lengths = np.array(case["n_words"])
    width = int(lengths.max()) + int(rng.integers(3))
    there = np.arange(width) < lengths[:, None]
    if case["padding"] == "mask":
        there = rng.permuted(there, axis=1)
    arrays = []
    for value, along in zip(given, axes, strict=True):
        if isinstance(value, list):
            value = _spread(value, along, there, rng.choice([0.0, 1e300, -np.inf, np.nan]))
        arrays.append(value)
    return arrays, {"mask": there} if case["padding"] == "mask" else {"n_words": lengths}


def _spread(value: list[Array], axes: tuple[Any, ...], there: Array, filling: float) -> Array:
    """The cells of each sentence at the places of its words."""
    width = there.shape[1]
    inner = value[0].shape[sum(map(callable, axes)) :]
    shape = [max(axis(width), 0) for axis in axes if callable(axis)]
    found = np.full((len(value), *shape, *inner), filling)
    for row, cells, words in zip(found, value, there, strict=True):
        places = np.flatnonzero(words)
        of_axis = {
            WORDS: places,
            PAIRS: places[1:] - 1,
            ROOTED: np.concatenate([[0], places + 1]),
        }
        row[np.ix_(*[of_axis[axis] for axis in axes if callable(axis)])] = cells
    return found


def _on_tensors(name: str, given: list[Any], options: dict[str, Any], precision: str) -> Any:
    import torch

    import partita.torch as ptt

    def tensor(value: Any) -> Any:
        if isinstance(value, list):
            return [tensor(each) for each in value]
        if not isinstance(value, np.ndarray) or value.dtype != np.float64:
            return value
        with np.errstate(over="ignore"):
            return torch.tensor(value, dtype=getattr(torch, precision), requires_grad=True)

    options = {option: tensor(value) for option, value in options.items()}
    return getattr(ptt, name)(*map(tensor, given), **options)


def _in_form(array: Array, form: str) -> Any:
    """The same numbers as another kind of array, or as no array."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forms: dict[str, Callable[[], Any]] = {
            "plain": lambda: array,
            "list": array.tolist,
            "float32": lambda: array.astype(np.float32),
            "integers": lambda: (
                np.nan_to_num(array, nan=0, posinf=0, neginf=0).clip(-9, 9).astype(int)
            ),
            "fortran": lambda: np.asfortranarray(array),
            "reversed": lambda: array[::-1],
            "object": lambda: array.astype(object),
            "text": lambda: array.astype(str),
            "flat": array.ravel,
            "deeper": lambda: array[..., None],
            "short": lambda: array[..., :-1],
        }
        return forms[form]()
