"""Scores of every form and size: a right answer or a clear error, and no third thing."""

import math
import warnings
from random import Random
from typing import Any

import numpy as np

from tools.fuzz.distributions import FORMS, KINDS, distribution
from tools.fuzz.questions import BASIC, ask, questions_of
from tools.fuzz.target import Finding, Target

EXTREME = [0.0, -0.0, 1.0, -1.0, 700.0, -745.0, 1e15, -1e15, 1e16, 1e100, -1e300, 1e308, -1e308]
EXTREME += [5e-324, 1.7976931348623157e308, -math.inf]
WRONG = [math.nan, math.inf]


class Scores(Target):
    """An input says the structure, the sizes, what scores there are and how the array is given."""

    name = "scores"

    def draw(self, rng: Random) -> Any:
        """Small sentences, sometimes batches, with a few extreme scores."""
        kind = rng.choice(sorted(KINDS))
        n_words = [
            rng.randrange(0 if rng.random() < 0.1 else 1, 8)
            for _ in range(rng.choice([1, 1, 3, 5]))
        ]
        extremes = EXTREME + WRONG if rng.random() < 0.05 else EXTREME
        on_tensors = rng.random() < 0.2
        asked = questions_of(kind, on_tensors)
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
            "form": "plain" if on_tensors else rng.choice(FORMS),
            "batch": len(n_words) > 1 or rng.random() < 0.2,
            "padding": rng.choice([None, None, "n_words", "mask"]),
            "torch": rng.choice(["float64", "float32"]) if on_tensors else None,
            # One after the other changes what is kept, so some are asked everything.
            "questions": asked if rng.random() < 0.1 else rng.sample(asked, 3),
        }

    def check(self, case: Any) -> None:
        """Every question is answered with numbers, or refused with a sentence."""
        rng = np.random.default_rng(case["seed"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                p = distribution(case, rng)
            except (ValueError, TypeError) as error:
                return _check_sentence(error)
            for question in case.get("questions", BASIC):
                try:
                    ask(p, question, rng)
                except ValueError as error:
                    _check_sentence(error)
        return None


def _check_sentence(error: Exception) -> None:
    if len(str(error)) < 20 or "array must not contain infs" in str(error):
        raise Finding(f"{type(error).__name__}: {error}") from error
