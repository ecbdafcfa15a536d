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
        q = one << np.uint64(bits - 1)
        while q > one:
            low = q - one
            for d in range(dimensions):
                if x[d] & q:
                    x[0] ^= low
                else:
                    t = (x[0] ^ x[d]) & low
                    x[0] ^= t
                    x[d] ^= t
            q >>= one
        for d in range(1, dimensions):
            x[d] ^= x[d - 1]
        t = np.uint64(0)
        q = one << np.uint64(bits - 1)
        while q > one:
            if x[dimensions - 1] & q:
                t ^= q - one
            q >>= one
        key = np.uint64(0)
        for bit in range(bits - 1, -1, -1):
            for d in range(dimensions):
                key = (key << one) | (((x[d] ^ t) >> np.uint64(bit)) & one)
        out[p] = key
