"""Mistakes: status 2, one message that says what to do, no trace, and nothing half written."""

import os
import signal
import subprocess
import sys

import pytest

from partita.cli import main
from partita.estimators.tagging.tagger import Tagger
from partita.training.model_file import write_model

GOOD = "1\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n"
FILES = {
    "short.conllu": (GOOD + "2\tbarks\n\n").encode(),
    "latin.conllu": GOOD.replace("dog", "Häuser").encode("latin1"),
    "gap.conllu": (GOOD + GOOD.replace("1", "3", 1)).encode(),
    "comments.conllu": b"# text = nothing\n\n" + GOOD.encode(),
    "empty": b"",
    "short.txt": b"dog NN\n\nbarks\n\ncat NN\n\nthe DT\n\na DT\n\nold JJ\n",
    "sum": b"w=dog NOUN=0.5 VERB=0.1\n",
    "number": b"w=dog NOUN=half\n",
    "dictionary": b"dog NOUN\ncat\n",
    "rules": b"NOUN <- VERB left 0.3\n",
    "weights": b"1\nx\n",
    "few": b"1\n",
    "bad.tpl": b"U00:%x[0]\n",
    "unseen": b"the ?\ndog X\n\ncat ?\n",
}
MISTAKES = [
    ("train tagger {0}/short.conllu -o m", "short.conllu, line 2: found 2 columns"),
    ("train tagger {0}/latin.conllu -o m", "latin.conllu, line 1: the byte 0xe4 at position 3"),
    ("train hmm {0}/gap.conllu -o m", "gap.conllu, line 2: found the id '3'; expected 2"),
    ("train hmm {0}/comments.conllu -o m", "line 1: found a sentence without words"),
    ("train tagger {0}/empty -o m", "empty: the file is empty"),
    ("train tagger {0}/short.txt -o m", "short.txt, line 3: found 1 column"),
    ("train tagger raw.txt -o m", "raw.txt: this seems to be plain text, which has no tags"),
    ("train tagger train.conllu -o m --tag-column CHUNK", "there is no column 'CHUNK'"),
    ("train tagger train.conllu -o m --convert IOB1", "the tags spell out no chunks"),
    ("train tagger -o m", "no data came; name files with tags"),
    ("train hmm -o m", "no data came; name files with tags"),
    ("train hmm --unlabelled raw.txt -o m", "--n-tags"),
    ("train hmm train.conllu --alpha -1 -o m", "alpha is -1"),
    ("train hmm train.conllu --dictionary {0}/dictionary -o m", "dictionary, line 2: found 'cat'"),
    (
        "train tagger train.conllu --unlabelled raw.txt -o m",
        "--unlabelled is raw.txt, from which nothing would be learnt without --entropy-weight, "
        "--share-weight or --constraints; expected both or neither.",
    ),
    ("train segmenter train.conllu --unlabelled raw.txt -o m", "learnt without --entropy-weight;"),
    ("train parser train.conllu --unlabelled raw.txt -o m", "without --entropy-weight or --rules"),
    ("train parser train.conllu --rule-share 0.5 -o m", "which changes nothing without --rules"),
    ("train parser x --rules {0}/rules --rule-share 0.5 -o m", "have targets of their own"),
    ("train tagger train.conllu --n-steps 5 -o m", "--n-steps is 5, which changes nothing without"),
    ("train hmm train.conllu --l2 5 -o m", "l2 is 5.0, which changes nothing without features"),
    ("train tagger train.conllu -o {0}/none/m", "there is no folder"),
    ("train tagger train.conllu -o {0}", "it is a folder; give the name of a file"),
    ("train tagger train.conllu -o train.conllu", "would be written to train.conllu, which is an"),
    (
        "train tagger train.conllu -o m --log ./train.conllu",
        "what --log names would",
    ),
    ("train hmm x -o m --checkpoint m", "would be written to m, which is what --output"),
    ("train hmm x -o m --log {0}/none/log", "there is no folder"),
    ("train hmm t*.conllu -o train.conllu", "would be written to train.conllu, which is an input"),
    ("train hmm x -o m.2 --checkpoint m", "in later stages of the training to m.2 and so on"),
    (
        "train hmm x -o m --log -",
        "--log is -, which is standard output; expected the name of a file",
    ),
    ("train hmm *.none -o m", "no file matches '*.none'; expected at least one. Check the path"),
    (
        "predict hmm.model t*.??*",
        "'t*.??*' matches 3 files (tagger.model train.conllu ...); expect",
    ),
    ("train tagger train.conllu -o m --cache train.txt", "train.txt is a file; expected a folder"),
    ("predict tagger.model raw.txt -o raw.txt", "would be written to raw.txt, which is an input"),
    ("evaluate tagger.model train.conllu --diagram tagger.model", "what --diagram names would"),
    ("train tagger none.conllu -o m", "none.conllu: No such file or directory. Check the path."),
    ("train tagger train.conllu --constraints {0}/sum -o m", "sum, line 1: the probabilities of"),
    ("train tagger train.conllu --constraints {0}/number -o m", "number, line 1: found 'NOUN=ha"),
    ("train tagger train.conllu --warm-start hmm.model -o m", "expected one that train tagger"),
    ("train tagger train.conllu --sample-weight {0}/weights -o m", "weights, line 2: found 'x'"),
    ("train tagger train.conllu --sample-weight {0}/few -o m", "found 1 numbers; expected 5"),
    ("train tagger none.conllu -o m --l2 much", "--l2 is 'much'; expected a number, 0 or more"),
    ("train tagger none.conllu -o m --l2 -1", "l2 is -1.0; expected a number, 0 or more"),
    ("train tagger none.conllu -o m --class-weights A=b", "--class-weights is 'A=b'; expected"),
    ("train hmm none.conllu -o m --workers 0", "workers is 0; expected a number of threads"),
    ("simulate tagger none none --min-count 0", "--min-count is 0; expected a whole number, 1"),
    ("train tagger train.conllu --features {0}/bad.tpl -o m", "bad.tpl, line 1: found '%x[0]'"),
    ("train tagger train.conllu --features {0}/latin.conllu -o m", "the byte 0xe4 at position"),
    (
        "train tagger train.conllu --entropy-weight 1 -o m",
        "--entropy-weight is above 0, but no sent",
    ),
    (
        "predict train.conllu raw.txt",
        "train.conllu is no model of Partita's: it seems to",
    ),
    ("predict {0}/other.model raw.txt", "holds a model of kind 'juggler'; expected one of tagger"),
    ("predict {0}/run.checkpoint raw.txt", "holds a checkpoint; expected a model"),
    ("predict tagger.model {0}/short.conllu -o out", "short.conllu, line 2: found 2 columns"),
    ("predict tagger.model raw.txt --k-best 0", "--k-best is 0; expected 1 or more"),
    ("predict tagger.model raw.txt --span-entropy 0", "--span-entropy is 0; expected 1 or more"),
    ("predict tagger.model raw.txt --convert BIOES", "the model's tags spell out no chunks"),
    ("predict tagger.model {0}/unseen --fixed 1", "found the tag 'X', which training never saw"),
    ("predict hmm.model {0}/unseen --fixed 1", "found the tag 'X', which training never saw"),
    ("predict tagger.model raw.txt --fixed 3", "there is no column '3'"),
    ("predict tagger.model train.conllu --tag-column CHUNK", "there is no column 'CHUNK'"),
    ("predict {0}/chunks.model raw.txt", "raw.txt: there is no column '0'; expected the columns"),
    ("evaluate tagger.model raw.txt", "there is no column 'UPOS'"),
    ("evaluate tagger.model train.conllu --tag-column XPOS", "no word has a tag in column 'XPOS'"),
    ("explain tagger.model raw.txt --sentence 9", "--sentence is 9; expected 1 to 2"),
    ("explain tagger.model raw.txt --word 9", "--word is 9; expected 1 to 4"),
    ("select tagger.model raw.txt --batch-words 0", "--batch-words is 0; expected 1 or more"),
    ("select tagger.model raw.txt --strategy span --n-words 0", "--n-words is 0; expected 1"),
    ("select raw.txt raw.txt", "whose first line is 'the small dog barks'"),
    ("simulate tagger raw.txt train.conllu", "raw.txt: this seems to be plain text"),
    ("simulate hmm train.conllu train.conllu --seed-words 0", "--seed-words is 0; expected 1"),
    ("simulate hmm train.conllu train.conllu --strategies guess", "--strategies has 'guess'"),
    # Before any data are read: these files are not there.
    ("select tagger.model none --k 0", "--k is 0; expected 1 or more"),
    ("simulate hmm none none --strategies guess", "--strategies has 'guess'; expected some of"),
    ("simulate hmm none none --share 2", "--share is 2.0; expected a number above 0"),
    ("explain tagger.model none --sentence 0", "--sentence is 0; expected 1 or more"),
    ("inspect none --n-features 0", "--n-features is 0; expected 1 or more"),
    ("evaluate tagger.model none --decoder joint", "--decoder is 'joint'; expected one of best"),
    ("evaluate tagger.model none --samples 9", "--samples is for parsers"),
    ("inspect raw.txt", "whose first line is 'the small dog barks'"),
]


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    directory = tmp_path_factory.mktemp("broken")
    for name, data in FILES.items():
        (directory / name).write_bytes(data)
    chunks = Tagger().fit([[("dog", "NN")]], [["B-NP"]])
    chunks.save(directory / "chunks.model")
    write_model(directory / "other.model", {"kind": "model", "estimator": "juggler"}, {})
    write_model(directory / "run.checkpoint", {"kind": "checkpoint"}, {})
    return directory


@pytest.mark.parametrize(("line", "message"), MISTAKES)
def test_one_message_and_nothing_written(line, message, run, files, broken):
    before = sorted(os.listdir(files)), sorted(os.listdir(broken))
    status, out, err = run(line.replace("{0}", "{broken}"), broken=broken)
    assert (status, out) == (2, "")
    complaints = [text for text in err.split("\n") if text.startswith("partita: ")]
    assert len(complaints) == 1
    assert message in complaints[0]
    assert "Traceback" not in err
    assert (sorted(os.listdir(files)), sorted(os.listdir(broken))) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tag", "COMMAND is 'tag'; expected one of train, predict"),
        ("trian", "Did you mean train?"),
        ("train taggr", "KIND is 'taggr'; expected one of tagger, hmm"),
        ("train tagger x -o m --scheme IOB3", "--scheme is 'IOB3'; expected one of auto, IOB1"),
        ("train", "arguments are required: KIND; KIND is one of tagger, hmm"),
        ("train tagger train.conllu", "arguments are required: -o/--output"),
        ("train tagger train.conllu -o m --l3 1", "unrecognized arguments: --l3 1"),
        ("train tagger train.conllu -o m --max 1", "unrecognized arguments: --max 1"),
        ("simulate tagger x --held-out y", "arguments: --held-out. See partita simulate tagger"),
        ("predict tagger.model", "arguments are required: INPUT"),
        ("predict a.model en.txt de.txt", "other side of a bitext? Give it by --target."),
        ("train tagger x -o -", "argument -o/--output: - came, which is standard output; expected"),
    ],
)
def test_arguments_that_are_wrong(line, message, capsys):
    with pytest.raises(SystemExit) as error:
        main(line.split())
    assert error.value.code == 2
    assert message in capsys.readouterr().err


def test_interrupts(run, monkeypatch):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("partita.cli.predict.command.load_model", interrupted)
    status, out, err = run("predict tagger.model raw.txt")
    assert (status, out) == (1, "")
    assert err == "partita: interrupted; nothing was written.\n"


def test_messages_are_not_among_results_where_standard_error_is_closed(files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["predict", "hmm.model", "raw.txt"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the\tDET\n")
    assert "Read" not in out
    assert main(["predict", "hmm.model", "none"]) == 2
    with pytest.raises(SystemExit) as error:
        main(["juggle"])
    assert error.value.code == 2
    assert sys.stderr is None


def test_results_have_somewhere_to_go(run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["evaluate", "hmm.model", "train.conllu"]) == 2
    assert "standard output is closed" in capsys.readouterr().err


def test_a_model_for_which_there_is_no_room_is_kept_elsewhere(run, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    status, _, err = run("train hmm train.conllu -o /dev/full")
    assert status == 2
    assert "the model could not be written to /dev/full (No space left on device)." in err
    (kept,) = tmp_path.glob("partita-*/full")
    assert f"It is in {kept} instead" in err
    assert run(f"predict {kept} raw.txt")[0] == 0
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    assert "it is lost" in run("train hmm train.conllu -o /dev/full")[2]


@pytest.mark.parametrize("line", ["train hmm - -o {0}", "predict {1} - -o {0}"])
def test_standard_input_is_not_written_over_either(files, tmp_path, line):
    """`partita train hmm - -o data < data`."""
    data = tmp_path / "data"
    content = (files / "train.conllu").read_bytes()
    data.write_bytes(content)
    command = [sys.executable, "-m", "partita", *line.format(data, files / "hmm.model").split()]
    with open(data, "rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"to {data}, which is an input of this command (standard input)" in done.stderr
    assert data.read_bytes() == content


@pytest.mark.parametrize("given", ["{}", "-"])
def test_answers_are_not_appended_to_what_is_read(given, files, tmp_path):
    """`partita predict model data >> data` would read its answers for ever."""
    data = tmp_path / "data"
    content = (files / "raw.txt").read_bytes()
    data.write_bytes(content)
    command = [sys.executable, "-m", "partita", "predict", str(files / "hmm.model")]
    with open(data, "rb") as file, open(data, "ab") as end:
        done = subprocess.run(
            [*command, given.format(data)], stdin=file, stdout=end, stderr=subprocess.PIPE
        )
    assert done.returncode == 2
    assert b"standard output would be written to an input of this command" in done.stderr
    assert data.read_bytes() == content


def test_no_room_for_results(run, files, monkeypatch):
    status, _, err = run("predict hmm.model raw.txt -o /dev/full")
    assert status == 2
    assert "partita: /dev/full: No space left on device. Make room, or give another file." in err
    message = "partita: standard output: No space left on device. Make room, or give another file."
    for arguments in (["--help"], ["inspect", "hmm.model"]):
        with open("/dev/full", "w") as full:
            line = [sys.executable, "-m", "partita", *arguments]
            done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, cwd=files)
        assert (done.returncode, done.stderr.strip()) == (2, message)


def test_a_model_is_written_though_all_streams_are_closed(files, tmp_path, monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    model, data = tmp_path / "hmm.model", files / "train.conllu"
    assert main(["train", "hmm", str(data), "-o", str(model), "--max-iterations", "1"]) == 0
    assert model.exists()


@pytest.mark.parametrize("is_full", [True, False])
def test_a_model_is_written_though_nobody_can_be_told(is_full, files, tmp_path):
    """Messages go to a full disk, or to `head`, which has seen enough."""
    model, line = tmp_path / "hmm.model", [sys.executable, "-m", "partita", "train", "hmm"]
    line += [str(files / "train.conllu"), "-o", str(model), "--max-iterations", "1", "--progress"]
    with open("/dev/full", "w") as full:
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(line, stderr=full if is_full else writing)
        os.close(writing)
    assert done.returncode == 0
    assert model.exists()


@pytest.mark.parametrize("stage", ["parser.build_parser", "outputs.check_files"])
def test_ctrl_c_before_there_is_anything_to_do(monkeypatch, capsys, stage):
    """Importing what a command needs takes a second or two, in which users change their minds."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"partita.cli.{stage}", interrupted)
    assert main(["inspect", "my.model"]) == 1
    assert capsys.readouterr().err == "partita: interrupted; nothing was written.\n"


def test_a_second_ctrl_c_while_the_first_is_told(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("partita.cli.parser.build_parser", interrupted)
    monkeypatch.setattr("partita.cli.messages.Messages.write", interrupted)
    assert main(["inspect", "my.model"]) == 1
    assert capsys.readouterr().err == ""


def test_an_interrupted_training_keeps_what_it_has(run, tmp_path, monkeypatch):
    from partita.training.optimisers.lbfgs import LBFGS

    original, calls = LBFGS.step, []
    # As a terminal does, in the middle of an iteration.

    def step(self, *arguments):
        calls.append(None)
        if len(calls) > 3:
            signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(LBFGS, "step", step)
    status, _, err = run("train tagger train.conllu -o {path}", path=tmp_path / "m")
    assert status == 1
    assert "Interrupted (Ctrl-C) after 3 iterations" in err
    assert (tmp_path / "m").exists()


def test_a_training_that_learnt_nothing_writes_nothing(run, tmp_path, monkeypatch):
    """What was there before, such as the model of yesterday, stays."""
    from partita.training.optimisers.lbfgs import LBFGS

    original = LBFGS.start

    def start(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return original(self, *arguments)

    monkeypatch.setattr(LBFGS, "start", start)
    path = tmp_path / "m"
    path.write_text("yesterday")
    status, _, err = run("train tagger train.conllu -o {path}", path=path)
    assert status == 1
    assert "Interrupted (Ctrl-C) before the first iteration" in err
    assert err.endswith("partita: interrupted, and nothing was learnt; nothing was written.\n")
    assert path.read_text() == "yesterday"


def test_an_option_that_is_nearly_right(capsys):
    with pytest.raises(SystemExit) as error:
        main(["train", "tagger", "x.conllu", "-o", "x.model", "--optimizer", "adam"])
    assert error.value.code == 2
    assert capsys.readouterr().err == (
        "partita: unrecognized arguments: --optimizer adam. Did you mean --optimiser? "
        "See partita train tagger --help.\n"
    )


def test_a_value_that_is_no_number(capsys):
    assert main(["train", "tagger", "x.conllu", "-o", "x.model", "--l2", "much"]) == 2
    assert capsys.readouterr().err.endswith(
        "partita: --l2 is 'much'; expected a number, 0 or more.\n"
    )


def test_no_command_shows_the_help(capsys):
    with pytest.raises(SystemExit) as error:
        main([])
    assert error.value.code == 0
    assert "partita train tagger train.conllu" in capsys.readouterr().out
