"""How far probabilities are off, as a number and as a diagram, whatever they are of."""

from typing import TYPE_CHECKING

from partita.cli.options import say
from partita.data.text import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partita.evaluation.calibration import Bin


def calibration_of(bins: "Sequence[Bin]", what: str, diagram: str | None) -> float:
    """The expected calibration error; writes the diagram to its file, if one is asked for."""
    from partita import show
    from partita.evaluation import calibration_error

    error = calibration_error(bins)
    if diagram is not None:
        title = f"Reliability of {what}: expected calibration error {error:.4f}"
        write_text(diagram, show.reliability(bins, title=title).text)
        say(f"Wrote {diagram}")
    return error
