"""`python -m partita.cli`, where the script is not installed."""

import sys

from partita.cli import main

sys.exit(main())
