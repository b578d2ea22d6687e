"""Names for the arrays that pass between the layers."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
"""What need not be exact and fills the memory."""
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Array = NDArray[Any]

# Whether one sentence came or a batch, a caller knows and a type checker does not. So numbers are
# `Any`, and arrays `| Any`: plain unions would make everybody tell apart what is never in doubt.
Number: TypeAlias = Any
"""A float; for a batch an array with one for each sentence."""
Values: TypeAlias = FloatArray | Any
"""An array; for a batch that came as a list of arrays, a list of them."""
