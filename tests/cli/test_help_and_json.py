"""What the command says about itself, and results that programs read."""

import functools
import io
import json
import subprocess
import sys
import time

import pytest

from partita.cli import main
from partita.cli.heartbeat import signs_of_life
from partita.cli.models import ESTIMATORS
from partita.cli.parser import build_parser


def help_of(line, capsys):
    with pytest.raises(SystemExit) as error:
        main(line.split())
    assert error.value.code == 0
    return capsys.readouterr().out


def test_help_on_a_model_shows_what_applies(files, capsys, monkeypatch):
    monkeypatch.chdir(files)
    everything = help_of("predict --help", capsys)
    assert "--span-entropy" in everything
    assert "--symmetrisation" in everything
    for line in ("predict --help tagger.model", "predict tagger.model -h", "predict -h hmm"):
        found = help_of(line, capsys)
        assert "--span-entropy" in found
        for other in ("--symmetrisation", "--keep-heads", "--sharpness", "joint"):
            assert other not in found
    # What is no model narrows nothing.
    assert help_of("predict --help raw.txt", capsys) == everything


@pytest.mark.parametrize("kind", ["tagger", "hmm"])
def test_evaluation_as_json(run, kind):
    status, out, _ = run(f"evaluate {kind}.model train.conllu --json")
    found = json.loads(out)
    assert (status, found["accuracy"]["value"], found["words"]) == (0, 1.0, 16)
    assert found["tags"]["NOUN"] == {
        "gold": 5, "found": 5, "right": 5, "precision": 1.0, "recall": 1.0, "f1": 1.0
    }  # fmt: skip


def test_inspection_and_explanation_as_json(run):
    found = json.loads(run("inspect tagger.model --json")[1])
    assert found["kind"] == "tagger"
    assert found["tables"][-1]["title"] == "transitions"
    found = json.loads(run("explain tagger.model raw.txt --json")[1])
    assert sum(row[0] for row in found["tables"][0]["rows"]) == pytest.approx(
        found["facts"]["lead of the answer"]
    )


def test_choices_and_curves_as_json(run):
    found = json.loads(run("select tagger.model raw.txt --json")[1])
    assert found["words"] == sum(len(each["words"]) for each in found["choices"]) == 6
    line = "simulate hmm train.conllu train.conllu --seed-words 3 --batch-words 4 --json"
    found = json.loads(run(line)[1])
    assert set(found["curves"]) == {"entropy", "random", "all"}
    assert found["curves"]["all"] == [{"n_words": 16, "accuracy": 1.0}]
    assert set(found["words_needed"]) == {"entropy", "random"}


def test_induced_tags_are_told_from_wrong_ones(run, tmp_path):
    model = tmp_path / "induced.model"
    assert run("train hmm --unlabelled raw.txt --n-tags 2 -o {model}", model=model)[0] == 0
    status, out, err = run("evaluate {model} train.conllu", model=model)
    assert (status, out) == (2, "")
    assert "use --many-to-one" in err
    status, out, _ = run("evaluate {model} train.conllu --many-to-one --json", model=model)
    assert status == 0
    assert 0 < json.loads(out)["many_to_one_accuracy"] <= 1


@functools.cache
def completion(shell):
    """The script that a shell reads."""
    command = [sys.executable, "-m", "partita.cli", "completion", shell]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def completed(*words, shell="bash"):
    """What bash offers behind some words."""
    script = completion(shell)
    ask = 'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _partita; printf "%s\\n" "${COMPREPLY[@]}"'
    line = f"{script}\nCOMP_WORDS=({' '.join(words)})\n{ask}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_choices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.conllu").write_text("")
    assert completed("partita", "tr") == ["train"]
    assert completed("partita", "train", "par") == ["parser"]
    assert completed("partita", "train", "tagger", "--max-it") == ["--max-iterations"]
    assert completed("partita", "train", "tagger", "--scheme", "BI") == ["BIOES"]
    assert completed("partita", "evaluate", "mi") == ["mine.conllu"]
    assert completed("partita", "train", "tagger", "--unlabelled", "m") == ["mine.conllu"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_for_other_shells_know_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for kind in ESTIMATORS:
        assert kind in script
    assert "max-iterations" in script
    build_parser()  # which clears what was used


def test_silence_is_broken(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with signs_of_life(seconds=0.05):
        time.sleep(0.18)
        assert "still at work, 0:00 since the command began\n" in stream.getvalue()
    assert sys.stderr is stream
    n_lines = stream.getvalue().count("\n")
    with signs_of_life(seconds=0.3):
        for _ in range(8):
            time.sleep(0.05)
            sys.stderr.write("a line of its own\n")
    assert stream.getvalue().count("still at work") == n_lines
