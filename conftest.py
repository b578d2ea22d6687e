"""What all tests need: signals work, and without PyTorch the package that needs it is left out."""

import contextlib
import os
import signal
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["src/partita/torch/*", "tests/pytorch/*"]

# Several processes that run tests share the cores; PyTorch and BLAS would use all cores in each.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# A shell without job control starts background jobs with Ctrl-C ignored; tests send themselves one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def sigterm_forgotten():
    """What a test sent itself ends no `fit` of another one; the examples in docstrings, too."""
    yield
    from partita.training.interruption import end_if_terminated

    with contextlib.suppress(SystemExit):
        end_if_terminated()
