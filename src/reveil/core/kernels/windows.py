"""How many records lie in each of many windows."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel

BLOCK = 2048  # records that are held against all windows while they are in the nearest cache


@kernel
def count(columns, lo, hi, used, out):
    """Add to ``out[w]`` the records inside ``lo[w, a]..hi[w, a]`` for every attribute a with ``used[w, a]``.

    ``columns`` are the codes, (attributes, records). Every record is held against every window: without branches, this
    takes less time than any index over as many dimensions.
    """
    attributes, n = columns.shape
    inside = np.empty(BLOCK, np.int32)
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        for w in range(lo.shape[0]):
            inside[:] = 1
            for a in range(attributes):
                if not used[w, a]:
                    continue
                column = columns[a, first : first + size]
                low, span = lo[w, a], np.uint32(hi[w, a] - lo[w, a])
                for i in range(size):
                    inside[i] &= np.uint32(column[i] - low) <= span
            total = 0
            for i in range(size):
                total += inside[i]
            out[w] += total
