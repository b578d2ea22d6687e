"""The sample data are what the generator writes, well formed, and varied enough to learn from."""

import sys
from collections import defaultdict

import pytest

import partita as pt
from partita import samples
from partita.data.arc_rules import read_arc_rules
from partita.data.formats import read_sentences
from partita.evaluation import compare_trees
from partita.samples.__main__ import main as copy_samples
from partita.structures.tree_tools import is_projective
from tools.samples import generate

TREES = samples.treebank()
PAIRS = samples.bitext()


def heads(sentence):
    return [int(head) for head in sentence.column("HEAD")]


def test_the_generator_writes_the_files_that_ship():
    for name, content in generate.contents().items():
        assert samples.path(name).read_text(encoding="utf-8") == content, (
            f"{name} differs: write it anew with make samples"
        )
    assert {path.name for path in samples.FOLDER.iterdir()} >= set(generate.contents())


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in samples.FOLDER.iterdir()) < 500_000


def test_sizes():
    assert len(samples.treebank("train")) >= 300
    assert len(TREES) == len(samples.treebank("train")) + len(samples.treebank("dev"))
    assert len(samples.bitext("train")) >= 300


@pytest.mark.parametrize("loader", [samples.treebank, samples.bitext])
def test_an_unknown_part(loader):
    with pytest.raises(ValueError, match="the part 'test' came; expected 'train', 'dev' or 'all'"):
        loader("test")


def test_every_sentence_has_one_tree():
    for sentence in TREES:
        assert heads(sentence).count(0) == 1
        for word in range(1, len(sentence) + 1):
            above, steps = word, 0
            while above and steps <= len(sentence):
                above, steps = heads(sentence)[above - 1], steps + 1
            assert above == 0, sentence.where(word - 1)


def test_the_root_and_the_relation_root_go_together():
    for sentence in TREES:
        for head, relation in zip(heads(sentence), sentence.column("DEPREL"), strict=True):
            assert (head == 0) == (relation == "root"), sentence.where()


def test_some_trees_are_not_projective_in_both_parts():
    for part in ("train", "dev"):
        found = [is_projective(heads(sentence)) for sentence in samples.treebank(part)]
        assert 0.05 < found.count(False) / len(found) < 0.2


def test_chunks_are_iob2_and_the_same_in_both_formats():
    columns = [
        sentence
        for part in ("train", "dev")
        for sentence in read_sentences(samples.path(f"chunks-{part}.txt"))
    ]
    for sentence, other in zip(TREES, columns, strict=True):
        assert sentence.column("CHUNK") == other.column("2")
        assert sentence.column("FORM") == other.column("0")
        before = "O"
        for tag in sentence.column("CHUNK"):
            if tag.startswith("I-"):
                assert before[1:] == tag[1:], sentence.where()
            before = tag


def test_words_are_ambiguous_and_some_of_dev_are_unknown():
    tags = defaultdict(set)
    for sentence in TREES:
        for form, tag in zip(sentence.column("FORM"), sentence.column("UPOS"), strict=True):
            tags[form.lower()].add(tag)
    assert {"saw", "can", "that", "duck", "to"} <= {word for word in tags if len(tags[word]) > 1}
    assert 500 < len(tags) < 1000
    known = {form for s in samples.treebank("train") for form in s.column("FORM")}
    dev = [form for sentence in samples.treebank("dev") for form in sentence.column("FORM")]
    assert 0.02 < sum(form not in known for form in dev) / len(dev) < 0.15


def test_no_sentence_is_in_both_parts():
    train = {sentence.column("FORM") for sentence in samples.treebank("train")}
    assert not train & {sentence.column("FORM") for sentence in samples.treebank("dev")}
    pairs = {pair.source for pair, _ in samples.bitext("train")}
    assert not pairs & {pair.source for pair, _ in samples.bitext("dev")}


def test_links_cross_share_words_and_leave_some_out():
    kinds = set()
    for pair, alignment in PAIRS:
        links = alignment.sure
        kinds |= {"possible"} if alignment.possible else set()
        for (i, j), (k, m) in zip(links, links[1:], strict=False):
            kinds |= {"crossing"} if i < k and j > m else set()
            kinds |= {"many"} if i == k else set()
        linked = {j for _, j in alignment.links}
        kinds |= {"inserted"} if len(linked) < len(pair.target) else set()
        assert all(0 <= i < len(pair.source) and 0 <= j < len(pair.target) for i, j in links)
    assert kinds == {"possible", "crossing", "many", "inserted"}


def test_every_word_of_a_pair_has_a_reason():
    """Unlinked words are punctuation or words that one language says and the other does not."""
    unlinked = defaultdict(int)
    for pair, alignment in PAIRS:
        linked = {i for i, _ in alignment.links}
        for index, word in enumerate(pair.source):
            unlinked[word.lower()] += index not in linked
    assert {word for word, count in unlinked.items() if count} <= {",", "to"}


def test_rules_for_english_teach_a_parser():
    rules = read_arc_rules(samples.path("english-rules.txt"))
    assert [(rule.bound, rule.target) for rule in rules] == [("at least", 0.8), ("at most", 0.0)]
    text = [sentence.replaced("HEAD", ["_"] * len(sentence)) for sentence in TREES[:60]]
    parser = pt.DependencyParser(
        rules=rules,
        rule_weight=10_000.0,
        features="head.UPOS modifier.UPOS",
        projective=True,
        n_bits=10,
        labels=False,
        workers=1,
        progress=False,
    ).fit([], unlabelled=text)
    dev = samples.treebank("dev")
    assert compare_trees(dev, parser.predict(dev)).uas > 0.75


def test_copies_that_were_changed_stay(tmp_path, monkeypatch, capsys):
    def copy(*more):
        monkeypatch.setattr(sys, "argv", ["samples", str(tmp_path / "new"), *more])
        with pytest.raises(SystemExit) as end:
            copy_samples()
        return end.value.code

    assert copy() == copy() == 0
    changed, lost = tmp_path / "new/chunks-dev.txt", tmp_path / "new/arc-rules.txt"
    changed.write_text("mine")
    lost.unlink()
    assert copy() == 2
    message = capsys.readouterr().err
    assert "would be lost: chunks-dev.txt. Name another folder, or say --overwrite." in message
    assert changed.read_text() == "mine"
    assert not lost.exists()
    assert copy("--overwrite") == 0
    assert changed.read_bytes() == samples.path("chunks-dev.txt").read_bytes()
