"""Trees in CoNLL-U: every mistake with its file, sentence and line; all else written back."""

import pytest

from partita.data import DataError, Sentence, read_conllu
from partita.data.conllu import conllu_text, parse_conllu, with_misc
from partita.data.dependencies import (
    has_trees,
    relations,
    sentence_name,
    tree_heads,
    with_tree,
)


def row(number, head, relation="dep"):
    return f"{number}\tw{number}\t_\tX\t_\t_\t{head}\t{relation}\t_\t_\n"


def sentence(heads, before="# sent_id = web 7\n", relation="dep"):
    text = before + "".join(row(number, head, relation) for number, head in enumerate(heads, 1))
    return parse_conllu(text + "\n", "my.conllu")[0]


EXTRAS = (
    "# sent_id = es-1\n"
    + "1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + row(1, 2)
    + row(2, 0)
    + "2.1\tempty\t_\t_\t_\t_\t_\t_\t2:x\t_\n"
    + row(3, 2)
    + "\n"
)


def test_trees_are_read():
    assert tree_heads(sentence([2, 0, 2])) == (2, 0, 2)
    assert tree_heads(sentence([0, 0, 1]), single_root=False) == (0, 0, 1)
    assert relations(sentence([0])) == ("dep",)


def test_multiword_tokens_and_empty_nodes_are_no_words(tmp_path):
    for line_end in ("\n", "\r\n"):
        (tmp_path / "es.conllu").write_bytes(EXTRAS.replace("\n", line_end).encode())
        [found] = read_conllu(tmp_path / "es.conllu")
        assert tree_heads(found) == (2, 0, 2)
        changed = with_misc(with_tree(found, [0, 1, 2], ["root", "a", "b"]), "P", ["1", "2", "3"])
        lines = conllu_text([changed]).split("\n")
        assert [line.split("\t")[0] for line in lines[1:6]] == ["1-2", "1", "2", "2.1", "3"]
        assert lines[2].split("\t")[6:] == ["0", "root", "_", "P=1"]
        assert lines[5].split("\t")[6:] == ["2", "b", "_", "P=3"]
        assert lines[4] == EXTRAS.split("\n")[4]
        assert with_tree(changed, (2, 0, 2), ["dep"] * 3).column("HEAD") == found.column("HEAD")


def test_a_wrong_head_below_other_lines_has_the_right_line():
    [found] = parse_conllu(EXTRAS.replace(row(3, 2), row(3, 2.1)), "es.conllu")
    with pytest.raises(DataError, match=r"es.conllu, line 6: the head of word 3 .*'es-1' is '2.1'"):
        tree_heads(found)


@pytest.mark.parametrize(
    ("heads", "line", "message"),
    [
        (["2", "1"], 2, "the words 1 -> 2 -> 1 of sentence 'web 7', each followed by its head"),
        (["0", "4", "2", "3", "1"], 3, "the words 2 -> 4 -> 3 -> 2"),
        (["0", "2"], 3, "the head of word 2 of sentence 'web 7' is '2', the word itself"),
        (["0", "1", "0"], 4, "word 3 of sentence 'web 7' has the head 0, and so has word 1"),
        (["0", "3"], 3, "is '3', out of range; expected 0 for the root, or another word, 1 to 2"),
        (["0", "x"], 3, "is 'x', no number of a word"),
        (["0", "-1"], 3, "is '-1', no number"),
        (["0", "²"], 3, "no number"),
        (["0", "1.5"], 3, "no number"),
        (["0", "9" * 5000], 3, "out of range"),
        (["0", "_"], 3, "is '_', not known"),
    ],
)
def test_mistakes(heads, line, message):
    with pytest.raises(DataError) as error:
        tree_heads(sentence(heads))
    assert message in str(error.value)
    assert (error.value.source, error.value.line) == ("my.conllu", line)


def test_partial_trees():
    assert tree_heads(sentence(["?", "_", "1"]), partial=True) == (-1, -1, 1)
    for heads, message in ((["2", "1", "_"], "a cycle"), (["0", "0", "?"], "expected one root")):
        with pytest.raises(DataError, match=message):
            tree_heads(sentence(heads), partial=True)


def test_relations_that_are_none():
    with pytest.raises(DataError, match="my.conllu, line 2: word 1 of sentence 'web 7' has the re"):
        relations(sentence([0], relation="_"))
    assert relations(sentence([0], relation="?"), partial=True) == ("_",)


def test_whether_there_are_trees():
    assert has_trees([sentence(["_", "_"]), sentence(["?", "1"])])
    assert not has_trees([sentence(["_", "?"])])


def test_sentences_without_a_name():
    assert sentence_name(sentence([0], before="# text = x\n")) == "the sentence from line 2 on"
    assert sentence_name(sentence([0], before="#sent_id=a\n")) == "sentence 'a'"


def test_five_hundred_words():
    chain = sentence([*range(2, 501), 0])
    assert tree_heads(chain) == (*range(2, 501), 0)
    cycle = sentence([*range(2, 501), 1])
    with pytest.raises(DataError, match="a cycle"):
        tree_heads(cycle)


def test_heads_that_are_none():
    with pytest.raises(ValueError, match="expected 0 for the root"):
        with_tree(Sentence({"FORM": ("a",)}), [2])
    with pytest.raises(ValueError, match="one for each word"):
        with_tree(Sentence({"FORM": ("a",)}), [0, 1 - 1])
