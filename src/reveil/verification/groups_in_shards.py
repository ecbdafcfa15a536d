"""The groups of a release in parts, judged where all the rows of each are; and what the manifest says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import numbered_pairs
from reveil.core.errors import VerificationError
from reveil.core.json_values import thawed
from reveil.core.levels import worst
from reveil.engines.shards import COUNTED, with_columns_only
from reveil.verification.counting import GroupCounts, PublishedGroups, Tally, ValueRelations, coded_values
from reveil.verification.promised import same_levels, together
from reveil.verification.shape import check_description, check_domains

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.engines.shards import Engine, Shards
    from reveil.releases.release import Release
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Codes, Ints
    from reveil.verification.promised import Promised

_REACHED = pl.Schema({"groups": pl.Int64, "levels": pl.String, "apart": pl.Float64})
_FEW = 16  # groups whose rows lie together by chance
_DEVIATIONS = 9.0  # of so many groups whose rows dice put anywhere: less than once in 10**18
BUCKET = "bucket"


def buckets_of(rows: int, engine: Engine) -> int:
    """Return into how many buckets rows are dealt by their box, so that one holds less than a shard."""
    return 2 * -(-rows // engine.shard_rows)


def check_groups(
    marked: Shards,
    release: Release,
    pieces: TablePieces,
    example: Snapshot,
    told: Promised,
    asked: Promised,
) -> None:
    """Judge groups, and compare what the manifest says with what was counted; the marked rows are let go.

    ``release`` has no rows, ``marked`` the marks of the box of each row, its bucket, its place and its values.
    """
    manifest, schema = release.manifest, pieces.schema
    values = asked.reads_values or told.reads_values
    scales = [scale_of_column(marked, schema, name, s) for s, name in enumerate(schema.sensitive)] if values else []
    reached = marked.each(BUCKET, JudgeGroups(told, asked, tuple(scales)), _REACHED).collect()
    marked.drop()
    groups = int(reached["groups"].sum())
    check_dealt(float(reached["apart"].sum()), groups)
    levels = [worst(level) for level in zip(*map(json.loads, reached["levels"]), strict=True)]
    achieved = together(levels)
    empty = replace(example, frame=example.frame.clear())
    check_description(release, empty, PublishedGroups(np.arange(groups), *[np.zeros(0, np.int64)] * 3))  # type: ignore[arg-type]
    check_domains(release, schema)
    told.judge.check_manifest(manifest, told, asked, schema, pieces.rows)
    if not same_levels(achieved, {key: thawed(level) for key, level in manifest.achieved.items()}):
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")


@dataclass(frozen=True)
class ScaleOfColumn:
    """How the published values of a sensitive column are numbered, and how often each number occurs."""

    name: str
    values: pl.DataFrame = field(repr=False)  # value, code
    relations: ValueRelations
    table: Ints = field(repr=False)


@dataclass(frozen=True)
class CountPublished:
    """Work: how often each value of a sensitive column is published."""

    column: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        return table.group_by(pl.col(self.column).alias("value")).agg(pl.len().cast(pl.Int64).alias(COUNTED))


def scale_of_column(checked: Shards, schema: Schema, name: str, at: int) -> ScaleOfColumn:
    """Return how far apart the published values of a sensitive column are."""
    counted = with_columns_only(checked, [f"s{at}"]).count(CountPublished(f"s{at}"))
    many = counted[COUNTED].to_numpy().astype(np.int64)
    codes, relations = coded_values(counted["value"], many, schema[name])
    total = np.zeros(relations.size, np.int64)
    np.add.at(total, codes, many)
    values = pl.DataFrame({"value": counted["value"], "code": pl.Series(codes, dtype=pl.Int32)})
    return ScaleOfColumn(name, values, relations, total)


@dataclass(frozen=True)
class JudgeGroups:
    """Work: the groups of a bucket, which has all rows of each."""

    told: Promised
    asked: Promised
    scales: Sequence[ScaleOfColumn]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Judge the groups; return their number and the levels that they reach."""
        if not table.height:
            return _REACHED.to_frame()
        group, many = numbered_pairs(table["high"].to_numpy(), table["low"].to_numpy())
        sizes = np.bincount(group, minlength=many).astype(np.int64)
        tallies: dict[str, Tally] = {}
        for at, scale in enumerate(self.scales):
            rows = table[f"s{at}"].alias("value").to_frame()
            found = rows.join(scale.values, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
            codes: Codes = found.to_numpy()
            tallies[scale.name] = Tally.of(group, codes, many, scale.relations, scale.table)
        counts = GroupCounts(sizes, tallies)
        for promise in (self.asked, self.told):
            for demand in promise.demands:
                good = demand.holds(counts)
                if not demand.union_closed or not good.all():
                    raise VerificationError(
                        f"a group does not satisfy {demand!r}", hint=f"{int((~good).sum()):,} of {many:,} groups fail."
                    )
        levels: list[Mapping[str, object]] = [demand.achieved(counts) for demand in self.told.demands]
        apart = np.bincount(group, weights=table["place"].to_numpy() - 0.5, minlength=many) ** 2 / sizes
        return pl.DataFrame(
            {"groups": [many], "levels": [json.dumps(levels)], "apart": [float(apart.sum())]}, schema=_REACHED
        )


def check_numbered(asked: Promised, told: Promised, counts: GroupCounts, numbers: Ints) -> None:
    """Refuse groups, by their published numbers, of which one does not keep what was asked for, or promised."""
    for promise in (asked, told):
        for demand in promise.demands:
            good = demand.holds(counts)
            if not good.all():
                raise VerificationError(
                    f"the group {int(numbers[~good][0])} does not satisfy {demand!r}",
                    hint=f"{int((~good).sum()):,} of {len(numbers):,} groups fail.",
                )


def check_dealt(apart: float, groups: int) -> None:
    """Refuse a release in which rows of a group lie near each other: parts would show how the table was divided.

    Dice put each row anywhere, with places from 0 to 1. The squared distance of a group's rows from the middle, added
    up and divided by their number, is then 1/12 on average, whatever the group, with a variance of at most 1/72; rows
    that lie together have more.
    """
    if groups >= _FEW and apart - groups / 12 > _DEVIATIONS * np.sqrt(groups / 72):
        raise VerificationError(
            "the rows of groups lie near each other",
            hint="Whoever sees in which part a row is could tell which cuts were made first.",
        )
