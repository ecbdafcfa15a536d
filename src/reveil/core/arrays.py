"""The shapes of numbers that pass between modules."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.integer]  # of any width
