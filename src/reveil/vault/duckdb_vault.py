"""A vault in a folder: an embedded DuckDB database, the key beside it, and room for copies of releases.

DuckDB lets one process into the file at a time. Several vault objects of one process share it, one for each thread;
between them the compare-and-swap on the head decides.
"""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import weakref
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl

from reveil.core.errors import BusyError, RefusedError, VaultError
from reveil.vault import chain, ledgers, seals, settings
from reveil.vault.anchored import Anchored
from reveil.vault.bridge import BUSY_HINT, BUSY_TEXT, columns, integers, lent, one, texts, translated
from reveil.vault.erasure import delete_person, rewrite
from reveil.vault.keys import LOST, SALT, Key
from reveil.vault.migrations import migrate
from reveil.vault.opening import DATABASE, connect, find_folder
from reveil.vault.private import FOLDER, private
from reveil.vault.protocol import ABANDONED, ADOPTED, CONFIRMED, PENDING, Change, Recall, ReleaseRow
from reveil.vault.requests import replace_texts
from reveil.vault.writing import attribute_numbers, find_signatures, match_values, write

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

    from reveil.vault.bridge import Connection
    from reveil.vault.protocol import CodeArray, Int64Array, IntArray, Ledger, Revised, Vault

RELEASES = "releases"

# Opening and replacing the file are done by one thread at a time; an erasure must know who else has it open.
_DOOR = threading.RLock()
_OPEN: weakref.WeakSet[DuckDBVault] = weakref.WeakSet()


class DuckDBVault(Anchored):
    """The vault of one series. A context manager; see :class:`~reveil.vault.protocol.Vault` for its methods."""

    def __init__(self, folder: Path, connection: Connection) -> None:
        self.folder = folder
        self._connection: Connection | None = connection
        self._sealed = True  # all of it by this version of DuckDB
        self._checked: set[int] = set()  # releases whose placements were compared with their seals

    @classmethod
    def open(cls, folder: str | Path, *, create: bool = True, anchor: Path | None = None) -> DuckDBVault:
        """Open the vault in a folder, or make it if there is none and ``create`` allows it.

        ``anchor`` is where its anchor lies; it is compared by :meth:`standing` and follows after :meth:`follow`.
        """
        with _DOOR:
            place = find_folder(Path(folder), create=create)
            with private(place), translated(place):
                vault = cls(place, connect(place))
                vault.anchor = anchor
                try:
                    vault._begin()
                except BaseException as error:
                    vault.close()
                    if isinstance(error, VaultError) and error.file is None:
                        error.file = str(place)
                    raise
            _OPEN.add(vault)
        return vault

    def _begin(self) -> None:
        migrate(self._con)
        try:
            found = settings.get_all(self._con)
            check = found.get(settings.CHECK)
            # Tables without a key are a vault that was killed while it was made: nothing was told yet.
            salt = secrets.token_bytes(SALT) if check is None else bytes.fromhex(found.get(settings.SALT) or "")
        except (TypeError, ValueError):
            raise seals.damaged(self.folder, "settings") from None
        self.key = Key.load_or_make(self.folder, salt) if check is None else Key.load(self.folder, salt or None)
        if check is None:
            if seals.any_kept(self._con):
                raise seals.damaged(self.folder, "settings")
            with self._transaction():
                settings.put(self._con, settings.SALT, salt.hex())
                settings.put(self._con, settings.HEAD, 0)
                settings.put(self._con, settings.SEED, secrets.randbits(63))
                settings.put(self._con, settings.SERIES, secrets.token_hex(8))
                settings.put(self._con, settings.CHECK, self.key.check())
                self._con.execute("DELETE FROM chain")
                chain.append(self._con, self.key, chain.BEGUN, 0)
                self._con.execute("DELETE FROM settings WHERE key = ?", [settings.UNSEALED])
        elif check != self.key.check():
            raise VaultError("this key does not belong to this vault", hint=LOST)
        elif found.get(settings.UNSEALED):
            with self._transaction(releases=None) as connection:
                connection.execute("DELETE FROM settings WHERE key = ?", [settings.UNSEALED])
        else:
            with self._begun() as connection:
                self._sealed = seals.check(connection, self.key, self.folder)
        if found.get(settings.TEXTS):
            with self._transaction("releases", "settings"):
                replace_texts(self._con, self.key)
        if not chain.end(self._con)[0]:  # of before there were chains
            with self._transaction("chain") as connection:
                chain.append(connection, self.key, chain.BEGUN, int(settings.get(connection, settings.HEAD) or 0))
        chain.check(self._con, self.key)
        self.series_id = str(settings.get(self._con, settings.SERIES))
        with suppress(OSError):
            (self.folder / RELEASES).mkdir(mode=FOLDER, exist_ok=True)
        if settings.get(self._con, settings.ERASING) and not self._others():
            self._rewrite()

    @property
    def _con(self) -> Connection:
        if self._connection is None:
            raise ValueError("this vault is closed")
        return self._connection

    def _others(self) -> bool:
        return any(v is not self and v._connection is not None and v.folder == self.folder for v in _OPEN)

    @contextmanager
    def _transaction(self, *tables: str, releases: Collection[int] | None = ()) -> Iterator[Connection]:
        """Change these tables (any where none is named), and placements of these releases (None: of any).

        What is not named keeps its seal, and must not be changed.
        """
        with private(self.folder), translated(self.folder), self._begun() as connection:
            yield connection
            if self._sealed:
                seals.renew(connection, self.key, tables, releases)
            else:
                seals.renew(connection, self.key, releases=None)
        self._sealed = True

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        connection = self._con
        connection.execute("BEGIN")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):  # a failed COMMIT has rolled back already
                connection.execute("ROLLBACK")
            raise

    def setting(self, name: str) -> Any | None:
        """Return a setting, or None if there is none of this name."""
        with translated(self.folder):
            return settings.get(self._con, name)

    def settle(self, name: str, value: Any) -> None:
        """Keep a setting: anything that JSON can hold."""
        with self._transaction("settings") as connection:
            settings.put_callers(connection, name, value)

    def head(self) -> int:
        """Return the number of the last release, 0 before the first."""
        return int(self.setting(settings.HEAD) or 0)

    def releases(self) -> list[ReleaseRow]:
        """Return all releases in order."""
        names = [field.name for field in fields(ReleaseRow)]
        with translated(self.folder):
            rows = self._con.execute(
                f"SELECT {', '.join(names)} FROM releases ORDER BY release"  # noqa: S608 -- names of the dataclass
            ).fetchall()
        found = [dict(zip(names, row, strict=True)) for row in rows]
        return [
            ReleaseRow(**{**row, "request": json.loads(row["request"]), "facts": json.loads(row["facts"])})
            for row in found
        ]

    def attributes(self) -> dict[str, str]:
        """Return the type of each attribute whose values are remembered, in order of appearance."""
        with translated(self.folder):
            return dict(self._con.execute("SELECT name, type FROM attributes ORDER BY attribute").fetchall())

    def next_code(self, attribute: str) -> int:
        """Return the code that the next new value of an attribute gets; codes are never used twice."""
        with translated(self.folder):
            return int(one(self._con, "SELECT next_code FROM attributes WHERE name = ?", [attribute]) or 0)

    def lookup(self, attribute: str, values: pl.Series) -> CodeArray:
        """Return the code of each value (null is a value), -1 where it is not in the dictionary."""
        with translated(self.folder):
            number = attribute_numbers(self._con).get(attribute)
            if number is None:
                return np.full(len(values), -1, np.int32)
            return match_values(self._con, number, values)

    def values(self, attribute: str) -> pl.DataFrame:
        """Return the dictionary of an attribute: ``code`` and ``value``, ascending by code."""
        with translated(self.folder):
            found = columns(
                self._con,
                "SELECT d.code, d.value FROM dictionary d JOIN attributes a ON a.attribute = d.attribute "
                "WHERE a.name = ? ORDER BY d.code",
                [attribute],
            )
        return pl.DataFrame({"code": integers(found["code"]), "value": texts("value", found["value"])})

    def recall(self, high: Int64Array, low: Int64Array) -> Recall:
        """Return what is known of the persons with these pseudonyms, and who is missing among them."""
        with translated(self.folder):
            numbers = attribute_numbers(self._con)
            codes = "".join(f", COALESCE(p.a{n}, -1) AS a{n}" for n in numbers.values())
            with lent(self._con, given=_given(high, low)):
                found = columns(
                    self._con,
                    f"SELECT COALESCE(g.record, -1) AS record, p.person, p.present{codes} FROM persons p "  # noqa: S608
                    "LEFT JOIN given g ON p.high = g.high AND p.low = g.low WHERE p.present OR g.record IS NOT NULL",
                )
            record, number = integers(found["record"]), integers(found["person"])
            seen = record >= 0
            person = np.full(len(high), -1, np.int32)
            person[record[seen]] = number[seen]
            present = np.zeros(len(high), np.bool_)
            present[record[seen]] = found["present"][seen]
            last = {}
            for name, n in numbers.items():
                last[name] = np.full(len(high), -1, np.int32)
                last[name][record[seen]] = integers(found[f"a{n}"])[seen]
            with lent(self._con, given=pl.DataFrame({"record": record[seen], "person": number[seen]})):
                told = columns(
                    self._con, "SELECT g.record, t.signature FROM told t JOIN given g ON g.person = t.person"
                )
        frame = pl.DataFrame({name: integers(told[name]) for name in ("record", "signature")})
        return Recall(person, present, last, frame.sort("record", "signature"), np.sort(number[~seen]))

    def ledger(self, ledger: Ledger, column: str | None = None, among: IntArray | None = None) -> pl.DataFrame:
        """Return the rows of a ledger, all or those whose ``column`` is among some numbers, in no particular order."""
        with translated(self.folder):
            return ledgers.read(self._con, ledger, column, among)

    def ledger_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of whole numbers of a ledger, in their order; none where nothing was written."""
        with translated(self.folder):
            return ledgers.columns_of(self._con, name)

    def told(self) -> pl.DataFrame:
        """Return ``person`` and ``signature``: who was ever told which, as far as it is remembered."""
        with translated(self.folder):
            found = columns(self._con, "SELECT person, signature FROM told")
        return pl.DataFrame({name: integers(found[name]) for name in ("person", "signature")})

    def presence(self) -> tuple[CodeArray, np.ndarray]:
        """Return everybody's number, and whether they were in the last release."""
        with translated(self.folder):
            found = columns(self._con, "SELECT person, present FROM persons ORDER BY person")
        return integers(found["person"]), np.asarray(found["present"], np.bool_)

    def archived(self, release: int) -> pl.DataFrame:
        """Return ``person`` and ``place`` of everybody whose row in a release is kept."""
        with self._placed(release):
            found = columns(self._con, "SELECT person, place FROM placements WHERE release = ?", [release])
        return pl.DataFrame({name: integers(found[name]) for name in ("person", "place")})

    def last(self, persons: IntArray) -> dict[str, CodeArray]:
        """Return the last record of each of some persons: dictionary codes by attribute, -1 where none is kept."""
        with translated(self.folder):
            numbers = attribute_numbers(self._con)
            codes = "".join(f", COALESCE(p.a{n}, -1) AS a{n}" for n in numbers.values())
            wanted = pl.DataFrame({"at": np.arange(len(persons), dtype=np.int32), "person": persons.astype(np.int32)})
            with lent(self._con, wanted=wanted):
                found = columns(
                    self._con,
                    f"SELECT w.at AS at{codes} FROM persons p JOIN wanted w ON w.person = p.person",  # noqa: S608
                )
        last = {name: np.full(len(persons), -1, np.int32) for name in numbers}
        for name, n in numbers.items():
            last[name][integers(found["at"])] = integers(found[f"a{n}"])
        return last

    def signature_members(self, signatures: IntArray) -> pl.DataFrame:
        """Return ``signature`` and ``members`` (a list of codes) of those signatures that exist, each once."""
        wanted = pl.DataFrame({"signature": np.unique(signatures).astype(np.int32)})
        with translated(self.folder), lent(self._con, wanted=wanted):
            found = columns(
                self._con,
                "SELECT s.signature, s.members FROM signatures s JOIN wanted w ON w.signature = s.signature",
            )
        members = texts("members", found["members"]).str.split(",").cast(pl.List(pl.Int32))
        return pl.DataFrame({"signature": integers(found["signature"]), "members": members}).sort("signature")

    def find_signatures(self, members: pl.Series) -> CodeArray:
        """Return the number of each signature given by its members text, -1 where there is none."""
        with translated(self.folder):
            return find_signatures(self._con, members)

    def prepare(self, change: Change) -> None:
        """Write a release and all that it tells, in one transaction; refuse if another was first or is pending."""
        act = chain.ADOPTED if change.state == ADOPTED else chain.PREPARED
        with self._change(releases=(change.release,)) as connection:
            write(connection, change)
            chain.append(connection, self.key, act, change.release, change.manifest_digest or change.digest or "")

    def confirm(self, release: int, *, path: str | None = None, facts: dict[str, Any] | None = None) -> None:
        """Say that a pending release was written and verified; what is given replaces what was prepared."""
        text = None if facts is None else settings.to_json(facts)
        self._resolve(release, CONFIRMED, ", path = COALESCE(?, path), facts = COALESCE(?, facts)", path, text)

    def abandon(self, release: int) -> None:
        """Give a pending release up. It stays told: its file may have left the building."""
        self._resolve(release, ABANDONED)

    def _resolve(self, release: int, state: str, also: str = "", *parameters: str | None) -> None:
        with self._change("releases") as connection:
            changed = one(
                connection,
                f"UPDATE releases SET state = ?{also} WHERE release = ? AND state = ?",  # noqa: S608 -- fixed texts
                [state, *parameters, release, PENDING],
            )
            if changed != 1:
                raise RefusedError(f"release {release} is not pending", hint="Look at `reveil history`.")
            chain.append(connection, self.key, chain.CONFIRMED if state == CONFIRMED else chain.ABANDONED, release)

    def placements(self, release: int, high: Int64Array, low: Int64Array) -> pl.DataFrame:
        """Return ``record``, ``place`` and ``grp`` of those of the given persons who were in a release."""
        with self._placed(release), lent(self._con, given=_given(high, low)):
            found = columns(
                self._con,
                "SELECT g.record, a.place, a.grp FROM placements a JOIN persons p ON p.person = a.person "
                "JOIN given g ON g.high = p.high AND g.low = p.low WHERE a.release = ?",
                [release],
            )
        frame = pl.DataFrame({name: integers(found[name]) for name in ("record", "place", "grp")})
        return frame.sort("record", "place")

    def has_archive(self, release: int) -> bool:
        """Return whether placements of a release are kept."""
        with self._placed(release):
            return bool(one(self._con, "SELECT EXISTS (SELECT 1 FROM placements WHERE release = ?)", [release]))

    @contextmanager
    def _placed(self, release: int) -> Iterator[None]:
        """Read the placements of a release, which are compared with their seal the first time."""
        with translated(self.folder):
            if release not in self._checked:
                seals.check_release(self._con, self.key, self.folder, release)
                self._checked.add(release)
            yield

    def forget(self, high: int, low: int, *, tombstone: bool = False, revised: Revised | None = None) -> bool:
        """Erase a person, bytes included; a tombstone keeps pseudonym and what was told.

        False if nobody has this pseudonym, or a tombstone is all that is left already. ``revised`` are settings of the
        caller's that hold values: each by name, with what it becomes when some of the values are gone.

        A vault that lacks nothing but erasures that its anchor knows of counts this one even if there is nothing to
        erase: the person may have come and gone after the backup. It never counts more of these than are missing.
        """
        with _DOOR:
            if self._others():
                raise BusyError(BUSY_TEXT, hint=BUSY_HINT, file=self.folder)
            with self._transaction(releases=None) as connection:
                self._sealed = seals.check(connection, self.key, self.folder, None)  # before they are renewed
                found = delete_person(connection, int(high), int(low), tombstone=tombstone, revised=revised or {})
                counts = found or self.standing().lacks_erasures_only
                if counts:
                    chain.append(connection, self.key, chain.FORGOTTEN, self.head())
            if found:
                with private(self.folder), translated(self.folder):
                    self._rewrite()
            if counts:
                self._settle()
        return found

    def _rewrite(self) -> None:
        rewrite(self._con, self.folder / DATABASE, self.key)
        self._connection = None
        self._connection = connect(self.folder)

    def discard(self) -> None:
        """Take a vault away in which nothing was told, and close it. Where another thread has it open, it stays."""
        with _DOOR:
            if self.head():
                raise ValueError("this vault knows what was told")
            if not self._others():
                with private(self.folder), translated(self.folder):
                    self._con.execute("CHECKPOINT")  # closing has nothing left to write
                # While it is open, no other process gets in; one that begins a vault here afterwards keeps its folder.
                shutil.rmtree(self.folder, ignore_errors=True)
            self.close()

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
        with _DOOR:
            connection, self._connection = self._connection, None
            _OPEN.discard(self)
            if connection is not None:
                with private(self.folder), translated(self.folder):
                    connection.close()

    def __enter__(self) -> DuckDBVault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DuckDBVault({str(self.folder)!r})"


if TYPE_CHECKING:
    _CHECKED: type[Vault] = DuckDBVault


def _given(high: Int64Array, low: Int64Array) -> pl.DataFrame:
    return pl.DataFrame({"record": np.arange(len(high), dtype=np.int32), "high": high, "low": low})
