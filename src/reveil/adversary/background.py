"""Background tables: who could be in a release, who is, what they have, and which row is which record.

A population needs some of the quasi columns of the schema and, to follow people over time, their person column; other
columns are ignored. Without a person column the rows are called by their numbers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, DataError
from reveil.models.encoding import Attribute, encode_quasi
from reveil.releases.different_cells import places_in
from reveil.tables.formats import read_file
from reveil.tables.formats.place import Place
from reveil.tables.schema import Column, Role, Schema
from reveil.tables.snapshot import canonical_text, read_snapshot
from reveil.tables.snapshot.frames import from_native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import BoolArray, CodeArray

ROW, ID = "row", "id"


class PopulationSchema(Schema):
    """The columns that a table about people may have: those declared that say who they are, and any others."""

    @classmethod
    def like(cls, schema: Schema) -> PopulationSchema:
        """Keep the columns that are looked at."""
        looked_at = [column for column in schema.columns if column.role in (Role.PERSON, Role.QUASI)]
        return cast("PopulationSchema", cls.of(looked_at, schema.null_values, schema.input.for_lists()))

    def __getitem__(self, name: str) -> Column:
        """Return the column; one that is not looked at is an identifier, which is never read."""
        known = {column.name: column for column in self.columns}
        return known.get(name, Column(name, Role.IDENTIFIER))

    def check_columns(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        """Raise unless the table has one of the quasi columns."""
        if not set(self.quasi) & set(names):
            raise DataError(
                "none of the quasi columns is in this table",
                file=file,
                hint=("Does the file lack a header line, or is" if header_line else "Is")
                + " it another table than the config is for?",
            )


@dataclass(frozen=True)
class KnownPeople:
    """People with known quasi values."""

    ids: pl.Series = field(repr=False)
    quasi: pl.DataFrame = field(repr=False)
    schema: Schema = field(repr=False)

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The known quasi columns in codes."""
        return tuple(encode_quasi(self.quasi[name], self.schema[name]) for name in self.quasi.columns)

    def only(self, ids: pl.Series) -> KnownPeople:
        """Keep the people with these ids."""
        kept = self.ids.is_in(ids.implode())
        return KnownPeople(self.ids.filter(kept), self.quasi.filter(kept), self.schema)


@dataclass(frozen=True)
class PeopleTables:
    """Who was in the snapshot of a release, and who could have been in it by a population table; None: not given."""

    snapshot: KnownPeople | None
    population: KnownPeople | None


@dataclass(frozen=True)
class Background:
    """The background tables of an audit, one for each release."""

    tables: tuple[KnownPeople, ...] = field(repr=False)
    values: tuple[pl.DataFrame | None, ...] = field(repr=False)
    truth_ids: tuple[pl.Series | None, ...] = field(repr=False)
    attendance: bool  # whether the tables say who is in which release, not only who could be
    types: dict[str, pl.DataType]
    one_population: bool  # one population for all releases
    plain: tuple[str, ...] = ()
    households: tuple[pl.Series | None, ...] = field(default=(), repr=False)  # of those in ``truth_ids``
    snapshots: tuple[KnownPeople, ...] = field(default=(), repr=False)
    from_population: bool = False  # the tables are a population, not the snapshots

    def listed(self, number: int) -> PeopleTables:
        """Return who is listed for a release, by either table."""
        snapshot = self.snapshots[number] if self.snapshots else None
        return PeopleTables(snapshot, self.tables[number] if self.from_population else None)

    @property
    def truth(self) -> bool:
        """Whether the snapshots are given."""
        return any(frame is not None for frame in self.values)

    @cached_property
    def restless(self) -> frozenset[str]:
        """The plain columns in which somebody's cell is not always the same."""
        tables = [
            values.with_columns(ids.alias("\0id"))
            for values, ids in zip(self.values, self.truth_ids, strict=True)
            if values is not None and ids is not None
        ]
        plain = [name for name in tables[0].columns if name in self.plain] if tables else []
        if not plain:
            return frozenset()
        many = pl.concat(tables).group_by("\0id").agg(pl.col(plain).n_unique()).select(pl.col(plain).max() > 1)
        return frozenset(name for name in plain if many[name][0])

    def present(self, known: str) -> tuple[KnownPeople, ...]:
        """Return who is in each table, or with known="nothing" who could be."""
        return self.tables if known == "nothing" or not self.one_population else self._attending

    @cached_property
    def _attending(self) -> tuple[KnownPeople, ...]:
        """One population for all: who was there when is told by the snapshots."""
        return tuple(
            table if ids is None else table.only(ids) for table, ids in zip(self.tables, self.truth_ids, strict=True)
        )

    def truth_of(self, number: int, ids: pl.Series, column: str) -> tuple[pl.Series, BoolArray] | None:
        """Return the true values of some people and whether they are known."""
        values, known_ids = self.values[number], self.truth_ids[number]
        if values is None or known_ids is None:
            return None
        return self._of(ids, known_ids, canonical_text(values[column]))

    def households_of(self, number: int, ids: pl.Series) -> CodeArray | None:
        """Return a number for whom each of some people belongs to, -1 for nobody; None where nothing says it."""
        known, known_ids = self.households[number] if self.households else None, self.truth_ids[number]
        if known is None or known_ids is None:
            return None
        texts, there = self._of(ids, known_ids, known)
        named = there & texts.is_not_null().to_numpy()
        codes = texts.rank("dense").fill_null(0).to_numpy().astype(np.int32)
        return np.where(named, codes, np.int32(-1)).astype(np.int32)

    def _of(self, ids: pl.Series, known_ids: pl.Series, texts: pl.Series) -> tuple[pl.Series, BoolArray]:
        """Return what is known of some people, and of whom it is known."""
        if known_ids is ids or known_ids.equals(ids):
            return texts, np.ones(len(ids), np.bool_)
        there = ids.is_in(known_ids.implode()).to_numpy()
        place = np.zeros(len(ids), np.int64)
        place[there] = places_in(ids.filter(pl.Series(there)), known_ids)
        return texts.gather(place), there


def read_people(releases: int, schema: Schema, population: object | None, truth: Sequence[object] | None) -> Background:
    """Read the background tables: a population, the snapshots, or both."""
    if population is None and not truth:
        raise ConfigError(
            "an audit needs to know who is meant",
            hint="Give a population (who could be in the releases, with their quasi values) or the snapshots as truth.",
        )
    snapshots = [read_snapshot(source, schema).frame for source in truth or ()]
    if truth and len(snapshots) != releases:
        raise ConfigError(
            f"{releases} releases, but {len(snapshots)} snapshots",
            hint="Give one snapshot for each release, in the same order.",
        )
    if truth and schema.person is None and (releases > 1 or population is not None):
        raise ConfigError(
            "without a person column nobody can be followed from one snapshot to the next",
            hint='Declare the column that stays the same from release to release as "person".',
        )
    values = tuple(frame.select(*schema.sensitive, *schema.plain) for frame in snapshots) or (None,) * releases
    relation = schema.relation
    households = tuple(
        canonical_text(frame[relation]) if relation is not None and relation in frame.columns else None
        for frame in snapshots
    )
    looked_at = PopulationSchema.like(schema)
    known_people = tuple(_table(frame, looked_at) for frame in snapshots)
    types: dict[str, pl.DataType] = {}
    for frame in snapshots[:1]:
        types = {name: frame.schema[name] for name in (*schema.sensitive, *schema.plain)}
    ids = tuple(table.ids for table in known_people) or (None,) * releases
    if population is None:
        return Background(
            known_people,
            values,
            ids,
            attendance=True,
            types=types,
            one_population=False,
            plain=schema.plain,
            households=households,
            snapshots=known_people,
        )
    several = isinstance(population, list | tuple)
    given: list[object] = list(population) if isinstance(population, list | tuple) else [population]
    if len(given) not in (1, releases):
        raise ConfigError(
            f"{releases} releases, but {len(given)} populations",
            hint="Give one population for all releases, or one for each, in the same order.",
        )
    read = [_table(read_snapshot(source, looked_at).frame, looked_at) for source in given]
    one_population = len(read) == 1
    if schema.person is not None and (truth or len(read) > 1) and any(_nameless(table) for table in read):
        raise DataError(
            f"a population has no column {schema.person!r}",
            column=schema.person,
            hint="Without it nobody can be found again in another table.",
        )
    tables = tuple(read) if len(read) == releases else tuple(read) * releases
    attends = bool(truth) or (several and len(read) == releases) or releases == 1
    return Background(
        tables,
        values,
        ids,
        attendance=attends,
        types=types,
        one_population=one_population,
        plain=schema.plain,
        households=households,
        snapshots=known_people,
        from_population=True,
    )


def read_placements(source: object, rows: int) -> pl.Series:
    """Read which record is in which row; return the record of each row, null where none is named."""
    frame, place = any_table(source)
    name = ID if ID in frame.columns else "person"
    for wanted in (ROW, name):
        if wanted not in frame.columns:
            raise place.error(
                f"this table of placements has no column {wanted if wanted == ROW else ID!r}",
                column=wanted,
                hint="Placements have two columns: row (counted from 0 in the published table) and id.",
            )
    number = frame[ROW].cast(pl.Int64, strict=False)
    wrong = (number.is_null() | (number < 0) | (number >= rows) | number.is_duplicated()).arg_true()
    if len(wrong):
        raise place.error(
            f"column {ROW!r} has a cell that is no row of the release, or one that was named before",
            column=ROW,
            row=int(wrong[0]),
            hint=f"Rows are counted from 0 to {rows - 1:,}, in the order of the published table.",
        )
    ids = canonical_text(frame[name])
    twice = (ids.is_duplicated() & ids.is_not_null()).arg_true()
    if len(twice):
        raise place.error(
            "a record is in two rows", column=name, row=int(twice[0]), hint="A record has one row in a release."
        )
    named = pl.DataFrame({ROW: number, ID: ids})
    return pl.DataFrame({ROW: np.arange(rows)}).join(named, on=ROW, how="left", maintain_order="left")[ID]


def _table(frame: pl.DataFrame, schema: Schema) -> KnownPeople:
    quasi = frame.select(name for name in schema.quasi if name in frame.columns)
    if schema.person is not None and schema.person in frame.columns:
        return KnownPeople(canonical_text(frame[schema.person]).alias(ID), quasi, schema)
    return KnownPeople(pl.Series(ROW, np.arange(1, frame.height + 1)).cast(pl.String), quasi, schema)


def _nameless(table: KnownPeople) -> bool:
    return table.ids.name == ROW


def any_table(source: object) -> tuple[pl.DataFrame, Place]:
    """Read a table whatever its columns are."""
    if not isinstance(source, str | os.PathLike):
        return from_native(source, _Anything())[0], Place("the placements")
    table = read_file(Path(source))
    return table.frame, table.place


class _Anything(Schema):
    """Takes a table as it is."""

    def __init__(self) -> None:
        super().__init__(quasi=ROW)

    def __getitem__(self, name: str) -> Column:
        return Column(name, Role.QUASI)

    def check_columns(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        """Raise nothing."""
