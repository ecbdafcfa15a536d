"""Independent verification: is the published table what was promised, and is it the snapshot's?

This module shares nothing with the code that grouped or recoded the table. It reads published cells, turns them
back into codes of the snapshot, counts again and asks the model again. Three things are checked:

1. the table has the columns and rows it should have;
2. every class (rows with equal generalised cells) satisfies the model;
3. the published rows are the snapshot's records, each inside its box and with its own values: row by row where the
   publisher says which row is whose (``placement``), else by searching an assignment of all rows to records
   (:mod:`reveil.assignment`).

A release may carry finer classes than a reader can see (two classes with equal cells). Models are union-closed, so
a verdict on the finer ones holds for what the reader sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.admitted import Admitted, admitted_codes
from reveil.assignment import Candidates, assignable, fillable
from reveil.codes import Attribute, Codes, Kind, encode
from reveil.errors import VerificationError
from reveil.notation import Form
from reveil.release import COUNT, GROUP
from reveil.schema import Role
from reveil.statistics import BoolArray, CodeArray, GroupStats, Histogram, Reference
from reveil.threads import each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.models.base import Model
    from reveil.release import Release
    from reveil.snapshot import Snapshot

IntArray = npt.NDArray[np.int64]

NOT_THE_RECORDS = "the published rows cannot be the records of this snapshot"
ANOTHER_SNAPSHOT = "Some row has no record inside its box with its values. Is this the snapshot that was published?"


def verify(
    release: Release,
    snapshot: Snapshot,
    model: Model,
    *,
    codes: Codes | None = None,
    placement: npt.NDArray[np.integer] | None = None,
) -> None:
    """Raise :class:`VerificationError` unless the release is a sound publication of the snapshot.

    ``placement[row]`` is the record that row publishes. Without it an assignment is searched. ``codes`` may be
    handed over where the caller has them.
    """
    codes = encode(snapshot) if codes is None else codes
    _check_shape(release, snapshot)
    values = _published_codes(release, snapshot, codes, placement) if model.tags.reads_values else {}
    references = {
        a.name: Reference(np.bincount(values[a.name], minlength=a.domain).astype(np.int64), a.ordered, a.levels)
        for a in codes.sensitive
        if a.name in values
    }
    _check_description(release, snapshot, codes)
    achieved = _check_groups(release, model, group_statistics(release, values, references))
    if achieved != release.manifest["achieved"]:
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
    admitted = {a.name: admitted_codes(release.cells[a.name], a) for a in codes.quasi}
    if placement is not None:
        _check_rows(release, snapshot, codes, admitted, placement)
    elif release.batch is not None:
        _check_two_tables(release, release.batch, snapshot, codes, admitted)
    else:
        _check_assignment(release, snapshot, codes, admitted)


def _check_groups(release: Release, model: Model, stats: GroupStats) -> dict[str, Any]:
    """Ask the model about every group; return what the release achieves, or raise with the first group that fails."""
    if release.groups is not None:
        rows = np.bincount(release.groups, minlength=stats.n_groups)
        if len(rows) != stats.n_groups or (rows != stats.sizes).any():
            raise VerificationError("the two tables do not have the same groups")
    for part in model.parts:
        verdict = part.verdict(stats)
        if not verdict.all():
            worst = int(np.flatnonzero(~verdict)[0])
            raise VerificationError(
                f"the group {describe_group(release, worst)} does not satisfy {part!r}",
                hint=f"{int((~verdict).sum()):,} of {stats.n_groups:,} groups fail ({part.sentence()}).",
            )
    return model.achieved(stats)


def group_statistics(
    release: Release,
    values: Mapping[str, CodeArray],
    references: Mapping[str, Reference],
    *,
    placed: bool = False,
) -> GroupStats:
    """Count sizes and sensitive values per group.

    ``values`` has one code per published sensitive value, in the order of :meth:`Release.group_values`, or with
    ``placed`` in the order of the rows.
    """
    rows = release.classes if release.groups is None else release.groups
    groups = rows if placed else release.group_values()[0]
    n_groups = int(groups.max(initial=-1)) + 1
    sizes = np.bincount(groups, minlength=n_groups).astype(np.int64)
    histograms = {
        name: Histogram.of(groups, own, n_groups, len(references[name].counts)) for name, own in values.items()
    }
    return GroupStats(sizes, histograms, dict(references))


def describe_group(release: Release, number: int) -> str:
    """Name a group by its number where it has one, else by its published cells."""
    if release.groups is not None:
        return str(number)
    texts = {name: str(own.text[int(own.index[number])]) for name, own in release.cells.items()}
    return ", ".join(f"{name}={text if len(text) <= 60 else text[:59] + '…'}" for name, text in texts.items())


def _check_shape(release: Release, snapshot: Snapshot) -> None:
    published = {Role.QUASI, Role.PLAIN} | ({Role.SENSITIVE} if release.batch is None else set())
    expected = tuple(name for name in snapshot.frame.columns if snapshot.schema[name].role in published)
    told = release.columns if release.batch is None else (*release.columns, *release.batch.columns[1:-1])
    apart = () if release.batch is None else snapshot.schema.sensitive
    if set(told) != {*expected, *apart} or release.columns != expected:
        raise VerificationError(
            "the published columns are not those of the schema", hint=f"Expected {', '.join(expected)}."
        )
    manifest = release.manifest
    rows = len(release.classes)
    suppressed = manifest["suppressed"] or 0
    if rows != manifest["rows"] or rows + suppressed != snapshot.frame.height:
        raise VerificationError(
            f"{rows:,} rows are published and {suppressed:,} suppressed, but the snapshot has "
            f"{snapshot.frame.height:,} records",
            hint="Is this the snapshot that was published?",
        )


def _check_description(release: Release, snapshot: Snapshot, codes: Codes) -> None:
    """Check what the manifest says of groups and columns."""
    groups = release.classes if release.groups is None else release.groups
    if np.count_nonzero(np.bincount(groups)) != release.manifest["groups"]:
        raise VerificationError("the manifest counts other groups than the table has")
    kinds = {Kind.INTERVAL: Form.INTERVAL, Kind.TAXONOMY: Form.LABEL}
    forms = {a.name: kinds.get(a.kind, Form.SET) for a in codes.quasi}
    for column in release.manifest["columns"]:
        name = column["name"]
        if name == GROUP and column["role"] == GROUP:
            continue
        if column["role"] != snapshot.schema[name].role or Form(column["form"]) is not forms.get(name, Form.VALUE):
            raise VerificationError(f"the manifest describes column {name!r} as something else", column=name)


def _published_codes(
    release: Release, snapshot: Snapshot, codes: Codes, placement: npt.NDArray[np.integer] | None
) -> dict[str, CodeArray]:
    """Return the code of each published sensitive value."""
    published = release.group_values()[1]
    found = {}
    for attribute in codes.sensitive:
        own, raw = published[attribute.name], snapshot.frame[attribute.name]
        same = placement is not None and release.batch is None and own.equals(raw.gather(placement), null_equal=True)
        found[attribute.name] = attribute.codes[placement] if same else _codes_like(own, raw, attribute.codes)
    return found


def _codes_like(published: pl.Series, raw: pl.Series, codes: CodeArray) -> CodeArray:
    """Give published values the codes that the same values have in the snapshot."""
    known = pl.DataFrame({"value": raw, "code": codes}).unique("value")
    joined = pl.DataFrame({"value": published}).join(
        known, on="value", how="left", maintain_order="left", nulls_equal=True
    )
    if joined["code"].null_count():
        raise VerificationError(
            f"column {published.name!r} has published values that the snapshot does not have", column=published.name
        )
    return joined["code"].to_numpy().astype(np.int32)


def _check_rows(
    release: Release,
    snapshot: Snapshot,
    codes: Codes,
    admitted: Mapping[str, Admitted],
    placement: npt.NDArray[np.integer],
) -> None:
    """Check each row against the record it publishes."""
    rows = np.full(snapshot.frame.height, -1, np.int32)
    rows[placement] = np.arange(len(placement), dtype=np.int32)
    published = rows >= 0
    if len(placement) != len(release.classes) or int(published.sum()) != len(placement):
        raise VerificationError("a record is published twice")
    # In the order of the records: then only their classes are looked up at random, not every column.
    everybody = bool(published.all())
    rows = rows if everybody else rows[published]
    classes = release.classes[rows]

    def outside(attribute: Attribute) -> int:
        own = attribute.codes if everybody else attribute.codes[published]
        inside = admitted[attribute.name].contains(release.cells[attribute.name].index[classes], own)
        return -1 if inside.all() else int(rows[np.flatnonzero(~inside)[0]])

    for attribute, row in zip(codes.quasi, each(outside, codes.quasi), strict=True):
        if row >= 0:
            raise VerificationError(
                f"row {row + 1} is outside its box in column {attribute.name!r}", column=attribute.name
            )
    for name in release.values.columns:
        if not release.values[name].equals(snapshot.frame[name].gather(placement), null_equal=True):
            raise VerificationError(f"column {name!r} was altered", column=name)
    if release.batch is not None:
        told = pl.DataFrame({GROUP: release.groups}).with_columns(
            snapshot.frame[name].gather(placement) for name in release.batch.columns[1:-1]
        )
        counted = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(told.columns)
        if not counted.equals(release.batch.sort(told.columns), null_equal=True):
            raise VerificationError("the sensitive table was altered")


def _check_two_tables(
    release: Release, batch: pl.DataFrame, snapshot: Snapshot, codes: Codes, admitted: Mapping[str, Admitted]
) -> None:
    """Check a two-table release without placements.

    Its cells are exact, so the rows must be the records as far as quasi and plain columns go; records must be able to
    fill the sensitive table, each in a group that has a row like it; and so must the rows of each group, by records
    like them. Together that is exact unless people with equal quasi values are in different groups: there only the
    placements can say more.
    """
    quasi = {}
    for a in codes.quasi:
        own = admitted[a.name]
        exact = np.where(own.lo <= own.hi, own.lo, own.codes)
        if not ((own.lo == own.hi) ^ own.null).all():
            raise VerificationError(f"column {a.name!r} should hold exact values", column=a.name)
        quasi[a.name] = exact[release.cells[a.name].index[release.classes]].astype(np.int32)
    names = [*quasi, *release.values.columns]
    rows = pl.DataFrame({**quasi, **{n: release.values[n] for n in release.values.columns}})
    plain = {n: snapshot.frame[n] for n in release.values.columns}
    records = pl.DataFrame({**{a.name: a.codes for a in codes.quasi}, **plain})
    raw = snapshot.frame.select(batch.columns[1:-1])
    value, batch_value = _numbered(raw, batch.drop(GROUP, COUNT))
    # Number the combinations of quasi and plain values in both, and let each record type find its groups.
    point, row_point = _numbered(records, rows.select(names))
    types = pl.DataFrame({"point": point, "value": value}).group_by("point", "value").len("records")
    types = types.with_row_index("type")
    slots = batch.select(GROUP, pl.col(COUNT).alias("rows")).with_columns(value=batch_value).with_row_index("slot")
    seats = pl.DataFrame({"point": row_point, GROUP: release.groups}).group_by("point", GROUP).len("seats")
    seats = seats.with_row_index("seat")
    edges = seats.join(types, on="point").join(slots, on=[GROUP, "value"])
    left = np.bincount(point, minlength=int(row_point.max(initial=0)) + 1) - np.bincount(
        row_point, minlength=int(point.max(initial=0)) + 1
    )
    told = slots["rows"].to_numpy()
    taken = edges.select(pl.col("seat").alias("type"), "slot")
    if (
        (left < 0).any()
        or not fillable(edges, types["records"].to_numpy(), told)
        or not fillable(taken, seats["seats"].to_numpy(), told, edges["records"].to_numpy())
    ):
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)


def _check_assignment(release: Release, snapshot: Snapshot, codes: Codes, admitted: Mapping[str, Admitted]) -> None:
    """Search an assignment of all published rows to records; any will do."""
    record_values, row_values = _joint_values(snapshot, release)
    points = np.stack([a.codes for a in codes.quasi], axis=1)
    cells = {a.name: release.cells[a.name].index for a in codes.quasi}
    lo = np.stack([admitted[a.name].lo[cells[a.name]] for a in codes.quasi], axis=1)
    hi = np.stack([admitted[a.name].hi[cells[a.name]] for a in codes.quasi], axis=1)
    null = np.stack([admitted[a.name].null[cells[a.name]] for a in codes.quasi], axis=1)
    null_codes = np.array([a.null_code for a in codes.quasi], np.int32)
    # The search works on hulls: up to the null code where null is admitted, over gaps of sets. The exact test follows.
    low = np.where(null & (lo > hi), null_codes, lo).astype(np.int32)
    high = np.where(null, null_codes, hi).astype(np.int32)

    def exact(point: IntArray, box: IntArray) -> BoolArray:
        good = np.ones(len(point), np.bool_)
        for a, attribute in enumerate(codes.quasi):
            good &= admitted[attribute.name].contains(cells[attribute.name][box], points[point, a])
        return good

    candidates = Candidates(points, record_values, low, high, release.classes, row_values, exact)
    if not assignable(candidates):
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)


def _joint_values(snapshot: Snapshot, release: Release) -> tuple[IntArray, IntArray]:
    """Number the combinations of values in records and rows alike."""
    if not release.values.columns:
        return np.zeros(snapshot.frame.height, np.int64), np.zeros(len(release.classes), np.int64)
    return _numbered(snapshot.frame.select(release.values.columns), release.values)


def _numbered(one: pl.DataFrame, other: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of two tables with the same columns alike."""
    both = pl.concat([one, other.select(one.columns).cast(dict(one.schema))])  # type: ignore[arg-type]
    number = both.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    return number[: one.height], number[one.height :]
