"""What a vault is, whatever database it lies in, and what passes in and out of it.

The vault remembers, per person, what the world has been told so far, and each person's last record to see what
changed. Persons are known by keyed pseudonyms only (two ``int64`` numbers, ``high`` and ``low``), values by codes of
append-only dictionaries, so that a new value in a later snapshot changes nothing that was told.

Records are given as arrays of equal length, one entry for each row of a snapshot; ``record`` is always a position in
these arrays. Series without a person column give empty arrays, and only the release itself is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from reveil.vault.keys import Key

Int64Array = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.integer]

# What a setting becomes when some values are gone: from what it was and the values that are left of each attribute.
Revised: TypeAlias = "Mapping[str, Callable[[Any, Mapping[str, pl.Series]], Any]]"

PENDING, CONFIRMED, ABANDONED, ADOPTED = "pending", "confirmed", "abandoned", "adopted"
TOLD = {"record": pl.Int32, "members": pl.String}


@dataclass(frozen=True)
class Ledger:
    """A table in which a guarantee keeps what was told: rows of whole numbers, or of real ones where ``real`` says so.

    ``personal``: each row belongs to a person, and goes when the person is forgotten. ``outlives``: a tombstone keeps
    it. A row is known by its ``keys`` (and its person): a later row with the same keys takes its place. ``coded`` is a
    column of dictionary codes, which an erasure must not pull away: those of the attribute that a column ``attribute``
    gives by number, or of the first sensitive one where there is no such column. ``blanked``: the coded value is the
    person's own, and not only what was told of a group: a tombstone keeps the row with -1 in its place.
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

    def rows(self, ledger: Ledger, column: str | None = None, among: IntArray | None = None) -> pl.DataFrame:
        """Return all rows, or those whose ``column`` is among some numbers, ascending by their keys.

        Where the ledger is personal, ``person`` is the number of the person, and ``record`` their place in the
        snapshot, -1 if they are not in it.
        """

    def last(self, persons: IntArray) -> dict[str, CodeArray]:
        """Return the last record of each of some persons: dictionary codes by column, -1 where none is kept."""

    def texts(self, attribute: str) -> pl.Series:
        """Return what the codes of an attribute stand for, by code; those of this snapshot included."""

    def values(self, attribute: str) -> pl.DataFrame:
        """Return ``code`` and ``value`` (a text; null is a value) of an attribute, those of this snapshot included."""

    def number(self, attribute: str) -> int:
        """Return the number of an attribute, as a column ``attribute`` of a ledger has it."""


@dataclass(frozen=True)
class ReleaseRow:
    """One release as the vault knows it."""

    release: int
    state: str
    created: str
    snapshot: str
    request: dict[str, Any]
    path: str | None
    digest: str | None
    manifest: str | None
    manifest_digest: str | None
    facts: dict[str, Any]


@dataclass(frozen=True)
class Recall:
    """What the vault knows of the persons behind given records.

    ``person`` is -1 for who was never seen; ``present`` says whether they were in the last release. ``last`` has for
    each attribute the dictionary code of the last record, -1 where none is kept. ``told`` has the columns ``record``
    and ``signature``, one row for each signature that a person has had. ``gone`` are the numbers of the persons who
    were in the last release and are not among the given records.
    """

    person: CodeArray
    present: BoolArray
    last: dict[str, CodeArray]
    told: pl.DataFrame
    gone: CodeArray


@dataclass(frozen=True)
class Change:
    """All that one release changes in the vault.

    ``types`` are the attributes to know from now on, ``dictionary`` the new values of each, which get the codes from
    :meth:`Vault.next_code` on. ``person`` is what :class:`Recall` said: who is new there gets the next number.
    ``changed`` marks the records to be written (new persons always are), and ``records`` are their codes, -1 for
    nothing to keep; an attribute that is not among them keeps what it had. ``gone`` are person numbers.

    ``signatures`` are members texts that the vault does not know yet (ascending codes joined by commas) and ``told``
    (columns ``record`` and ``members``) says who was told which, known or new. ``signed`` names the attribute whose
    codes they are; it is remembered, so that erasing a person can tell which values are still needed.

    With ``replaces``, whoever is told something has nothing else told afterwards. ``entries`` go into ledgers.

    ``placements`` (``record``, ``place``, ``grp``; a ``person`` where the record is -1) go into the archive,
    ``settings`` are settled in the same transaction.
    """

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
    types: Mapping[str, str] = field(default_factory=dict)
    dictionary: Mapping[str, pl.Series] = field(default_factory=dict)
    high: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    low: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    person: CodeArray = field(default_factory=lambda: np.zeros(0, np.int32))
    changed: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    records: Mapping[str, CodeArray] = field(default_factory=dict)
    gone: CodeArray = field(default_factory=lambda: np.zeros(0, np.int32))
    signatures: pl.Series = field(default_factory=lambda: pl.Series("members", [], pl.String))
    told: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TOLD))
    settings: Mapping[str, Any] = field(default_factory=dict)
    placements: pl.DataFrame | None = None
    signed: str | None = None
    replaces: bool = False
    entries: tuple[Entries, ...] = ()


class Vault(Protocol):
    """What never leaves the building. One vault object belongs to one thread.

    Whoever implements this keeps two promises. A change is in the vault entirely or not at all, whenever the process
    is killed; and of two publishers who prepare the same release, one is told :class:`~reveil.core.errors.BusyError`.
    """

    @property
    def folder(self) -> Path:
        """Where files that belong to the vault lie; the caller may keep copies of releases in ``releases/``."""

    @property
    def key(self) -> Key:
        """The secret that makes pseudonyms and random streams."""

    @property
    def series_id(self) -> str:
        """16 hex digits, drawn when the vault was made."""

    def setting(self, name: str) -> Any | None:
        """Return a setting, or None if there is none of this name."""

    def settle(self, name: str, value: Any) -> None:
        """Keep a setting: anything that JSON can hold."""

    def head(self) -> int:
        """Return the number of the last release, 0 before the first."""

    def releases(self) -> list[ReleaseRow]:
        """Return all releases in order."""

    def attributes(self) -> dict[str, str]:
        """Return the type of each attribute whose values are remembered, in order of appearance."""

    def next_code(self, attribute: str) -> int:
        """Return the code that the next new value of an attribute gets; codes are never used twice."""

    def lookup(self, attribute: str, values: pl.Series) -> CodeArray:
        """Return the code of each value (null is a value), -1 where it is not in the dictionary."""

    def values(self, attribute: str) -> pl.DataFrame:
        """Return the dictionary of an attribute: ``code`` and ``value``, ascending by code."""

    def recall(self, high: Int64Array, low: Int64Array) -> Recall:
        """Return what is known of the persons with these pseudonyms, and who is missing among them."""

    def ledger(self, ledger: Ledger, column: str | None = None, among: IntArray | None = None) -> pl.DataFrame:
        """Return the rows of a ledger, all or those whose ``column`` (``person`` included) is among some numbers.

        With a column ``person`` where it is personal; in no particular order. Nothing where nothing was written.
        """

    def ledger_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of whole numbers of a ledger, in their order; none where nothing was written."""

    def told(self) -> pl.DataFrame:
        """Return ``person`` and ``signature``: who was ever told which, as far as it is remembered."""

    def presence(self) -> tuple[CodeArray, BoolArray]:
        """Return everybody's number, and whether they were in the last release."""

    def archived(self, release: int) -> pl.DataFrame:
        """Return ``person`` and ``place`` of everybody whose row in a release is kept."""

    def last(self, persons: IntArray) -> dict[str, CodeArray]:
        """Return the last record of each of some persons: dictionary codes by attribute, -1 where none is kept."""

    def signature_members(self, signatures: IntArray) -> pl.DataFrame:
        """Return ``signature`` and ``members`` (a list of codes) of those signatures that exist, each once."""

    def find_signatures(self, members: pl.Series) -> CodeArray:
        """Return the number of each signature given by its members text, -1 where there is none."""

    def prepare(self, change: Change) -> None:
        """Write a release and all that it tells, in one transaction.

        Raises :class:`~reveil.core.errors.BusyError` if the release before it is not the last one, and
        :class:`~reveil.core.errors.PendingError` if a release is pending.
        """

    def confirm(self, release: int, *, path: str | None = None, facts: dict[str, Any] | None = None) -> None:
        """Say that a pending release was written and verified; what is given replaces what was prepared."""

    def abandon(self, release: int) -> None:
        """Give a pending release up. It stays told: its file may have left the building."""

    def placements(self, release: int, high: Int64Array, low: Int64Array) -> pl.DataFrame:
        """Return ``record``, ``place`` and ``grp`` of those of the given persons who were in a release."""

    def has_archive(self, release: int) -> bool:
        """Return whether placements of a release are kept."""

    def forget(self, high: int, low: int, *, tombstone: bool = False, revised: Revised | None = None) -> bool:
        """Erase a person, bytes included. False if nobody has this pseudonym, or a tombstone is all there is already.

        A tombstone keeps the pseudonym and what was told, so that the bound goes on if the person returns. ``revised``
        are settings of the caller's that hold values: by name, what each becomes.
        """

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""

    def __enter__(self) -> Vault: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
