"""Which of all edges lie on a perfect matching? Of people with published rows, many groups at once.

Kinds of persons are placed in rows; rows with the same value in a group are one node that holds several, and a group
holds as many as it has records. A flow that places everybody is a matching. An edge lies on one of them if it carries
flow, or if the residual graph leads back from its end to its beginning: both are in one strongly connected component.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray

_SOURCE, _SINK, _FIRST = 0, 1, 2


@dataclass(frozen=True, repr=False)
class Network:
    """Kinds of persons, rows and groups, in parts that have nothing to do with each other.

    ``persons[k]`` are of kind k, which is in part ``part[k]``. Edge e leads from kind ``kind[e]`` to row ``row[e]``;
    there are ``rows[r]`` rows of that kind, in group ``group[r]``, which holds at most ``room[g]`` persons. Of part p,
    at most ``outside[p]`` persons are in no group.
    """

    persons: IntArray
    part: IntArray
    kind: IntArray
    row: IntArray
    rows: IntArray
    group: IntArray
    room: IntArray
    outside: IntArray


@dataclass(frozen=True, repr=False)
class Matchable:
    """The edges that lie on a perfect matching, the kinds that may be in no group, the parts that have a matching."""

    edges: BoolArray
    outside: BoolArray
    possible: BoolArray


def matchable(network: Network) -> Matchable:
    """Find what lies on a perfect matching; where a part has none, everything is returned as it is."""
    kinds, rows, groups = len(network.persons), len(network.rows), len(network.room)
    leave = network.outside[network.part] > 0
    parts = np.flatnonzero(network.outside > 0)
    kind, row = _FIRST + np.arange(kinds), _FIRST + kinds + np.arange(rows)
    nodes = _FIRST + kinds + rows + groups
    group, out = _FIRST + kinds + rows + np.arange(groups), np.zeros(len(network.outside), np.int64)
    out[parts] = nodes + np.arange(len(parts))
    nodes += len(parts)
    arcs = [
        (np.full(kinds, _SOURCE), kind, network.persons),
        (kind[network.kind], row[network.row], np.minimum(network.persons[network.kind], network.rows[network.row])),
        (row, group[network.group], network.rows),
        (group, np.full(groups, _SINK), network.room),
        (kind[leave], out[network.part[leave]], network.persons[leave]),
        (out[parts], np.full(len(parts), _SINK), network.outside[parts]),
    ]
    tail, head, most = (np.concatenate([arc[i] for arc in arcs]) for i in range(3))
    capacity = csr_array(coo_array((most.astype(np.int32), (tail, head)), shape=(nodes, nodes)))
    flow = csr_array(maximum_flow(capacity, _SOURCE, _SINK).flow)
    residual = csr_array(capacity - flow)
    residual.data = (residual.data > 0).astype(np.int8)
    residual.eliminate_zeros()
    _, label = connected_components(residual, directed=True, connection="strong")
    carries = _carrying(flow, nodes)
    placed = np.bincount(network.part, network.persons, len(network.outside))
    taken = np.bincount(network.part, carries.of(np.full(kinds, _SOURCE), kind), len(network.outside))
    possible = placed == taken
    edges = carries.of(kind[network.kind], row[network.row]) > 0
    edges |= label[kind[network.kind]] == label[row[network.row]]
    edges |= ~possible[network.part[network.kind]]
    outside = np.zeros(kinds, np.bool_)
    ends = out[network.part[leave]]
    outside[leave] = (carries.of(kind[leave], ends) > 0) | (label[kind[leave]] == label[ends])
    outside |= leave & ~possible[network.part]
    return Matchable(edges, outside, possible)


@dataclass(frozen=True)
class _Carrying:
    """The arcs that carry flow, by ascending key."""

    keys: IntArray
    flow: IntArray
    nodes: int

    def of(self, tail: IntArray, head: IntArray) -> IntArray:
        """Return the flow from each tail to the head beside it."""
        if not len(self.keys):
            return np.zeros(len(tail), np.int64)
        wanted = tail * self.nodes + head
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found: IntArray = np.where(self.keys[place] == wanted, self.flow[place], 0)
        return found


def _carrying(flow: csr_array, nodes: int) -> _Carrying:
    tail = np.repeat(np.arange(nodes, dtype=np.int64), np.diff(flow.indptr))
    good = flow.data > 0
    keys = tail[good] * nodes + flow.indices[good]
    order = np.argsort(keys, kind="stable")
    return _Carrying(keys[order], flow.data[good][order].astype(np.int64), nodes)
