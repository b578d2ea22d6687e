"""Processes that tests start, to interrupt or to kill them."""

import signal
import subprocess
import time


def started(command, folder):
    """A process in a folder, in which Ctrl-C works.

    What a shell starts in the background ignores Ctrl-C, and so does what that starts in turn, so
    the tests would depend on how they are run.
    """

    def heed_interrupts():
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, preexec_fn=heed_interrupts)


def wait_for_iterations(log, process, n):
    """Wait until the log of a run has n iterations."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if log.exists() and log.read_text().count('"iteration"') >= n:
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    process.kill()
    raise AssertionError("the run did not get going")


def errors_of(process):
    """What an ended process wrote to standard error; one that does not end is killed."""
    try:
        return process.communicate(timeout=120)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
