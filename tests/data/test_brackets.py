"""Bracketed trees: read, written, made binary and back."""

import numpy as np
import pytest

from partita.data import (
    DataError,
    binary_rows,
    bracketed,
    parse_brackets,
    read_brackets,
    span_labels,
    write_brackets,
)

PENN = """
( (S
    (NP-SBJ-1 (DT The) (NN dog) )
    (VP (VBZ wants)
      (S (NP (-NONE- *-1)) (VP (TO to) (VP (VB go)))))
    (. .) ))
"""


def test_a_tree_of_the_penn_treebank():
    (tree,) = parse_brackets(PENN)
    assert tree.label == "S"
    clean = tree.without_traces().without_functions()
    assert str(clean) == (
        "(S (NP (DT The) (NN dog)) (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))) (. .))"
    )
    assert clean.words == ("The", "dog", "wants", "to", "go", ".")
    assert (2, 4, "VP") in clean.spans


def test_files(tmp_path):
    trees = parse_brackets(PENN + PENN)
    write_brackets(tmp_path / "trees.gz", trees)
    assert read_brackets(tmp_path / "trees.gz") == trees
    # As it was up to 0.2.0.
    write_brackets(trees, str(tmp_path / "trees"))
    assert read_brackets(tmp_path / "trees") == trees


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("(S (N a))\n)", 2, "closing bracket that no opening one"),
        ("(S\n(N a)", 1, "does not end: 1 closing"),
        ("dog", 1, "outside of all brackets"),
        ("(S (N a b))", 1, "has its parts already"),
        ("(S a (N b))", 1, "beside"),
        ("(S ())", 1, "is empty"),
        ("()", 1, "is empty"),
        ("(S)", 1, "is empty"),
        ("((A (N a)) (B (N b)))", 1, "no label"),
        ("(S " * 500, 1, "brackets within each other"),
    ],
)
def test_mistakes_name_their_line(text, line, message):
    with pytest.raises(DataError, match=message) as found:
        parse_brackets(text, "trees.txt")
    assert f"trees.txt:{line}" in str(found.value) or f"line {line}" in str(found.value)


@pytest.mark.parametrize(
    "text",
    [
        "(S (N a))",
        "(NP (S (VP (V go))))",
        "(S (NP (D a) (A b) (A c) (N d)) (VP (V e) (NP (N f))) (. .))",
        "(S (X (A a) (B b)) (Y (C c) (D d) (E e)))",
    ],
)
def test_binary_and_back(text):
    (tree,) = parse_brackets(text)
    labels = span_labels([tree])
    rows = binary_rows(tree, {label: number for number, label in enumerate(labels)})
    n_words = len(tree.words)
    assert rows.shape == (2 * n_words - 1, 3)
    order = np.lexsort((-rows[:, 1], rows[:, 0]))
    np.testing.assert_array_equal(order, np.arange(len(rows)))
    assert bracketed(rows, labels, tree.words, tree.tags) == tree


def test_a_top_without_a_label():
    found = bracketed([[0, 1, 0], [0, 0, 0], [1, 1, 0]], ("",), ["a", "b"], ["A", "B"])
    assert str(found) == "(TOP (A a) (B b))"
