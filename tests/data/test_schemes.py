"""Chunk schemes: recognised, converted without loss, broken sequences read as conlleval does."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data.schemes import (
    SCHEMES,
    Chunk,
    allowed_transitions,
    chunks,
    convert,
    is_chunk_tag,
    recognise_scheme,
)

TAGS = {
    "IOB1": ["O", "B-a", "I-a", "B-b", "I-b"],
    "IOB2": ["O", "B-a", "I-a", "B-b", "I-b"],
    "BIOES": ["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "S-b"],
}


def test_the_examples_of_the_documentation():
    iob1, iob2 = ["I-P", "I-P", "O", "I-F"], ["B-P", "I-P", "O", "B-F"]
    bioes = ["B-P", "E-P", "O", "S-F"]
    for (a, tags), (b, target) in itertools.product(
        zip(SCHEMES, (iob1, iob2, bioes), strict=True), repeat=2
    ):
        assert convert(tags, a, b) == tuple(target)
        assert chunks(tags, a) == [Chunk("P", 0, 1), Chunk("F", 3, 3)]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["I-a", "I-b"], [("a", 0, 0), ("b", 1, 1)]),
        (["O", "I-a", "O"], [("a", 1, 1)]),
        (["B-a", "B-a"], [("a", 0, 0), ("a", 1, 1)]),
        (["E-a", "E-a"], [("a", 0, 0), ("a", 1, 1)]),
        (["B-a", "I-a", "E-a", "I-a"], [("a", 0, 2), ("a", 3, 3)]),
        (["S-a", "E-a"], [("a", 0, 0), ("a", 1, 1)]),
        (["B-a", "O", "E-a"], [("a", 0, 0), ("a", 2, 2)]),
        (["B-a", "?", "I-a"], [("a", 0, 0), ("a", 2, 2)]),
        (["B", "I", "O"], [("", 0, 1)]),
        (["B-a-b", "I-a-b"], [("a-b", 0, 1)]),
        ([], []),
    ],
)
def test_broken_sequences_as_conlleval_reads_them(tags, expected):
    assert chunks(tags) == expected


@st.composite
def spans(draw):
    """Chunks with gaps between them, and the number of words."""
    found, position = [], 0
    for _ in range(draw(st.integers(0, 5))):
        first = position + draw(st.integers(0, 2))
        last = first + draw(st.integers(0, 3))
        found.append(Chunk(draw(st.sampled_from("ab")), first, last))
        position = last + 1
    return found, position + draw(st.integers(0, 2))


@given(spans())
def test_chunks_survive_conversion(given_spans):
    expected, n_words = given_spans
    tags = ["O"] * n_words
    for kind, first, last in expected:
        tags[first : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - first)
    for source, target in itertools.product(SCHEMES, repeat=2):
        converted = convert(convert(tags, "IOB2", source), source, target)
        assert chunks(converted, target) == expected
        assert convert(converted, target, "IOB2") == tuple(tags)
        allowed = allowed_transitions(TAGS[target], target)
        assert is_allowed(converted, TAGS[target], allowed)


def is_allowed(tags, names, allowed):
    numbers = [names.index(tag) for tag in tags]
    return not numbers or (
        allowed.first[numbers[0]]
        and allowed.last[numbers[-1]]
        and all(allowed.pairwise[a, b] for a, b in itertools.pairwise(numbers))
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_sequences_are_those_that_conversion_leaves_alone(scheme):
    names = TAGS[scheme]
    allowed = allowed_transitions(names, scheme)
    for tags in itertools.product(names, repeat=3):
        assert is_allowed(tags, names, allowed) == (convert(tags, scheme, scheme) == tags)


def test_no_tags():
    assert allowed_transitions([], "IOB2").pairwise.shape == (0, 0)
    assert allowed_transitions(["O"], "BIOES").first.dtype == np.bool_


@pytest.mark.parametrize(
    ("sequences", "scheme"),
    [
        ([["I-a", "B-a", "O"]], "IOB1"),
        ([["I-a", "I-b"], ["O"]], "IOB1"),
        ([["B-a", "I-a", "O"]], "IOB2"),
        ([["B-a", "O", "B-b"], ["I-a"]], "IOB2"),
        ([["B-a", "E-a"]], "BIOES"),
        ([["S-a", "?"]], "BIOES"),
        ([["O", "O"]], None),
        ([["NOUN", "O"]], None),
        ([], None),
    ],
)
def test_recognition(sequences, scheme):
    assert recognise_scheme(sequences) == scheme


@pytest.mark.parametrize("tag", ["B-", "X-a", "", "o", "-LRB-"])
def test_other_tags(tag):
    assert not is_chunk_tag(tag)
    with pytest.raises(ValueError, match="is of no chunk scheme; expected O, or B, I, E or S"):
        chunks([tag])


def test_letters_that_the_scheme_lacks():
    with pytest.raises(ValueError, match="the tag 'E-a' at word 1 is not of IOB2"):
        convert(["B-a", "E-a"], "IOB2", "BIOES")


def test_unknown_tags_stay():
    assert convert(["?", "B-a", "?"], "IOB2", "BIOES") == ("?", "S-a", "?")
