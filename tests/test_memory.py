"""Memory that batches free is kept for the next ones."""

import subprocess
import sys

import pytest

import partita.memory

RESIDENT = """
import numpy as np
import partita.memory
import partita.structures.base

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
"""
LARGE = """
before = resident()
blocks = [np.ones(3_000_000) for _ in range(3)]
del blocks
print(resident() - before)
"""
SMALL = """
blocks = [np.ones(2**13) for _ in range(1500)]
last = np.ones(2**13)
del blocks
before = resident()
partita.memory.give_back_freed_memory()
print(before - resident())
"""


def printed(script):
    """By a process of its own: others have holes that could be filled, or given back."""
    command = [sys.executable, "-c", RESIDENT + script]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(partita.memory._of_glibc("mallopt") is None, reason="not the C library of GNU")
def test_three_large_blocks_are_kept():
    assert printed(LARGE) > 60e6


def test_without_mallopt_the_library_is_taught_by_example(monkeypatch):
    monkeypatch.setattr(partita.memory, "_of_glibc", lambda name: None)
    partita.memory.keep_freed_memory()
    partita.memory.give_back_freed_memory()


def test_other_systems_have_no_mallopt(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert partita.memory._of_glibc("mallopt") is None


@pytest.mark.skipif(partita.memory._of_glibc("malloc_trim") is None, reason="another C library")
def test_freed_memory_is_given_back_before_a_run():
    assert printed(SMALL) > 60e6
