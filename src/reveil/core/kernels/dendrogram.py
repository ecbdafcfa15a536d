"""Merging clusters in rounds: who joins whom, what is left of the neighbourhood, and the tree that comes of it.

Clusters are numbered, and so are the nodes of the tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel


class Neighbours(NamedTuple):
    """The neighbours of cluster c are ``targets[starts[c]:starts[c + 1]]``, symmetrically."""

    starts: npt.NDArray[np.int64]  # (clusters + 1)
    targets: npt.NDArray[np.int32]  # (pairs, in both directions)


class Clusters(NamedTuple):
    """What stands for a node of the tree; boxes are in normalised positions."""

    nodes: npt.NDArray[np.int32]  # (clusters)
    sizes: npt.NDArray[np.float64]  # (clusters): records
    volumes: npt.NDArray[np.float64]  # (clusters)
    lo: npt.NDArray[np.float64]  # (clusters, attributes)
    hi: npt.NDArray[np.float64]  # (clusters, attributes)


class Links(NamedTuple):
    """The tree: node v has the children ``left[v]`` and ``right[v]``, a leaf has none (-1)."""

    left: npt.NDArray[np.int32]  # (nodes)
    right: npt.NDArray[np.int32]  # (nodes)
    parents: npt.NDArray[np.int32]  # (nodes); -1 for the root
    leaves: npt.NDArray[np.int32]  # (blocks): the leaf of each block, -1 if there is no such block


@kernel
def _growth(clusters, a, b):
    """Return by how much the certainty penalty of all the records of two clusters grows when they become one."""
    sizes, lo, hi = clusters.sizes, clusters.lo, clusters.hi
    one, other, joint = 0.0, 0.0, 0.0
    for x in range(lo.shape[1]):
        one += hi[a, x] - lo[a, x]
        other += hi[b, x] - lo[b, x]
        joint += max(hi[a, x], hi[b, x]) - min(lo[a, x], lo[b, x])
    return (sizes[a] + sizes[b]) * joint - sizes[a] * one - sizes[b] * other


@kernel
def _best(neighbours, clusters, densities, a, mates, free):
    """Return the best neighbour of a cluster among those that are still free, or among those that are not; -1: none.

    Best is least growth, then closest density, then first number.
    """
    starts, targets = neighbours
    who, least, gap = -1, 0.0, 0.0
    for e in range(starts[a], starts[a + 1]):
        b = targets[e]
        if (mates[b] < 0) != free:
            continue
        growth = _growth(clusters, a, b)
        away = max(densities[a], densities[b]) / min(densities[a], densities[b])
        if who < 0 or growth < least or (growth == least and (away < gap or (away == gap and b < who))):
            who, least, gap = b, growth, away
    return who


@kernel
def match(neighbours, clusters, densities, order):
    """Let each cluster, in the given order, take its best neighbour that is still free.

    Returns the mate of each, -1 for those left over, and for these the best neighbour, which has a mate.
    """
    m = order.shape[0]
    mates = np.full(m, -1, np.int64)
    anchors = np.full(m, -1, np.int64)
    for i in range(m):
        a = order[i]
        if mates[a] < 0:
            b = _best(neighbours, clusters, densities, a, mates, True)
            if b >= 0:
                mates[a] = b
                mates[b] = a
    for a in range(m):
        if mates[a] < 0:
            anchors[a] = _best(neighbours, clusters, densities, a, mates, False)
    return mates, anchors


@kernel
def _absorb(clusters, a, b, left, right, made):
    """Make one node of the clusters a and b, and let a stand for it."""
    nodes, sizes, volumes, lo, hi = clusters
    left[made] = nodes[a]
    right[made] = nodes[b]
    nodes[a] = made
    sizes[a] += sizes[b]
    volumes[a] += volumes[b]
    for x in range(lo.shape[1]):
        lo[a, x] = min(lo[a, x], lo[b, x])
        hi[a, x] = max(hi[a, x], hi[b, x])


@kernel
def join(mates, anchors, over, clusters, left, right, made):
    """Join each cluster of ``over`` with its anchor, in this order, and then every cluster with its mate.

    The first of two mates stands for the new cluster, and is changed in place. Returns the new number of every cluster,
    in the order of those that stand for them, those that stand for them, and the number of nodes.
    """
    m = mates.shape[0]
    for i in range(over.shape[0]):
        _absorb(clusters, anchors[over[i]], over[i], left, right, made)
        made += 1
    into = np.empty(m, np.int64)
    heads = np.empty(m, np.int64)
    count = 0
    for a in range(m):
        if mates[a] > a:
            _absorb(clusters, a, mates[a], left, right, made)
            made += 1
            into[a] = count
            into[mates[a]] = count
            heads[count] = a
            count += 1
    for i in range(over.shape[0]):
        into[over[i]] = into[anchors[over[i]]]
    return into, heads[:count].copy(), made


@kernel
def listed(one, other, count):
    """Return pairs as the neighbours of each, in both directions."""
    starts = np.zeros(count + 1, np.int64)
    for i in range(one.shape[0]):
        starts[one[i] + 1] += 1
        starts[other[i] + 1] += 1
    for c in range(count):
        starts[c + 1] += starts[c]
    filled = starts[:-1].copy()
    partners = np.empty(2 * one.shape[0], np.int32)
    for i in range(one.shape[0]):
        partners[filled[one[i]]] = other[i]
        filled[one[i]] += 1
        partners[filled[other[i]]] = one[i]
        filled[other[i]] += 1
    return Neighbours(starts, partners)


@kernel
def contract(neighbours, into, count):
    """Return the neighbours of the new clusters: those of their parts, and the next and the one before in number."""
    starts, targets = neighbours
    m = into.shape[0]
    first = np.zeros(count + 1, np.int64)
    for a in range(m):
        first[into[a] + 1] += 1
    for c in range(count):
        first[c + 1] += first[c]
    parts = np.empty(m, np.int64)
    filled = first[:-1].copy()
    for a in range(m):
        parts[filled[into[a]]] = a
        filled[into[a]] += 1
    stamp = np.full(count, -1, np.int64)
    begins = np.zeros(count + 1, np.int64)
    found = np.empty(targets.shape[0] + 2 * count, np.int32)
    many = 0
    for c in range(count):
        stamp[c] = c
        for beside in (c - 1, c + 1):
            if 0 <= beside < count:
                stamp[beside] = c
                found[many] = beside
                many += 1
        for i in range(first[c], first[c + 1]):
            for e in range(starts[parts[i]], starts[parts[i] + 1]):
                other = into[targets[e]]
                if stamp[other] != c:
                    stamp[other] = c
                    found[many] = other
                    many += 1
        begins[c + 1] = many
    return Neighbours(begins, found[:many].copy())


@kernel
def places(left, right, root):
    """Return the leaves from left to right, and for each node where its leaves start and end among them.

    A leaf has no children (-1). Nodes that do not hang under the root start and end at 0.
    """
    nodes = left.shape[0]
    leaves = np.empty(nodes, np.int32)
    starts = np.zeros(nodes, np.int32)
    ends = np.zeros(nodes, np.int32)
    stack = np.empty(nodes + 2, np.int32)
    stack[0] = root
    top, count = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        if node < 0:  # all its leaves have been met
            ends[-1 - node] = count
            continue
        starts[node] = count
        if left[node] < 0:
            leaves[count] = node
            count += 1
            ends[node] = count
        else:
            stack[top] = -1 - node
            stack[top + 1] = right[node]
            stack[top + 2] = left[node]
            top += 3
    return leaves[:count].copy(), starts, ends


@kernel
def split(links, old, new, root, made):
    """Let leaf ``leaves[old[i]]`` become a node over itself and a new leaf for block ``new[i]``, one i after another.

    Arrays are changed in place and have room for two more nodes per split. Returns the root and the number of nodes.
    """
    left, right, parents, leaves = links
    for i in range(old.shape[0]):
        leaf = leaves[old[i]]
        inner, fresh = made, made + 1
        made += 2
        above = parents[leaf]
        parents[inner] = above
        if above < 0:
            root = inner
        elif left[above] == leaf:
            left[above] = inner
        else:
            right[above] = inner
        left[inner], right[inner] = leaf, fresh
        left[fresh], right[fresh] = -1, -1
        parents[leaf], parents[fresh] = inner, inner
        leaves[new[i]] = fresh
    return root, made


@kernel
def remove(links, gone, root):
    """Take the leaves of some blocks out, one after another: the sibling takes the place of their parent.

    The last leaf cannot go. Returns the root; what hung above a removed leaf is under it no more.
    """
    left, right, parents, leaves = links
    for i in range(gone.shape[0]):
        leaf = leaves[gone[i]]
        inner = parents[leaf]
        sibling = right[inner] if left[inner] == leaf else left[inner]
        above = parents[inner]
        parents[sibling] = above
        if above < 0:
            root = sibling
        elif left[above] == inner:
            left[above] = sibling
        else:
            right[above] = sibling
        parents[leaf], parents[inner] = -1, -1
        leaves[gone[i]] = -1
    return root
