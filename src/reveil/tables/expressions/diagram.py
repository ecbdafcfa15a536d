"""From an expression over regions to counts: a decision diagram, and classes sent through it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from reveil.tables.expressions.syntax import And, Leaf, Node, Not, Or, Tree, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reveil.core.arrays import BoolArray
    from reveil.tables.expressions.regions import ColumnRegions, FloatArray, IndexArray, Spread

FALSE, TRUE = 0, 1


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression that asks about one column only."""

    column: str
    node: Node


def joined(node: Node) -> Tree[Part]:
    """Put together what an expression asks about one column, as far as ``and`` and ``or`` allow.

    Without this, twenty values of one column and twenty of another would make hundreds of combinations; with it
    there are four: each column is either among its values or not.
    """

    def one_part(leaf: Leaf) -> Tree[Part]:
        return Part(leaf.column.text, leaf)

    def opposite(tree: Tree[Part]) -> Tree[Part]:
        return Part(tree.column, Not(tree.node)) if isinstance(tree, Part) else Not(tree)

    return fold(node, one_part, partial(_merged, And), partial(_merged, Or), opposite)


def _merged(kind: type[And[Part]] | type[Or[Part]], trees: list[Tree[Part]]) -> Tree[Part]:
    by_column: dict[str, list[Node]] = defaultdict(list)
    mixed: list[Tree[Part]] = []
    for tree in trees:
        for part in tree.parts if isinstance(tree, kind) else (tree,):
            if isinstance(part, Part):
                by_column[part.column].append(part.node)
            else:
                mixed.append(part)
    parts = [Part(column, _whole(kind, tuple(nodes))) for column, nodes in by_column.items()]
    return parts[0] if len(parts) == 1 and not mixed else kind((*parts, *mixed))


def _whole(kind: type[And[Part]] | type[Or[Part]], nodes: tuple[Node, ...]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    return And(nodes) if kind is And else Or(nodes)


def evaluated(tree: Tree[Part], values: dict[Part, BoolArray]) -> BoolArray:
    """Evaluate a tree over arrays that can be broadcast together."""
    return fold(tree, values.__getitem__, every, some, np.logical_not)


def every(arrays: list[BoolArray]) -> BoolArray:
    """Return where all hold."""
    return reduce(np.logical_and, arrays)


def some(arrays: list[BoolArray]) -> BoolArray:
    """Return where at least one holds."""
    return reduce(np.logical_or, arrays)


class Diagram:
    """A function of the regions of some columns, as a diagram with one level for each column.

    ``levels[c]`` maps each node of level c to its children, one for each region of column c. Equal subfunctions are
    one node, so that ``and`` and ``or`` over many columns make as many nodes as there are columns.
    """

    def __init__(self, table: BoolArray) -> None:
        self.levels: list[dict[int, tuple[int, ...]]] = [{} for _ in table.shape]
        nodes = table.astype(np.int64).reshape(-1).tolist()
        made = 2
        for level in range(table.ndim - 1, -1, -1):
            width, above = table.shape[level], []
            known: dict[tuple[int, ...], int] = {}
            for at in range(0, len(nodes), width):
                children = tuple(nodes[at : at + width])
                node = children[0]
                if children.count(node) < width:
                    node = known.setdefault(children, made)
                    made += node == made
                above.append(node)
            self.levels[level] = {node: children for children, node in known.items()}
            nodes = above
        self.root: int = nodes[0]

    def send(
        self, units: int, indices: Sequence[IndexArray], columns: Sequence[ColumnRegions]
    ) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Send units from the root down: the share of each that satisfies, whether all of it does, whether any.

        ``indices`` has the cell of each unit in each column. A unit splits at each level by the shares of its cell; it
        is certain when no way that it can take leads to false, possible when one leads to true. Units that have
        arrived everywhere they can are not carried further.
        """
        share, ended = np.zeros(units), (np.zeros(units, np.bool_), np.zeros(units, np.bool_))
        if self.root in (FALSE, TRUE):
            whole = np.full(units, bool(self.root))
            return whole.astype(np.float64), whole, whole
        waiting: dict[int, list[tuple[IndexArray | slice, FloatArray]]] = {self.root: [(slice(None), np.ones(units))]}
        for nodes, index, regions in zip(self.levels, indices, columns, strict=True):
            whole_spread: Spread | None = None
            for node, children in nodes.items():
                arrived, mass = _gathered(waiting.pop(node), units)
                cells = index[arrived]
                pick: IndexArray | slice = cells
                if len(nodes) == 1 and len(cells) < regions.division.cells:
                    # Fewer units than cells are left: only their cells are looked at, each for its unit.
                    spread, pick = regions.spread(cells), slice(None)
                else:
                    whole_spread = spread = whole_spread or regions.spread()
                for child in set(children):
                    ways = [r for r, below in enumerate(children) if below == child]
                    met = np.flatnonzero(spread.possible(ways)[pick])
                    reached = met if isinstance(arrived, slice) else arrived[met]
                    if child in (FALSE, TRUE):
                        ended[child][reached] = True
                    if child == FALSE:
                        continue
                    going = (mass * spread.share(ways)[pick])[met]
                    if child == TRUE:
                        share[reached] += going
                    else:
                        waiting.setdefault(child, []).append((reached, going))
        certain = ~ended[FALSE]
        return np.where(certain, 1.0, np.minimum(share, 1.0)), certain, ended[TRUE]


def _gathered(
    arrived: Iterable[tuple[IndexArray | slice, FloatArray]], size: int
) -> tuple[IndexArray | slice, FloatArray]:
    """Put together what reaches a node over different ways."""
    ways = list(arrived)
    if len(ways) == 1:
        return ways[0]
    mass, met = np.zeros(size), np.zeros(size, np.bool_)
    for units, share in ways:
        mass[units] += share
        met[units] = True
    reached = np.flatnonzero(met)
    return reached, mass[reached]
