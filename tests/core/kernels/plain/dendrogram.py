"""Plain twins of :mod:`reveil.core.kernels.dendrogram`: clusters are sets of blocks, a tree is nested pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Tree = int | tuple["Tree", "Tree"]


@dataclass(frozen=True)
class Cluster:
    """A subtree, its records, its volume and its box."""

    tree: Tree
    size: int
    volume: float
    lo: tuple[float, ...]
    hi: tuple[float, ...]

    def __add__(self, other: Cluster) -> Cluster:
        return Cluster(
            (self.tree, other.tree),
            self.size + other.size,
            self.volume + other.volume,
            tuple(map(min, self.lo, other.lo)),
            tuple(map(max, self.hi, other.hi)),
        )

    @property
    def width(self) -> float:
        """The widths of all sides together."""
        total = 0.0
        for low, high in zip(self.lo, self.hi, strict=True):
            total += high - low
        return total

    @property
    def density(self) -> float:
        """Records over volume."""
        return self.size / self.volume


def rank(own: Cluster, other: Cluster, number: int) -> tuple[float, float, int]:
    """Return by what a neighbour is chosen, least first: growth of the penalty, gap in density, number."""
    joint = own + other
    growth = joint.size * joint.width - own.size * own.width - other.size * other.width
    densities = own.density, other.density
    return growth, max(densities) / min(densities), number


def one_round(clusters: Sequence[Cluster], near: Mapping[int, Iterable[int]]) -> tuple[list[Cluster], list[int]]:
    """Merge once, densest first; return the new clusters and the new number of each old one."""
    mates: dict[int, int] = {}
    for a in sorted(range(len(clusters)), key=lambda c: (-clusters[c].density, c)):
        free = [b for b in near[a] if b not in mates]
        if a not in mates and free:
            b = min(free, key=lambda c, a=a: rank(clusters[a], clusters[c], c))  # type: ignore[misc]
            mates[a], mates[b] = b, a
    over = [a for a in range(len(clusters)) if a not in mates]
    anchor = {a: min(near[a], key=lambda c, a=a: rank(clusters[a], clusters[c], c)) for a in over}  # type: ignore[misc]
    grown = dict(enumerate(clusters))
    for a in sorted(over, key=lambda c: (clusters[c].size, c)):
        grown[anchor[a]] += clusters[a]
    heads = [a for a in range(len(clusters)) if mates.get(a, -1) > a]
    into = [heads.index(min(a, mates[a])) if a in mates else -1 for a in range(len(clusters))]
    into = [into[anchor[a]] if a in anchor else into[a] for a in range(len(clusters))]
    return [grown[a] + grown[mates[a]] for a in heads], into


def contracted(near: Mapping[int, Iterable[int]], into: Sequence[int], count: int) -> dict[int, set[int]]:
    """Return the neighbours of the new clusters."""
    beside = {c: {c - 1, c + 1} & set(range(count)) for c in range(count)}
    for a, others in near.items():
        beside[into[a]] |= {into[b] for b in others} - {into[a]}
    return beside


def dendrogram(clusters: Sequence[Cluster], pairs: Iterable[tuple[int, int]]) -> Tree:
    """Merge to the end, beginning with these pairs of neighbours."""
    near: dict[int, set[int]] = {c: set() for c in range(len(clusters))}
    for a, b in pairs:
        near[a] |= {b}
        near[b] |= {a}
    beside = contracted(near, range(len(clusters)), len(clusters))
    while len(clusters) > 1:
        clusters, into = one_round(clusters, beside)
        beside = contracted(beside, into, len(clusters))
    return clusters[0].tree


def split(tree: Tree, old: int, new: int) -> Tree:
    """Put two leaves in the place of one."""
    if isinstance(tree, int):
        return (old, new) if tree == old else tree
    return split(tree[0], old, new), split(tree[1], old, new)


def removed(tree: Tree, gone: int) -> Tree:
    """Take a leaf out; its sibling takes the place of their parent."""
    if isinstance(tree, int):
        return tree
    for leaf, other in (tree, tree[::-1]):
        if leaf == gone:
            return other
    return removed(tree[0], gone), removed(tree[1], gone)


def leaves(tree: Tree) -> list[int]:
    """Return the leaves from left to right."""
    return [tree] if isinstance(tree, int) else leaves(tree[0]) + leaves(tree[1])
