"""Files that a run writes: checked before it begins, and no reason to lose a model."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import partita
from partita.files import atomic_writer, check_outputs, remove_partial_files
from partita.objectives import Likelihood
from partita.training import digest
from partita.training.digests import DIGEST
from partita.training.memory_corpus import MemoryCorpus
from partita.training.model_file import ModelFileError
from partita.training.optimisers import LBFGS, Adam, Cosine, Linear
from partita.training.penalties import Penalty
from partita.training.trainer import train
from small_corpora import N_WEIGHTS, chain_batches

PENALTY = Penalty(l2=1.0)


@pytest.fixture(scope="module")
def corpus():
    return MemoryCorpus(Likelihood(), chain_batches(), n_threads=1)


# ------------------------------------------------------------------ runs that are others


@pytest.fixture(scope="module")
def held_out():
    return MemoryCorpus(Likelihood(), chain_batches(10, 5, seed=9))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory, corpus, held_out):
    path = tmp_path_factory.mktemp("runs") / "checkpoint"
    options = {"penalty": PENALTY, "held_out": held_out, "about": {"stage": "first"}}
    train(corpus, LBFGS(n_iterations=2), checkpoint=path, **options)
    return path


def resumed(checkpoint, corpus, **others):
    options = {"penalty": PENALTY, "about": {"stage": "first"}, "seed": 0, **others}
    return train(corpus, checkpoint=checkpoint, resume=True, **options)


def test_a_run_of_other_data_is_refused(checkpoint, corpus, held_out):
    before = checkpoint.read_bytes()
    changed = chain_batches()
    targets = {"Likelihood": replace(changed[0].targets["Likelihood"])}
    targets["Likelihood"].values[0] = 0.5
    weighted = replace(changed[-1], sample_weights=np.array([1.0, 1.0, 2.0]))
    for batches in (
        [replace(changed[0], targets=targets), *changed[1:]],
        [*changed[:-1], weighted],
        [*changed[1:], changed[0]],
    ):
        other = MemoryCorpus(Likelihood(), batches)
        with pytest.raises(ModelFileError, match="another run: the data there is not what it is"):
            resumed(checkpoint, other, held_out=held_out)
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"optimiser": LBFGS(memory=3)}, "memory is 6 there and 3 here"),
        ({"penalty": Penalty(l2=1.0, scale=np.ones(N_WEIGHTS))}, "the scale of the penalty there"),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"held_out": None}, "held_out is True there and False here"),
        ({"held_out": lambda weights: 0.0}, "the held-out data there is not what it is here"),
        ({"about": {"stage": "second"}}, "stage is 'first' there and 'second' here"),
        ({"about": {}}, "stage is 'first' there and None here"),
        ({"about": {"stage": "first", "more": 1}}, "more is None there and 1 here"),
    ],
)
def test_a_run_with_other_options_is_refused(checkpoint, corpus, held_out, others, message):
    with pytest.raises(ModelFileError, match=message):
        resumed(checkpoint, corpus, **{"held_out": held_out, **others})


def test_a_run_of_another_version_is_refused(checkpoint, corpus, held_out, monkeypatch):
    monkeypatch.setattr("partita.training.loop.__version__", "9.9.9")
    message = f"version is '{partita.__version__}' there and '9.9.9' here"
    with pytest.raises(ModelFileError, match=message):
        resumed(checkpoint, corpus, held_out=held_out)


def test_options_that_say_when_to_stop_may_change(checkpoint, corpus, held_out):
    optimiser = LBFGS(n_iterations=5, gradient_tolerance=1e-9, loss_tolerance=0.0)
    result = resumed(checkpoint, corpus, held_out=held_out, optimiser=optimiser, patience=20)
    assert result.n_iterations == 5


@pytest.mark.parametrize("rate", [Linear(0.1), Cosine(0.1)])
def test_a_rate_that_looks_ahead_must_know_the_end(tmp_path, corpus, rate):
    path = tmp_path / "checkpoint"
    train(corpus, Adam(rate=rate, n_iterations=2), checkpoint=path)
    with pytest.raises(ModelFileError, match="n_iterations is 2 there and 4 here"):
        train(corpus, Adam(rate=rate, n_iterations=4), checkpoint=path, resume=True)
    other = type(rate)(0.2)
    with pytest.raises(ModelFileError, match="rate there is not what it is here"):
        train(corpus, Adam(rate=other, n_iterations=2), checkpoint=path, resume=True)


def test_digests_of_ones_own(tmp_path, corpus):
    path = tmp_path / "checkpoint"
    name = f"the vocabulary{DIGEST}"
    train(corpus, LBFGS(n_iterations=1), checkpoint=path, about={name: digest(["a"])})
    with pytest.raises(ModelFileError, match="the vocabulary there is not what it is here"):
        train(corpus, checkpoint=path, resume=True, about={name: digest(["b"])})


# ------------------------------------------------------------------ files that cannot be written


@pytest.mark.parametrize("what", ["checkpoint", "log"])
def test_outputs_are_checked_before_training(tmp_path, corpus, what):
    def judge(weights):
        raise AssertionError("the run began")

    for path, message in (
        (tmp_path, "it is a folder"),
        (tmp_path / "absent" / "file", "there is no folder .*absent; make it first"),
    ):
        with pytest.raises(ValueError, match=f"the {what} cannot be written to .*{message}"):
            train(corpus, held_out=judge, **{what: path})
    same = {"checkpoint": tmp_path / "one", "log": os.path.join(tmp_path, ".", "one")}
    with pytest.raises(ValueError, match="the log would be written to .* is the checkpoint"):
        train(corpus, held_out=judge, **same)


def test_a_model_survives_its_checkpoint_and_its_log(tmp_path, corpus):
    """The folder vanishes in the middle of the run."""
    folder = tmp_path / "run"
    folder.mkdir()
    calls = []

    def judge(weights):
        calls.append(1)
        if len(calls) == 3:
            shutil.rmtree(folder)
        return -float(len(calls))

    files = {"checkpoint": folder / "checkpoint", "log": folder / "log"}
    options = {"held_out": judge, "checkpoint_seconds": 0.0, "penalty": PENALTY}
    result = train(corpus, LBFGS(n_iterations=5), **files, **options)
    assert result.n_iterations == 5
    assert not result.interrupted
    expected = train(corpus, LBFGS(n_iterations=5), penalty=PENALTY)
    assert result.weights.tobytes() == expected.weights.tobytes()
    assert result.reason.startswith("Stopped after 5 iterations")
    assert f"The checkpoint {folder}/checkpoint could not be written: there is no" in result.reason


def test_a_disk_that_is_full_for_a_while(tmp_path, corpus, monkeypatch):
    """The last checkpoint is there, so there is nothing to complain about."""
    calls = []
    replace = os.replace

    def full(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(*arguments)

    monkeypatch.setattr(os, "replace", full)
    path = tmp_path / "checkpoint"
    options = {"checkpoint": path, "checkpoint_seconds": 0.0}
    result = train(corpus, LBFGS(n_iterations=3), **options)
    assert len(calls) == 4
    assert "written" not in result.reason
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_ends_the_log_and_not_the_run(tmp_path):
    """The limit on the size of files is as good as a full disk."""
    code = """
import resource, signal, sys
from partita.objectives import Likelihood
from partita.training import LBFGS, build_corpus, train
from small_corpora import chain_batches
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
corpus = build_corpus(Likelihood(), chain_batches(), workers=1)
corpus.value(__import__("numpy").zeros(corpus.n_weights))
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
optimiser = LBFGS(n_iterations=30, gradient_tolerance=0.0, loss_tolerance=0.0)
result = train(corpus, optimiser, log="log", checkpoint="run")
print(result.n_iterations, result.reason)
"""
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, folder])}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert found.stderr == ""
    assert found.stdout.startswith("30 Stopped after 30 iterations")
    assert "The log log could not be written: File too large." in found.stdout
    assert "The checkpoint run could not be written: File too large." in found.stdout
    lines = (tmp_path / "log").read_text().splitlines()
    assert json.loads(lines[1])["event"] == "iteration"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]


# ------------------------------------------------------------------ files in general


def test_inputs_are_not_outputs(tmp_path):
    data = tmp_path / "train.txt"
    data.write_text("a b\n")
    link = tmp_path / "link"
    link.symlink_to(data)
    for path in (data, link, os.path.join(tmp_path, ".", "train.txt")):
        with pytest.raises(ValueError, match=r"the log would be .* is the training data; expected"):
            check_outputs({"the model": None, "the log": path}, {"the training data": data})
    check_outputs({"the model": tmp_path / "new", "the log": None}, {"the training data": data})
    check_outputs({"the model": "/dev/null", "the log": "/dev/null"})
    assert data.read_text() == "a b\n"
    assert not (tmp_path / "new").exists()


def test_later_stages_are_no_other_file_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("a b\n")
    (tmp_path / "linked.2").symlink_to("data")
    message = "in later stages of the training to .* expected files of their own"
    clashes: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"the checkpoint": "run"}, {"the data": "run.2"}),
        ({"the checkpoint": "linked"}, {"the data": "data"}),
        ({"the model": "run.12", "the checkpoint": "run"}, {}),
        ({"the checkpoint": "run", "the log": "run.2"}, {}),
    ]
    for outputs, inputs in clashes:
        with pytest.raises(ValueError, match=message):
            check_outputs(outputs, inputs, staged={"the checkpoint"})
    check_outputs({"the model": "run.model", "the checkpoint": "run"}, staged={"the checkpoint"})
    with pytest.raises(ValueError, match="the checkpoint would be written to run, and in later"):
        partita.Tagger(checkpoint="run", log="run.2").fit([["a"]], [["X"]])


def test_errors_name_the_file_that_was_asked_for(tmp_path, monkeypatch):
    model = partita.HiddenMarkovTagger().fit([["a"]], [["X"]])
    with pytest.raises(
        IsADirectoryError, match="it is a folder; give the name of a file: "
    ) as error:
        model.save(tmp_path)
    assert error.value.filename == str(tmp_path)
    with pytest.raises(
        FileNotFoundError, match="there is no folder .*none; make it first, or"
    ) as no:
        model.save(tmp_path / "none" / "a.model")
    assert no.value.filename == str(tmp_path / "none" / "a.model")

    def denied(*arguments):
        raise OSError(errno.EACCES, "Permission denied", *arguments)

    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(PermissionError) as denial:
        model.save(tmp_path / "a.model")
    assert str(denial.value) == f"[Errno 13] Permission denied: '{tmp_path / 'a.model'}'"
    assert not list(tmp_path.iterdir())


def test_a_cache_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(
            ValueError, match="is a file; expected a folder, or a name that is free"
        ):
            partita.Tagger(cache=place).check()
    partita.Tagger(cache=tmp_path / "new" / "below").check()
    assert not (tmp_path / "new").exists()


def test_special_files_are_written_to_as_they_are(tmp_path):
    path = tmp_path / "null"
    path.symlink_to("/dev/null")
    with atomic_writer(path) as file:
        file.write(b"a")
    assert os.path.realpath(path) == "/dev/null"
    assert os.stat("/dev/null").st_size == 0
    with pytest.raises(OSError, match="No space left"), atomic_writer("/dev/full") as file:
        file.write(b"a")


def test_pipes_of_a_shell_have_no_other_name(tmp_path):
    """`-o /dev/stdout | less`: what the name leads to is in no folder."""
    reader, writer = os.pipe()
    path = f"/dev/fd/{writer}"
    check_outputs({"the model": path})
    with atomic_writer(path) as file:
        file.write(b"whole")
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"whole"


@pytest.mark.parametrize("letter", ["x", "ä"])
def test_the_longest_names_that_a_file_may_have(tmp_path, letter):
    """A partial file has more in its name than the file itself, which may be as long as can be."""
    for n_bytes in (236, 238, 254):
        path = tmp_path / (letter * (n_bytes // len(letter.encode())))
        stale = []

        def fail(path=path, stale=stale):
            with atomic_writer(path) as file:
                file.write(b"old")
                (partial,) = [each for each in tmp_path.iterdir() if each.suffix == ".partial"]
                stale.append(partial)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        stale[0].write_bytes(b"of a killed run")
        check_outputs({"the model": path})
        assert not stale[0].exists()
        with atomic_writer(path) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"


def test_links_are_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with atomic_writer(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_what_killed_runs_leave_behind_is_removed(tmp_path):
    path = tmp_path / "a.model"
    stale = tmp_path / ".a.model.abc123.partial"
    others = [
        tmp_path / ".a.model.b.abc123.partial",
        tmp_path / ".b.model.abc123.partial",
        tmp_path / "a.model.partial",
        tmp_path / ".a.model.abc123",
    ]
    for other in (stale, *others):
        other.write_bytes(b"")
    with atomic_writer(path) as file:
        assert not stale.exists()
        mine = [place for place in tmp_path.iterdir() if place not in others]
        remove_partial_files(path)  # as another process would: it is in use
        assert len(mine) == 1
        assert mine[0].exists()
        file.write(b"x")
    assert path.read_bytes() == b"x"
    assert all(other.exists() for other in others)
    stale.write_bytes(b"")
    with open(stale, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        check_outputs({"the model": path})
        assert stale.exists()
    check_outputs({"the model": path})
    assert not stale.exists()
