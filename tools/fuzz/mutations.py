"""Changes of bytes and of values: what damage, haste and malice do to a file."""

from collections.abc import Sequence
from random import Random
from typing import Any

JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 2, 7, 2**31, 2**53, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, "",
    "a", "\n", "nan", "\u0000", "x" * 300, [], [1], [[]], {}, {"a": 1}, [None], "float64",
]  # fmt: skip
"""Values that stand in the wrong place."""
BYTES = [
    b"",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"\xff",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"-",
    b"_",
]
BYTES += [
    b"#",
    b"=",
    b"|||",
    b"(",
    b")",
    b"0",
    b"9" * 30,
    b"1e999",
    b"nan",
    b"\x1f\x8b",
    b"\xed\xa0\x80",
]


def mutated(rng: Random, data: bytes, pieces: Sequence[bytes] = ()) -> bytes:
    """Bytes after a few changes: flipped, cut out, doubled, exchanged, with pieces put in.

    >>> mutated(Random(1), b"the DT dog NN")
    b'the FT )dog NN'
    """
    pieces = [*BYTES, *pieces]
    for _ in range(1 + rng.randrange(4)):
        first, second = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        head, middle, tail = data[:first], data[first:second], data[second:]
        kind = rng.randrange(6)
        if kind == 0 and data:
            place = rng.randrange(len(data))
            flipped = data[place] ^ (1 << rng.randrange(8))
            data = data[:place] + bytes([flipped]) + data[place + 1 :]
        elif kind == 1:
            data = head + tail
        elif kind == 2:
            data = head + middle * 2 + tail
        elif kind == 3:
            data = head + rng.choice(pieces) + data[first:]
        elif kind == 4:
            data = head + rng.choice(pieces) + tail
        else:
            data = tail + middle + head
    return data[:100_000]


def changed(rng: Random, value: Any) -> Any:
    """A copy of a value of JSON in which one thing, somewhere inside, is another or gone.

    >>> changed(Random(1), {"a": [1, 2], "b": "c"})
    {'a': [1, -2, -2], 'b': 'c'}
    """
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        rest = {name: item for name, item in value.items() if name != key}
        if rng.random() < 0.15:
            return rest
        if rng.random() < 0.05:
            return {**rest, f"{key}x": value[key]}
        return {**value, key: changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        new = [] if rng.random() < 0.15 else [changed(rng, value[place])]
        return value[:place] + new * (1 + rng.randrange(2)) + value[place + 1 :]
    if isinstance(value, str) and rng.random() < 0.5:
        return mutated(rng, value.encode()).decode(errors="replace")
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice([-value, value + 1, value * 2, value - 1])
    return rng.choice(JUNK)
