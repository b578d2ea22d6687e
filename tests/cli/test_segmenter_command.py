"""The segmenter by commands: chunks in, chunks out, dictionaries, reports."""

import pytest

from partita import Segmenter, samples
from partita.data import read_sentences
from partita.evaluation.chunks import chunk_scores


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("segmenter")
    text = samples.path("chunks-train.txt").read_text()
    (folder / "chunks.txt").write_text("\n\n".join(text.split("\n\n")[:80]) + "\n\n")
    (folder / "nouns.txt").write_text("the dog\n\nthe  river\n")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    from partita.cli import main

    path = folder / "chunks.model"
    line = ["train", "segmenter", str(folder / "chunks.txt"), "-o", str(path)]
    line += ["--dictionary", str(folder / "nouns.txt"), "--max-iterations", "40"]
    assert main([*line, "--longest", "12"]) == 0
    return path


def test_files_in_and_out(run, folder, model):
    status, out, err = run("predict {model} {file} --probability --k-best 2", model=model,
                           file=folder / "chunks.txt")  # fmt: skip
    assert status == 0, err
    (folder / "out.txt").write_text(out)
    found = read_sentences(folder / "out.txt")
    gold = read_sentences(folder / "chunks.txt")
    names = found.names
    column = names[len(gold.names)]
    scores = chunk_scores(
        [each.column(gold.names[-1]) for each in gold], [each.column(column) for each in found]
    )
    assert scores.overall.f1 > 0.95
    assert len(names) == len(gold.names) + 1 + 1 + 4


def test_what_it_is(run, folder, model):
    loaded = Segmenter.load(model)
    assert loaded.longest_ == 12
    assert loaded.dictionaries == {"nouns": ["the dog", "the river"]}
    status, out, _ = run("inspect {model} --all", model=model)
    assert status == 0
    assert "words of the longest segments  12" in out
    status, out, err = run("evaluate {model} {file}", model=model, file=folder / "chunks.txt")
    assert status == 0, err
    assert "F1" in out
    status, out, err = run("explain {model} {file} --sentence 1 --word 1", model=model,
                           file=folder / "chunks.txt")  # fmt: skip
    assert status == 0, err
    assert "The best sequence leads the other by" in out


def test_what_it_is_not(run, folder, model):
    status, _, err = run("predict {model} {file} --span-entropy 2", model=model,
                         file=folder / "chunks.txt")  # fmt: skip
    assert status == 2
    assert "--span-entropy is for taggers" in err
