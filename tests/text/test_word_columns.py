"""Columns that follow from the words: classes, and the tags that words had in other sentences."""

from collections import Counter
from zlib import crc32

import numpy as np

from partita.text.columns import Column
from partita.text.word_columns import N_FOLDS, TagLexicon, WordColumn, count_tags, with_columns
from partita.text.words import read_words


def test_columns_that_are_there_stay():
    words = read_words([["Dogs", "bark"]])
    classes = WordColumn("CLASS", "FORM", {"dogs": "01"})
    once = with_columns(words, [classes])
    assert list(once.columns["CLASS"]) == ["01", "_"]
    other = WordColumn("CLASS", "FORM", {"dogs": "10"})
    assert with_columns(once, [other]) is once


def test_a_file_keeps_the_table():
    classes = WordColumn("CLASS", "FORM", {"dogs": "01"}, "?")
    assert WordColumn.restored(classes.header()) == classes


def test_sentences_see_the_tags_of_other_parts():
    rng = np.random.default_rng(0)
    tags = ("A", "B", "C", None)
    sentences = [
        [str(word) for word in rng.choice(["x", "X", "y", "z", f"rare{index // 2}"], size=4)]
        for index in range(3 * N_FOLDS)
    ]
    labels = [[tags[tag] for tag in rng.integers(4, size=4)] for _ in sentences]
    sentences, labels = sentences + sentences[:3], labels + labels[3:6]
    words = read_words(sentences)
    lexicon = TagLexicon("FORM", count_tags(words, "FORM", labels))
    folds = [crc32("\n".join(sentence).encode()) % N_FOLDS for sentence in sentences]

    def listed(word, without=None):
        found = Counter(
            tag
            for fold, sentence, row in zip(folds, sentences, labels, strict=True)
            for other, tag in zip(sentence, row, strict=True)
            if other.lower() == word.lower() and tag is not None and fold != without
        )
        order = sorted(found, key=lambda tag: (-found[tag], tag))
        kept = [tag for tag in order if found[tag] >= 0.05 * found.total()]
        return " ".join(kept + ["once"] * (found.total() == 1)) or "?"

    expected = [
        listed(word, fold)
        for fold, sentence in zip(folds, sentences, strict=True)
        for word in sentence
    ]
    assert list(lexicon.seen_in_training(words).columns["LEXICON"]) == expected
    assert "?" in expected
    assert any(value.endswith(" once") for value in expected)
    flat = [word for sentence in sentences for word in sentence]
    assert list(lexicon.column.of(Column.of([*flat, "new"]))) == [*map(listed, flat), "?"]
