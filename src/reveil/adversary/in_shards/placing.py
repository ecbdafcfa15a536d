"""Who may be in which group of one release: region by region, then by counting over all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.candidates import find_candidates
from reveil.adversary.in_shards.asking import NotInShardsError
from reveil.adversary.in_shards.tables import ROWS, ReleaseFolder, with_codes
from reveil.core.arrays import Ragged
from reveil.engines.shards import COUNTED
from reveil.releases.groups import ReleaseGroups, placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reveil.core.arrays import BoolArray, IntArray
    from reveil.engines.shards import Engine, Shards
    from reveil.models.domains import Domain

DEALT = 4  # buckets for the rows of a shard


def together(engine: Engine, parts: Iterable[Shards], schema: pl.Schema) -> Shards:
    """Lay the rows of several shards out as one; columns that some do not have are null there."""

    def aligned(table: pl.DataFrame) -> pl.DataFrame:
        missing = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in table.columns]
        return table.with_columns(missing).select(schema.names())

    def tables() -> Iterator[pl.DataFrame]:
        held: list[pl.DataFrame] = []
        for shards in parts:
            for table in shards.tables():
                held.append(aligned(table))
                if sum(each.height for each in held) >= engine.shard_rows:
                    yield pl.concat(held)
                    held = []
        if held:
            yield pl.concat(held)

    return engine.scatter(tables(), schema)


def buckets_for(engine: Engine, rows: int) -> int:
    """Return over how many buckets so many rows are dealt: each has a part of what a shard has."""
    return max(DEALT * rows // engine.shard_rows, DEALT)


def of_people(sensitive: int) -> pl.Schema:
    """Return the columns of persons in a release: where they live, their groups, the codes of their true values."""
    values = {f"v{s}": pl.Int32() for s in range(sensitive)}
    return pl.Schema(
        {
            "t": pl.Int32(),
            "person": pl.String(),
            "region": pl.Int32(),
            "groups": pl.List(pl.Int64),
            "crowded": pl.Boolean(),
            **values,
        }
    )


def of_groups(sensitive: int) -> pl.Schema:
    """Return the columns of groups: rows, counterfeits, who may be there or nowhere else, and the values."""
    whole = {name: pl.Int64() for name in ("g", "size", "fakes", "fits", "alone", "several")}
    lists = {f"{what}{s}": pl.List(pl.Int64) for s in range(sensitive) for what in ("codes", "counts")}
    return pl.Schema({"t": pl.Int32(), **whole, **lists})


FITS = pl.Schema({"g": pl.Int64, "fits": pl.Int64, "alone": pl.Int64, "several": pl.Int64})


@dataclass(frozen=True)
class PlaceRegion:
    """Work: the persons of some regions and the groups whose boxes hold them; all of both are here.

    Returns persons, and how many of them may be in each group.
    """

    release: ReleaseFolder
    domains: tuple[Domain, ...]
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Find the candidates of a bundle of regions."""
        people = table.filter(pl.col("person").is_not_null()).sort("person")
        boxes = table.filter(pl.col("g").is_not_null()).unique(["g", "mark"]).sort("g", "mark")
        if not people.height:
            return self.returns.to_frame()
        numbers, index = np.unique(boxes["g"].to_numpy(), return_inverse=True)
        codes = [people[f"q{a}"].to_numpy() for a in range(len(self.domains))]
        known = [a for a, domain in enumerate(self.domains) if domain.name in self.release.columns]
        groups: Ragged[np.int32] = Ragged.of_lengths(np.zeros(people.height, np.int64), np.zeros(0, np.int32))
        fits, crowded = np.zeros(len(numbers), np.int64), np.zeros(people.height, np.bool_)
        if len(numbers):
            cells = boxes.select(pl.col(f"c{at}").alias(name) for at, name in enumerate(self.release.columns))
            rows = np.bincount(index)
            found = find_candidates(
                self.release.of_cells(cells),
                ReleaseGroups(numbers, index.astype(np.int32), rows, np.zeros(len(rows), np.int64)),
                with_codes([self.domains[a] for a in known], [codes[a] for a in known]),
                people.height,
            )
            groups, fits, crowded = found.groups, found.fits, found.crowded
        placed_people = people.with_columns(
            pl.lit(self.release.number, pl.Int32).alias("t"),
            listed(groups.offsets, numbers[groups.items]).alias("groups"),
            pl.Series("crowded", crowded),
        )
        alone, several = _by_certainty(groups, len(numbers))
        counted = pl.DataFrame({"g": numbers, "fits": fits, "alone": alone, "several": several}, schema=FITS)
        return pl.concat([placed_people, counted.filter(pl.col("fits") > 0)], how="diagonal").select(
            (pl.col(name) if name in {*placed_people.columns, *FITS} else pl.lit(None, dtype)).alias(name)
            for name, dtype in self.returns.items()
        )


def listed(offsets: IntArray, items: np.typing.NDArray[np.generic]) -> pl.Series:
    """Return rows of different lengths as a column of lists."""
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    lists = pl.DataFrame({"row": owners, "item": items}).group_by("row", maintain_order=True).agg("item")
    rows = pl.DataFrame({"row": np.arange(len(offsets) - 1)})
    found = rows.join(lists, on="row", how="left", maintain_order="left")["item"].cast(pl.List(pl.Int64))
    return found.fill_null(pl.Series([[]], dtype=pl.List(pl.Int64)))


def _by_certainty(groups: Ragged[np.int32], many: int) -> tuple[IntArray, IntArray]:
    """Return how many persons may be in each group only, and how many in others, too."""
    single = groups.lengths[groups.owners()] == 1
    alone = np.bincount(groups.items[single], minlength=many).astype(np.int64)
    return alone, np.bincount(groups.items[~single], minlength=many).astype(np.int64)


@dataclass(frozen=True)
class GatherGroups:
    """Work: the groups of a bucket; all that was counted of each is here."""

    release: ReleaseFolder
    sensitive: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Put together what was counted."""
        returns = of_groups(self.sensitive)
        told = table.filter(pl.col("column").is_not_null())
        if told.select(pl.struct("g", "low").n_unique()).item() > told["g"].n_unique():
            raise NotInShardsError("two groups have the same number by chance")
        rows = told.filter(pl.col("column") == ROWS).group_by("g").agg(pl.col(COUNTED).sum().alias("size"))
        people = table.filter(pl.col("fits").is_not_null()).group_by("g").agg(pl.col("fits", "alone", "several").sum())
        found = rows.join(people, on="g", how="left").with_columns(pl.col("fits", "alone", "several").fill_null(0))
        found = found.sort("g").with_columns(
            pl.lit(self.release.number, pl.Int32).alias("t"), self._fakes(found.sort("g"))
        )
        for s in range(self.sensitive):
            many = told.filter(pl.col("column") == s).group_by("g", "code").agg(pl.col(COUNTED).sum())
            lists = many.sort("g", "code").group_by("g").agg(
                pl.col("code").cast(pl.Int64).alias(f"codes{s}"), pl.col(COUNTED).alias(f"counts{s}")
            )  # fmt: skip
            none = pl.Series([[]], dtype=pl.List(pl.Int64))
            found = found.join(lists, on="g", how="left").with_columns(
                pl.col(f"codes{s}", f"counts{s}").fill_null(none)
            )
        return found.select(pl.col(name).cast(dtype) for name, dtype in returns.items())

    def _fakes(self, groups: pl.DataFrame) -> pl.Series:
        """Return how many counterfeits the manifest places in each group."""
        fakes = np.zeros(groups.height, np.int64)
        told = placed(self.release.manifest.counterfeits)
        if told and any(c.role == "group" for c in self.release.manifest.columns):
            fakes = np.array([told.get(number, 0) for number in groups["g"].to_list()], np.int64)
        return pl.Series("fakes", np.minimum(fakes, groups["size"].to_numpy()))


@dataclass(frozen=True)
class Exclude:
    """Work: drop the candidates that counting excludes.

    ``exact`` groups hold everybody who may be in them, ``full`` ones are full of persons who may be in no other.
    With ``dropped`` the work returns what changes in the counts instead of the persons.
    """

    exact: IntArray = field(repr=False)
    full: IntArray = field(repr=False)
    dropped: bool

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at the persons of a shard."""
        lengths = table["groups"].list.len().to_numpy().astype(np.int64)
        groups = table["groups"].explode().drop_nulls().to_numpy().astype(np.int64)
        rows = Ragged.of_lengths(lengths, groups)
        owner = rows.owners()
        exact = _within(groups, self.exact)
        held = np.zeros(len(lengths), np.bool_)
        held[owner[exact]] = True
        lone = lengths[owner] == 1
        drop = (held[owner] & ~exact) | (_within(groups, self.full) & ~lone)
        left = rows.select(~drop)
        if not self.dropped:
            return table.with_columns(listed(left.offsets, left.items).alias("groups"))
        numbers, place = np.unique(groups, return_inverse=True)
        many = len(numbers)
        before = np.bincount(place[lone], minlength=many), np.bincount(place[~lone], minlength=many)
        single = (left.lengths[owner] == 1) & ~drop
        after = np.bincount(place[single], minlength=many), np.bincount(place[~single & ~drop], minlength=many)
        changes = {"fits": -np.bincount(place[drop], minlength=many), "alone": after[0] - before[0]}
        changes["several"] = after[1] - before[1]
        found = pl.DataFrame({"g": numbers, **changes}, schema=FITS)
        return found.filter((pl.col("fits") != 0) | (pl.col("alone") != 0) | (pl.col("several") != 0))


@dataclass(frozen=True)
class Recount:
    """Work: add changes to what was counted of groups."""

    changes: pl.DataFrame = field(repr=False)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Add them up."""
        names = ("fits", "alone", "several")
        more = self.changes.rename({name: f"{name}+" for name in names})
        both = table.join(more, on="g", how="left")
        return both.with_columns((pl.col(name) + pl.col(f"{name}+").fill_null(0)).alias(name) for name in names).select(
            table.columns
        )


def _within(groups: IntArray, some: IntArray) -> BoolArray:
    """Return which groups are among some, which are in order."""
    if not len(some):
        return np.zeros(len(groups), np.bool_)
    found: BoolArray = some[np.minimum(np.searchsorted(some, groups), len(some) - 1)] == groups
    return found


def excluded(people: Shards, groups: Shards, *, everybody: bool) -> tuple[Shards, Shards]:
    """Drop what counting excludes, as :func:`reveil.adversary.candidates.exclude_by_counting` does in one memory."""
    while True:
        marked = groups.map(Flagged(), _FLAGGED).collect()
        if not marked.height:
            return people, groups
        held = marked.filter(pl.col("exact"))["g"].sort().to_numpy().astype(np.int64)
        filled = marked.filter(pl.col("full") & pl.lit(everybody))["g"].sort().to_numpy().astype(np.int64)
        changes = people.map(Exclude(held, filled, dropped=True), FITS).collect()
        changes = changes.group_by("g").agg(pl.col("fits", "alone", "several").sum())
        if not (changes["fits"] != 0).any():
            return people, groups
        people = people.map(Exclude(held, filled, dropped=False), people.schema).kept()
        groups = groups.map(Recount(changes), groups.schema).kept()


_FLAGGED = pl.Schema({"g": pl.Int64, "exact": pl.Boolean, "full": pl.Boolean})


class Flagged:
    """Work: the groups that may exclude somebody from others."""

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at some groups."""
        real = pl.col("size") - pl.col("fakes")
        marked = table.filter(pl.col("several") > 0).select(
            "g", (pl.col("fits") == real).alias("exact"), (pl.col("alone") == real).alias("full")
        )
        return marked.filter(pl.col("exact") | pl.col("full"))
