"""Keeping the blocks of a live file: each block's records lie together in one large store, with room for more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.bang_sort import insert, sort

_SMALL = 24


class BlockStore(NamedTuple):
    """Block b has ``many[b]`` records from row ``start[b]`` of the store on, and room for ``room[b]``.

    Kernels change it; where the rows in use end is the ``tail``.
    """

    keys: npt.NDArray[np.uint64]  # (rows, words)
    ids: npt.NDArray[np.int32]  # (rows)
    start: npt.NDArray[np.int64]  # (blocks)
    many: npt.NDArray[np.int64]  # (blocks)
    room: npt.NDArray[np.int64]  # (blocks)
    block_of: npt.NDArray[np.int32]  # (ids): the block of each record, -1 for none


class SplitRecords(NamedTuple):
    """Gathered records after splits: block ``numbers[j]`` has the records ``records[first[j]:last[j]]`` of them."""

    numbers: npt.NDArray[np.int32]  # (blocks)
    keys: npt.NDArray[np.uint64]  # (records, words)
    ids: npt.NDArray[np.int32]  # (records)
    records: npt.NDArray[np.int32]  # (records)
    first: npt.NDArray[np.int64]  # (blocks)
    last: npt.NDArray[np.int64]  # (blocks)


@kernel
def put(given, tail, keys, ids, blocks, begin):
    """Append records to their blocks, from record ``begin`` on; a block that is full moves to the tail, with more room.

    Returns how far it came (all the records, or the first that found no room in the store) and the new tail.
    """
    store, held, start, count, room, block_of = given
    width = store.shape[1]
    for i in range(begin, len(keys)):
        b = blocks[i]
        if count[b] == room[b]:
            wanted = 2 * room[b] + 1
            if tail + wanted > len(store):
                return i, tail
            old = start[b]
            for r in range(count[b]):
                for w in range(width):
                    store[tail + r, w] = store[old + r, w]
                held[tail + r] = held[old + r]
            start[b] = tail
            room[b] = wanted
            tail += wanted
        at = start[b] + count[b]
        for w in range(width):
            store[at, w] = keys[i, w]
        held[at] = ids[i]
        block_of[ids[i]] = b
        count[b] += 1
    return len(keys), tail


@kernel
def drop(given, blocks):
    """Take the records out of some blocks whose ids are in no block any more; the others move up."""
    store, held, start, count, _, block_of = given
    width = store.shape[1]
    for j in range(len(blocks)):
        b = blocks[j]
        first = start[b]
        kept = 0
        for r in range(count[b]):
            if block_of[held[first + r]] >= 0:
                if kept < r:
                    for w in range(width):
                        store[first + kept, w] = store[first + r, w]
                    held[first + kept] = held[first + r]
                kept += 1
        count[b] = kept


@kernel
def gather(given, blocks, ordered, keys, ids):
    """Copy the records of some blocks one after the other; ``ordered``: those of each block in key order."""
    store, held, start, count, _, _ = given
    width = store.shape[1]
    row = np.empty((1, width), np.uint64)
    at = 0
    for j in range(len(blocks)):
        b = blocks[j]
        first, size = start[b], count[b]
        for r in range(size):
            for w in range(width):
                keys[at + r, w] = store[first + r, w]
            ids[at + r] = held[first + r]
        if ordered:
            if size <= _SMALL:
                insert(keys, ids, at, at + size, row)
            else:
                block_keys, own_ids = keys[at : at + size], ids[at : at + size]
                sort(block_keys, own_ids, np.empty((size, width), np.uint64), np.empty(size, ids.dtype))
        at += size


@kernel
def write_back(given, tail, least_room, divided, old):
    """Write blocks back after splits: the first ``old`` where they were, the others at the tail. Returns the tail.

    ``given`` is the store, ``divided`` what to write.
    """
    store, held, start, count, room, block_of = given
    numbers, keys, ids, records, first, last = divided
    width = store.shape[1]
    for j in range(len(numbers)):
        b = numbers[j]
        size = last[j] - first[j]
        if j >= old:
            start[b] = tail
            room[b] = max(size, least_room)
            tail += room[b]
        count[b] = size
        at = start[b]
        for r in range(size):
            i = records[first[j] + r]
            for w in range(width):
                store[at + r, w] = keys[i, w]
            held[at + r] = ids[i]
            if j >= old:
                block_of[ids[i]] = b
    return tail


@kernel
def move(given, blocks, least_room, new_store, new_held):
    """Copy blocks into other rows, with new room; writes where they are now and returns the tail."""
    store, held, start, count, room, _ = given
    width = store.shape[1]
    tail = 0
    for j in range(len(blocks)):
        b = blocks[j]
        old = start[b]
        for r in range(count[b]):
            for w in range(width):
                new_store[tail + r, w] = store[old + r, w]
            new_held[tail + r] = held[old + r]
        start[b] = tail
        room[b] = max(count[b], least_room)
        tail += room[b]
    return tail


@kernel
def enter(words, levels, numbers, regions, new_words, new_levels, new_numbers):
    """Merge sorted new regions into the sorted ones, from the end; the arrays have room for all. Returns how many."""
    width = words.shape[1]
    i, j = regions - 1, len(new_levels) - 1
    at = regions + len(new_levels) - 1
    while j >= 0:
        later = i >= 0 and levels[i] > new_levels[j]
        if i >= 0:
            for w in range(width):
                if words[i, w] != new_words[j, w]:
                    later = words[i, w] > new_words[j, w]
                    break
        if later:
            for w in range(width):
                words[at, w] = words[i, w]
            levels[at], numbers[at] = levels[i], numbers[i]
            i -= 1
        else:
            for w in range(width):
                words[at, w] = new_words[j, w]
            levels[at], numbers[at] = new_levels[j], new_numbers[j]
            j -= 1
        at -= 1
    return regions + len(new_levels)


@kernel
def dissolve(parents, counts, least, into):
    """Write for each region which one takes its records: itself, or the enclosing one if it has too few.

    From the innermost outwards, so that a region counts what it took over. The whole space takes over the smallest of
    the regions next inside if it has too few itself.
    """
    m = len(parents)
    for r in range(m):
        into[r] = r
    for r in range(m - 1, 0, -1):
        if counts[r] < least:
            into[r] = parents[r]
            counts[parents[r]] += counts[r]
    for r in range(1, m):
        into[r] = into[into[r]]  # the enclosing region comes before, and is settled
    if counts[0] < least:
        smallest = 0
        for r in range(1, m):
            if into[r] == r and into[parents[r]] == 0 and (smallest == 0 or counts[r] < counts[smallest]):
                smallest = r
        if smallest > 0:
            for r in range(1, m):
                if into[r] == smallest:
                    into[r] = 0
