"""What people call words, tags and labels; and a distribution in a few words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from partita.structures.base import Structures

if TYPE_CHECKING:
    from partita.distribution.shaped import ShapedDistribution

MOST_LETTERS = 40
"""Of a sentence, in the `repr` of a distribution."""


class Names(NamedTuple):
    """The words of each sentence, and what each of them can be: tags, or labels of arcs."""

    words: tuple[tuple[str, ...], ...]
    choices: tuple[str, ...] = ()

    def choice(self, number: int) -> str:
        """The name of a tag or label; its number if it has none."""
        return self.choices[number] if self.choices else str(number)


def names_of(
    structures: Structures, words: Sequence[str] | Sequence[Sequence[str]], choices: Sequence[str]
) -> Names:
    """Names for a batch, checked; `words` of one sentence may stand without a list around them."""
    lists = [words] if words and isinstance(words[0], str) else words
    rows = tuple(tuple(map(str, each)) for each in lists)
    lengths = list(map(len, rows))
    if lengths != structures.n_words.tolist():
        raise ValueError(
            f"names came for sentences of {lengths} words; expected {structures.n_words.tolist()}."
        )
    n_choices = n_choices_of(structures)
    if choices and len(choices) != n_choices:
        raise ValueError(f"{len(choices)} names of tags or labels came; expected {n_choices}.")
    return Names(rows, tuple(map(str, choices)))


def n_choices_of(structures: Structures) -> int | None:
    """How many tags or labels there are; None where there are no such."""
    found: int | None = getattr(structures, "n_tags", None) or getattr(structures, "n_labels", None)
    return found


def described(p: "ShapedDistribution") -> str:
    """What a distribution is over: sentences, words, tags or labels, and parts."""
    structures = p.structures
    lengths = structures.n_words
    kind = "tags" if hasattr(structures, "n_tags") else "labels"
    n_choices = n_choices_of(structures)
    choices = f", {n_choices} {kind}" if n_choices else ""
    parts = f", {structures.n_parts} parts"
    if not lengths.any():
        return f"{_counted(len(lengths), 'forest')}, {structures.n_parts} edges"
    if len(lengths) == 1 and p.names is not None:
        text = " ".join(p.names.words[0])
        return (text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}...") + choices
    if len(lengths) == 1:
        return _counted(int(lengths[0]), "word") + choices + parts
    low, high = int(lengths.min()), int(lengths.max())
    sizes = _counted(low, "word") if low == high else f"{low} to {high} words"
    return f"{len(lengths)} sentences of {sizes}{choices}{parts}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
