"""Arguments of the aligner that make no sense, and data that do not fit together."""

from collections.abc import Sequence
from typing import Any

from partita.data.alignments import Alignment
from partita.estimators.alignment.symmetrise import SYMMETRISATIONS

MODELS = ("model1", "hmm", "crf")
DECODERS = ("threshold", "risk", "viterbi")


def check_arguments(aligner: Any) -> None:
    """Before anything is computed: what came, what was expected."""
    for name, choices in (
        ("model", MODELS),
        ("decoder", DECODERS),
        ("symmetrisation", SYMMETRISATIONS),
        ("longer", ("skip", "keep")),
    ):
        if getattr(aligner, name) not in choices:
            raise ValueError(
                f"{name} is {getattr(aligner, name)!r}; expected one of {', '.join(choices)}."
            )
    if aligner.decoder == "viterbi" and aligner.symmetrisation == "mean" and aligner.model != "crf":
        raise ValueError(
            "symmetrisation is 'mean', of probabilities, but the decoder is 'viterbi', which "
            "has links only; expected another decoder, or a symmetrisation such as "
            "'intersection' or 'grow-diag'."
        )
    for name in ("min_count", "model1_iterations", "n_iterations", "reach", "max_words"):
        if not getattr(aligner, name) >= 1:
            raise ValueError(f"{name} is {getattr(aligner, name)}; expected 1 or more.")
    if not 0 < aligner.threshold <= 1:
        raise ValueError(
            f"threshold is {aligner.threshold}; expected above 0, at most 1. (At 0 all words would "
            "be linked.)"
        )
    if not 0 <= aligner.null_probability < 1:
        raise ValueError(f"null_probability is {aligner.null_probability}; expected 0 to below 1.")


def check_alike(
    source: Sequence[Any], target: Sequence[Any], alignments: Sequence[Any] | None
) -> None:
    """As many sentences on both sides, and as many alignments, if any."""
    if len(source) != len(target):
        raise ValueError(
            f"there are {len(source)} source and {len(target)} target sentences; expected as many "
            "of each."
        )
    if alignments is not None and len(alignments) != len(source):
        raise ValueError(
            f"there are {len(alignments)} alignments for {len(source)} pairs; expected one for "
            "each, None where it is not known."
        )


def check_links(
    source: Sequence[Any], target: Sequence[Any], alignments: Sequence[Alignment | None]
) -> None:
    """No gold link outside its pair; one below 0 would else be read from the end."""
    for place, (a, b, gold) in enumerate(zip(source, target, alignments, strict=True)):
        for i, j in () if gold is None else gold.links:
            if not (0 <= i < len(a) and 0 <= j < len(b)):
                raise ValueError(
                    f"alignment {place} (counting from 0) has the link ({i}, {j}); its pair has "
                    f"{len(a)} source and {len(b)} target words. Expected positions from 0 on, the "
                    "source's first. Are the two sides swapped, or positions counted from 1?"
                )
