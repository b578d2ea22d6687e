"""Real processes, really interrupted."""

import json
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from processes import errors_of, started, wait_for_iterations

SCRIPT = Path(__file__).parent / "long_run.py"

pytestmark = pytest.mark.slow


def start(folder, name, optimiser, seconds):
    command = [sys.executable, str(SCRIPT), f"{name}.checkpoint", f"{name}.npy", optimiser]
    return started([*command, str(seconds)], folder)


def finish(process):
    errors = errors_of(process)
    assert process.returncode == 0, errors
    assert errors == b""


@pytest.mark.parametrize("optimiser", ["LBFGS", "Adam", "EM"])
def test_a_killed_run_resumes_to_the_same_model(tmp_path, optimiser):
    whole = start(tmp_path, "whole", optimiser, 0)
    killed = start(tmp_path, "killed", optimiser, 0.05)
    wait_for_iterations(tmp_path / "killed.checkpoint.log", killed, 4)
    killed.send_signal(signal.SIGKILL)
    errors_of(killed)
    assert not (tmp_path / "killed.npy").exists()
    finish(start(tmp_path, "killed", optimiser, 0))
    finish(whole)
    expected, found = (np.load(tmp_path / f"{name}.npy") for name in ("whole", "killed"))
    assert found.tobytes() == expected.tobytes()
    events = [
        [
            json.loads(line)
            for line in (tmp_path / f"{name}.checkpoint.log").read_text().splitlines()
        ]
        for name in ("whole", "killed")
    ]
    assert [event.get("loss") for event in events[0]] == [event.get("loss") for event in events[1]]


@pytest.mark.parametrize(
    ("optimiser", "number"),
    [("LBFGS", signal.SIGINT), ("Adam", signal.SIGTERM), ("EM", signal.SIGINT)],
)
def test_a_signal_ends_well_and_can_be_resumed(tmp_path, optimiser, number):
    whole = start(tmp_path, "whole", optimiser, 0)
    interrupted = start(tmp_path, "interrupted", optimiser, 0.05)
    wait_for_iterations(tmp_path / "interrupted.checkpoint.log", interrupted, 3)
    interrupted.send_signal(number)
    finish(interrupted)
    reason = (tmp_path / "interrupted.npy.reason").read_text()
    name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
    assert reason.startswith(f"Interrupted ({name}) after")
    assert reason.endswith("the weights are the best so far.")
    assert np.load(tmp_path / "interrupted.npy").any()
    finish(start(tmp_path, "interrupted", optimiser, 0))
    finish(whole)
    expected, found = (np.load(tmp_path / f"{name}.npy") for name in ("whole", "interrupted"))
    assert found.tobytes() == expected.tobytes()
    assert not list(tmp_path.glob("*.partial"))
    assert not list(tmp_path.glob(".*.partial"))
