"""Split buckets into groups along the regions of a trie over keys: inner ones first, outer ones with what is left."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel

_WORD = 64


@kernel
def shared_bits(keys, out):
    """Write how many leading bits each key shares with the one before it; the first shares none."""
    if keys.shape[0]:
        out[0] = 0
    for i in range(1, keys.shape[0]):
        bits = 0
        for w in range(keys.shape[1]):
            different = keys[i, w] ^ keys[i - 1, w]
            if different == np.uint64(0):
                bits += _WORD
                continue
            while different < np.uint64(1) << np.uint64(_WORD - 1):
                different <<= np.uint64(1)
                bits += 1
            break
        out[i] = bits


@kernel
def nest(records, value, shared, starts, values, cells, offsets):
    """Split each bucket; ``cells`` gets the record of each (group, value), -1 where there is none.

    Bucket b has ``values[b]`` values and the records ``starts[b]..starts[b+1]``, sorted by key; ``value`` is the value
    of each, and ``shared`` how many bits its key has in common with the one before. Its groups have their cells from
    ``offsets[b]`` on, ``values[b]`` each.

    Every prefix that two keys share is a region. In each, once all the regions inside it are done, the first records
    of all the values that are left form groups as long as every value has one; what remains goes to the region around
    it. So who is grouped with whom inside a region that holds complete groups depends on nothing outside it. What
    remains in the whole space forms groups with holes.
    """
    deepest = 0
    for i in range(shared.shape[0]):
        deepest = max(deepest, shared[i])
    room = 3
    widest = 1
    for b in range(values.shape[0]):
        widest = max(widest, values[b])
    room += deepest
    depth = np.empty(room, np.int64)
    head = np.empty((room, widest), np.int64)
    tail = np.empty((room, widest), np.int64)
    after = np.empty(records.shape[0], np.int64)
    for b in range(values.shape[0]):
        at = offsets[b]
        top = -1
        for i in range(starts[b], starts[b + 1] + 1):
            # Behind the last record everything ends.
            common = -1 if i == starts[b + 1] else (0 if i == starts[b] else shared[i])
            while top >= 0 and depth[top] > common:
                at = _form(records, cells, at, head[top], after, values[b])
                if top > 0 and depth[top - 1] >= common:
                    _append(head, tail, after, top, values[b])
                    top -= 1
                else:
                    depth[top] = common
            if i < starts[b + 1]:
                top += 1
                depth[top] = deepest + 1
                for s in range(values[b]):
                    head[top, s] = -1
                head[top, value[i]] = i
                tail[top, value[i]] = i
                after[i] = -1
        if top >= 0:
            _form_with_holes(records, cells, at, head[top], after, values[b])


@kernel
def _form(records, cells, at, head, after, values):
    """Form groups of the first records of all values as long as each has one; return where the next group goes."""
    while True:
        for s in range(values):
            if head[s] < 0:
                return at
        for s in range(values):
            cells[at + s] = records[head[s]]
            head[s] = after[head[s]]
        at += values


@kernel
def _append(head, tail, after, top, values):
    """Put the lists of the topmost node behind those of the one below it."""
    for s in range(values):
        if head[top, s] >= 0:
            if head[top - 1, s] < 0:
                head[top - 1, s] = head[top, s]
            else:
                after[tail[top - 1, s]] = head[top, s]
            tail[top - 1, s] = tail[top, s]


@kernel
def _form_with_holes(records, cells, at, head, after, values):
    """Form groups with holes of what is left."""
    while True:
        some = False
        for s in range(values):
            some |= head[s] >= 0
        if not some:
            return
        for s in range(values):
            cells[at + s] = records[head[s]] if head[s] >= 0 else -1
            if head[s] >= 0:
                head[s] = after[head[s]]
        at += values
