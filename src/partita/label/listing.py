"""Lists of answers: all of them, or those that somebody should look at again."""

from collections.abc import Mapping
from typing import Any

from partita.label.ledger import Ledger, Place
from partita.label.task import Guess, Task

DOUBT = 0.2
"""An answer with a smaller probability than this is worth a second look, the likeliest or not."""
CONTEXT = 4
"""Words to show on either side."""


def listed_answers(
    task: Task,
    ledger: Ledger,
    doubts: Mapping[Place, Guess],
    fresh: set[int],
    search: str = "",
    *,
    doubtful: bool = False,
) -> list[dict[str, Any]]:
    """Answers that hold, the newest first; those with all words of `search` in them.

    With `doubtful` those that contradict the model, which has learnt from them, most of all first,
    and those that were changed. Sentences that are `fresh` it has not learnt from yet.
    """
    wanted = search.casefold().split()
    found: list[dict[str, Any]] = []
    for (sentence, word), answer in ledger.answers():
        words, guess = task.words(sentence), doubts.get((sentence, word))
        p = None if guess is None or sentence in fresh else guess.of_answer
        is_changed = ledger.n_answers_to((sentence, word)) > 1
        row: dict[str, Any] = {
            "sentence": sentence,
            "word": word,
            "form": words[word],
            "before": " ".join(words[max(0, word - CONTEXT) : word]),
            "behind": " ".join(words[word + 1 : word + 1 + CONTEXT]),
            "label": task.text(sentence, answer.label),
            "model": None if guess is None else task.text(sentence, guess.label),
            "probability": p,
            "changed": is_changed,
        }
        text = f"{words[word]} {row['label']} {' '.join(words)}".casefold()
        is_other = guess is not None and p is not None and guess.label != answer.label
        is_doubtful = is_changed or is_other or (p is not None and p < DOUBT)
        if all(each in text for each in wanted) and (is_doubtful or not doubtful):
            found.append(row)
    if doubtful:
        found.sort(key=lambda row: 1.0 if row["probability"] is None else row["probability"])
    return found
