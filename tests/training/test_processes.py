"""Work by copies of a process: in order, with its errors, and none is left behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from partita.training.workers import can_copy

pytestmark = pytest.mark.skipif(not can_copy(), reason="processes are copied on Linux only")


def run(script):
    """What a script prints, in a process of its own, which has no other threads to copy."""
    head = "import os, signal, time\nfrom partita.training.workers import in_processes\n"
    return subprocess.run(
        [sys.executable, "-c", head + script], capture_output=True, text=True, timeout=120
    )


def test_results_are_in_order_and_come_from_copies():
    found = run(
        "known = {'here': os.getpid()}\n"
        "def work(n):\n"
        "    time.sleep(0.02 * (n % 3))\n"
        "    return n, known['here'], os.getpid() != known['here']\n"
        "found = list(in_processes(work, ((n,) for n in range(20)), 2))\n"
        "assert found == [(n, os.getpid(), True) for n in range(20)]\n"
    )
    assert found.returncode == 0, found.stderr


def test_errors_are_those_of_the_function_after_the_answers_before_it():
    found = run(
        "from partita.data import DataError\n"
        "def work(n):\n"
        "    if n == 3:\n"
        "        raise DataError('my.txt', 7, 'no')\n"
        "    return n\n"
        "for each in in_processes(work, ((n,) for n in range(9)), 2):\n"
        "    print(each, flush=True)\n"
    )
    assert found.stdout == "0\n1\n2\n"
    assert "my.txt, line 7: no" in found.stderr


def test_a_killed_copy_is_an_error():
    found = run(
        "def work(n):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "list(in_processes(work, [(1,)], 2))\n"
    )
    assert "MemoryError: a process that worked for this one was killed" in found.stderr


def test_no_copy_outlives_the_process(tmp_path):
    script = (
        "import os, time\n"
        "from partita.training.workers import in_processes\n"
        "def work(n):\n"
        f"    open(os.path.join({str(tmp_path)!r}, str(os.getpid())), 'w').close()\n"
        "    time.sleep(600)\n"
        "list(in_processes(work, ((n,) for n in range(4)), 2))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
    process.kill()
    process.wait()
    copies = [Path("/proc") / path.name for path in tmp_path.iterdir()]
    wait_until(lambda: not any(map(is_alive, copies)))


WORK_OF_MINUTES = (
    "import os, sys, time\n"
    "from partita.training.workers import in_processes\n"
    "def work(n):\n"
    "    if n == 0:\n"
    "        return n\n"
    "    open(os.path.join(sys.argv[1], str(n)), 'w').close()\n"
    "    time.sleep(600)\n"
    "results = in_processes(work, ((n,) for n in range(6)), 2)\n"
    "print(next(results), flush=True)\n"
    "while len(os.listdir(sys.argv[1])) < 2:\n"
    "    time.sleep(0.01)\n"
)


@pytest.mark.parametrize("end", ["results.close()", "results.throw(OSError('disk full'))"])
def test_nobody_waits_for_results_that_nobody_wants(tmp_path, end):
    command = [sys.executable, "-c", WORK_OF_MINUTES + end, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "0\n"
    assert done.returncode == ("disk" in end)
    # The results that were on their way to the copies are not begun either.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]


def test_ctrl_c_ends_the_copies(tmp_path):
    # As the command does it: the signal may come while nobody waits for a result.
    script = WORK_OF_MINUTES + (
        "try:\n"
        "    print('waits', flush=True)\n"
        "    list(results)\n"
        "except KeyboardInterrupt:\n"
        "    results.close()\n"
        "    print('interrupted')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert [process.stdout.readline() for _ in range(2)] == ["0\n", "waits\n"]
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[0] == "interrupted\n"


def is_alive(process):
    """Whether a process of /proc is there and did not end yet."""
    try:
        return process.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition):
    """Up to a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
