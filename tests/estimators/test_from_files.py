"""Estimators from files: each worker reads its own blocks, and the model is that of memory."""

import gzip
import tempfile

import numpy as np
import pytest
from sklearn.base import clone

from partita import (
    Aligner,
    DependencyParser,
    HiddenMarkovTagger,
    Segmenter,
    Tagger,
    Translator,
    samples,
)
from partita.data import Sentence, bitext_files, read_bitext, read_sentences, write_conllu
from partita.data import files as data_files
from partita.data.bitext_files import BitextFiles
from partita.data.errors import DataError
from partita.data.files import SentenceFiles
from partita.estimators.alignment.models import AlignmentModel, ItgAlignment
from partita.estimators.parsing import from_files

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


def stored(model, path):
    """What a model file has, but for what it was learnt from."""
    model.about_ = {}
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("block", [2**22, 20_000])
def test_segments_of_files_are_those_of_memory(tmp_path, monkeypatch, block):
    monkeypatch.setattr(data_files, "BLOCK", block)
    path = samples.path("chunks-dev.txt")
    document = read_sentences(path)
    options = {"tag_column": document.names[-1], "max_iterations": 3, "workers": 2}
    expected = Segmenter(**options).fit(document)
    found = Segmenter(**options).fit(SentenceFiles(path))
    if block == 2**22:
        assert stored(found, tmp_path / "a") == stored(expected, tmp_path / "b")
    assert found.longest_ == expected.longest_
    assert found.model_.wholes.names == expected.model_.wholes.names
    assert found.training_.loss == pytest.approx(expected.training_.loss, rel=1e-9)
    with pytest.raises(ValueError, match="segment of .* words, and longest is 2"):
        Segmenter(**options, longest=2).fit(SentenceFiles(path))


@pytest.fixture
def partly(path, tmp_path):
    """The treebank, of which only every third sentence has its tags, and one has some."""
    sentences = list(read_sentences(path))
    for number, each in enumerate(sentences):
        if number % 3:
            tags = list(each.column("UPOS")) if number == 1 else ["_"] * len(each)
            tags[0] = "_"
            sentences[number] = each.replaced("UPOS", tags)
    written = tmp_path / "partly.conllu"
    write_conllu(written, sentences)
    return written


def plain_tags(document):
    """As the command reads them: an underscore is a tag that is not known."""
    return [["?" if tag == "_" else tag for tag in each.column("UPOS")] for each in document]


@pytest.mark.parametrize("block", [2**22, 20_000])
@pytest.mark.parametrize("kind", ["counts", "some labels", "words alone"])
def test_hidden_markov_models_of_files_are_those_of_memory(
    path, partly, tmp_path, monkeypatch, kind, block
):
    monkeypatch.setattr(data_files, "BLOCK", block)
    options = {"max_iterations": 4, "workers": 2}
    chosen = partly if kind == "some labels" else path
    document = read_sentences(chosen)
    if kind == "words alone":
        options["n_tags"] = 5
        words = [each.column("FORM") for each in document]
        expected = HiddenMarkovTagger(**options).fit(words)
    else:
        options["tag_column"] = "UPOS"
        expected = HiddenMarkovTagger(**options).fit(document, plain_tags(document))
    found = HiddenMarkovTagger(**options).fit(SentenceFiles(chosen))
    assert found.symbols_.words == expected.symbols_.words
    for one, two in zip(found.histories_, expected.histories_, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)
    np.testing.assert_allclose(
        np.exp(found.log_emissions_), np.exp(expected.log_emissions_), rtol=1e-6, atol=1e-9
    )


def test_hidden_markov_models_refuse_what_needs_all_words(path):
    with pytest.raises(ValueError, match="start is 'classes', which looks at all sentences"):
        HiddenMarkovTagger(n_tags=3, start="classes").fit(SentenceFiles(path))
    with pytest.raises(ValueError, match="files came with labels"):
        HiddenMarkovTagger(n_tags=3).fit(SentenceFiles(path), [["A"]])


SMALL_PARSER = {"n_bits": 12, "label_bits": 8, "sibling_bits": 12, "max_iterations": 2}
PARSERS = {
    "arcs": {"projective": True, "n_models": 2},
    "arcs may cross": {"projective": False, "n_models": 1, "labels": False},
    "joint": {"labels": "joint", "n_models": 1, "optimiser": "lbfgs"},
    "siblings": {"order": 2, "n_models": 1, "pseudo_projective": True},
}


@pytest.fixture(scope="module")
def few(path, tmp_path_factory):
    """Some short sentences, and one whose arcs cross."""
    sentences = [each for each in read_sentences(path) if len(each) < 12][:16]
    crossing = Sentence(
        {"FORM": tuple("abcd"), "UPOS": ("X",) * 4, "HEAD": tuple("3401"), "DEPREL": tuple("pqrs")}
    )
    written = tmp_path_factory.mktemp("few") / "few.conllu"
    write_conllu(written, [*sentences, crossing])
    return written


@pytest.mark.parametrize(
    ("kind", "block"), [*((kind, 2**22) for kind in PARSERS), ("joint", 2000), ("siblings", 2000)]
)
def test_parsers_of_files_are_those_of_memory(few, tmp_path, monkeypatch, kind, block):
    monkeypatch.setattr(data_files, "BLOCK", block)
    options = {**SMALL_PARSER, **PARSERS[kind], "workers": 2, "progress": False}
    expected = DependencyParser(**options).fit(read_sentences(few))
    found = DependencyParser(**options, cache=tmp_path / "c").fit(SentenceFiles(few))
    if block == 2**22:
        assert stored(found, tmp_path / "a") == stored(expected, tmp_path / "b")
    assert found.model_ == expected.model_
    assert found.labels_ == expected.labels_
    assert found.n_lifted_ == expected.n_lifted_ == int(kind in ("arcs", "siblings"))
    if kind == "joint":  # whole passes, so that the order of batches does not matter
        np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_no_stage_leaves_a_temporary_cache_behind(few, tmp_path, monkeypatch, error):
    """Nor does the next run leave that of one that was killed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "partita-cache-killed"
    for name in ("encoded", "encoded.2"):
        (left / name).mkdir(parents=True)
    (left / ".lock").touch()

    def broken(*_):
        raise error

    parser = DependencyParser(**SMALL_PARSER, n_models=2, workers=1, progress=False)
    if error is None:
        parser.fit(SentenceFiles(few))
    else:
        # Behind all stages: everything that is ever written is there.
        monkeypatch.setattr(from_files, "arcs_then_labels", broken)
        with pytest.raises(error):
            parser.fit(SentenceFiles(few))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entropy_weight": 1.0}, "entropy_weight came with files"),
        ({"objective": "risk"}, "learnt in two stages"),
    ],
)
def test_what_parsers_of_files_refuse(path, options, message):
    with pytest.raises(ValueError, match=message):
        DependencyParser(**options).fit(SentenceFiles(path))
    with pytest.raises(ValueError, match="expected CoNLL-U, with HEAD"):
        DependencyParser().fit(SentenceFiles(samples.path("chunks-dev.txt")))


@pytest.mark.parametrize("kind", ["arcs", "joint", "siblings"])
def test_batches_of_parsers_hold_their_own_sentences_only(few, tmp_path, kind):
    """Twice the sentences, twice the cache: not every batch with the keys of all."""
    sentences = list(read_sentences(few))
    options = {**SMALL_PARSER, **PARSERS[kind], "max_iterations": 1, "n_models": 1}
    sizes = []
    for name, part in (("one", sentences), ("two", 2 * sentences)):
        parser = DependencyParser(**options, cache=tmp_path / name, workers=1, batch_sentences=12)
        parser.fit(part)
        sizes.append((tmp_path / name / "batches-0").stat().st_size)
    assert sizes[1] < 2.2 * sizes[0]


@pytest.mark.parametrize("model", ["model1", "hmm"])
@pytest.mark.parametrize("block", [2**22, 2000])
def test_aligners_of_files_are_those_of_memory(tmp_path, monkeypatch, model, block):
    monkeypatch.setattr(bitext_files, "BLOCK", block)
    bitext = read_bitext(samples.path("bitext-dev.txt"))
    sides = bitext.source, bitext.target
    paths = [tmp_path / "source", tmp_path / "target"]
    for path, side in zip(paths, sides, strict=True):
        path.write_text("".join(" ".join(words) + "\n" for words in side))
    options = {"model": model, "workers": 2, "progress": False, "max_words": 12}
    held_out = sides[0][:5], sides[1][:5]
    expected = Aligner(**options).fit(*sides, held_out=held_out)
    one_file = BitextFiles(samples.path("bitext-dev.txt"))
    two_files = BitextFiles(*paths)
    assert (len(two_files.blocks) > 2) == (block == 2000)
    for files in (one_file, two_files):
        found = Aligner(**options).fit(files, held_out=held_out)
        assert str(found.counts_) == str(expected.counts_)
        if block == 2**22:
            assert stored(found, tmp_path / "a") == stored(expected, tmp_path / "b")
        for a, b in zip(
            found.predict_marginals(*held_out), expected.predict_marginals(*held_out), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("training_pairs", [5, None])
@pytest.mark.parametrize("block", [2**22, 2000])
def test_crf_aligners_of_files_are_those_of_memory(tmp_path, monkeypatch, block, training_pairs):
    monkeypatch.setattr(bitext_files, "BLOCK", block)
    bitext = read_bitext(samples.path("bitext-dev.txt"))
    # Some pairs come twice, in blocks that are far from each other.
    sides = [[*side, *side[:7]] for side in (bitext.source, bitext.target)]
    paths = [tmp_path / "source", tmp_path / "target"]
    for path, side in zip(paths, sides, strict=True):
        path.write_text("".join(" ".join(words) + "\n" for words in side))
    crf = ItgAlignment(max_iterations=1, training_words=5, training_pairs=training_pairs)
    options = {"model": crf, "workers": 2, "progress": False, "max_words": 12}
    expected = Aligner(**options).fit(*sides)
    found = Aligner(**options).fit(BitextFiles(*paths))
    assert str(found.counts_) == str(expected.counts_)
    assert found.stage_counts_ == expected.stage_counts_
    counts = found.stage_counts_["CRF"]
    assert counts.n_repeated > 0
    assert (counts.n_spare > 0) == (training_pairs == 5)
    if block == 2**22:
        assert stored(found, tmp_path / "a") == stored(expected, tmp_path / "b")
    asked = sides[0][:5], sides[1][:5]
    answers = zip(found.predict_marginals(*asked), expected.predict_marginals(*asked), strict=True)
    for one, other in answers:
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


class AlignmentOfOnesOwn(AlignmentModel):
    """Says nothing of how it learns from files."""

    def learn(self, given, runs):
        raise NotImplementedError


def test_mistakes_in_bitexts_of_files(tmp_path):
    (tmp_path / "source").write_text("la maison\nune fleur\n")
    for text, line in (("the house\n", 2), ("the house\na flower\nmore\n", 3)):
        (tmp_path / "target").write_text(text)
        with pytest.raises(DataError, match=f"line {line}: this line has no partner"):
            Aligner().fit(BitextFiles(tmp_path / "source", tmp_path / "target"))
    files = BitextFiles(samples.path("bitext-dev.txt"))
    with pytest.raises(ValueError, match="files came for the model .*, which looks at pairs in"):
        Aligner(model=AlignmentOfOnesOwn()).fit(files)
    with pytest.raises(ValueError, match="source came without target"):
        Aligner().fit([["la"]])
    with pytest.raises(ValueError, match="something of the type NoneType came"):
        Aligner().fit(None)


@pytest.mark.parametrize("given", [[], ["a.conllu"], 3, None])
def test_what_is_no_name_of_a_file_is_refused_with_a_sentence(given):
    with pytest.raises(TypeError, match=r"of the type \w+ came; expected the name of a file"):
        SentenceFiles(given)


@pytest.mark.parametrize("output", ["log", "checkpoint"])
@pytest.mark.parametrize(
    ("model", "file", "files"),
    [
        (Tagger(tag_column="UPOS"), "treebank-dev.conllu", SentenceFiles),
        (HiddenMarkovTagger(tag_column="UPOS"), "treebank-dev.conllu", SentenceFiles),
        (DependencyParser(), "treebank-dev.conllu", SentenceFiles),
        (Segmenter(), "chunks-dev.txt", SentenceFiles),
        (Aligner(), "bitext-dev.txt", BitextFiles),
        (Translator(), "bitext-dev.txt", BitextFiles),
    ],
    ids=str,
)
def test_no_output_is_written_over_what_is_learnt_from(model, file, files, output, tmp_path):
    content = samples.path(file).read_bytes()
    (tmp_path / file).write_bytes(content)
    (tmp_path / "link").symlink_to(tmp_path / file)
    for name in (file, "link"):
        model = clone(model).set_params(**{output: tmp_path / name, "progress": False})
        with pytest.raises(ValueError, match=f"the {output} would be .*, which is a file to learn"):
            model.fit(files(tmp_path / file))
    assert (tmp_path / file).read_bytes() == content
