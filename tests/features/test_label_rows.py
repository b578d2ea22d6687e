"""Features of labels of arcs, spelt out in whole numbers."""

import numpy as np
import pytest

from partita.features.label_rows import LabelLooks, label_rows
from partita.text import known_values
from partita.text.known_values import EDGE, ROOT, KnownValues
from partita.text.label_templates import SETS, default_label_templates, parse_label_templates
from partita.text.tree_words import read_tree_words

FULL = 2**64
N_BITS = 12
TEMPLATES = """
modifier.FORM
head.UPOS modifier.UPOS[-1] distance
grandparent.UPOS left.FORM right.FORM[1]
first.UPOS last.UPOS modifier.FORM.lower.suffix3
head.UPOS child.UPOS
child.FORM modifier.UPOS distance
head.UPOS modifier.UPOS sibling.FORM
sibling.UPOS
"""


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % FULL
    return value


def mixed(state, value):
    product = (state ^ value * 0x9E3779B97F4A7C15 % FULL) * 0xC2B2AE3D27D4EB4F % FULL
    return product ^ product >> 32


def bucket(state):
    key = mixed(state, 1) >> 32
    return (key * 0x9E3779B1 % 2**32) >> (32 - N_BITS)


def relatives(heads, word):
    """The words, from 1, with each role of a word; 0 is the root, None nobody."""
    n = len(heads)
    below = {head: [m for m in range(1, n + 1) if heads[m - 1] == head] for head in range(n + 1)}
    head = heads[word - 1]
    own = below[head]
    place = own.index(word)
    return {
        "modifier": word,
        "head": head,
        "grandparent": heads[head - 1] if head else None,
        "left": own[place - 1] if place else None,
        "right": own[place + 1] if place + 1 < len(own) else None,
        "first": below[word][0] if below[word] else None,
        "last": below[word][-1] if below[word] else None,
        "child": below[word],
        "sibling": [each for each in own if each != word],
    }


def expected_row(templates, known, sentence, heads, word):
    def seen(field, node):
        if node is None:
            return fnv1a(EDGE)
        if node == 0:
            return fnv1a(ROOT if field.offset == 0 else EDGE)
        if not 1 <= node + field.offset <= len(heads):
            return fnv1a(EDGE)
        value = sentence[node + field.offset - 1][["FORM", "UPOS"].index(field.column)]
        [text] = known.seen((field.column, field.view), [value])
        return fnv1a(text)

    found, roles = ([], []), relatives(heads, word)
    slot = np.searchsorted([2, 3, 4, 5, 7, 11], abs(heads[word - 1] - word), side="right")
    for template in templates:
        state = mixed(fnv1a(template.text), fnv1a("L" if heads[word - 1] > word else "R"))
        if template.has_distance:
            state = mixed(state, fnv1a(f"distance {slot}"))
        members = None
        for each in template.fields:
            if each.role in SETS:
                members = each
            else:
                state = mixed(state, seen(each.field, roles[each.role]))
        if members is None:
            found[0].append(bucket(state))
        else:
            found[1].extend(
                bucket(mixed(state, seen(members.field, node))) for node in roles[members.role]
            )
    return found[0] + found[1]


def random_trees(rng, lengths):
    """Sentences of tuples with trees; heads come from a random order."""
    sentences, heads = [], []
    for n in lengths:
        sentences.append([(f"Word{rng.integers(9)}", f"T{rng.integers(4)}") for _ in range(n)])
        order, found = rng.permutation(n) + 1, [0] * n
        for place in range(1, n):
            found[order[place] - 1] = int(order[rng.integers(place)])
        heads.append(found)
    return sentences, heads


@pytest.mark.parametrize("templates", [parse_label_templates(TEMPLATES), None])
def test_rows_are_those_spelt_out(templates):
    rng = np.random.default_rng(0)
    sentences, heads = random_trees(rng, [1, 7, 2, 40, 3, 15])
    words = read_tree_words(sentences)
    chosen = templates or default_label_templates(("FORM", "UPOS"))
    fields = [each.field for template in chosen for each in template.fields]
    known = KnownValues.learn(words, fields, min_count=2)
    flat = np.concatenate([np.array(each) for each in heads])
    rows = label_rows(LabelLooks.of(chosen), known, words, flat, N_BITS)
    expected = [
        expected_row(chosen, known, sentence, tree, word)
        for sentence, tree in zip(sentences, heads, strict=True)
        for word in range(1, len(tree) + 1)
    ]
    found = np.split(rows.ids, rows.offsets[1:-1])
    assert [each.tolist() for each in found] == expected
    assert max(map(len, expected)) > len(chosen)


def test_what_is_remembered_of_values_changes_nothing(monkeypatch):
    monkeypatch.setattr(known_values, "ROOM", 10)
    words = read_tree_words([["a", "b", "c", "b", "a"]])
    field = parse_label_templates("modifier.FORM.lower")[0].fields[0].field
    known = KnownValues.learn(words, [field], min_count=2)
    sight = ("FORM", "lower")
    rng = np.random.default_rng(0)
    for size in (3, 3, 8, 2, 11, 10, 0, 5):
        values = [chr(97 + number) for number in rng.permutation(26)[:size]]
        expected = [fnv1a(text) for text in known.seen(sight, values)]
        assert known.hashed(sight, values).tolist() == expected
