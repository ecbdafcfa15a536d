"""A hierarchy while somebody works on it: a path for each value, from the value to the root."""

from __future__ import annotations

from dataclasses import dataclass, field

from reveil.core.errors import ConfigError, excerpt
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.making_hierarchies import hierarchy_text

SHOWN = 60  # children of a node on a page; the others are found by their name
Labels = tuple[str, ...]


@dataclass(frozen=True)
class TreeNode:
    """A label with what is below it; ``values`` counts the values."""

    label: str
    trail: Labels
    children: tuple[TreeNode, ...]
    values: int
    hidden: int = 0


@dataclass
class TreeDraft:
    """A hierarchy that is not saved, or not saved as it is now."""

    column: str
    paths: list[Labels] = field(repr=False)
    data: str | None = None
    config: str | None = None
    file: str | None = None
    changed: bool = False

    @classmethod
    def of_taxonomy(cls, taxonomy: Taxonomy, **about: str | None) -> TreeDraft:
        """Take one that was read from a file."""
        paths = []
        for leaf in range(len(taxonomy.leaves)):
            labels = [taxonomy.labels[node] for node in taxonomy.levels[:, leaf].tolist()]
            path = [label for place, label in enumerate(labels) if place == 0 or label != labels[place - 1]]
            if path[-1] != taxonomy.leaves[leaf]:
                path.append(taxonomy.leaves[leaf])
            paths.append(tuple(reversed(path)))
        return cls(str(about.get("column") or ""), paths, about.get("data"), about.get("config"), about.get("file"))

    @property
    def root(self) -> TreeNode:
        """The tree."""
        return _node([tuple(reversed(path)) for path in self.paths], 0)

    @property
    def parents(self) -> list[str]:
        """The labels under which a value may stand."""
        return list(dict.fromkeys(label for path in self.paths for label in path[1:]))

    @property
    def values(self) -> list[str]:
        """The values."""
        return [path[0] for path in self.paths]

    def move(self, value: str, parent: str) -> None:
        """Put a value under another label; what is left of the tree must still be one."""
        place = next((n for n, path in enumerate(self.paths) if path[0] == value), None)
        below = next((path for path in self.paths if parent in path[1:]), None)
        if place is None or below is None:
            raise ConfigError(
                f"there is no value {excerpt(value)} or no label {excerpt(parent)}", hint="Choose from the lists."
            )
        path = (value, *below[below.index(parent, 1) :])
        moved = [*self.paths[:place], *self.paths[place + 1 :]]
        last = max(n for n, one in enumerate(moved) if parent in one[1:]) if any(parent in o[1:] for o in moved) else -1
        moved.insert(last + 1, path)
        self.take(moved)

    def rename(self, label: str, name: str) -> None:
        """Give a label another name; one that no label has yet makes a new one."""
        if label not in self.parents or not name.strip():
            raise ConfigError(f"there is no label {excerpt(label)}", hint="Choose from the list.")
        self.take([(path[0], *(name if one == label else one for one in path[1:])) for path in self.paths])

    def take(self, paths: list[Labels]) -> None:
        """Take other paths, if they are a hierarchy."""
        Taxonomy.from_paths(_even(paths), where="the hierarchy")
        self.paths, self.changed = paths, True

    def text(self) -> str:
        """Return it as it is written: every line with as many labels as the longest."""
        return hierarchy_text([tuple(reversed(path)) for path in _even(self.paths)])


def _even(paths: list[Labels]) -> list[Labels]:
    """Return the paths from the root, all as long as the longest: a value stands for itself on missing levels."""
    longest = max(len(path) for path in paths)
    return [(*reversed(path[1:]), *([path[0]] * (longest - len(path) + 1))) for path in paths]


def _node(paths: list[Labels], level: int) -> TreeNode:
    groups: dict[str, list[Labels]] = {}
    for path in paths:
        if len(path) > level + 1:
            groups.setdefault(path[level + 1], []).append(path)
    trail = paths[0][: level + 1]
    shown = list(groups.values())[:SHOWN]
    children = tuple(_node(below, level + 1) for below in shown)
    return TreeNode(paths[0][level], trail, children, len(paths), max(len(groups) - SHOWN, 0))
