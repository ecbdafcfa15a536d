"""Kernels of the packed tree: order the records of each tile along an attribute, and cut the tile there.

The records of a tile are ``index[start..end]``. All kernels take many tiles at once, and each touches only the tiles
it is given. ``scratch`` is an all-zero buffer of at least the number of codes there are, returned all zero.
"""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel

# Above this many codes per record, sorting a tile's codes is cheaper than counting over their range.
SPARSE = 8


@kernel
def arrange(codes, index, starts, ends, scratch):
    """Sort the records of each tile by their code; records with equal codes stay in the order they have."""
    widest = 0
    for p in range(starts.shape[0]):
        widest = max(widest, ends[p] - starts[p])
    room = np.empty(widest, index.dtype)
    for p in range(starts.shape[0]):
        start, end = starts[p], ends[p]
        low = high = codes[index[start]]
        for i in range(start + 1, end):
            code = codes[index[i]]
            low = min(low, code)
            high = max(high, code)
        if high - low < SPARSE * (end - start) + 64:
            for i in range(start, end):
                scratch[codes[index[i]]] += 1
            before = 0
            for code in range(low, high + 1):
                count = scratch[code]
                scratch[code] = before
                before += count
            for i in range(start, end):
                code = codes[index[i]]
                room[scratch[code]] = index[i]
                scratch[code] += 1
            for code in range(low, high + 1):
                scratch[code] = 0
        else:
            part = np.empty(end - start, codes.dtype)
            for i in range(start, end):
                part[i - start] = codes[index[i]]
            order = np.argsort(part, kind="mergesort")
            for i in range(end - start):
                room[i] = index[start + order[i]]
        for i in range(end - start):
            index[start + i] = room[i]


@kernel
def _depth(levels, one, other):
    """Return how far down a taxonomy two codes have a node in common; 0 without a taxonomy, and for null."""
    if one >= levels.shape[1] or other >= levels.shape[1]:
        return 0
    depth = 0
    while depth + 1 < levels.shape[0] and levels[depth + 1, one] == levels[depth + 1, other]:
        depth += 1
    return depth


@kernel
def _change(codes, index, levels, first, last, target):
    """Return the best place from first to last where the code changes, -1 if there is none.

    The one at the highest node of the taxonomy, then the nearest to the target, then the first.
    """
    best, best_depth, best_off = -1, 2147483647, 0
    for place in range(first, last + 1):
        one, other = codes[index[place - 1]], codes[index[place]]
        if one != other:
            depth, off = _depth(levels, one, other), abs(place - target)
            if best < 0 or depth < best_depth or (depth == best_depth and off < best_off):
                best, best_depth, best_off = place, depth, off
    return best


@kernel
def slabs(codes, index, starts, ends, levels, least, dimensions):
    """Cut each tile, sorted by its codes, into slabs; return where they start, tile by tile.

    A tile of p leaves is cut into about p ** (1 / dimensions) slabs of about as many leaves each. A cut lies only where
    the code changes: within half a slab of its place where it can, else at the nearest change, and not at all where
    there is none. No slab has fewer than ``least`` records.
    """
    room = 0
    for p in range(starts.shape[0]):
        room += max(1, (ends[p] - starts[p]) // least)
    out = np.empty(room, np.int64)
    filled = 0
    for p in range(starts.shape[0]):
        start, end = starts[p], ends[p]
        out[filled] = start
        filled += 1
        whole = max((end - start) // least, 1)
        wanted = int(np.ceil(whole ** (1.0 / dimensions) - 1e-9))
        while end - start >= 2 * least:
            inside = (end - start) // least
            left = (2 * inside * wanted + whole) // (2 * whole)  # slabs for what is left of the tile, rounded
            if left < 2:
                break
            size = (end - start) * ((2 * inside + left) // (2 * left)) // inside
            target = start + size
            first, last = start + least, end - least
            place = _change(codes, index, levels, max(first, target - size // 2), min(last, target + size // 2), target)
            if place < 0:
                below, above = target - size // 2 - 1, target + size // 2 + 1
                while below >= first and codes[index[below - 1]] == codes[index[below]]:
                    below -= 1
                while above <= last and codes[index[above - 1]] == codes[index[above]]:
                    above += 1
                if below < first and above > last:
                    break
                place = above if below < first or (above <= last and above - target < target - below) else below
            out[filled] = place
            filled += 1
            start = place
    return out[:filled].copy()


@kernel
def leaves(codes, index, starts, ends, levels, least):
    """Cut each tile, sorted by its codes, into leaves of ``least`` to ``2 * least - 1`` records; return their starts.

    A cut lies where the code changes if there is such a place within these sizes, else among equal codes.
    """
    room = 0
    for p in range(starts.shape[0]):
        room += max(1, (ends[p] - starts[p]) // least)
    out = np.empty(room, np.int64)
    filled = 0
    for p in range(starts.shape[0]):
        start, end = starts[p], ends[p]
        out[filled] = start
        filled += 1
        while end - start >= 2 * least:
            target = start + (end - start) // ((end - start) // least)
            first, last = start + least, min(start + 2 * least - 1, end - least)
            place = _change(codes, index, levels, first, last, target)
            start = place if place >= 0 else target
            out[filled] = start
            filled += 1
    return out[:filled].copy()
