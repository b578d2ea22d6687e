"""Small files, and models trained on them by the command itself."""

import pytest

from partita.cli import main

SENTENCES = [
    "the/DET dog/NOUN barks/VERB",
    "a/DET cat/NOUN sleeps/VERB",
    "the/DET old/ADJ dog/NOUN sleeps/VERB",
    "a/DET small/ADJ cat/NOUN meows/VERB",
    "dogs/NOUN bark/VERB",
]


def conllu(sentences):
    text = ""
    for number, sentence in enumerate(sentences, 1):
        text += f"# sent_id = {number}\n"
        for position, pair in enumerate(sentence.split(), 1):
            word, tag = pair.split("/")
            text += f"{position}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        text += "\n"
    return text


def columns(sentences):
    return "\n".join(
        "".join(pair.replace("/", " ") + "\n" for pair in sentence.split())
        for sentence in sentences
    )


CHUNKS = """the DT B-NP
dog NN I-NP
sees VB B-VP
a DT B-NP
cat NN I-NP

dogs NN B-NP
bark VB B-VP

"""


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A directory of data files and models; tests must not change it."""
    directory = tmp_path_factory.mktemp("files")
    (directory / "train.conllu").write_text(conllu(SENTENCES))
    (directory / "train.txt").write_text(columns(SENTENCES))
    (directory / "chunks.txt").write_text(CHUNKS)
    (directory / "raw.txt").write_text("the small dog barks\n\na cat\n")
    (directory / "expectations").write_text("w=the DET=1\nw=dog NOUN=1\nw=barks VERB=1\n")
    for kind in ("tagger", "hmm"):
        data, model = str(directory / "train.conllu"), str(directory / f"{kind}.model")
        assert main(["train", kind, data, "-o", model]) == 0
    return directory


@pytest.fixture
def run_in(capsys, monkeypatch):
    """Makes what runs commands in a directory and says their status, output and messages."""

    def runner_in(directory):
        monkeypatch.chdir(directory)

        def runner(line, **paths):
            capsys.readouterr()
            status = main([word.format(**paths) for word in line.split()])
            captured = capsys.readouterr()
            return status, captured.out, captured.err

        return runner

    return runner_in


@pytest.fixture
def run(files, run_in):
    """Runs a command in the directory of the files."""
    return run_in(files)
