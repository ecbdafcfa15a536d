"""Releases with a column ``group`` and counterfeit rows, put together by hand: one table, or two with boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.models.encoding import encode
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.statistics import Partition
from reveil.releases.cell_types import dtype_name
from reveil.releases.manifest import make_manifest
from reveil.releases.manifest_parts import Counterfeits, PublishedColumn
from reveil.releases.promise import Promise
from reveil.releases.release import Release
from reveil.releases.table import COUNT, GROUP, Cells
from reveil.tables.snapshot import Snapshot, read_snapshot
from reveil.testing.strategies import GRADES, REGIONS, Table, tables
from tests.manifests import altered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import reveil as rv

NEW = ["new 1", "new 2", "new 3", "*new*"]  # values that no snapshot here has


@dataclass(frozen=True)
class Published:
    """A release, whose it is (-1: counterfeit), and what it was made from."""

    frame: pl.DataFrame
    schema: rv.Schema
    release: Release
    placement: Any

    @property
    def snapshot(self) -> Snapshot:
        return read_snapshot(self.frame, self.schema)

    def with_manifest(self, **changes: Any) -> Published:
        return replace(self, release=self.release.under(altered(self.release.manifest, **changes)))


def publish(
    frame: pl.DataFrame,
    schema: rv.Schema,
    groups: Sequence[Sequence[int]],
    fakes: Sequence[Sequence[Any]],
    *,
    m: int = 2,
    boxes: Sequence[int] | None = None,
    seed: int = 0,
) -> Published:
    """Publish records group by group, each group with counterfeits of the given sensitive values.

    ``boxes`` is the box of each row, records of all the groups in order and then their counterfeits: with it the
    release has two tables. Records in no group are withheld.
    """
    rng = np.random.default_rng(seed)
    snapshot = read_snapshot(frame, schema)
    codes, raw = encode(snapshot), snapshot.frame
    (sensitive,) = schema.sensitive
    records = np.array([r for group in groups for r in group], np.int64)
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    invented = [value for group in fakes for value in group]
    owner = np.concatenate([owner, np.repeat(np.arange(len(groups)), [len(group) for group in fakes])])
    placement = np.concatenate([records, np.full(len(invented), -1)]).astype(np.int32)
    values = pl.concat([raw[sensitive].gather(records), pl.Series(sensitive, invented, raw.schema[sensitive])])

    box = owner if boxes is None else np.array(boxes)
    made = list(np.unique(box[: len(records)]))  # a box is made of records
    box = np.where(np.isin(box, made), box, made[0])
    order = np.concatenate([records[box[: len(records)] == b] for b in made]).astype(np.int32)
    ends = np.cumsum([np.sum(box[: len(records)] == b) for b in made])
    recoded = BoxRecoder().recode(codes, Partition(order, np.concatenate([[0], ends]).astype(np.int64), codes.n))
    class_of = {b: recoded.classes[records[box[: len(records)] == b][0]] for b in made}
    classes = np.array([class_of[b] for b in box], np.int32)

    numbers = rng.permutation(5 * len(groups) + 7)[: len(groups)]
    shuffle = rng.permutation(len(placement))
    numbered = numbers[owner][shuffle].astype(np.int32)
    placement, classes, values = placement[shuffle], classes[shuffle], values.gather(shuffle)
    told = pl.DataFrame({GROUP: numbered, sensitive: values})
    batch = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(told.columns)
    apart = boxes is not None
    names = tuple(n for n in raw.columns if n in schema.quasi or (n == sensitive and not apart))
    manifest = make_manifest(
        series=None,
        release=1,
        promise=Promise("tau-safety", "", settings={"m": m}),
        columns=_columns(snapshot, recoded.cells, names, apart=apart),
        rows=len(placement),
        groups=len(groups),
        achieved={"m": min(len(group) + len(more) for group, more in zip(groups, fakes, strict=True))},
        withheld=codes.n - len(records),
        counterfeits=Counterfeits(
            len(invented), {str(n): len(more) for n, more in zip(numbers, fakes, strict=True) if more}
        ),
    )
    release = Release(
        names,
        recoded.cells,
        classes,
        pl.DataFrame() if apart else pl.DataFrame({sensitive: values}),
        groups=numbered,
        batch=batch if apart else None,
        manifest=manifest,
    )
    return Published(frame, schema, release, placement)


def _columns(
    snapshot: Snapshot, cells: Mapping[str, Cells], names: Sequence[str], *, apart: bool
) -> list[PublishedColumn]:
    (sensitive,) = snapshot.schema.sensitive

    def described(name: str) -> PublishedColumn:
        form = cells[name].form.value if name in cells else "value"
        role = snapshot.schema[name].role.value
        return PublishedColumn(name, role, form, dtype_name(snapshot.frame.schema[name]))

    group = PublishedColumn(GROUP, GROUP, "value", "Int32")
    second = [replace(described(sensitive), table="sensitive")] if apart else []
    return [*(described(name) for name in names), group, *second]


@st.composite
def published(draw: st.DrawFn, *, two_tables: bool | None = None, max_rows: int = 20) -> Published:
    """Draw a small table, groups of different values, withheld records, and counterfeits up to m and beyond."""
    table = draw(tables(max_rows=max_rows, max_quasi=3, max_sensitive=1).filter(lambda t: t.schema.sensitive))
    m = draw(st.integers(1, 3))
    values = _keys(table)
    groups: list[list[int]] = []
    for record in draw(st.permutations(range(table.frame.height))):
        room = [g for g in groups if all(values[r] != values[record] for r in g) and len(g) < 4]
        where = draw(st.integers(-1, len(room)))
        if where < 0 and groups:
            continue  # withheld
        if where < len(room) and room:
            room[where].append(record)
        else:
            groups.append([record])
    fakes = []
    for group in groups:
        free = [v for v in _pool(table) if v not in {values[r] for r in group}]
        least = max(m - len(group), 0)
        many = draw(st.integers(least, max(least, min(3, len(free)))))
        fakes.append(draw(st.permutations(free))[:many])
    rows = sum(map(len, groups)) + sum(map(len, fakes))
    apart = draw(st.booleans()) if two_tables is None else two_tables
    boxes = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)) if apart else None
    return publish(table.frame, table.schema, groups, fakes, m=m, boxes=boxes, seed=draw(st.integers(0, 9)))


def model_of(case: Published) -> MUniqueness:
    return MUniqueness(case.release.manifest["guarantee"]["m"])


def _keys(table: Table) -> list[Any]:
    return read_snapshot(table.frame, table.schema).frame[table.schema.sensitive[0]].to_list()


def _pool(table: Table) -> list[Any]:
    column = table.schema[table.schema.sensitive[0]]
    if column.order is not None:
        return [*GRADES, None]
    if column.taxonomy is not None:
        return [leaf for towns in REGIONS.values() for leaves in towns.values() for leaf in leaves]
    if table.frame[column.name].dtype == pl.String:
        return [*NEW, "flu", "hiv", None]
    return [-50, 1, 2, 3, 77, None]
