"""`partita predict` for aligners: a line of links for each pair of sentences."""

from collections.abc import Sequence
from typing import Any

from partita.cli.answers import PROBABILITY, TARGET
from partita.cli.bitexts import read_pairs
from partita.cli.drawings import DRAW, check_directory, save_drawings
from partita.cli.families import Family
from partita.cli.links import say_skipped
from partita.cli.models import Model
from partita.cli.options import Argument, Options
from partita.cli.train.aligner import DECODERS, SYMMETRISATIONS
from partita.data.alignments import Alignment, write_alignments
from partita.data.bitext import Bitext, SentencePair

OVERRIDES = (
    Argument(
        "symmetrisation", str, None, "of two directions (default: as trained)", SYMMETRISATIONS
    ),
    Argument("link_decoder", str, None, "how to choose links (default: as trained)", DECODERS),
    Argument("threshold", float, None, "least probability of a link (default: as trained)"),
    Argument("max_words", int, None, "skip longer pairs (default: as trained)"),
    Argument("longer", str, None, "or keep them (default: as trained)", ("skip", "keep")),
)
"""Arguments of the aligner that matter when it is used, too."""


def with_overrides(model: Model, options: Options) -> Any:
    """The aligner, with what the user wants otherwise than in training."""
    chosen = {argument.name: getattr(options, argument.name) for argument in OVERRIDES}
    chosen["decoder"] = chosen.pop("link_decoder")
    given = {name: value for name, value in chosen.items() if value is not None}
    if given.get("decoder") == "viterbi" and model.estimator.symmetrisation == "mean":
        given.setdefault("symmetrisation", "intersection")
    return model.estimator.set_params(**given)


def say_not_aligned(aligner: Any, pairs: Bitext) -> None:
    """Pairs that get no links: those with an empty side, and long ones."""
    n_longer = len(pairs.longer(aligner.max_words)) if aligner.longer == "skip" else 0
    say_skipped(len(pairs.empty), n_longer, aligner.max_words)


def run(model: Model, options: Options) -> None:
    """Predict and write."""
    if options.draw is not None:
        check_directory(options.draw)
    aligner = with_overrides(model, options)
    pairs = read_pairs(options.input, options.target)
    source, target = pairs.source, pairs.target
    say_not_aligned(aligner, pairs)
    found = aligner.predict(source, target)
    results = [Alignment(tuple(links)) for links in found]
    if options.probability or options.draw is not None:
        marginals = aligner.predict_marginals(source, target)
        if options.draw is not None:
            save_drawings(options.draw, drawings(pairs, found, marginals))
        if options.probability:
            results = [
                Alignment(tuple(links), probabilities={link: float(p[link]) for link in links})
                for links, p in zip(found, marginals, strict=True)
            ]
    write_alignments(options.output, results)


def drawings(
    pairs: Sequence[SentencePair], found: Sequence[Any], marginals: Sequence[Any]
) -> list[Any]:
    """A grid for each pair; None where a side is empty."""
    from partita import show

    return [
        show.alignment(pair.source, pair.target, links, probabilities=p)
        if pair.source and pair.target
        else None
        for pair, links, p in zip(pairs, found, marginals, strict=True)
    ]


FAMILY = Family("aligners", ("aligner",), run, (TARGET, *OVERRIDES, PROBABILITY, DRAW))
