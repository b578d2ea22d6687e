"""How tags of words spell segments: B-NP, I-NP and O, BIOES, or the same tag in a row."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.data.schemes import OUTSIDE, UNKNOWN, Chunk, Scheme, chunks, split_tag
from partita.estimators.tagging.tags import TagSet
from partita.features.segments import N_ROLES

ROLES: dict[Scheme | None, dict[str, tuple[int, ...]]] = {
    "IOB2": {"B": (0, 3), "I": (1, 2), OUTSIDE: (3,)},
    "BIOES": {"B": (0,), "I": (1,), "E": (2,), "S": (3,), OUTSIDE: (3,)},
    None: {"": (0, 1, 2, 3)},
}
"""The roles (first, inside, last, single) that the letter of a tag stands for."""
LETTERS: dict[Scheme | None, str] = {"IOB2": "BIIB", "BIOES": "BIES", None: ""}
"""The letter of each role."""


class Spelling:
    """Segments of some types, as the tags of words spell them.

    In a scheme a type is a chunk's, and `O`, whose segments are single words. Without one, a type
    is a tag, and words in a row with the same tag are one segment; so no two neighbouring segments
    have the same type.

    >>> spelling = Spelling(["B-PER", "I-PER", "O"], "IOB2")
    >>> spelling.types
    ('O', 'PER')
    >>> rows = spelling.rows(["B-PER", "I-PER", "O"])
    >>> rows.tolist(), spelling.tags_of(rows)
    ([[0, 2, 1], [2, 3, 0]], ['B-PER', 'I-PER', 'O'])
    >>> Spelling(["a", "b"], None).rows(["a", "a", "b"]).tolist()
    [[0, 2, 0], [2, 3, 1]]
    """

    def __init__(self, names: Sequence[str], scheme: Scheme | None) -> None:
        if scheme == "IOB1":
            raise ValueError(
                "the tags are in IOB1, where a boundary depends on two tags; expected IOB2 or "
                "BIOES. Convert them (partita.data.schemes.convert, or --convert IOB2)."
            )
        self.scheme = scheme
        self.types: tuple[str, ...] = tuple(sorted(set(names)))
        if scheme is not None:
            self.types = tuple(sorted({_kind(name) for name in names}))
            if any(kind == OUTSIDE and name != OUTSIDE for name in names for kind in [_kind(name)]):
                raise ValueError(
                    "a chunk has the type 'O', which is also the tag of words outside of chunks; "
                    "expected another name for the type."
                )
        self._numbers = {name: number for number, name in enumerate(self.types)}
        spelt = {tag for kind in self.types for tag in self._tags(kind, range(N_ROLES))}
        self.tags = TagSet(sorted(spelt.union(names)), scheme)
        """All tags that segments of these types can have, also those that training lacks."""

    @property
    def is_single(self) -> BoolArray:
        """Which types have segments of one word only, (s,)."""
        return np.array([self.scheme is not None and kind == OUTSIDE for kind in self.types])

    @property
    def may_follow(self) -> BoolArray:
        """Which type may follow which, (s, s)."""
        may = np.ones((len(self.types), len(self.types)), dtype=np.bool_)
        return may if self.scheme is not None else may & ~np.eye(len(may), dtype=np.bool_)

    def rows(self, tags: Sequence[str]) -> IntArray:
        """The segments of known tags, (first, end, type)."""
        found = []
        if self.scheme is None:
            cuts = [0, *(i for i in range(1, len(tags)) if tags[i] != tags[i - 1]), len(tags)]
            ends = zip(cuts[:-1], cuts[1:], strict=True)
            found = [(first, end, self._numbers[tags[first]]) for first, end in ends]
        else:
            word = 0
            for chunk in [*chunks(tags, self.scheme), Chunk("", len(tags), len(tags))]:
                outside = range(word, chunk.first)
                found += [(each, each + 1, self._numbers[OUTSIDE]) for each in outside]
                if chunk.first < len(tags):
                    found.append((chunk.first, chunk.last + 1, self._numbers[chunk.type]))
                word = chunk.last + 1
        return np.array(found, dtype=np.int64).reshape(-1, 3)

    def completed(self, tags: Sequence[str]) -> list[str]:
        """Known tags, and those between and beside them that are likely of the same segments.

        What is not known between two words that may be of one segment is taken for a part of it,
        and a word beside one that cannot be the first, or last, for its neighbour.

        >>> spelling = Spelling(["B-PER", "I-PER", "O"], "IOB2")
        >>> spelling.completed(["B-PER", "?", "I-PER", "?", "O", "?", "I-PER"])
        ['B-PER', 'I-PER', 'I-PER', '?', 'O', 'B-PER', 'I-PER']
        """
        found = list(tags)
        known = [word for word, tag in enumerate(tags) if tag != UNKNOWN]
        for before, word in pairwise([-1, *known, len(tags)]):
            if word - before == 1:
                continue
            left = self._role(found[before]) if before >= 0 else None
            right = self._role(found[word]) if word < len(tags) else None
            if left and right and self._is_one(left, right):
                found[before + 1 : word] = self._tags(left[1], [1] * (word - before - 1))
                continue
            if left and self.scheme != "IOB2" and left[0] in ("", "B", "I"):
                found[before + 1] = self._tags(left[1], [2])[0]
            if right and right[0] in ("I", "E"):
                found[word - 1] = self._tags(right[1], [0])[0]
        return found

    def _role(self, tag: str) -> tuple[str, str]:
        """The letter of a tag, and its type."""
        return ("", tag) if self.scheme is None else (split_tag(tag)[0], _kind(tag))

    def _is_one(self, left: tuple[str, str], right: tuple[str, str]) -> bool:
        """Whether two words, all others between them of one type, may be of one segment."""
        goes_on = self.scheme is None or (left[0] in ("B", "I") and right[0] in ("I", "E"))
        return goes_on and left[1] == right[1]

    def tags_of(self, rows: IntArray) -> list[str]:
        """The tags of segments."""
        found: list[str] = []
        for first, end, kind in rows.tolist():
            roles = [3] if end - first == 1 else [0, *[1] * (end - first - 2), 2]
            found += self._tags(self.types[kind], roles)
        return found

    def _tags(self, kind: str, roles: Sequence[int]) -> list[str]:
        """The tag of a type in each role."""
        if self.scheme is None or kind == OUTSIDE:
            return [kind] * len(roles)
        suffix = f"-{kind}" if kind else ""
        return [LETTERS[self.scheme][role] + suffix for role in roles]

    def allowed_roles(self, tags: Sequence[Any], place: str) -> BoolArray:
        """Which roles and types each word may have, (n, 4 s), by tags, sets of tags and `?`."""
        numbers, choices = self.tags.numbers(tags, place), self.tags.choices(tags, place)
        meanings = self.meanings
        allowed: BoolArray = np.vstack([meanings, np.ones(meanings.shape[1], dtype=np.bool_)])[
            numbers
        ]
        if choices is not None:
            allowed = allowed & (choices.astype(np.int64) @ meanings.astype(np.int64) > 0)
        return allowed

    def tag_marginals(self, roles: FloatArray) -> FloatArray:
        """The probability of each tag from those of roles and types, (n, 4 s) to (n, n_tags)."""
        found: FloatArray = roles @ self.meanings.astype(np.float64).T
        return found

    @property
    def meanings(self) -> BoolArray:
        """The roles and types that each tag stands for, (n_tags, 4 s)."""
        meanings = np.zeros((len(self.tags), N_ROLES, len(self.types)), dtype=np.bool_)
        for number, tag in enumerate(self.tags.names):
            letter, kind = self._role(tag)
            for role in ROLES[self.scheme][letter]:
                meanings[number, role, self._numbers[kind]] = True
        return meanings.reshape(len(self.tags), -1)


def _kind(tag: str) -> str:
    """The type of the segment that a word with a tag of a scheme is in."""
    letter, kind = split_tag(tag)
    return OUTSIDE if letter == OUTSIDE else kind
