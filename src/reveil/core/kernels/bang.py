"""Prefixes of interleaved keys. A key is a row of 64-bit words, its first bit the highest one of the first word.

A region is a prefix: its words with zeros behind the prefix, and its level, the number of bits of the prefix. Regions
are sorted by words and then by level, so that a region comes before all those nested in it.
"""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel


@kernel
def interleave(cells, tables, offsets, digit, digits, out):
    """Write the key of each row of cells: the union of the bits that each digit of each coordinate sets.

    Coordinate a has ``digits[a]`` digits of ``digit`` bits each; the words for value v of its digit number g lie in
    row ``offsets[a] + g * 2**digit + v`` of the tables.
    """
    n, dimensions = cells.shape
    width = out.shape[1]
    low = (1 << digit) - 1
    for i in range(n):
        for w in range(width):
            out[i, w] = 0
    # Attribute by attribute: the cells lie column by column, and one attribute's table fits the nearest cache.
    for a in range(dimensions):
        for g in range(digits[a]):
            base = offsets[a] + (g << digit)
            shift = g * digit
            for i in range(n):
                row = base + ((cells[i, a] >> shift) & low)
                for w in range(width):
                    out[i, w] |= tables[row, w]


@kernel
def less(a, i, b, j, width):
    """Return whether row i of a comes before row j of b."""
    for w in range(width):
        if a[i, w] != b[j, w]:
            return a[i, w] < b[j, w]
    return False


@kernel
def common(a, i, b, j, width):
    """Return how many leading bits two keys have in common."""
    for w in range(width):
        x = a[i, w] ^ b[j, w]
        if x != 0:
            bits = 0
            step = 32
            while step > 0:
                if x >> np.uint64(64 - step) == 0:
                    bits += step
                    x <<= np.uint64(step)
                step >>= 1
            return 64 * w + bits
    return 64 * width


@kernel
def parents(words, levels, out):
    """Write for each region the innermost one that encloses it, -1 for the first, which is the whole space."""
    m, width = words.shape
    for r in range(m):
        if r == 0:
            out[0] = -1
            continue
        p = r - 1
        while levels[p] >= levels[r] or common(words, p, words, r, width) < levels[p]:
            p = out[p]
        out[r] = p


@kernel
def starting(words, regions, keys, i, hint):
    """Return the last of the first regions that starts at or before key i.

    ``hint`` is one that does. Steps that grow from there, then halving: keys that come in order find it near.
    """
    width = words.shape[1]
    first, last, step = hint, regions, 1
    while last - first > 1:
        if step > 0 and first + step < last:
            middle = first + step
            step *= 2
        else:
            middle = (first + last) >> 1
            step = 0
        if less(keys, i, words, middle, width):
            last = middle
            step = 0
        else:
            first = middle
    return first


@kernel
def enclosing(words, levels, region, keys, i):
    """Return the innermost region that holds key i, given the last region that starts at or before it.

    A region that holds the key with at most b levels starts at or before the key's prefix of b bits, and whatever lies
    between the two in the order is nested in it. So it is the last region up to there, or else one around that, which
    has fewer bits in common with the key.
    """
    width = words.shape[1]
    shared = common(words, region, keys, i, width)
    while levels[region] > shared:
        first, last, step = 0, region, 1
        while last - first > 1:
            # Steps that grow from the end: what encloses a region is mostly near before it.
            if step > 0 and last - step > first:
                middle = last - step
                step *= 2
            else:
                middle = (first + last) >> 1
                step = 0
            later = levels[middle] > shared
            for w in range(width):
                word = keys[i, w]
                left = shared - 64 * w
                if left < 64:
                    word = np.uint64(0) if left <= 0 else (word >> np.uint64(64 - left)) << np.uint64(64 - left)
                if words[middle, w] != word:
                    later = words[middle, w] > word
                    break
            if later:
                last = middle
            else:
                first = middle
                step = 0
        region = first
        shared = common(words, region, keys, i, width)
    return region


@kernel
def find(words, levels, regions, keys, out):
    """Write for each key the innermost of the first regions that holds it; fastest for keys in order."""
    start = 0
    for i in range(len(keys)):
        if i > 0 and less(keys, i, keys, i - 1, keys.shape[1]):
            start = 0
        start = starting(words, regions, keys, i, start)
        out[i] = enclosing(words, levels, start, keys, i)


@kernel
def boxes(words, levels, dimension, bits, lo, hi):
    """Write the first and the last cell of each region in each dimension; bit b of a key halves ``dimension[b]``."""
    m, dimensions = lo.shape
    left = np.empty(dimensions, np.int64)
    for r in range(m):
        for a in range(dimensions):
            lo[r, a] = 0
            left[a] = bits[a]
        for b in range(levels[r]):
            a = dimension[b]
            left[a] -= 1
            if (words[r, b >> 6] >> np.uint64(63 - (b & 63))) & np.uint64(1):
                lo[r, a] |= 1 << left[a]
        for a in range(dimensions):
            hi[r, a] = lo[r, a] + (1 << left[a]) - 1
