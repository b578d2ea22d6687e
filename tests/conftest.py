"""What all tests share."""

import os

import numpy as np
import pytest

from browsers import launched

if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
    # Compiled kernels overflow to inf in silence and then take the safe path; so do they here.
    np.seterr(over="ignore", invalid="ignore", divide="ignore")


@pytest.fixture(scope="module")
def browser():
    yield from launched()
