"""The declared domains of published columns, as a manifest carries them: orders and hierarchies, nothing else.

A reader of a release needs them to compare cells: what comes after ``secondary``, what lies under ``4410*``. Only what
the steward *declared* is told, whole and as it was declared: never which values occur, their range, or an order by
their frequency. A declared hierarchy or order is thereby public. One that was drawn up from the table itself lists the
values of the table, those of suppressed people included: it should be drawn up from a public list instead, or be kept
back (``tell = false`` for its column); then whoever reads the release needs the config to compare labels.

An order is a list of values, bins a list of the numbers between them. A hierarchy is an object with one key, the label
of its root; under each label stands an object of the labels below it, or a list of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError
from reveil.core.json_values import thawed
from reveil.releases.reading import UnusableError
from reveil.tables.binning import edges_of
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.schema import EXACT, FOLDED, Column, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema

ORDER, HIERARCHY, BINS = "order", "hierarchy", "bins"


def domains_of(columns: Iterable[Column]) -> dict[str, JSON]:
    """Return what is declared about some columns, as a manifest tells it."""
    found: dict[str, JSON] = {}
    for column in columns:
        if not column.tell:
            continue
        if column.cut is not None:
            found[column.name] = {"kind": BINS, BINS: list(column.cut)}
        elif column.order is not None:
            found[column.name] = {"kind": ORDER, ORDER: list(column.order)}
        elif column.taxonomy is not None:
            found[column.name] = {"kind": HIERARCHY, HIERARCHY: tree_of(column.taxonomy)}
    return found


def tree_of(taxonomy: Taxonomy) -> dict[str, JSON]:
    """Return a taxonomy as nested objects, every label in its place.

    >>> tree_of(Taxonomy.load({"North": ["a", "b"], "South": ["c"]}))
    {'*': {'North': ['a', 'b'], 'South': {'c': ['c']}}}
    """
    above: dict[int, list[str]] = {}  # other labels of the same leaves: those of a chain
    for label, node in taxonomy.aliases.items():
        if label != taxonomy.labels[node]:
            above.setdefault(node, []).insert(0, label)
    tree: dict[str, JSON] = {}
    for leaf, value in enumerate(taxonomy.leaves):
        nodes = dict.fromkeys(int(node) for node in taxonomy.levels[:, leaf])
        path = [label for node in nodes for label in (*above.get(node, ()), taxonomy.labels[node])]
        under = tree
        for label in path if len(path) == 1 else path[:-1]:
            under = under.setdefault(label, {})  # type: ignore[assignment]  # objects, until the leaves are listed
        under[value] = None
    return {label: _listed(label, below) for label, below in tree.items()}


def _listed(label: str, below: JSON) -> JSON:
    """Write leaves as a list where there is nothing else beside them."""
    if not isinstance(below, Mapping):
        return [label]
    if all(inner is None for inner in below.values()):
        return list(below)
    return {name: _listed(name, inner) for name, inner in below.items()}


def paths_of(tree: Mapping[str, JSON]) -> list[tuple[str, ...]]:
    """Return the path of each leaf, root first; what is no hierarchy raises ValueError."""
    if len(tree) != 1:
        raise ValueError("a hierarchy has one root")
    paths: list[tuple[str, ...]] = []
    stack: list[tuple[tuple[str, ...], JSON]] = [((label,), below) for label, below in tree.items()]
    while stack:
        path, below = stack.pop()
        if isinstance(below, Mapping) and below:
            stack += [((*path, label), inner) for label, inner in reversed([*below.items()])]
        elif isinstance(below, list | tuple) and below and all(isinstance(leaf, str) for leaf in below):
            paths += [(*path, leaf) for leaf in below if isinstance(leaf, str)]
        else:
            raise ValueError("under a label stand labels or values")
    return paths


def check_domains(given: JSON, columns: Iterable[Mapping[str, JSON]]) -> Mapping[str, JSON] | None:
    """Return the domains of a manifest, or raise if one is not what it must be; None where there are none."""
    if given is None:
        return None
    known = {column["name"] for column in columns if column["role"] in (Role.QUASI, Role.SENSITIVE)}
    if not isinstance(given, Mapping) or not given.keys() <= known:
        raise UnusableError("domains")
    for domain in given.values():
        if not isinstance(domain, Mapping) or domain.get("kind") not in (ORDER, HIERARCHY, BINS) or len(domain) != 2:
            raise UnusableError("domains")
        told = domain.get(str(domain["kind"]))
        try:
            if domain["kind"] == ORDER:
                if not isinstance(told, list | tuple) or not all(isinstance(value, str) for value in told):
                    raise ValueError("an order is a list of values")
            elif domain["kind"] == BINS:
                edges_of("", told)
            elif not isinstance(told, Mapping) or not paths_of(told):
                raise ValueError("a hierarchy is an object")
        except (ValueError, ConfigError):
            raise UnusableError("domains") from None
    return given


def with_edges(schema: Schema, edges: Mapping[str, JSON]) -> Schema:
    """Return a schema in which bins that were only counted have the edges that are known."""
    return schema.with_columns(
        replace(column, bins=edges_of(column.name, thawed(edges[column.name])))
        if isinstance(column.bins, int) and column.name in edges
        else column
        for column in schema.columns
    )


def with_told_edges(schema: Schema, *manifests: Manifest) -> Schema:
    """Return a schema with the edges that manifests tell of bins that were only counted."""
    for manifest in manifests:
        told = {
            name: domain[BINS]
            for name, domain in (manifest.domains or {}).items()
            if isinstance(domain, Mapping) and domain.get("kind") == BINS
        }
        schema = with_edges(schema, told)
    return schema


def declared_columns(manifest: Manifest) -> dict[str, Column]:
    """Return the columns of a release about which its manifest says more than their type."""
    found: dict[str, Column] = {}
    for name, domain in (manifest.domains or {}).items():
        if not isinstance(domain, Mapping):
            continue
        column, told = manifest.column(name), domain.get(str(domain["kind"]))
        role = Role(column.role)
        compare = EXACT if role is Role.SENSITIVE and column.compare != FOLDED else None
        if isinstance(told, Mapping):
            taxonomy = Taxonomy.from_paths(paths_of(told), where="the manifest", show=role is not Role.SENSITIVE)
            found[name] = Column(name, role, taxonomy=taxonomy, compare=compare)
        elif domain["kind"] == BINS:
            found[name] = Column(name, role, bins=edges_of(name, told), compare=compare).in_bins
        elif isinstance(told, list | tuple):
            found[name] = Column(name, role, order=tuple(map(str, told)), compare=compare)
    return found
