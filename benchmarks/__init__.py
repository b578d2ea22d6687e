"""Benchmarks: each prints a table and writes it as JSON. Run one with `make bench-NAME`."""

import os

# One thread unless a benchmark says otherwise. Here, since it must be set before NumPy or torch is
# imported, and some benchmarks import them before anything else.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
