"""A tagger from files: each worker reads its own blocks, and the model is that of memory."""

import gzip

import pytest

from partita import Tagger, samples
from partita.data import files as data_files
from partita.data import read_sentences
from partita.data.errors import DataError
from partita.data.files import SentenceFiles

OPTIONS = {"tag_column": "UPOS", "max_iterations": 5}


@pytest.fixture(scope="module")
def path():
    return samples.path("treebank-dev.conllu")


@pytest.fixture(scope="module")
def in_memory(path):
    return Tagger(**OPTIONS).fit(read_sentences(path))


def same(model, other):
    return (
        model.weights_.tobytes() == other.weights_.tobytes()
        and model.tags_ == other.tags_
        and model.weight_table().columns["feature"] == other.weight_table().columns["feature"]
    )


def test_the_model_is_that_of_memory(path, in_memory, tmp_path):
    model = Tagger(**OPTIONS, cache=tmp_path).fit(SentenceFiles(path))
    assert same(model, in_memory)
    assert {each.name for each in tmp_path.iterdir()} == {"words-0", "batches-0", "index"}
    before = (tmp_path / "batches-0").stat().st_mtime_ns
    again = Tagger(**OPTIONS, cache=tmp_path).fit(SentenceFiles(path))
    assert same(again, in_memory)
    assert (tmp_path / "batches-0").stat().st_mtime_ns == before


def test_compressed_files_and_patterns(path, in_memory, tmp_path):
    with gzip.open(tmp_path / "part-1.conllu.gz", "wb") as file:
        file.write(path.read_bytes())
    files = SentenceFiles(tmp_path / "part-*.gz")
    assert same(Tagger(**OPTIONS).fit(files), in_memory)


def test_blocks_are_the_file(path, monkeypatch):
    monkeypatch.setattr(data_files, "BLOCK", 5000)
    files = SentenceFiles(path)
    assert len(files.blocks) > 5
    found = [each for block in files.blocks for document in block.documents() for each in document]
    assert [each.columns for each in found] == [each.columns for each in read_sentences(path)]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_number_of_workers_does_not_matter(path, monkeypatch, tmp_path, workers, in_memory):
    monkeypatch.setattr(data_files, "BLOCK", 20_000)
    model = Tagger(**OPTIONS, workers=workers, cache=tmp_path).fit(SentenceFiles(path))
    assert len(list(tmp_path.glob("batches-*"))) > 2
    assert model.weight_table().columns["feature"] != []
    assert model.training_.loss == pytest.approx(in_memory.training_.loss, rel=1e-12)


def test_chunks_are_recognised(tmp_path):
    path = samples.path("chunks-dev.txt")
    document = read_sentences(path)
    column = document.names[-1]
    expected = Tagger(tag_column=column, max_iterations=3).fit(document)
    found = Tagger(tag_column=column, max_iterations=3).fit(SentenceFiles(path))
    assert found.model_.tags.scheme == expected.model_.tags.scheme is not None
    assert found.weights_.tobytes() == expected.weights_.tobytes()


def test_mistakes_name_the_line_of_the_file(path, monkeypatch, tmp_path):
    monkeypatch.setattr(data_files, "BLOCK", 2000)
    lines = path.read_text().split("\n")
    place = next(n for n in range(400, 500) if lines[n].startswith("3\t"))
    lines[place] = "three\tcolumns\tonly"
    wrong = tmp_path / "wrong.conllu"
    wrong.write_text("\n".join(lines))
    with pytest.raises(DataError, match=f"line {place + 1}: "):
        Tagger(**OPTIONS).fit(SentenceFiles(wrong))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tag_column": None}, "without tag_column"),
        ({"entropy_weight": 1.0}, "entropy_weight is 1.0, which looks at all sentences"),
        ({"objective": "risk"}, "learnt in two stages"),
        ({"pairs": "observed"}, "expected 'all'"),
    ],
)
def test_what_needs_all_sentences_at_once_is_refused(path, options, message):
    with pytest.raises(ValueError, match=message):
        Tagger(**{**OPTIONS, **options}).fit(SentenceFiles(path))
