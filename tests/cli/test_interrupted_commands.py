"""The command, really interrupted and really killed."""

import signal
import sys

import pytest

from partita.data.formats import read_sentences
from partita.estimators.tagging.tagger import Tagger
from partita.training.model_file import read_model
from processes import errors_of, started, wait_for_iterations

pytestmark = pytest.mark.slow

SENTENCES = 400


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file that takes a while to learn: tags that depend on the place, and many words."""
    folder = tmp_path_factory.mktemp("interruptions")
    lines = []
    for index in range(SENTENCES):
        lines += [f"w{(index * 7 + word) % 97} T{(index + word * word) % 5}" for word in range(20)]
        lines.append("")
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    return folder


def start(folder, *options):
    return started([sys.executable, "-m", "partita.cli", "train", *options], folder)


ENDLESS = [
    "tagger",
    "train.txt",
    "--l2",
    "1e-6",
    "--optimiser",
    "adam",
    "--max-iterations",
    "99999",
]


def test_ctrl_c_keeps_the_best_model_so_far(data):
    process = start(data, *ENDLESS, "-o", "stopped.model", "--log", "stopped.log")
    wait_for_iterations(data / "stopped.log", process, 3)
    process.send_signal(signal.SIGINT)
    errors = errors_of(process)
    assert process.returncode == 1
    assert b"Interrupted (Ctrl-C) after" in errors
    assert b"the weights are the best so far" in errors
    assert b"Wrote stopped.model" in errors
    tagger = Tagger.load(data / "stopped.model")
    assert tagger.weights_.any()
    assert len(tagger.predict(read_sentences(data / "train.txt")[:2])[0]) == 20


def test_a_killed_command_resumes_to_the_same_model(data):
    options = ["tagger", "train.txt", "--unlabelled", "train.txt", "--entropy-weight", "0.01"]
    options += ["--max-iterations", "25", "--columns", "0", "--checkpoint-seconds", "0"]
    whole = start(data, *options, "-o", "whole.model")
    killed = start(data, *options, "-o", "killed.model", "--checkpoint", "run", "--log", "run.log")
    wait_for_iterations(data / "run.log", killed, 4)  # of the second run
    killed.kill()
    errors_of(killed)
    assert not (data / "killed.model").exists()
    resumed = start(data, *options, "-o", "killed.model", "--checkpoint", "run", "--resume")
    for process in (whole, resumed):
        errors = errors_of(process)
        assert process.returncode == 0, errors
    expected, found = (read_model(data / f"{name}.model") for name in ("whole", "killed"))
    assert found.arrays["weights"].tobytes() == expected.arrays["weights"].tobytes()
