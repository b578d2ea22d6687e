"""Make the helpers beside the tests importable from all of them."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "conformance")]
