"""Sorting keys of several words, with the number of each record: most significant byte first, and stable."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel
from reveil.core.kernels.bang import less

_SMALL = 24  # records up to which inserting one by one is faster than counting bytes


@kernel
def insert(keys, order, first, last, row):
    """Sort a few rows of words in place, and with them ``order``, by inserting one after the other."""
    width = keys.shape[1]
    for i in range(first + 1, last):
        if less(keys, i, keys, i - 1, width):
            for w in range(width):
                row[0, w] = keys[i, w]
            number = order[i]
            j = i
            while j > first and less(row, 0, keys, j - 1, width):
                for w in range(width):
                    keys[j, w] = keys[j - 1, w]
                order[j] = order[j - 1]
                j -= 1
            for w in range(width):
                keys[j, w] = row[0, w]
            order[j] = number


@kernel
def sort(keys, order, room, order_room):
    """Sort rows of words in place, and with them ``order``; the rooms are of the same sizes."""
    n, width = keys.shape
    most = 8 * width
    open_first = np.empty(256 * most + 1, np.int64)
    open_last = np.empty(256 * most + 1, np.int64)
    open_byte = np.empty(256 * most + 1, np.int64)
    counts = np.empty(257, np.int64)
    place = np.empty(256, np.int64)
    row = np.empty((1, width), np.uint64)
    open_first[0], open_last[0], open_byte[0] = 0, n, 0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        first, last, byte = open_first[waiting], open_last[waiting], open_byte[waiting]
        if last - first <= _SMALL:
            insert(keys, order, first, last, row)
            continue
        word = byte >> 3
        shift = np.uint64(56 - 8 * (byte & 7))
        counts[:] = 0
        for i in range(first, last):
            counts[((keys[i, word] >> shift) & np.uint64(255)) + np.uint64(1)] += 1
        largest = counts.max()
        if largest < last - first:
            place[0] = first
            for v in range(1, 256):
                place[v] = place[v - 1] + counts[v]
            for i in range(first, last):
                v = (keys[i, word] >> shift) & np.uint64(255)
                j = place[v]
                place[v] = j + 1
                for w in range(width):
                    room[j, w] = keys[i, w]
                order_room[j] = order[i]
            for i in range(first, last):
                for w in range(width):
                    keys[i, w] = room[i, w]
                order[i] = order_room[i]
        if byte + 1 < most:
            begin = first
            for v in range(256):
                size = counts[v + 1]
                if size > 1:
                    open_first[waiting], open_last[waiting], open_byte[waiting] = begin, begin + size, byte + 1
                    waiting += 1
                begin += size
