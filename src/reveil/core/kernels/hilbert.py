"""The Hilbert curve through a grid of any dimension: neighbours on the curve are neighbours in space."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel


@kernel
def places(points, bits, out):
    """Write the place of each grid point on the curve. Coordinates have ``bits`` bits; all together at most 64.

    Skilling's transform ("Programming the Hilbert curve", 2004): undo the rotations level by level, then the Gray
    code, then interleave the bits.
    """
    n, dimensions = points.shape
    x = np.empty(dimensions, np.uint64)
    one = np.uint64(1)
    for p in range(n):
        for d in range(dimensions):
            x[d] = points[p, d]
        # Without branches: which way they go is chance, and guessing wrong took most of the time.
        first = x[0]
        for bit in range(bits - 1, 0, -1):
            level = np.uint64(bit)
            low = (one << level) - one
            first ^= low * ((first >> level) & one)
            for d in range(1, dimensions):
                inverts = (x[d] >> level) & one
                t = (first ^ x[d]) & (low * (inverts ^ one))
                first ^= t | (low * inverts)
                x[d] ^= t
        x[0] = first
        for d in range(1, dimensions):
            x[d] ^= x[d - 1]
        t = np.uint64(0)
        for bit in range(bits - 1, 0, -1):
            level = np.uint64(bit)
            t ^= ((one << level) - one) * ((x[dimensions - 1] >> level) & one)
        key = np.uint64(0)
        for bit in range(bits - 1, -1, -1):
            for d in range(dimensions):
                key = (key << one) | (((x[d] ^ t) >> np.uint64(bit)) & one)
        out[p] = key
