"""Splitting blocks: the records of a block, in key order, halved towards the fuller half."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.bang import common


class BlockRanges(NamedTuple):
    """Block b has the records ``records[starts[b]:ends[b]]``, in key order. Kernels change all three."""

    records: npt.NDArray[np.int32]  # (records)
    starts: npt.NDArray[np.int64]  # (blocks)
    ends: npt.NDArray[np.int64]  # (blocks)


class Splits(NamedTuple):
    """Of each new block: which one it was split from, a record in its region, and the region's level."""

    origin: npt.NDArray[np.int32]  # (blocks)
    source: npt.NDArray[np.int32]  # (blocks)
    level: npt.NDArray[np.int32]  # (blocks)


class BlockParts(NamedTuple):
    """Parts of blocks, each a run of records, and the levels of their regions."""

    first: npt.NDArray[np.int64]  # (parts)
    last: npt.NDArray[np.int64]  # (parts)
    level: npt.NDArray[np.int32]  # (parts)


@kernel
def halve(keys, records, first, last):
    """Return the fuller half of records ``records[first:last]`` (the lower one of equals) and its level; else level 0.

    Halvings that leave all the records on one side are passed over: the next that parts them is that of the first bit
    in which the first and the last record differ.
    """
    width = keys.shape[1]
    shared = common(keys, records[first], keys, records[last - 1], width)
    if shared == 64 * width:
        return first, last, 0
    word, shift = shared >> 6, np.uint64(63 - (shared & 63))
    low, high = first, last - 1  # the bit is 0 in the record low, 1 in the record high
    while high - low > 1:
        middle = (low + high) >> 1
        if (keys[records[middle], word] >> shift) & np.uint64(1):
            high = middle
        else:
            low = middle
    if high - first >= last - high:
        return first, high, shared + 1
    return high, last, shared + 1


@kernel
def nested(keys, records, first, last, least):
    """Return the records of the nested region nearest to half of a block, and its level; level 0 if there is none.

    Both parts have at least ``least`` records. Of two that are equally near, the larger region.
    """
    total = last - first
    above_first, above_last, above_level = first, last, 0
    if total < 2 * least or total < 2:
        return first, last, 0
    s, e, level = halve(keys, records, first, last)
    while level > 0 and 2 * (e - s) > total:
        above_first, above_last, above_level = s, e, level
        s, e, level = halve(keys, records, s, e)
    above = above_level > 0 and total - (above_last - above_first) >= least
    below = level > 0 and e - s >= least
    if below and not (above and 2 * (above_last - above_first) - total <= total - 2 * (e - s)):
        return s, e, level
    if above:
        return above_first, above_last, above_level
    return first, last, 0


@kernel
def give_way(records, s, e, last, room):
    """Move the part ``records[s:e]`` behind what follows it up to ``last``; both keep their orders."""
    size = e - s
    for i in range(size):
        room[i] = records[s + i]
    for i in range(e, last):
        records[i - size] = records[i]
    for i in range(size):
        records[last - size + i] = room[i]


@kernel
def divide(keys, given, blocks, most, least, splits):
    """Split each block with more than ``most`` records as long as a nested region leaves both parts ``least``.

    The first ``blocks`` of the blocks ``given`` are there, with room for more behind them; new ones are numbered on.
    Writes where the records of each block are now, and how each new one was split off. Returns how many blocks there
    are.
    """
    records, starts, ends = given
    origin, source, level = splits
    longest = 1
    for b in range(blocks):
        longest = max(longest, ends[b] - starts[b])
    room = np.empty(longest, records.dtype)
    done = 0
    while done < blocks:
        # A block is split until it stays; what is split off waits at the end of the list.
        first, last = starts[done], ends[done]
        if last - first > most:
            s, e, deep = nested(keys, records, first, last, least)
            if deep > 0:
                source[blocks] = records[s]
                level[blocks] = deep
                origin[blocks] = done
                give_way(records, s, e, last, room)
                starts[blocks], ends[blocks] = last - (e - s), last
                ends[done] = last - (e - s)
                blocks += 1
                continue
        done += 1
    return blocks


@kernel
def path(keys, records, first, last, least, begin, parts):
    """Write the regions towards the fuller half that leave both parts ``least`` records, nearest to half first.

    Of equally near ones the larger region comes first. They are written from ``begin`` on; returns where they end.
    """
    part_first, part_last, part_level = parts
    total = last - first
    s, e, level = halve(keys, records, first, last)
    count = begin
    while level > 0 and e - s >= least:
        if total - (e - s) >= least:
            off = abs(2 * (e - s) - total)
            i = count
            while i > begin and abs(2 * (part_last[i - 1] - part_first[i - 1]) - total) > off:
                part_first[i], part_last[i], part_level[i] = part_first[i - 1], part_last[i - 1], part_level[i - 1]
                i -= 1
            part_first[i], part_last[i], part_level[i] = s, e, level
            count += 1
        s, e, level = halve(keys, records, s, e)
    return count


@kernel
def paths(keys, blocks, least, offsets, parts):
    """Write the candidates of each block one after the other; ``offsets`` has room for each block's beginning."""
    records, starts, ends = blocks
    at = 0
    for b in range(len(starts)):
        offsets[b] = at
        if ends[b] - starts[b] >= 2 * least and ends[b] - starts[b] > 1:
            at = path(keys, records, starts[b], ends[b], least, at, parts)
    offsets[len(starts)] = at


@kernel
def part(records, ends, part_first, part_last, room):
    """Move the chosen part of each block to its end."""
    for b in range(len(ends)):
        give_way(records, part_first[b], part_last[b], ends[b], room)


@kernel
def prefixes(keys, source, level, out):
    """Write the prefix of so many bits of some keys, zeros behind it."""
    width = keys.shape[1]
    for r in range(len(source)):
        for w in range(width):
            left = level[r] - 64 * w
            if left >= 64:
                out[r, w] = keys[source[r], w]
            elif left <= 0:
                out[r, w] = 0
            else:
                out[r, w] = (keys[source[r], w] >> np.uint64(64 - left)) << np.uint64(64 - left)


@kernel
def line_up(records, starts, ends, out):
    """Copy the records of the blocks one after the other."""
    at = 0
    for b in range(len(starts)):
        for i in range(starts[b], ends[b]):
            out[at] = records[i]
            at += 1
