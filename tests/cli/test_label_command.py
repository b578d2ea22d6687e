"""`partita label`: mistakes are told in a sentence; kill -9 loses nothing."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from partita.cli import main
from partita.data.formats import read_sentences

TEXT = "the dog barks\na cat sleeps\nthe old dog sleeps\n"


@pytest.fixture
def raw(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.txt").write_text(TEXT)
    return tmp_path / "raw.txt"


def started(*arguments):
    """The server and its address."""
    command = [sys.executable, "-m", "partita.cli", "label", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    address = process.stdout.readline().strip()
    assert address, process.stderr.read()
    return process, address


def call(address, name, **body):
    origin = address.rsplit("/", 2)[0]
    request = urllib.request.Request(
        f"{address}api/{name}",
        json.dumps({"tab": "a", **body}).encode(),
        {"Content-Type": "application/json", "Origin": origin},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def ended(process, number):
    process.send_signal(number)
    return process.communicate(timeout=60)[1]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "there are no tags to choose from; name them"),
        (("--tags", "A"), "there is one tag, A, and nothing to choose"),
        (("--tags", "A,B", "--n-words", "0"), "--n-words is 0; expected 1 or more"),
        (("--trees",), "this seems to be plain text, which has no tags"),
        (("--tags", "A,B", "--merge", "other.txt"), "expected the same sentences"),
        (("--tags", "A,B", "-o", "there.txt"), "is there, but there.txt.journal is not"),
    ],
)
def test_mistakes(raw, capsys, arguments, message):
    raw.with_name("other.txt").write_text("other words\na cat sleeps\nthe old dog sleeps\n")
    raw.with_name("there.txt").write_text("precious\n")
    assert main(["label", str(raw), "-o", "out.txt", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert raw.with_name("there.txt").read_text() == "precious\n"


def test_without_the_packages_it_says_what_to_install(raw, capsys, monkeypatch):
    monkeypatch.setattr("partita.cli.label.find_spec", lambda name: None)
    assert main(["label", str(raw), "--tags", "A,B", "-o", "out.txt"]) == 2
    assert "pip install 'partita[label]'" in capsys.readouterr().err


def test_plain_text_is_judged_by_columns(raw):
    from partita.cli.label import _task
    from partita.cli.parser import build_parser

    raw.with_name("judges.txt").write_text("the\tDET\ndog\tNOUN\n\na\tDET\n")
    given = ["label", str(raw), "--tags", "DET,NOUN,VERB", "-o", "out.txt"]
    options = build_parser().parse_args([*given, "--held-out", "judges.txt"])
    task = _task(read_sentences(raw), options)
    assert task.held_out(task.learn([[None] * 3, [None] * 3, [None] * 4])) in (0.0, 1 / 3, 2 / 3)


def test_plain_text_begins_with_a_model_of_columns(raw):
    """The words had another name where the model learnt, as in a file that the page wrote."""
    from partita.cli.label import _task
    from partita.cli.parser import build_parser

    raw.with_name("labelled.txt").write_text("the\tDET\ndog\tNOUN\n\na\tDET\ncat\t?\n")
    assert main(["train", "tagger", "labelled.txt", "-o", "pos.model"]) == 0
    given = ["label", str(raw), "--model", "pos.model", "--held-out", "labelled.txt"]
    task = _task(read_sentences(raw), build_parser().parse_args([*given, "-o", "out.txt"]))
    written, _ = task.written([["DET", None, None], [None] * 3, [None] * 4])
    assert list(written[0].columns.values()) == [("the", "dog", "barks"), ("DET", "?", "?")]


@pytest.mark.slow
def test_killed_at_any_moment_and_going_on(raw):
    arguments = (str(raw), "--tags", "DET,NOUN,VERB,ADJ", "-o", "out.txt")
    process, address = started(*arguments)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32,}/", address)
    question = call(address, "question")
    values = [[slot["word"], "tag", "DET"] for slot in question["slots"]]
    body = {"id": "x", "sentence": question["sentence"], "values": values, "seconds": 2}
    assert call(address, "answer", **body)["saved"]
    # The moment that the answer is acknowledged.
    ended(process, signal.SIGKILL)
    process, address = started(*arguments)
    assert call(address, "progress")["asked"] == len(values)
    assert call(address, "answer", **body)["again"]
    second = subprocess.run(
        [sys.executable, "-m", "partita.cli", "label", *arguments], capture_output=True, text=True
    )
    assert second.returncode == 2
    assert "in use by another process" in second.stderr
    assert "Wrote out.txt: 1 answers" in ended(process, signal.SIGTERM)
    tags = [sentence.column("1") for sentence in read_sentences("out.txt")]
    assert sum(tag == "DET" for each in tags for tag in each) == len(values)
    assert main(["train", "tagger", "out.txt", "--max-iterations", "2", "-o", "m.model"]) == 0


def test_a_treebank_whose_words_have_tags_is_told_of_trees(tmp_path, capsys):
    from partita.cli.label import _task
    from partita.cli.parser import build_parser

    raw = tmp_path / "raw.conllu"
    raw.write_text("1\tdogs\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tbark\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n")
    _task(read_sentences(raw), build_parser().parse_args(["label", str(raw), "-o", "out.conllu"]))
    said = capsys.readouterr().err
    assert "Every word has its tag already; heads and relations are asked for by --trees" in said
