"""The tables of an audit side by side: what the codes of their columns mean, and by which regions people are dealt."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.in_shards.asking import NotInShardsError, source_of
from reveil.adversary.in_shards.regions import PeopleRegions
from reveil.adversary.in_shards.tables import (
    CountShownTexts,
    CountTrueTexts,
    PublishedDistinct,
    ReleaseFolder,
    SampleBoxes,
)
from reveil.core.errors import DataError
from reveil.engines.shards import COUNTED
from reveil.models.counting import counts_of_pieces
from reveil.models.domains import ValueCounts
from reveil.models.encoding import Domains, is_ordered
from reveil.releases.respelling import shown, with_spellings
from reveil.tables.alike import spelled_as
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.pieces import check_persons_apart, in_one_spelling, pieces_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.arrays import CodeArray
    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine
    from reveil.models.domains import Domain
    from reveil.releases.release import Release
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema

MOST_TEXTS = 10_000_000  # different texts that are held at once
SAMPLED = 20_000  # boxes of all releases by which regions are cut
REGIONS = 2  # so many regions have about as many people, over all releases, as a shard has rows
BUNDLES = 4  # of regions, so many have about as many people of a release as a shard has rows
PUBLISHED, TRUE = 0, 1


@dataclass(frozen=True)
class AuditTables:
    """Releases and snapshots. ``nobody`` are the releases without rows.

    ``numbers`` are the different values of each release's sensitive columns that are numbers, dates or times.
    ``texts`` has for each sensitive column the code of each text of each table: of a ``kind`` (published or true) and a
    ``number``. ``values`` are the values in the order of their codes.
    """

    releases: tuple[ReleaseFolder, ...]
    nobody: tuple[Release, ...]
    pieces: tuple[TablePieces, ...]
    domains: tuple[Domain, ...]
    numbers: tuple[Mapping[str, pl.DataFrame], ...] = field(repr=False)
    texts: tuple[pl.DataFrame, ...] = field(repr=False)
    values: tuple[pl.Series, ...] = field(repr=False)

    def release(self, number: int, name: str) -> Release:
        """Return a release without rows, which tells the different numbers of a sensitive column where it has some."""
        release, numbers = self.nobody[number], self.numbers[number].get(name)
        return release if numbers is None else replace(release, values=numbers)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The names of the sensitive columns."""
        return tuple(values.name for values in self.values)

    def codes(self, kind: int, number: int) -> tuple[pl.DataFrame, ...]:
        """Return the code of each text of a table, column by column."""
        here = (pl.col("kind") == kind) & (pl.col("number") == number)
        return tuple(texts.filter(here).select("text", "code") for texts in self.texts)


def read_tables(
    engine: Engine, settings: EngineSettings, sources: Sequence[object], schema: Schema, truth: Sequence[object]
) -> AuditTables:
    """Read what the columns of all tables mean."""
    releases = tuple(ReleaseFolder.at(t, source_of(source), schema) for t, source in enumerate(sources))
    nobody = tuple(release.nobody() for release in releases)
    for release in nobody:
        strange = [name for name in release.cells if name not in schema.quasi]
        if strange:
            raise DataError(
                f"the release generalises column {strange[0]!r}, which the config does not call quasi",
                column=strange[0],
                hint="Use the config with which it was published.",
            )
    pieces, counts, texts = [], [], []
    for number, source in enumerate(truth):
        read = pieces_of(str(source), schema, min(settings.shard_rows, engine.shard_rows))
        listed = read.shards(engine)
        read = in_one_spelling(read, listed, MOST_TEXTS)
        check_persons_apart(read, listed)
        counts.append(counts_of_pieces(read, listed, settings.held_bytes))
        published = (
            releases[number].parts(engine).count(CountShownTexts(releases[number], schema.sensitive), MOST_TEXTS)
        )
        for kind, found in ((PUBLISHED, published), (TRUE, listed.count(CountTrueTexts(read.schema), MOST_TEXTS))):
            texts.append(found.with_columns(kind=pl.lit(kind), number=pl.lit(number)))
        pieces.append(read)
    merged = {}
    for name in counts[0]:
        if len({str(one[name].values.dtype) for one in counts}) > 1:
            raise NotInShardsError(f"column {name!r} has another type in one snapshot than in another")
        merged[name] = ValueCounts.merged([one[name] for one in counts])
    every = pl.concat(texts).drop(COUNTED)
    coded = [
        _values(every.filter(pl.col("column") == s).drop("column"), nobody, schema, name)
        for s, name in enumerate(schema.sensitive)
    ]
    return AuditTables(
        releases,
        nobody,
        tuple(pieces),
        Domains.of(schema, [merged]).quasi,
        tuple(_numbers(engine, *each, schema) for each in zip(releases, nobody, strict=True)),
        tuple(told for told, _ in coded),
        tuple(values for _, values in coded),
    )


def _numbers(engine: Engine, folder: ReleaseFolder, nobody: Release, schema: Schema) -> dict[str, pl.DataFrame]:
    """Return the different values of the sensitive columns that are numbers, dates or times."""
    found = {}
    for name in schema.sensitive:
        dtype = nobody.values.schema.get(name)
        if dtype is not None and is_ordered(dtype):
            told = folder.parts(engine).map(PublishedDistinct(folder, name), pl.Schema({name: dtype}))
            found[name] = told.collect(MOST_TEXTS).unique()
    return found


def _values(
    texts: pl.DataFrame, nobody: Sequence[Release], schema: Schema, name: str
) -> tuple[pl.DataFrame, pl.Series]:
    """Return the code of each text in each table, and the values in their order; what looks alike is one value."""
    told = texts.with_columns(pl.col("text").alias("spelled"))
    if schema[name].folds and any(release.values.schema.get(name) == pl.String for release in nobody):
        published, true = (texts.filter(pl.col("kind") == kind) for kind in (PUBLISHED, TRUE))
        distinct = [some.drop_nulls().unique().sort() for some in (shown(published["text"]), true["text"])]
        known = [*(schema[name].labels or ()), *distinct[0], *distinct[1]]
        stand_in = replace(nobody[0], values=pl.DataFrame({name: published["text"]}))
        respelt = with_spellings(stand_in, {name: known}, schema.null_values).values[name]
        told = pl.concat(
            [
                published.with_columns(respelt.alias("spelled")),
                true.with_columns(spelled_as(true["text"], known).alias("spelled")),
            ]
        )
    values = told["spelled"].unique().sort()
    values = values.filter(values.is_null() | (values != SUPPRESSED_VALUE)).alias(name)
    numbers = pl.DataFrame({"spelled": values, "code": np.arange(len(values), dtype=np.int32)})
    coded = told.join(numbers, on="spelled", how="left", nulls_equal=True)
    return coded.with_columns(pl.col("code").fill_null(-1)).drop("spelled"), values


def regions_of(engine: Engine, tables: AuditTables) -> tuple[PeopleRegions, list[CodeArray]]:
    """Cut regions by some of the boxes of all releases; return also the bundles in which each release is looked at."""
    share = max(sum(release.manifest.groups for release in tables.releases) // SAMPLED, 1)
    hulls, many = [], range(len(tables.domains))
    for release in tables.releases:
        work = SampleBoxes(release, tables.domains, share)
        found = release.parts(engine).map(work, work.returns).collect()
        ends = (np.stack([found[f"{end}{a}"].to_numpy() for a in many], axis=1) for end in "lh")
        hulls.append(tuple(ends))
    lo, hi = (np.concatenate(ends) for ends in zip(*hulls, strict=True))
    people = sum(pieces.rows for pieces in tables.pieces)
    regions = PeopleRegions.around(lo, hi, max(int(len(lo) * engine.shard_rows / (REGIONS * max(people, 1))), 1))
    bundles = [
        regions.bundles(regions.share_of(*ends) * pieces.rows, engine.shard_rows / BUNDLES)
        for ends, pieces in zip(hulls, tables.pieces, strict=True)
    ]
    return regions, bundles
