"""Can seats be filled? A maximum flow from records to rows, where nobody says which row is whose.

Records that are alike are one *kind*, rows that are alike one *slot*. A release is a publication of the snapshot when
all rows can be filled: when the largest flow from kinds to slots has as many units as there are rows. Counterfeits stay
empty, and of each group it is known how many: slots lead to their group, which takes as many records as it has real
rows. Dirty rows are of people who are not in the snapshot; nobody knows where they are: so many may stay empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

    from reveil.verification.arrays import Ints


@dataclass(frozen=True)
class Seats:
    """The group of each slot, and how many records each group takes."""

    group: Ints = field(repr=False)
    records: Ints = field(repr=False)


def fillable(
    fits: pl.DataFrame,
    records: Ints,
    rows: Ints,
    *,
    most: Ints | None = None,
    seats: Seats | None = None,
    empty: int = 0,
) -> bool:
    """Return whether all slots but ``empty`` rows can be filled, or with ``seats`` all groups.

    ``fits`` has the pairs of ``kind`` and ``slot`` that go together, ``most`` how often each may be used.
    """
    total = int((rows if seats is None else seats.records).sum()) - empty
    everybody = int(records.sum())
    if total > everybody:
        return False
    kind, slot = fits["kind"].to_numpy().astype(np.int64), fits["slot"].to_numpy().astype(np.int64)
    through = np.minimum(records[kind], rows[slot])
    through = through if most is None else np.minimum(through, most)
    if total == everybody:
        # Everybody must be somewhere: who fits one slot only is there. That decides nearly all of them.
        ways = np.bincount(kind, minlength=len(records))
        if (ways == 0).any():
            return False
        only = ways[kind] == 1
        if (records[kind[only]] > through[only]).any():
            return False
        taken = np.bincount(slot[only], weights=records[kind[only]], minlength=len(rows)).astype(np.int64)
        rows = rows - taken
        if seats is not None:
            there = np.bincount(seats.group, weights=taken, minlength=len(seats.records)).astype(np.int64)
            seats = Seats(seats.group, seats.records - there)
        if (rows < 0).any() or (seats is not None and (seats.records < 0).any()):
            return False
        kind, slot, through = kind[~only], slot[~only], np.minimum(through[~only], rows[slot[~only]])
        records = np.where(ways == 1, 0, records)
        total -= int(taken.sum())
    return total <= 0 or _flow(kind, slot, through, records, rows, seats) >= total


def _flow(kind: Ints, slot: Ints, through: Ints, records: Ints, rows: Ints, seats: Seats | None) -> int:
    """Return how many records find a seat. Node 0 is the source; then kinds, slots, groups, and the sink."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    kinds, slots = np.arange(len(records)) + 1, np.arange(len(rows)) + len(records) + 1
    many = 0 if seats is None else len(seats.records)
    groups = np.arange(many) + len(records) + len(rows) + 1
    sink = len(records) + len(rows) + many + 1
    behind = np.full(len(rows), sink) if seats is None else groups[seats.group]
    last = np.zeros(0, np.int64) if seats is None else seats.records
    tail = np.concatenate([np.zeros(len(records), np.int64), kinds[kind], slots, groups])
    head = np.concatenate([kinds, slots[slot], behind, np.full(many, sink)])
    capacity = np.concatenate([records, through, rows, last]).astype(np.int32)
    used = capacity > 0
    graph = coo_array((capacity[used], (tail[used], head[used])), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(graph, 0, sink).flow_value)
