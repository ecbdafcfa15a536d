"""Taxonomies: trees of labels over the values of one column.

The leaves are numbered depth first, so that **every node is an interval of leaf numbers**. All else follows
from that: the lowest node that covers a set of leaves is the lowest node that covers its smallest and its
largest member, and a box over a taxonomy is two integers like any other.

Two file forms are read: the hierarchy CSV of ARX (no header, leaf first, ``;`` or ``,``, the root in the last
column) and nested TOML tables::

    [Europe]
    North = ["Denmark", "Norway"]
    South = ["Italy", "Spain"]

A published cell is a label, so a label must name one node: a label used for two different sets of leaves is
refused at load time. A chain of nodes over the same leaves counts as one node, named by its lowest label.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import ConfigError, FileError, excerpt, shown

if TYPE_CHECKING:
    import _csv

    from reveil.core.arrays import CodeArray
    from reveil.core.json_values import JSON

Path_ = tuple[str, ...]

ROOT = "*"
_DEEPEST = 100  # levels of tables and lists in a file
_LARGEST = 2**1024  # the largest whole number that becomes a float; a seed may be long


@dataclass(frozen=True)
class Taxonomy:
    """A tree over the values of one column.

    ``leaves`` are the values in depth-first order; ``levels[j, leaf]`` is the node that covers the leaf at
    depth j (row 0 is the root everywhere, the last row the leaves); ``labels``, ``lo`` and ``hi`` describe
    the nodes. Leaves less deep than the deepest are repeated downwards.
    """

    leaves: tuple[str, ...]
    labels: tuple[str, ...]
    levels: CodeArray = field(repr=False)
    lo: CodeArray = field(repr=False)
    hi: CodeArray = field(repr=False)
    aliases: Mapping[str, int] = field(repr=False, default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the tree, by which two can be compared without being kept."""
        parts = json.dumps([list(self.leaves), self.levels.tolist(), list(self.labels)])
        return "sha256:" + hashlib.sha256(parts.encode()).hexdigest()

    @classmethod
    def load(cls, source: str | Path | Mapping[str, object] | Taxonomy, *, show: bool = True) -> Taxonomy:
        """Read a taxonomy from an ARX CSV or TOML file, or take a nested mapping.

        Errors show labels only where ``show`` is set: those of a sensitive column are not for the screen.
        """
        if isinstance(source, Taxonomy):
            return source
        if isinstance(source, Mapping):
            return cls.from_paths(_paths_of_table(source, show=show), where="the hierarchy", show=show)
        path = Path(source)
        text = _read_text(path)
        if path.suffix.lower() == ".toml":
            table = read_toml(text, path)
            return cls.from_paths(_paths_of_table(table, show=show), where=str(path), show=show)
        return cls.from_paths(_paths_of_csv(text, path), where=str(path), show=show)

    @classmethod
    def from_paths(cls, paths: Sequence[Path_], *, where: str, show: bool = True) -> Taxonomy:
        """Build from one path per leaf, root first and leaf last; paths may differ in length."""
        if not paths:
            raise ConfigError("this hierarchy has no values", file=where, hint="Write one line for each value.")
        # All text of a snapshot is in NFC, so labels must be.
        paths = [tuple(unicodedata.normalize("NFC", label) for label in path) for path in paths]
        depth = max(len(p) for p in paths)
        if any(not label for path in paths for label in path[:-1]):
            raise ConfigError("a node of this hierarchy has no label", file=where, hint="Label every level.")
        ordered = _depth_first(paths, where, show=show)
        leaves = tuple(p[-1] for p in ordered)
        count = len(ordered)

        # A node is a run of leaves that share a prefix; chains over the same run are one node (the lowest wins,
        # so levels are visited from the leaves up and the first label of an interval is kept).
        node_of: dict[tuple[int, int], int] = {}
        labels: list[str] = []
        aliases: dict[str, int] = {}
        levels = np.empty((depth, count), dtype=np.int32)
        for level in range(depth - 1, -1, -1):
            for lo, hi in _runs(ordered, level):
                node = node_of.setdefault((lo, hi), len(labels))
                label = ordered[lo][min(level, len(ordered[lo]) - 1)]
                if node == len(labels):
                    labels.append(label)
                aliases.setdefault(label, node)
                levels[level, lo : hi + 1] = node
        spans = np.array(list(node_of), dtype=np.int32).reshape(-1, 2)
        doubled = (
            sorted({label for label in labels if labels.count(label) > 1}) if len(set(labels)) < len(labels) else []
        )
        if doubled:
            raise ConfigError(
                f"labels{_listed(doubled, show=show)} name more than one node of this hierarchy",
                file=where,
                hint="A published label must name one set of values: give each node its own label.",
            )
        return cls(leaves, tuple(labels), levels, spans[:, 0].copy(), spans[:, 1].copy(), aliases)

    @property
    def depth(self) -> int:
        """The number of levels below the root."""
        return int(self.levels.shape[0]) - 1

    @cached_property
    def leaf_code(self) -> dict[str, int]:
        """Leaf number of each value."""
        return {leaf: code for code, leaf in enumerate(self.leaves)}

    @cached_property
    def node_of_label(self) -> dict[str, int]:
        """Node number of each label, those of chains included."""
        return {**self.aliases, **{label: node for node, label in enumerate(self.labels)}}

    def cover(self, lo: CodeArray, hi: CodeArray) -> CodeArray:
        """Return the lowest node that covers the leaves lo..hi, for many intervals at once."""
        node: CodeArray = self.levels[-1][lo].copy()
        # From the leaves up: take a parent only where the node so far does not reach hi.
        for level in range(self.levels.shape[0] - 2, -1, -1):
            short = self.hi[node] < hi
            if not short.any():
                break
            node = np.where(short, self.levels[level][lo], node).astype(np.int32)
        return node

    @cached_property
    def boundary_depth(self) -> CodeArray:
        """Depth of the lowest node over leaf i and leaf i + 1: cuts belong where this is smallest."""
        same = self.levels[:, :-1] == self.levels[:, 1:]
        return np.asarray(same.sum(axis=0) - 1, np.int32)


def _runs(ordered: Sequence[Path_], level: int) -> list[tuple[int, int]]:
    """Intervals of leaves that share their path down to this level (a short path is its own leaf)."""
    starts = [0]
    starts += [i for i in range(1, len(ordered)) if ordered[i][: level + 1] != ordered[i - 1][: level + 1]]
    ends = [*(s - 1 for s in starts[1:]), len(ordered) - 1]
    return list(zip(starts, ends, strict=True))


def _listed(labels: Sequence[str], *, show: bool) -> str:
    return f" {shown(labels)}" if show else ""


def read_toml(text: str, path: str | Path) -> dict[str, JSON]:
    """Read TOML that a person may have written: not nested without end, no numbers of thousands of digits."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(error, path) from None
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError:  # Python does not read such a number
        raise _too_long(path) from None
    level: list[object] = [table]
    for _ in range(_DEEPEST):
        if any(isinstance(one, int) and abs(one) >= _LARGEST for one in level):
            raise _too_long(path)
        if any(isinstance(one, str) and "\0" in one for one in level):
            raise ConfigError("a text in this file has a NUL", file=path, hint="No path and no label has one.")
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return table
    raise _too_deep(path)


def _too_deep(path: str | Path) -> ConfigError:
    return ConfigError(f"this is nested more than {_DEEPEST} levels deep", file=path, hint="Check the brackets.")


def _too_long(path: str | Path) -> ConfigError:
    return ConfigError(
        "a number in this file has more digits than any setting", file=path, hint="Write long numbers as texts."
    )


def _not_toml(error: tomllib.TOMLDecodeError, path: str | Path) -> ConfigError:
    """Return the error for a file that is not TOML, with the line that the library names."""
    line = re.search(r"at line (\d+)", str(error))
    return ConfigError(
        "this is not valid TOML",
        file=path,
        line=None if line is None else int(line[1]),
        hint="Check brackets and quotes, and that no key stands twice.",
    )


def _depth_first(paths: Sequence[Path_], where: str, *, show: bool) -> list[Path_]:
    """Sort paths depth first, children in the order of their first appearance; check leaves and root."""
    roots = sorted({p[0] for p in paths})
    if len(roots) > 1:
        raise ConfigError(
            f"this hierarchy has {len(roots):,} roots",  # not shown: of a table that is none, they would be a column
            file=where,
            hint=f"Add a last column with one label for everything, for example {ROOT!r}.",
        )
    of_leaf: dict[str, Path_] = {}
    for path in paths:
        if of_leaf.setdefault(path[-1], path) != path:
            raise ConfigError(
                f"a value{' ' + excerpt(path[-1]) if show else ''} stands in two places of this hierarchy",
                file=where,
                hint="Each value has one line.",
            )
    rank: dict[Path_, int] = {}
    for path in of_leaf.values():
        for end in range(1, len(path) + 1):
            rank.setdefault(path[:end], len(rank))
    return sorted(of_leaf.values(), key=lambda path: [rank[path[:end]] for end in range(1, len(path) + 1)])


def _paths_of_csv(text: str, path: Path) -> list[Path_]:
    first = text.split("\n", 1)[0]
    delimiter = ";" if first.count(";") >= first.count(",") else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    paths: list[Path_] = []
    width = 0
    for row in _rows(reader, path):
        if not row:
            continue
        width = width or len(row)
        if len(row) != width:
            raise ConfigError(
                f"this line has {len(row)} cells, the lines before have {width}",
                file=path,
                line=reader.line_num,
                hint="Every line runs from a value to the root; repeat a label where a level is missing.",
            )
        paths.append(tuple(cell.strip() for cell in reversed(row)))
    return paths


def _rows(reader: _csv.Reader, path: Path) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error:
        raise ConfigError(
            "this line has a cell that is too long",
            file=path,
            line=reader.line_num,
            hint="Is a quote never closed? A cell has one label.",
        ) from None


def _paths_of_table(table: Mapping[str, object], *, show: bool) -> list[Path_]:
    root_given = len(table) == 1 and isinstance(next(iter(table.values())), Mapping)
    prefix: Path_ = () if root_given else (ROOT,)
    paths: list[Path_] = []
    stack: list[tuple[Path_, object]] = [
        ((*prefix, str(label)), child) for label, child in reversed(list(table.items()))
    ]
    while stack:
        path, child = stack.pop()
        if isinstance(child, Mapping):
            stack += [((*path, str(label)), below) for label, below in reversed(list(child.items()))]
        elif isinstance(child, Sequence) and not isinstance(child, str):
            paths += [(*path, value_text(leaf)) for leaf in child]
        else:
            raise ConfigError(
                f"under {excerpt(path[-1]) if show else 'a label'} the hierarchy has neither a table nor a list",
                hint='Write a list of values: North = ["Denmark", "Norway"].',
            )
    return paths


def value_text(value: object) -> str:
    """Return a value from a config as the canonical text that cells have: ``true``, ``3`` for 3.0, NFC."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return unicodedata.normalize("NFC", str(value))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError("this file is not UTF-8", file=path, hint="Save it as UTF-8.") from None
    except OSError:
        raise FileError("cannot read this hierarchy", file=path, hint="Check the path and its permissions.") from None
