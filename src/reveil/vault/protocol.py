"""What passes in and out of a vault.

The vault remembers, per person, what the world has been told so far, and each person's last record to see what
changed. Persons are known by keyed pseudonyms only (two ``int64`` numbers, ``high`` and ``low``), values by codes of
append-only dictionaries, so that a new value in a later snapshot changes nothing that was told.

Records are given as arrays of equal length, one entry for each row of a snapshot; ``record`` is always a position in
these arrays. Series without a person column give empty arrays, and only the release itself is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from reveil.core.arrays import BoolArray, CodeArray, Integers

# What a setting becomes when some values are gone: from what it was and the values that are left of each attribute.
Revised: TypeAlias = "Mapping[str, Callable[[Any, Mapping[str, pl.Series]], Any]]"

PENDING, CONFIRMED, ABANDONED, ADOPTED = "pending", "confirmed", "abandoned", "adopted"


@dataclass(frozen=True)
class Ledger:
    """A table in which a guarantee keeps what was told: rows of whole numbers, or of real ones where ``real`` says so.

    ``personal``: each row belongs to a person, and goes when the person is forgotten. ``outlives``: a tombstone keeps
    it. A row is known by its ``keys`` (and its person): a later row with the same keys takes its place. ``coded`` is a
    column of dictionary codes, which an erasure must not pull away: those of the attribute that a column ``attribute``
    gives by number, or where there is no such column of the one that the caller's setting ``signed`` names.
    ``blanked``: the coded value is the person's own, and not only what was told of a group: a tombstone keeps the row
    with -1 in its place.
    """

    name: str
    keys: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    real: tuple[str, ...] = ()
    personal: bool = True
    outlives: bool = True
    coded: str | None = None
    blanked: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, beside the person."""
        return (*self.keys, *self.whole, *self.real)


@dataclass(frozen=True)
class Entries:
    """What one release writes into a ledger.

    ``rows`` has the columns of the ledger and, where it is personal, ``record``: a position in the snapshot. Rows of
    persons who are not in the snapshot have a ``person`` instead, and -1 as their record (the column may be left out
    where there are none). ``cleared`` are the keys of rows that end: for a personal ledger ``person`` or ``record``
    as above and nothing else, then all the rows of these persons end before the new ones are written.
    """

    ledger: Ledger
    rows: pl.DataFrame
    cleared: pl.DataFrame | None = None


class Book(Protocol):
    """What a guarantee may read: the ledgers, and last records of persons who are not in the snapshot."""

    def of_records(self, ledger: Ledger) -> pl.DataFrame:
        """Return the rows of the persons of the snapshot: ``record`` and the columns, ascending by record and keys."""

    def rows(self, ledger: Ledger, column: str | None = None, among: Integers | None = None) -> pl.DataFrame:
        """Return all rows, or those whose ``column`` is among some numbers, ascending by their keys.

        Where the ledger is personal, ``person`` is the number of the person, and ``record`` their place in the
        snapshot, -1 if they are not in it.
        """

    def last(self, persons: Integers) -> dict[str, CodeArray]:
        """Return the last record of each of some persons: dictionary codes by column, -1 where none is kept."""

    def texts(self, attribute: str) -> pl.Series:
        """Return what the codes of an attribute stand for, by code; those of this snapshot included."""

    def values(self, attribute: str) -> pl.DataFrame:
        """Return ``code`` and ``value`` (a text; null is a value) of an attribute, those of this snapshot included."""

    def number(self, attribute: str) -> int:
        """Return the number of an attribute, as a column ``attribute`` of a ledger has it."""


@dataclass(frozen=True)
class ReleaseRow:
    """One release, as it is told to the vault and as the vault knows it."""

    release: int
    state: str
    created: str
    snapshot: str
    request: dict[str, Any]
    path: str | None = None
    digest: str | None = None
    manifest: str | None = None
    manifest_digest: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recall:
    """What the vault knows of the persons behind given records.

    ``person`` is -1 for who was never seen; ``present`` says whether they were in the last release. ``last`` has for
    each attribute the dictionary code of the last record, -1 where none is kept. ``gone`` are the numbers of the
    persons who were in the last release and are not among the given records.
    """

    person: CodeArray
    present: BoolArray
    last: dict[str, CodeArray]
    gone: CodeArray
