"""What Numba need not do before the first kernel."""

import os
import subprocess
import sys

import pytest

from partita.kernels.jit import is_known

pytestmark = pytest.mark.skipif(not is_known, reason="a Numba whose insides are not known")

KERNEL = """
import sys
import numpy as np
from numba import njit
from numba.core.runtime import nrtdynmod
from partita.kernels.jit import kernel

compile_anew, made = nrtdynmod.create_nrt_module, []

def counted(context):
    made.append(context)
    return compile_anew(context)

nrtdynmod.create_nrt_module = counted
from partita.text.vocabulary import HashedVocabulary
HashedVocabulary(8)["a"]
print(len(made), "scipy.linalg" in sys.modules)
"""
OWN = """
@njit
def kept_alive(n):
    # References that are counted: arrays in a list that outlives them.
    rows = [np.full(3, i) for i in range(n)]
    rows.append(rows[0])
    return rows[1:]

@njit
def product(a, b):
    return a @ b

a = np.arange(6.0).reshape(2, 3)
print([row.tolist() for row in kept_alive(3)], (product(a, a.T) == a @ a.T).all(), len(made))
"""


def ran(code, folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_functions_that_count_references_are_compiled_once_and_linear_algebra_waits(tmp_path):
    assert ran(KERNEL, tmp_path) == ["1 False"]
    assert ran(KERNEL, tmp_path) == ["0 False"]
    (kept,) = tmp_path.rglob("runtime-waking*.nbc")
    kept.write_bytes(kept.read_bytes()[:100])
    assert ran(KERNEL, tmp_path) == ["1 False"]


def test_what_others_compile_afterwards_counts_references_and_multiplies(tmp_path):
    numbers = "[[1, 1, 1], [2, 2, 2], [0, 0, 0]] True"
    assert ran(KERNEL + OWN, tmp_path) == ["1 False", f"{numbers} 1"]
    assert ran(KERNEL + OWN, tmp_path) == ["0 False", f"{numbers} 0"]
