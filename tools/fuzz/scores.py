"""Scores of every form and size: a right answer or a clear error, and no third thing."""

import math
import warnings
from random import Random
from typing import Any

import numpy as np

import partita as pt
from tools.fuzz.target import Finding, Target

EXTREME = [0.0, -0.0, 1.0, -1.0, 700.0, -745.0, 1e15, -1e15, 1e16, 1e100, -1e300, 1e308, -1e308]
EXTREME += [5e-324, 1.7976931348623157e308, -math.inf]
WRONG = [math.nan, math.inf]
STRUCTURES = ["chain", "chain-by-position", "projective", "spanning", "siblings", "segments"]
STRUCTURES += ["constituents", "labelled", "labelled-spanning", "forest"]
QUESTIONS = ["log_partition", "marginals", "entropy", "argmax", "max_marginals", "count"]
QUESTIONS += ["best_score", "covariance_product", "k_best", "sample", "expectation", "restricted"]
QUESTIONS += ["renyi_entropy", "score", "log_prob", "kl_divergence", "covariance"]
FORMS = ["plain", "plain", "plain", "list", "float32", "integers", "fortran", "reversed", "object"]
FORMS += ["text", "flat", "deeper", "short"]


class Scores(Target):
    """An input says the structure, the sizes, what scores there are and how the array is given."""

    name = "scores"

    def draw(self, rng: Random) -> Any:
        """Small sentences, sometimes batches, with a few extreme scores."""
        kind = rng.choice(STRUCTURES)
        n_words = [
            rng.randrange(0 if rng.random() < 0.1 else 1, 8)
            for _ in range(rng.choice([1, 1, 3, 5]))
        ]
        extremes = EXTREME + WRONG if rng.random() < 0.05 else EXTREME
        return {
            "kind": kind,
            "n_words": n_words,
            "n_tags": rng.choice([1, 2, 3, 5, 9, 17]),
            "seed": rng.randrange(2**32),
            "sigma": rng.choice([0.0, 1.0, 30.0, 1000.0, 1e6]),
            "extremes": [
                [rng.random(), rng.choice(extremes)] for _ in range(rng.choice([0, 0, 1, 2, 5, 20]))
            ],
            "forbidden": rng.choice([0.0, 0.0, 0.2, 0.7]),
            "single_root": rng.random() < 0.5,
            "form": rng.choice(FORMS),
            "batch": len(n_words) > 1 or rng.random() < 0.2,
            # One after the other changes what is kept, so some are asked everything.
            "questions": QUESTIONS if rng.random() < 0.1 else rng.sample(QUESTIONS, 3),
        }

    def check(self, case: Any) -> None:
        """Every question is answered with numbers, or refused with a sentence."""
        rng = np.random.default_rng(case["seed"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                p = _distribution(case, rng)
            except (ValueError, TypeError) as error:
                return _check_sentence(error)
            for question in case.get("questions", QUESTIONS):
                try:
                    _ask(p, question, rng)
                except ValueError as error:
                    _check_sentence(error)
        return None


def _check_sentence(error: Exception) -> None:
    if len(str(error)) < 20 or "array must not contain infs" in str(error):
        raise Finding(f"{type(error).__name__}: {error}") from error


def _distribution(case: Any, rng: np.random.Generator) -> Any:
    kind, tags = case["kind"], case["n_tags"]
    single = {"single_root": case["single_root"]}

    def scores(*shape: int) -> Any:
        array = case["sigma"] * rng.normal(size=[max(size, 0) for size in shape])
        array[rng.random(array.shape) < case["forbidden"]] = -np.inf
        for place, value in case["extremes"]:
            if array.size:
                array.flat[int(place * array.size)] = value
        return _in_form(array, case["form"])

    def batch(*shape: Any) -> Any:
        arrays = [
            scores(*[size(n) if callable(size) else size for size in shape])
            for n in case["n_words"]
        ]
        return arrays if case["batch"] else arrays[0]

    tags = min(tags, 3) if kind.startswith("labelled") else tags
    if kind == "chain":
        return pt.LinearChain(batch(int, tags), scores(tags, tags))
    if kind == "chain-by-position":
        return pt.LinearChain(batch(int, tags), batch(lambda n: n - 1, tags, tags))
    if kind == "segments":
        return pt.SegmentChain(batch(int, 3, tags), scores(tags, tags))
    if kind == "constituents":
        return pt.ConstituencyTree(batch(int, int))
    root = lambda n: n + 1  # noqa: E731
    if kind == "siblings":
        return pt.SiblingTree(batch(root, root), batch(root, root, root), **single)
    if kind == "forest":
        heads = [0, 1, 2, 2, 3, 3]
        graph = pt.Hypergraph(heads, [[], [], [0, 1], [1, 1], [2, 2, 0], [1]], 3)
        return pt.HypergraphDistribution(graph, scores(len(heads)))
    structure = pt.ProjectiveTree if kind in ("projective", "labelled") else pt.SpanningTree
    if kind.startswith("labelled"):
        return structure(batch(root, root, tags), labelled=True, **single)
    return structure(batch(root, root), **single)


def _in_form(array: Any, form: str) -> Any:
    """The same numbers as another kind of array, or as no array."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
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
        }[form]()


def _ask(p: Any, question: str, rng: np.random.Generator) -> None:
    """One question; answers are numbers, and agree with each other."""
    if question == "covariance_product":
        _check_finite(question, p.covariance_product(p.marginals))
    elif question == "k_best":
        p.k_best(3)
    elif question == "sample":
        p.sample(3, rng)
    elif question == "expectation":
        _check_finite(question, p.expectation(p.marginals))
    elif question == "renyi_entropy":
        _check_finite(question, p.renyi_entropy(2.0))
    elif question == "restricted":
        p.restricted(_masks(p.marginals)).log_partition  # noqa: B018
    elif question in ("score", "log_prob"):
        _check_finite(question, getattr(p, question)(p.argmax))
    elif question == "kl_divergence":
        _check_finite(question, p.kl_divergence(p))
    elif question == "covariance":
        if p.marginals is not None and _size(p.marginals) < 300:
            _check_finite(question, p.covariance())
    elif question == "max_marginals":
        _check_no_nan(question, p.max_marginals)
    else:
        _check_finite(question, getattr(p, question))


def _masks(values: Any) -> Any:
    if isinstance(values, tuple):
        return type(values)(*[_masks(value) for value in values])
    return [_masks(value) for value in values] if isinstance(values, list) else values > 0


def _arrays(values: Any) -> list[Any]:
    if isinstance(values, tuple | list):
        return [array for value in values for array in _arrays(value)]
    return [np.asarray(values)]


def _size(values: Any) -> int:
    return sum(array.size for array in _arrays(values))


def _check_finite(question: str, values: Any) -> None:
    for array in _arrays(values):
        if array.dtype != object and not np.isfinite(array).all():
            raise Finding(f"{question} is {array}")


def _check_no_nan(question: str, values: Any) -> None:
    for array in _arrays(values):
        if np.isnan(array).any():
            raise Finding(f"{question} is {array}")
