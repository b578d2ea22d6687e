"""What the commands ask a tagger, of whatever kind; sentences are numbered as they came."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.cli.models import Model, columns_of
from partita.cli.options import say_once
from partita.data.errors import DataError
from partita.data.formats import Document
from partita.data.schemes import UNKNOWN
from partita.data.sentences import Sentence
from partita.distribution import chain_entropy

Fixed = Sequence[Sequence[str]]
"""Tags to keep, `?` where the model may choose."""


def seen_by(model: Model, document: Document) -> list[Sentence]:
    """The sentences as the model wants them: if it learnt from one column, the words are that."""
    sentences = list(document)
    columns = columns_of(model)
    missing = [name for name in columns if name not in document.names]
    if not missing:
        return sentences
    if len(columns) > 1:
        raise DataError(
            document.source,
            None,
            f"there is no column {missing[0]!r}; expected the columns that the model was trained "
            f"on, {', '.join(columns)}. Give a file that has them, or name its columns by --names.",
        )
    words = "FORM" if "FORM" in document.names else document.names[0]
    say_once(f"Taking column {words!r} for {columns[0]!r}, the words that the model was trained on")
    return [sentence.replaced(columns[0], sentence.column(words)) for sentence in sentences]


def predicted(
    model: Model, sentences: Sequence[Sentence], fixed: Fixed | None = None, decoder: str = "best"
) -> list[list[str]]:
    """Tags for each sentence, see `Tagger.predict`."""
    if fixed is not None:
        _check_known(model, sentences, fixed)
    found: list[list[str]] = model.estimator.predict(sentences, fixed=fixed, decoder=decoder)
    return found


def _check_known(model: Model, sentences: Sequence[Sentence], tags: Fixed) -> None:
    known = {UNKNOWN, *model.estimator.tags_}
    for sentence, row in zip(sentences, tags, strict=True):
        for word, tag in enumerate(row):
            if tag not in known:
                raise ValueError(
                    f"{sentence.where(word)}: found the tag {tag!r}, which training never saw; it "
                    f"saw {', '.join(model.estimator.tags_)}. Correct it."
                )


def marginals(model: Model, sentences: Sequence[Sentence]) -> list[FloatArray]:
    """The probability of each tag at each word, (n, s) for each sentence."""
    found: list[FloatArray] = model.estimator.predict_marginals(sentences)
    return found


def probabilities(
    model: Model, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]
) -> list[FloatArray]:
    """The probability of each of the tags, which the model must know."""
    numbers = {tag: number for number, tag in enumerate(model.estimator.tags_)}
    return [
        rows[np.arange(len(row)), [numbers[tag] for tag in row]]
        for rows, row in zip(marginals(model, sentences), tags, strict=True)
    ]


def log_probabilities(
    model: Model, sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]
) -> FloatArray:
    """log p(tags | words) of each sentence."""
    found: FloatArray = model.estimator.log_prob(sentences, tags)
    return found


def entropies(model: Model, sentences: Sequence[Sentence]) -> FloatArray:
    """The entropy of the tags of each sentence, in nats."""
    found: FloatArray = model.estimator.entropy(sentences)
    return found


def span_entropies(
    model: Model, sentences: Sequence[Sentence], n_words: int
) -> list[list[float | None]]:
    """For each word, the entropy of the tags of the `n_words` that begin there; None at the end."""
    found: list[list[float | None]] = []
    for p in model.estimator.distributions(sentences):
        for unary, pairs in zip(*p.by_position.marginals, strict=True):
            fits = len(unary) >= n_words
            values = chain_entropy.span_entropies(unary, pairs, n_words).tolist() if fits else []
            found.append(values + [None] * (len(unary) - len(values)))
    return found


def k_best(
    model: Model, sentences: Sequence[Sentence], k: int
) -> list[list[tuple[list[str], float]]]:
    """The k likeliest sequences of each sentence, with their log-probabilities."""
    found: Any = model.estimator.k_best(sentences, k)
    return list(found)
