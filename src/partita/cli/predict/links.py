"""`partita predict` for aligners: a line of links for each pair of sentences."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from partita.cli.answers import PROBABILITY, TARGET
from partita.cli.drawings import DRAW, check_directory, save_drawings
from partita.cli.families import Family
from partita.cli.links import say_skipped
from partita.cli.models import Model
from partita.cli.options import BATCH, Argument, Options, check_batch, say
from partita.cli.workers import answered
from partita.data.alignments import SYMMETRISATIONS, Alignment, alignments_text
from partita.data.bitext import Bitext, SentencePair, stream_bitext
from partita.data.errors import DataError
from partita.data.formats import count
from partita.data.text import write_pieces

DECODERS = ("threshold", "risk", "viterbi")
DECODING = (
    Argument(
        "symmetrisation",
        str,
        None,
        "how two directions become one alignment (default: mean; for viterbi intersection)",
        SYMMETRISATIONS,
    ),
    Argument("link_decoder", str, "threshold", "how to choose links", DECODERS),
    Argument("threshold", float, 0.5, "least probability of a link"),
)
"""How to choose links; `evaluate` takes the same."""
LIMITS = (
    Argument("max_words", int, None, "skip longer pairs (default: as trained)"),
    Argument("longer", str, None, "or keep them (default: as trained)", ("skip", "keep")),
)
"""Options of the aligner that matter when it is used, too."""


def with_limits(model: Model, options: Options) -> Any:
    """The aligner, with what the user wants otherwise than in training."""
    chosen = {argument.name: getattr(options, argument.name) for argument in LIMITS}
    given = {name: value for name, value in chosen.items() if value is not None}
    return model.estimator.set_params(**given)


def decoding(options: Options) -> dict[str, Any]:
    """The arguments of `Aligner.predict`."""
    return {
        "decoder": options.link_decoder,
        "threshold": options.threshold,
        "symmetrisation": options.symmetrisation,
    }


def marginals(aligner: Any, pairs: Bitext, options: Options) -> list[Any]:
    """Probabilities of links, by the symmetrisation that links are chosen by."""
    method = options.symmetrisation or "mean"
    found: list[Any] = aligner.predict_marginals(pairs.source, pairs.target, symmetrisation=method)
    return found


def say_not_aligned(aligner: Any, pairs: Bitext) -> None:
    """Pairs that get no links: those with an empty side, and long ones."""
    n_longer = len(pairs.longer(aligner.max_words)) if aligner.longer == "skip" else 0
    say_skipped(len(pairs.empty), n_longer, aligner.max_words)


def run(model: Model, options: Options) -> None:
    """Predict and write."""
    if options.draw is not None:
        check_directory(options.draw)
        # Drawings are numbered as the pairs of the whole file are.
        options.batch = sys.maxsize
    with_limits(model, options)
    batches = stream_pairs(model.estimator, options)
    write_pieces(options.output, answered(model, _answered, batches, options))


def stream_pairs(aligner: Any, options: Options) -> Iterator[Bitext]:
    """The pairs of the input, a batch at a time; says at the end what was read, and left out."""
    check_batch(options)
    n_pairs, n_empty, n_longer = 0, 0, 0
    for pairs in stream_bitext(options.input, options.target, most=options.batch):
        n_pairs, n_empty = n_pairs + len(pairs), n_empty + len(pairs.empty)
        if aligner.longer == "skip":
            n_longer += len(pairs.longer(aligner.max_words))
        yield pairs
    empty = f"; {n_empty} with an empty side" if n_empty else ""
    say(f"Read {pairs.name}: {count(n_pairs, 'pair')}{empty}")
    if n_empty == n_pairs:
        raise DataError(options.input, None, "no line has words on both sides; expected some.")
    say_skipped(0, n_longer, aligner.max_words)


def _answered(model: Model, pairs: Bitext, options: Options) -> str:
    """A line of links for each pair."""
    aligner = model.estimator
    found = aligner.predict(pairs.source, pairs.target, **decoding(options))
    results = [Alignment(tuple(links)) for links in found]
    if options.probability or options.draw is not None:
        probabilities = marginals(aligner, pairs, options)
        if options.draw is not None:
            save_drawings(options.draw, drawings(pairs, found, probabilities))
        if options.probability:
            results = [
                Alignment(tuple(links), probabilities={link: float(p[link]) for link in links})
                for links, p in zip(found, probabilities, strict=True)
            ]
    return alignments_text(results)


def drawings(
    pairs: Sequence[SentencePair], found: Sequence[Any], probabilities: Sequence[Any]
) -> list[Any]:
    """A grid for each pair; None where a side is empty."""
    from partita import show

    return [
        show.alignment(pair.source, pair.target, links, probabilities=p)
        if pair.source and pair.target
        else None
        for pair, links, p in zip(pairs, found, probabilities, strict=True)
    ]


FAMILY = Family(
    "aligners", ("aligner",), run, (TARGET, *DECODING, *LIMITS, PROBABILITY, DRAW, BATCH)
)
