"""From the arrays of callers to flat vectors over parts, and back: a pass over the memory each."""
