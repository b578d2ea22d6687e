"""Where PyTorch is not installed, the package that needs it and its tests are left out."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/partita/torch/*", "tests/pytorch/*"]
