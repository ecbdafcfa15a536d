"""Kernels over segments: what the records of each group contain, group after group."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel


@kernel
def histogram(codes, starts, ends, scratch):
    """Count the codes in each segment; return offsets, codes (ascending within a segment) and counts.

    ``scratch`` is an all-zero buffer of at least the number of codes there are, returned all zero.
    """
    segments = starts.shape[0]
    offsets = np.zeros(segments + 1, np.int64)
    room = 0
    for p in range(segments):
        room += min(ends[p] - starts[p], scratch.shape[0])
    seen = np.empty(room, np.int32)
    counts = np.empty(room, np.int64)
    filled = 0
    for p in range(segments):
        first = filled
        for i in range(starts[p], ends[p]):
            code = codes[i]
            if scratch[code] == 0:
                seen[filled] = code
                filled += 1
            scratch[code] += 1
        seen[first:filled].sort()
        for j in range(first, filled):
            counts[j] = scratch[seen[j]]
            scratch[seen[j]] = 0
        offsets[p + 1] = filled
    return offsets, seen[:filled].copy(), counts[:filled].copy()


@kernel
def boxes(rows, starts, ends, null_codes, lo, hi, null):
    """Smallest and largest non-null code of each attribute in each segment, and whether null occurs.

    Outputs are (attributes, segments); a segment without non-null codes gets lo > hi.
    """
    for p in range(starts.shape[0]):
        for a in range(rows.shape[1]):
            low, high, missing = null_codes[a], -1, False
            for i in range(starts[p], ends[p]):
                code = rows[i, a]
                if code == null_codes[a]:
                    missing = True
                else:
                    low = min(low, code)
                    high = max(high, code)
            lo[a, p] = low
            hi[a, p] = high
            null[a, p] = missing
