"""Evidence gathered in shards: who may be in which group of each release, and where everybody is at home.

What is held at once: the different values of the columns, the shards that are worked on, and the groups by which
counting excludes somebody.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.appearances import spare_places
from reveil.adversary.background import Background
from reveil.adversary.by_column import prepared
from reveil.adversary.in_shards.asking import ATTACKS, NotInShardsError, source_of
from reveil.adversary.in_shards.drawing import Lighten, at_most, drawn_of
from reveil.adversary.in_shards.groups import counted_groups
from reveil.adversary.in_shards.homes import HOME, FindHomes
from reveil.adversary.in_shards.placing import (
    FITS,
    GatherGroups,
    PlaceRegion,
    buckets_for,
    excluded,
    of_groups,
    of_people,
    together,
)
from reveil.adversary.in_shards.reading import PUBLISHED, TRUE, read_tables, regions_of
from reveil.adversary.in_shards.slices import KnownRelease, KnownSeries
from reveil.adversary.in_shards.tables import HISTOGRAM, CountValuesOfGroups, ReadBoxes, ReadPeople
from reveil.adversary.promises import handed_over, read_promises
from reveil.adversary.request import check_one_accounted, check_order, knowledge
from reveil.adversary.viewing import attendance, few_given
from reveil.core.errors import DataError
from reveil.engines.shards import COUNTED
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.adversary.in_shards.groups import CountedGroups
    from reveil.adversary.in_shards.reading import AuditTables
    from reveil.adversary.in_shards.regions import PeopleRegions
    from reveil.adversary.promises import Promising
    from reveil.adversary.sampling import Draw
    from reveil.core.arrays import CodeArray
    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine, Shards
    from reveil.models.limits import Limit
    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class Gathered:
    """What is known of everybody: people by their homes, groups, and what was counted over whole releases.

    ``odd`` says of each sensitive column whether any life has a gap or a change. Of people who are not in the ``draw``
    only the groups are kept in which they certainly are.
    """

    people: Shards = field(repr=False)
    groups: Shards = field(repr=False)
    series: tuple[KnownSeries, ...]
    counted: tuple[CountedGroups, ...]  # release by release
    odd: tuple[bool, ...]
    notes: tuple[str, ...]
    draw: Draw | None  # None: everybody is attacked


def gather_in_shards(
    engine: Engine,
    settings: EngineSettings,
    sources: Sequence[object],
    schema: Schema,
    truth: Sequence[object],
    known: str | None,
    guarantee: Promising | None,
    sample: int | None,
    seed: int,
    stage: Callable[[str], None],
) -> Gathered:
    """Gather what an adversary has who knows the snapshots, to attack all people or a ``sample`` of them."""
    stage("reading releases")
    schema, _, _ = prepared([source_of(source) for source in sources], schema, None)
    tables = read_tables(engine, settings, sources, schema, truth)
    nobody, sizes = tables.nobody, [pieces.rows for pieces in tables.pieces]
    people = Background((), (pl.DataFrame(),), (None,), attendance=True, types={}, one_population=False)
    known = knowledge(known, nobody, people, None, handed_over(guarantee, schema))
    for number, (release, many, source) in enumerate(zip(nobody, sizes, truth, strict=True)):
        check_one_accounted(number, release, many, source)
    check_order(nobody)
    for name in schema.sensitive:
        if not any(name in release.values.columns for release in nobody):
            raise DataError(
                f"no release tells the sensitive column {name!r}",
                column=name,
                hint="Is this the schema they belong to?",
            )
    promises = read_promises([release.manifest.promise for release in nobody], guarantee, schema)
    for limit in (*promises.series, *(limit for limits in promises.releases for limit in limits)):
        _check_tried(limit)
    (regions, bundles), placed = regions_of(engine, tables), []
    draw = None if sample is None else at_most(engine, tables.pieces, sample, seed)
    for number in range(len(nobody)):
        stage(f"who may be in which group of release {number + 1}")
        one = _place(engine, tables, regions, bundles[number], number, known)
        placed.append(one if draw is None else _lightened(one, draw))
    if draw is not None and sample is not None:
        draw = drawn_of(draw, [one.people for one in placed], sample)
    stage("bringing people together")
    many = buckets_for(engine, sum(sizes))
    settled, odd = _homes_of(engine, [one.people for one in placed], len(tables.sensitive), many)
    groups = together(engine, [one.groups for one in placed], of_groups(len(tables.sensitive)))
    for one in placed:
        one.people.drop()
        one.groups.drop()
    releases = [
        KnownRelease(
            release,
            limits,
            one.everybody,
            one.spare,
            np.zeros(0),
            many,
            one.counted.rows,
            one.counted.many,
        )
        for release, limits, one, many in zip(nobody, promises.releases, placed, sizes, strict=True)
    ]
    series = tuple(
        KnownSeries(
            tuple(
                replace(r, release=tables.release(t, values.name), shares=placed[t].counted.shares[s])
                for t, r in enumerate(releases)
            ),
            values,
            values.name,
            s,
            known,
            promises.bound,
            promises.series,
            schema,
        )
        for s, values in enumerate(tables.values)
    )
    few = [
        few_given(t, one.counted.rows - one.counted.fakes, many)
        for t, (one, many) in enumerate(zip(placed, sizes, strict=True))
    ]
    return Gathered(
        settled,
        groups,
        series,
        tuple(one.counted for one in placed),
        odd,
        tuple(note for note in few if note is not None),
        draw,
    )


def _check_tried(limit: Limit) -> None:
    """Refuse a promise that slices cannot judge: nothing may pass for held that nobody looked at."""
    if isinstance(limit.model, TCloseness) or (limit.over == "series" and limit.about == "link"):
        raise NotInShardsError(f"the promise {limit.says!r} compares with the whole table, or counts whole cells")
    if limit.attack is not None and limit.attack not in ATTACKS:
        raise NotInShardsError(f"the promise {limit.says!r} is about an attack that looks at everybody at once")


@dataclass(frozen=True)
class _Placed:
    """The people and the groups of one release, and what was counted of it."""

    people: Shards
    groups: Shards
    counted: CountedGroups
    everybody: bool
    spare: tuple[bool, int, bool]


def _place(
    engine: Engine, tables: AuditTables, regions: PeopleRegions, bundle: CodeArray, number: int, known: str
) -> _Placed:
    """Find who may be in which group of a release, in bundles of regions."""
    release, pieces, nobody = tables.releases[number], tables.pieces[number], tables.nobody[number]
    sensitive, domains = len(tables.sensitive), tables.domains
    frame, _ = release.read(0)
    both = pl.Schema(
        {
            "bundle": pl.Int32(),
            "region": pl.Int32(),
            "g": pl.Int64(),
            "mark": pl.Int64(),
            **{f"c{at}": frame.schema[name] for at, name in enumerate(release.columns)},
            "person": pl.String(),
            **{f"q{a}": pl.Int32() for a in range(len(domains))},
            **{f"v{s}": pl.Int32() for s in range(sensitive)},
        }
    )
    boxes = release.parts(engine).map(ReadBoxes(release, domains, regions, bundle, both), both)
    reader = ReadPeople(pieces.schema, domains, regions, bundle, tables.codes(TRUE, number), both)
    laid = together(engine, [boxes, pieces.shards(engine).map(reader, both)], both)
    returns = pl.Schema({**of_people(sensitive), **FITS})
    found = laid.each("bundle", PlaceRegion(release, domains, returns), returns)
    laid.drop()
    people = found.map(Only("person", tuple(of_people(sensitive))), of_people(sensitive)).kept()
    reading = CountValuesOfGroups(release, tables.sensitive, tables.codes(PUBLISHED, number))
    told = release.parts(engine).map(reading, HISTOGRAM)
    counts = pl.Schema({**HISTOGRAM, **FITS})
    counted = together(engine, [told, found.map(Only("fits", tuple(FITS)), FITS)], counts)
    bucket = pl.Schema({"bucket": pl.Int32(), **counts})
    many = buckets_for(engine, pieces.rows)
    groups = counted.map(InBucket(many), bucket).each("bucket", GatherGroups(release, sensitive), of_groups(sensitive))
    counted.drop()
    found.drop()
    values = tuple(len(texts) for texts in tables.values)
    nowhere, crowded = _of_placing(people)
    totals = counted_groups(groups, values)
    everybody, strangers, by_counting = attendance(nobody.manifest, totals.rows, totals.fakes, pieces.rows, known)
    if everybody and nowhere:
        raise DataError(
            f"{nowhere:,} persons fit no group of release {number + 1}",
            file=release.folder,
            hint="Is this the snapshot that it was made of? Name releases and snapshots in the same order.",
        )
    if strangers:
        groups = groups.map(AddStrangers(strangers), groups.schema).kept()
    if by_counting:
        people, groups = excluded(people, groups, everybody=everybody)
    spare = spare_places(
        release.manifest, totals.rows, totals.fakes, pieces.rows, _of_placing(people)[0], crowded=crowded > 0
    )
    return _Placed(people, groups, counted_groups(groups, values), everybody, spare)


def _lightened(placed: _Placed, draw: Draw) -> _Placed:
    """Forget where people may be who will not be attacked, unless it is certain."""
    people = placed.people.map(Lighten(draw), placed.people.schema).kept()
    placed.people.drop()
    return replace(placed, people=people)


@dataclass(frozen=True)
class Only:
    """Work: the rows that have something in a column, and some of the columns."""

    column: str
    columns: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Keep them."""
        return table.filter(pl.col(self.column).is_not_null()).select(self.columns)


@dataclass(frozen=True)
class InBucket:
    """Work: the bucket of each group."""

    many: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Deal groups."""
        return table.with_columns((pl.col("g") % self.many).abs().cast(pl.Int32).alias("bucket"))


@dataclass(frozen=True)
class AddStrangers:
    """Work: so many others may be in every group."""

    many: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count them everywhere."""
        return table.with_columns(pl.col("fits") + self.many)


class CountPlacing:
    """Work: how many persons no group admits, and how many too many do."""

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        none = (pl.col("groups").list.len() == 0) & ~pl.col("crowded")
        many = table.select(none.sum().alias("nowhere"), pl.col("crowded").sum().alias("crowded")).row(0)
        return pl.DataFrame({"what": [0, 1], COUNTED: pl.Series(many, dtype=pl.Int64)})


def _of_placing(people: Shards) -> tuple[int, int]:
    found = people.count(CountPlacing())
    return int(found[COUNTED][0]), int(found[COUNTED][1])


def _homes_of(engine: Engine, parts: Sequence[Shards], sensitive: int, buckets: int) -> tuple[Shards, tuple[bool, ...]]:
    """Give everybody a home; return also whether any life has a gap or a change, column by column."""
    columns = of_people(sensitive)
    dealt = pl.Schema({"bucket": pl.Int32(), **columns})
    home = pl.Schema({HOME: pl.Int32(), **columns})
    returns = pl.Schema({**home, **{f"odd{s}": pl.Boolean() for s in range(sensitive)}})
    everybody = together(engine, parts, columns)
    lives = everybody.map(ByPerson(buckets), dealt).each("bucket", FindHomes(sensitive, returns), returns)
    everybody.drop()
    found = lives.count(CountOdd(sensitive))
    strange = tuple(bool(found.filter(pl.col("column") == s)[COUNTED].sum()) for s in range(sensitive))
    settled = together(engine, [lives.map(Only("person", tuple(home)), home)], home)
    lives.drop()
    return settled, strange


@dataclass(frozen=True)
class ByPerson:
    """Work: the bucket of each person."""

    many: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Deal persons."""
        bucket = (pl.col("person").hash(seed=1) % self.many).cast(pl.Int32)
        return table.with_columns(bucket.alias("bucket"))


@dataclass(frozen=True)
class CountOdd:
    """Work: how many appearances follow a gap, or a change of value."""

    sensitive: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        many = [int(table[f"odd{s}"].sum()) for s in range(self.sensitive)]
        columns = {"column": np.arange(self.sensitive, dtype=np.int32), COUNTED: many}
        return pl.DataFrame(columns, schema={"column": pl.Int32, COUNTED: pl.Int64})
