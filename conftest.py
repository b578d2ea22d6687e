"""What all tests need: Ctrl-C works, and without PyTorch the package that needs it is left out."""

import signal
from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/partita/torch/*", "tests/pytorch/*"]

# A shell without job control starts background jobs with Ctrl-C ignored; tests send themselves one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
