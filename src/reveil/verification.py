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

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.assignment import Candidates, assignable
from reveil.codes import Attribute, Codes, Kind, encode
from reveil.errors import VerificationError
from reveil.notation import Form, split_label
from reveil.schema import Role
from reveil.statistics import BoolArray, CodeArray, GroupStats, Histogram, Reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.models.base import Model
    from reveil.release import Cells, Release
    from reveil.snapshot import Snapshot

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Admitted:
    """What the distinct cells of one column admit, in codes of the snapshot.

    A cell admits the codes ``lo..hi`` that are in it (``members``, if given: cell number times codes plus code,
    sorted) and the null code where ``null`` is set.
    """

    lo: CodeArray
    hi: CodeArray
    null: BoolArray
    members: IntArray | None
    codes: int

    def contains(self, cells: npt.NDArray[np.integer], codes: npt.NDArray[np.integer]) -> BoolArray:
        """Return whether each cell admits the code beside it."""
        inside = (codes >= self.lo[cells]) & (codes <= self.hi[cells]) & (codes < self.codes)
        if self.members is not None:
            key = cells.astype(np.int64) * (self.codes + 1) + codes
            place = np.minimum(np.searchsorted(self.members, key), max(len(self.members) - 1, 0))
            inside &= self.members[place] == key if len(self.members) else False
        admitted: BoolArray = inside | (self.null[cells] & (codes == self.codes))
        return admitted


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
    achieved = check_groups(release, model, _published_values(release, snapshot, codes, placement))
    if achieved != release.manifest["achieved"]:
        raise VerificationError(
            "the manifest claims another level than the table has", hint=f"The table has {achieved}."
        )
    admitted = {a.name: admitted_codes(release.cells[a.name], a) for a in codes.quasi}
    if placement is None:
        _check_assignment(release, snapshot, codes, admitted)
    else:
        _check_rows(release, snapshot, codes, admitted, placement)


def check_groups(release: Release, model: Model, values: Mapping[str, tuple[CodeArray, Reference]]) -> dict[str, Any]:
    """Ask the model about every class; return what the release achieves, or raise with the first class that fails."""
    stats = class_statistics(release, values)
    for part in model.parts:
        verdict = part.verdict(stats)
        if not verdict.all():
            worst = int(np.flatnonzero(~verdict)[0])
            raise VerificationError(
                f"the group {describe_class(release, worst)} does not satisfy {part!r}",
                hint=f"{int((~verdict).sum()):,} of {stats.n_groups:,} groups fail ({part.sentence()}).",
            )
    return model.achieved(stats)


def class_statistics(release: Release, values: Mapping[str, tuple[CodeArray, Reference]]) -> GroupStats:
    """Count sizes and sensitive values per class; ``values`` has codes per row and the table's distribution."""
    n_classes = int(release.classes.max(initial=-1)) + 1
    sizes = np.bincount(release.classes, minlength=n_classes).astype(np.int64)
    histograms = {
        name: Histogram.of(release.classes, codes, n_classes, len(reference.counts))
        for name, (codes, reference) in values.items()
    }
    return GroupStats(sizes, histograms, {name: reference for name, (_, reference) in values.items()})


def describe_class(release: Release, number: int) -> str:
    """Name a class by its published cells."""
    return ", ".join(f"{name}={own.text[int(own.index[number])]}" for name, own in release.cells.items())


def admitted_codes(cells: Cells, attribute: Attribute) -> Admitted:
    """Turn published cells into codes of the snapshot."""
    size = attribute.null_code
    if attribute.kind is Kind.INTERVAL:
        if cells.form is not Form.INTERVAL:
            raise VerificationError(f"column {attribute.name!r} should hold intervals", column=attribute.name)
        lo, hi, null = (cells.distinct.struct.field(name) for name in ("lo", "hi", "null"))
        alone = lo.is_null().to_numpy()
        low = attribute.domain.search_sorted(lo.fill_null(strategy="zero") if alone.any() else lo, side="left")
        high = attribute.domain.search_sorted(hi.fill_null(strategy="zero") if alone.any() else hi, side="right")
        return Admitted(
            np.where(alone, 1, low.to_numpy()).astype(np.int32),
            np.where(alone, 0, high.to_numpy().astype(np.int64) - 1).astype(np.int32),
            null.to_numpy(),
            None,
            size,
        )
    if attribute.taxonomy is not None:
        labels, null = split_label(cells.distinct)
        taxonomy = attribute.taxonomy
        node = np.array([taxonomy.node_of_label.get(label, -1) if label is not None else -1 for label in labels])
        unknown = (node < 0) & labels.is_not_null().to_numpy()
        if unknown.any():
            raise VerificationError(
                f"column {attribute.name!r} has labels that its hierarchy does not", column=attribute.name
            )
        first = np.where(node < 0, 1, taxonomy.lo[node]).astype(np.int32)
        last = np.where(node < 0, 0, taxonomy.hi[node]).astype(np.int32)
        return Admitted(first, last, null.to_numpy(), None, size)
    return _admitted_sets(cells, attribute)


def _admitted_sets(cells: Cells, attribute: Attribute) -> Admitted:
    size = attribute.null_code
    members = pl.DataFrame({"cell": np.arange(len(cells.distinct)), "value": cells.distinct}).explode("value")
    domain = pl.DataFrame({"value": attribute.domain, "code": np.arange(size)})
    known = members.drop_nulls("value").join(domain, on="value", how="left")
    if known["code"].null_count():
        raise VerificationError(
            f"column {attribute.name!r} has values that the snapshot does not", column=attribute.name
        )
    cell, code = known["cell"].to_numpy(), known["code"].to_numpy()
    lo, hi = np.full(len(cells.distinct), size, np.int32), np.full(len(cells.distinct), -1, np.int32)
    np.minimum.at(lo, cell, code.astype(np.int32))
    np.maximum.at(hi, cell, code.astype(np.int32))
    null = np.zeros(len(cells.distinct), np.bool_)
    null[members.filter(pl.col("value").is_null())["cell"].to_numpy()] = True
    return Admitted(lo, hi, null, np.sort(cell.astype(np.int64) * (size + 1) + code), size)


def _check_shape(release: Release, snapshot: Snapshot) -> None:
    published = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    expected = tuple(name for name in snapshot.frame.columns if snapshot.schema[name].role in published)
    if release.columns != expected:
        raise VerificationError(
            "the published columns are not those of the schema", hint=f"Expected {', '.join(expected)}."
        )
    manifest = release.manifest
    rows = len(release.classes)
    if rows != manifest["rows"] or rows + manifest["suppressed"] != snapshot.frame.height:
        raise VerificationError(
            f"{rows:,} rows are published and {manifest['suppressed']:,} suppressed, but the snapshot has "
            f"{snapshot.frame.height:,} records",
            hint="Is this the snapshot that was published?",
        )


def _published_values(
    release: Release, snapshot: Snapshot, codes: Codes, placement: npt.NDArray[np.integer] | None
) -> dict[str, tuple[CodeArray, Reference]]:
    """Return the code of each published sensitive value and the distribution over all published rows."""
    found = {}
    for attribute in codes.sensitive:
        published, raw = release.values[attribute.name], snapshot.frame[attribute.name]
        if placement is not None and published.equals(raw.gather(placement), null_equal=True):
            own = attribute.codes[placement]
        else:
            own = _codes_like(published, raw, attribute.codes)
        counts = np.bincount(own, minlength=attribute.domain).astype(np.int64)
        found[attribute.name] = (own, Reference(counts, attribute.ordered, attribute.levels))
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
    published = np.zeros(snapshot.frame.height, np.bool_)
    published[placement] = True
    if len(placement) != len(release.classes) or int(published.sum()) != len(placement):
        raise VerificationError("a record is published twice")
    for attribute in codes.quasi:
        cells = release.cells[attribute.name].index[release.classes]
        inside = admitted[attribute.name].contains(cells, attribute.codes[placement])
        if not inside.all():
            row = int(np.flatnonzero(~inside)[0])
            raise VerificationError(
                f"row {row + 1} is outside its box in column {attribute.name!r}", column=attribute.name
            )
    for name in release.values.columns:
        if not release.values[name].equals(snapshot.frame[name].gather(placement), null_equal=True):
            raise VerificationError(f"column {name!r} was altered", column=name)


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
        raise VerificationError(
            "the published rows cannot be the records of this snapshot",
            hint="Some row has no record inside its box with its values. Is this the snapshot that was published?",
        )


def _joint_values(snapshot: Snapshot, release: Release) -> tuple[IntArray, IntArray]:
    """Number the combinations of values in records and rows alike."""
    records, rows = snapshot.frame.height, len(release.classes)
    if not release.values.columns:
        return np.zeros(records, np.int64), np.zeros(rows, np.int64)
    raw = snapshot.frame.select(release.values.columns)
    both = pl.concat([raw, release.values.cast(dict(raw.schema))])  # type: ignore[arg-type]
    number = both.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    return number[:records], number[records:]
