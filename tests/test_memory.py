"""Memory that batches free is kept for the next ones."""

import subprocess
import sys

import pytest

import partita.memory

SCRIPT = """
import numpy as np
import partita.structures.base

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

before = resident()
blocks = [np.ones(3_000_000) for _ in range(3)]
del blocks
print(resident() - before)
"""


@pytest.mark.skipif(partita.memory._mallopt() is None, reason="not the C library of GNU")
def test_three_large_blocks_are_kept():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert int(done.stdout) > 60e6


def test_without_mallopt_the_library_is_taught_by_example(monkeypatch):
    monkeypatch.setattr(partita.memory, "_mallopt", lambda: None)
    partita.memory.keep_freed_memory()


def test_other_systems_have_no_mallopt(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert partita.memory._mallopt() is None
