"""What the parts of a structure are: shapes in, encodings out. The loops are in `kernels`."""

from partita.memory import keep_freed_memory

keep_freed_memory()
