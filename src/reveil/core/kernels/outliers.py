"""Which record stretches its group most."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reveil.core.kernels import kernel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Positions(NamedTuple):
    """Where codes lie: code c of attribute a at ``values[offset[a] + c]``; NaN where it lies nowhere."""

    values: npt.NDArray[np.float64]  # (codes of all attributes)
    offset: npt.NDArray[np.int64]  # (attributes)


class Worth(NamedTuple):
    """For each group what the leaving of one record is worth, and its place, -1 where none is worth it."""

    gain: npt.NDArray[np.float64]  # (groups)
    who: npt.NDArray[np.int64]  # (groups)


@kernel
def find(rows, starts, ends, at, least, out):
    """Find for each group of more than ``least`` records the one whose leaving is worth most, and what it is worth.

    ``rows`` is (records, attributes), group by group; ``starts`` and ``ends`` are (groups); ``at`` are the positions.

    Leaving narrows one attribute for all who stay, and costs a whole cell per attribute instead of the group's width.
    Only a record that is alone at an end of its group can narrow it.
    """
    positions, offset = at.values, at.offset
    gain, who = out.gain, out.who
    width = rows.shape[1]
    for g in range(starts.shape[0]):
        gain[g] = 0.0
        who[g] = -1
        size = ends[g] - starts[g]
        if size <= least:
            continue
        total = 0.0
        best = 0.0
        best_row = -1
        for a in range(width):
            low = high = rows[starts[g], a]
            low_row = high_row = starts[g]
            low_next = 2147483647
            high_next = -1
            for i in range(starts[g] + 1, ends[g]):
                code = rows[i, a]
                if code < low:
                    low_next = low
                    low = code
                    low_row = i
                elif code < low_next:
                    low_next = code
                if code > high:
                    high_next = high
                    high = code
                    high_row = i
                elif code > high_next:
                    high_next = code
            base = offset[a]
            total += positions[base + high] - positions[base + low]
            narrower = positions[base + low_next] - positions[base + low]
            if narrower > best:
                best = narrower
                best_row = low_row
            narrower = positions[base + high] - positions[base + high_next]
            if narrower > best:
                best = narrower
                best_row = high_row
        worth = (size - 1) * best - (width - total)
        if worth > 0:
            gain[g] = worth
            who[g] = best_row
