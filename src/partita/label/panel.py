"""The panel: what was learnt, how sure the model is, and what asking has saved."""

import math
from collections.abc import Sequence
from typing import Any

from partita import show
from partita.evaluation.calibration import calibration_error, reliability
from partita.label.effort import LONGEST
from partita.label.journal import Record
from partita.label.ledger import Ledger
from partita.label.task import Survey

RECENT = 200
"""Answers that the leave-one-out probability is the mean of: those before came to a worse model."""
FEW = 20
"""With fewer answers than this, a diagram of calibration says nothing."""


def figures(
    ledger: Ledger, survey: Survey, rounds: Sequence[Record], held_out: float | None
) -> dict[str, Any]:
    """All numbers and drawings of the panel.

    Leave-one-out, in the order in which answers came: each has the probability that the model gave
    it before it was learnt. Words that are asked for are hard ones, so others are labelled better.
    The curve from front to back is an estimate: so many words, each with the mean entropy of the
    words that were open then, would have told as much as the words that were asked for.
    """
    records = ledger.held()
    newest = [answer for _, answer in ledger.answers()][:RECENT]
    recent = [answer for answer in newest if answer.guess is not None]
    n_asked = sum(len(record["labels"]) for record in records)
    found: dict[str, Any] = {
        "n_words": survey.n_words,
        "asked": n_asked,
        "answers": len(records),
        "minutes": sum(min(record["seconds"], LONGEST) for record in records) / 60,
        "entropy": survey.entropy,
        # Where nothing is open, rounding may leave less than nothing.
        "bits_per_word": max(survey.entropy, 0.0) / math.log(2) / max(survey.n_words, 1),
        "expected": survey.expected_accuracy,
        "held_out": held_out,
        "left_out": _mean([answer.probability for answer in recent]),
        "guessed": _mean([float(answer.guess == answer.label) for answer in recent]),
        "front_to_back": front_to_back(records)[-1] if records else 0.0,
    }
    if len(recent) >= FEW:
        probabilities = [min(answer.guess_probability, 1.0) for answer in recent]
        bins = reliability(probabilities, [answer.guess == answer.label for answer in recent], 5)
        found["calibration_error"] = calibration_error(bins)
        found["calibration"] = show.reliability(bins, title="Calibration").text
    if len(rounds) >= 2:
        found["curve"] = _curve(records, rounds).text
    return found


def front_to_back(records: Sequence[Record]) -> list[float]:
    """After each answer, the words from front to back that would have told as much.

    >>> front_to_back([{"labels": {"0": "A"}, "entropy": 3.0, "usual": 1.5}])
    [2.0]
    """
    total, found = 0.0, []
    for record in records:
        entropy, usual = record.get("entropy"), record.get("usual")
        # Words that the person chose, not the model, tell as much as any.
        total += entropy / usual if entropy and usual else len(record["labels"])
        found.append(total)
    return found


def _curve(records: Sequence[Record], rounds: Sequence[Record]) -> show.Svg:
    is_held_out = rounds[-1].get("held_out") is not None
    name = "held_out" if is_held_out else "expected"
    equal = [0.0, *front_to_back(records)]
    asked = [0]
    for record in records:
        asked.append(asked[-1] + len(record["labels"]))
    ours, theirs = [], []
    for point in rounds:
        if point.get(name) is None or point["asked"] > asked[-1]:
            continue
        # The last answer that the round had seen.
        index = max(i for i, n in enumerate(asked) if n <= point["asked"])
        ours.append((point["asked"], point[name]))
        theirs.append((equal[index], point[name]))
    return show.curves(
        {"asked": ours, "front to back": theirs},
        x_label="words labelled",
        y_label="accuracy" if is_held_out else "expected accuracy",
        title="Words asked for, and words from front to back that tell as much (estimated)",
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
