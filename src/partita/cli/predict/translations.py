"""`partita predict` for translators: a translation a line, or the k best, or samples."""

import sys
from collections.abc import Iterator, Sequence

from partita.cli.answers import (
    K_BEST,
    LOG_PROBABILITY,
    NO_REPLACE,
    check_counts,
    check_replace,
    number,
)
from partita.cli.families import Family
from partita.cli.models import Model
from partita.cli.options import BATCH, Argument, Options, check_batch, say, say_once
from partita.cli.workers import answered
from partita.data.bitext import SEPARATOR, split_words
from partita.data.text import read_line_batches, write_pieces

Words = tuple[str, ...]

DECODER = Argument(
    "decoder",
    str,
    "best",
    "the best derivation's translation, the one with the highest expected BLEU, or, of the "
    "likeliest 100, the one whose words go best together",
    ("best", "risk", "fluent"),
)
LENGTH = Argument(
    "length",
    str,
    "likeliest",
    "translations of the likeliest length, or of any, which are too short (itg)",
    ("likeliest", "any"),
)
LONG = Argument(
    "long",
    str,
    "cut",
    "translate sentences of more than max_words words in pieces, or skip them",
    ("cut", "skip"),
)
N_SAMPLES = Argument("n_samples", int, 100, "for --decoder risk")
SHARPNESS = Argument("sharpness", float, 1.5, "power of the probabilities they are drawn with")
FLUENCY = Argument("fluency", float, 0.4, "weight of neighbouring words for --decoder fluent")
DECODING = (DECODER, LENGTH, LONG, N_SAMPLES, SHARPNESS, FLUENCY)
"""How to translate; `evaluate` takes the same."""
DRAWN = Argument("drawn", int, None, "write N translations drawn at random instead")
DRAWN_SEED = Argument("drawn_seed", int, 0, "of these")


def run(model: Model, options: Options) -> None:
    """Translate and write."""
    check_counts(options, ("k_best", "drawn", "n_samples"))
    check_replace(options, "drawn")
    check_batch(options)
    if options.drawn is not None:
        # One sentence after the other, so that the same seed gives the same translations.
        options.batch = sys.maxsize
    batches = stream_sentences(options.input, options.batch)
    write_pieces(options.output, answered(model, _answered, batches, options))


def _answered(model: Model, batch: tuple[int, list[Words]], options: Options) -> str:
    """Lines for the sentences of a batch, the first of which has a number."""
    first, sentences = batch
    if options.drawn is not None:
        lines = drawn(model, sentences, options)
    elif options.k_best is not None:
        lines = k_best(model, sentences, options.k_best, first)
    else:
        found = translate(model, sentences, options)
        lines = [" ".join(words) for words in found]
        if options.log_probability:
            values = [
                log_probability(model, source, words)
                for source, words in zip(sentences, found, strict=True)
            ]
            lines = [
                f"{line} {SEPARATOR} {number(value)}"
                for line, value in zip(lines, values, strict=True)
            ]
    return "".join(line + "\n" for line in lines)


FAMILY = Family(
    "translators",
    ("translator",),
    run,
    (*DECODING, LOG_PROBABILITY, K_BEST, DRAWN, DRAWN_SEED, NO_REPLACE, BATCH),
)


def stream_sentences(path: str, most: int) -> Iterator[tuple[int, list[Words]]]:
    """The words of each line, at most so many lines at a time, and the first one's number, from 0.

    An empty line is a sentence without words. Of a line `source ||| target`, as bitext has them,
    the words are those of the source.
    """
    first = 0
    for lines in read_line_batches(path, most):
        yield first, [_source(split_words(line)) for line in lines]
        first += len(lines)


def _source(words: Words) -> Words:
    if SEPARATOR not in words:
        return words
    say_once(f"Lines are source {SEPARATOR} target: translating their sources")
    return words[: words.index(SEPARATOR)]


def translate(
    model: Model, sentences: Sequence[tuple[str, ...]], options: Options
) -> list[tuple[str, ...]]:
    """A translation of each sentence; says what became of long and empty ones."""
    most = model.estimator.max_words
    n_long = sum(len(words) > most for words in sentences)
    if n_long:
        done = "skipped" if options.long == "skip" else "translated in pieces"
        say(f"Note: {n_long} sentences have more than {most} words; {done} (--long)")
    n_empty = sum(not words for words in sentences)
    if n_empty:
        say(f"Note: {n_empty} empty lines")
    found: list[tuple[str, ...]] = model.estimator.predict(
        sentences,
        decoder=options.decoder,
        length=options.length,
        long=options.long,
        n_samples=options.n_samples,
        sharpness=options.sharpness,
        fluency=options.fluency,
    )
    return found


def log_probability(model: Model, source: tuple[str, ...], words: tuple[str, ...]) -> float:
    """Of a translation; that of a sentence in pieces is not known."""
    if len(source) > model.estimator.max_words:
        return float("nan")
    return float(model.estimator.log_prob([source], [words])[0]) if source else 0.0


def k_best(model: Model, sentences: Sequence[Words], k: int, first: int) -> list[str]:
    """Lines `sentence number ||| translation ||| log-probability`, as decoders write them."""
    return [
        f"{first + index} {SEPARATOR} {' '.join(words)} {SEPARATOR} {number(value)}"
        for index, found in enumerate(model.estimator.k_best(checked(model, sentences), k))
        # A sentence that was skipped, or is empty, has no translations, not empty ones.
        if 0 < len(sentences[index]) <= model.estimator.max_words
        for words, value in found
    ]


def drawn(model: Model, sentences: Sequence[tuple[str, ...]], options: Options) -> list[str]:
    """Lines `number of the sentence ||| translation`."""
    import numpy as np

    rng = np.random.default_rng(options.drawn_seed)
    samples = model.estimator.sample(
        checked(model, sentences), options.drawn, rng, replace=not options.no_replace
    )
    return [
        f"{index} {SEPARATOR} {' '.join(words)}"
        for index, found in enumerate(samples)
        # A sentence that was skipped has no translations, not empty ones.
        if len(sentences[index]) <= model.estimator.max_words
        for words in found
    ]


def checked(model: Model, sentences: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sentences, those that are too long emptied, since lists of pieces do not join."""
    most = model.estimator.max_words
    n_long = sum(len(words) > most for words in sentences)
    if n_long:
        say(f"Note: {n_long} sentences have more than {most} words; skipped")
    return [words if len(words) <= most else () for words in sentences]
