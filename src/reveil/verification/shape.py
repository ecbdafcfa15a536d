"""Columns, rows, groups and counterfeits: does the manifest describe this table, and do the numbers add up?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.releases.cell_types import dtype_name
from reveil.releases.table import COUNT, GROUP, LEVEL
from reveil.tables.notation import Form
from reveil.tables.schema import Role
from reveil.verification.cells import wanted_forms
from reveil.verification.counting import counterfeits_in
from reveil.verification.sample import is_sample

if TYPE_CHECKING:
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.counting import PublishedGroups


def check_shape(release: Release, snapshot: Snapshot, *, dirty: int = 0) -> None:
    """Check columns, and that rows without counterfeits and records left out are all the records.

    ``dirty`` of the snapshot's records are of people who were not asked for.
    """
    published = {Role.QUASI, Role.PLAIN} | ({Role.SENSITIVE} if release.batch is None else set())
    expected = tuple(name for name in snapshot.frame.columns if snapshot.schema[name].role in published)
    told = release.columns if release.batch is None else (*release.columns, *release.batch.columns[1:-1])
    apart = () if release.batch is None else snapshot.schema.sensitive
    if set(told) != {*expected, *apart} or release.columns != expected:
        raise VerificationError(
            "the published columns are not those of the schema", hint=f"Expected {', '.join(expected)}."
        )
    manifest = release.manifest
    rows, fakes = len(release.classes), manifest.counterfeits.total
    left_out = {"suppressed": manifest.suppressed or 0, "withheld": manifest.withheld}
    more_than_asked = manifest.dirty - dirty
    if min(fakes, manifest.dirty, *left_out.values()) < 0:
        raise VerificationError("the manifest counts less than nothing")
    accounted = rows - fakes - more_than_asked + sum(left_out.values())
    # A sample does not say how many records it leaves out: there may be more records than it accounts for.
    secret = manifest.suppressed is None and accounted < snapshot.frame.height
    if rows != manifest.rows or not (secret or accounted == snapshot.frame.height):
        some = {"counterfeit": fakes, "dirty": manifest.dirty, "withheld": left_out["withheld"]}
        more = "".join(f", {many:,} {what}" for what, many in some.items() if many)
        raise VerificationError(
            f"{rows:,} rows are published{more} and {left_out['suppressed']:,} suppressed, but the snapshot has "
            f"{snapshot.frame.height:,} records",
            hint="Is this the snapshot that was published?",
        )


def check_counterfeits(release: Release, groups: PublishedGroups) -> None:
    """Check that the manifest counts the counterfeits of each group that has any, and that none has nothing else."""
    told = release.manifest.counterfeits
    if told.total and release.groups is None:
        raise VerificationError(f"a table with counterfeits needs a column {GROUP!r}, for their number per group")
    known = counterfeits_in(told)
    if (
        len(known) != len(told.per_group)
        or len(known) != int(np.count_nonzero(groups.fakes))
        or sum(known.values()) != told.total
    ):
        raise VerificationError(
            "the manifest does not count the counterfeits group by group",
            hint="It names every group that has any, with their number, and the total.",
        )
    if (groups.fakes >= groups.rows).any():
        raise VerificationError("a group has no record, only counterfeits")


def check_description(release: Release, snapshot: Snapshot, groups: PublishedGroups) -> None:
    """Check what the manifest says of groups and columns."""
    if len(groups.numbers) != release.manifest.groups:
        raise VerificationError("the manifest counts other groups than the table has")
    schema, nested = snapshot.schema, release.levels is not None
    for column in release.manifest.columns:
        name = column.name
        if name in (GROUP, LEVEL) and column.role == name:
            continue
        raw = snapshot.frame[name]
        quasi = schema[name].role is Role.QUASI
        sampled = is_sample(release)
        forms = wanted_forms(raw, schema[name], nested=nested, sampled=sampled) if quasi else (Form.VALUE,)
        if column.role != schema[name].role or Form(column.form) not in forms:
            raise VerificationError(f"the manifest describes column {name!r} as something else", column=name)
        if column.type != dtype_name(raw.dtype) and schema[name].role is not Role.SENSITIVE:
            raise VerificationError(f"the manifest gives column {name!r} another type", column=name)


def check_domains(release: Release, schema: Schema) -> None:
    """Check that the manifest tells the declared orders and hierarchies as they were declared, and nothing else.

    Whatever was not declared would come from the table, and so may what the schema keeps back. Manifests of earlier
    versions have no domains.
    """
    told = release.manifest.domains
    if told is None:
        return
    published = [column.name for column in release.manifest.columns if column.role in (Role.QUASI, Role.SENSITIVE)]
    declared = {name: schema[name] for name in published if schema[name].labels is not None and schema[name].tell}
    if told.keys() != declared.keys():
        raise VerificationError("the manifest tells other domains than were declared")
    for name, column in declared.items():
        domain: Any = told[name]
        wrong = VerificationError(
            f"the manifest tells another domain of column {name!r} than was declared", column=name
        )
        if column.cut is not None:
            if domain["kind"] != "bins" or tuple(domain["bins"]) != column.cut:
                raise wrong
        elif column.order is not None:
            if domain["kind"] != "order" or tuple(domain["order"]) != column.order:
                raise wrong
        elif column.taxonomy is not None:
            tree = column.taxonomy
            spans = {label: (int(tree.lo[node]), int(tree.hi[node]) + 1) for label, node in tree.node_of_label.items()}
            meant = {label: tree.leaves[start:end] for label, (start, end) in spans.items()}
            if domain["kind"] != "hierarchy" or _labels(domain["hierarchy"]) != meant:
                raise wrong


def _labels(tree: Any) -> dict[str, tuple[str, ...]]:
    """Return the leaves under every label of a published hierarchy, in their order."""
    found: dict[str, tuple[str, ...]] = {}

    def walk(label: str, below: Any) -> tuple[str, ...]:
        if isinstance(below, Mapping):
            leaves = tuple(leaf for inner, further in below.items() for leaf in walk(inner, further))
        else:
            leaves = tuple(below)
            found.update({leaf: (leaf,) for leaf in leaves})
        found[label] = leaves
        return leaves

    for label, below in tree.items():
        walk(label, below)
    return found


def check_boxes(release: Release, groups: PublishedGroups) -> None:
    """Check that the rows of a group have one box: beside the values, different ones would say who has which."""
    if release.batch is not None:
        told = release.batch.group_by(GROUP).agg(pl.col(COUNT).sum()).sort(GROUP)
        if not (np.array_equal(told[GROUP], groups.numbers) and np.array_equal(told[COUNT], groups.rows)):
            raise VerificationError("the two tables do not have the same groups")
        return
    if release.groups is None:
        return
    for name, cells in release.cells.items():
        cell = cells.index[release.classes]
        one = np.zeros(len(groups.numbers), cell.dtype)
        one[groups.of_row] = cell
        apart = np.flatnonzero(one[groups.of_row] != cell)
        if len(apart):
            number = int(groups.numbers[groups.of_row[apart[0]]])
            raise VerificationError(f"the group {number} has different cells in column {name!r}", column=name)
