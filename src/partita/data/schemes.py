"""Tags that spell out chunks: IOB1, IOB2 and BIOES.

    words   John  Smith  ate  fish   (person "John Smith", food "fish")
    IOB1    I-P   I-P    O    I-F    B only between two chunks of the same type that touch
    IOB2    B-P   I-P    O    B-F    B for the first word of every chunk
    BIOES   B-P   E-P    O    S-F    E for the last word, S for a chunk of one word

Sequences that break the rules are read as conlleval reads them: a chunk begins at B and S, at a
change of type, and at I or E after O, E or S; it ends before the next one begins, before O, and
after E or S. So "O I-P I-F O" has two chunks, and no word's type is lost. A `?`, a tag that is
not known, is outside like O.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

# Only arrays of transitions need NumPy, and the command line answers sooner without it.
if TYPE_CHECKING:
    from partita.arrays import BoolArray

Scheme: TypeAlias = Literal["IOB1", "IOB2", "BIOES"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
OUTSIDE = "O"
UNKNOWN = "?"


class Chunk(NamedTuple):
    """A type, and the first and last word that it spans (from 0)."""

    type: str
    first: int
    last: int


class Transitions(NamedTuple):
    """Which tags may follow which: `pairwise[before, after]`, and which may be first and last."""

    first: "BoolArray"
    pairwise: "BoolArray"
    last: "BoolArray"


@lru_cache(maxsize=4096)
def split_tag(tag: str) -> tuple[str, str]:
    """The letter and the type of a tag; a letter alone has type "".

    >>> split_tag("B-NP"), split_tag("O")
    (('B', 'NP'), ('O', ''))
    """
    if tag in (OUTSIDE, UNKNOWN):
        return OUTSIDE, ""
    letter, hyphen, kind = tag.partition("-")
    if letter not in ("B", "I", "E", "S") or (hyphen and not kind):
        raise ValueError(
            f"the tag {tag!r} is of no chunk scheme; expected O, or B, I, E or S with a hyphen and "
            "a type, such as B-NP. Turn the chunk options off for other tags."
        )
    return letter, kind


def is_chunk_tag(tag: str) -> bool:
    """Whether a tag could belong to a scheme.

    >>> is_chunk_tag("I-NP"), is_chunk_tag("NOUN")
    (True, False)
    """
    try:
        split_tag(tag)
    except ValueError:
        return False
    return True


def recognise_scheme(sequences: Iterable[Sequence[str]]) -> Scheme | None:
    """The scheme of tag sequences, or None if the tags spell out no chunks.

    E or S make it BIOES. Otherwise what tells is how chunks begin that touch no chunk of their
    type: with B in IOB2, with I in IOB1; the more frequent one wins, so that a few broken
    sequences do not change the answer.

    >>> recognise_scheme([["I-NP", "O", "I-NP"]]), recognise_scheme([["DET", "NOUN"]])
    ('IOB1', None)
    """
    return ChunkStarts.of(sequences).scheme


@dataclass(frozen=True)
class ChunkStarts:
    """What tells the scheme of tag sequences, to be added up over parts of a corpus."""

    tags: frozenset[str] = frozenset()
    n_b: int = 0
    """Chunks that touch no chunk of their type and begin with B."""
    n_i: int = 0
    """Or with I."""

    @classmethod
    def of(cls, sequences: Iterable[Sequence[str]]) -> "ChunkStarts":
        """Those of some sequences; they are counted only if all tags are those of chunks."""
        sequences = list(sequences)
        tags = frozenset(tag for sequence in sequences for tag in sequence)
        starts = dict.fromkeys("BIES", 0)
        for sequence in sequences if all(map(is_chunk_tag, tags)) else ():
            before = OUTSIDE, ""
            for tag in map(split_tag, sequence):
                if tag[0] != OUTSIDE and (before[0] == OUTSIDE or before[1] != tag[1]):
                    starts[tag[0]] += 1
                before = tag
        return cls(tags, starts["B"], starts["I"])

    def __add__(self, other: "ChunkStarts") -> "ChunkStarts":
        return ChunkStarts(self.tags | other.tags, self.n_b + other.n_b, self.n_i + other.n_i)

    @property
    def scheme(self) -> Scheme | None:
        """See `recognise_scheme`."""
        if not all(map(is_chunk_tag, self.tags)):
            return None
        letters = {split_tag(tag)[0] for tag in self.tags}
        if letters <= {OUTSIDE}:
            return None
        if letters & {"E", "S"}:
            return "BIOES"
        return "IOB2" if self.n_b >= self.n_i else "IOB1"


def chunks(tags: Sequence[str], scheme: Scheme = "BIOES") -> list[Chunk]:
    """The chunks of a tag sequence, from left to right.

    The rules of conlleval read all three schemes alike; `scheme` only refuses E and S in a
    scheme that has none.

    >>> chunks(["B-NP", "I-NP", "O", "S-VP"])
    [Chunk(type='NP', first=0, last=1), Chunk(type='VP', first=3, last=3)]
    """
    found: list[Chunk] = []
    start = -1
    before = OUTSIDE, ""
    for position, tag in enumerate([*tags, OUTSIDE]):
        after = split_tag(tag)
        if after[0] in ("E", "S") and scheme != "BIOES":
            raise ValueError(
                f"the tag {tag!r} at word {position} is not of {scheme}, which has B, I and O; "
                "expected one of these. Name the scheme BIOES, or leave it to be recognised."
            )
        begins = _begins(before, after)
        if start >= 0 and (begins or after[0] == OUTSIDE):
            found.append(Chunk(before[1], start, position - 1))
            start = -1
        if begins:
            start = position
        before = after
    return found


def _begins(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a chunk begins at `after`; each is a letter and a type."""
    if after[0] == OUTSIDE:
        return False
    return after[0] in ("B", "S") or before[0] in (OUTSIDE, "E", "S") or before[1] != after[1]


def convert(tags: Sequence[str], source: Scheme, target: Scheme) -> tuple[str, ...]:
    """A tag sequence in another scheme; `?` stays as it is.

    >>> convert(["I-NP", "I-NP", "B-NP"], "IOB1", "BIOES")
    ('B-NP', 'E-NP', 'S-NP')
    """
    converted = [tag if tag == UNKNOWN else OUTSIDE for tag in tags]
    before = Chunk("", -2, -2)
    for chunk in chunks(tags, source):
        letters = _letters(chunk, before, target)
        suffix = f"-{chunk.type}" if chunk.type else ""
        converted[chunk.first : chunk.last + 1] = [letter + suffix for letter in letters]
        before = chunk
    return tuple(converted)


def _letters(chunk: Chunk, before: Chunk, target: Scheme) -> str:
    n_words = chunk.last - chunk.first + 1
    if target == "IOB1":
        touches = before.last == chunk.first - 1 and before.type == chunk.type
        return ("B" if touches else "I") + "I" * (n_words - 1)
    if target == "IOB2":
        return "B" + "I" * (n_words - 1)
    return "S" if n_words == 1 else "B" + "I" * (n_words - 2) + "E"


def allowed_transitions(tags: Sequence[str], scheme: Scheme) -> Transitions:
    """Which sequences over `tags` obey a scheme, for hard constraints; shapes (s,), (s, s), (s,).

    A tag that is not there is not needed: without E-NP, a chunk of NP cannot be longer than one
    word in BIOES.

    >>> allowed_transitions(["O", "B-NP", "I-NP"], "IOB2").pairwise.astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [1, 1, 1]])
    """
    import numpy as np

    split = [split_tag(tag) for tag in tags]
    outside = OUTSIDE, ""
    rule = {"IOB1": _follows_iob1, "IOB2": _follows_iob2, "BIOES": _follows_bioes}[scheme]
    pairwise = [[rule(before, after) for after in split] for before in split]
    return Transitions(
        np.array([rule(outside, tag) for tag in split], dtype=bool),
        np.array(pairwise, dtype=bool).reshape(len(tags), len(tags)),
        np.array([rule(tag, outside) for tag in split], dtype=bool),
    )


def _follows_iob1(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """B only right after a chunk of its type."""
    return after[0] != "B" or (before[0] != OUTSIDE and before[1] == after[1])


def _follows_iob2(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """I only inside a chunk of its type."""
    return after[0] != "I" or (before[0] != OUTSIDE and before[1] == after[1])


def _follows_bioes(before: tuple[str, str], after: tuple[str, str]) -> bool:
    """I and E after B and I of their type, and nothing else after these."""
    if before[0] in ("B", "I") or after[0] in ("I", "E"):
        return before[0] in ("B", "I") and after[0] in ("I", "E") and before[1] == after[1]
    return True
