"""The vault of one series: what never leaves the building. Its policy, over whatever store has its relations.

A change is in the vault entirely or not at all, whenever the process is killed; and of two publishers who prepare the
same release, one is told :class:`~reveil.core.errors.BusyError`.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from reveil.core.errors import BusyError, RefusedError
from reveil.vault import chain, ledgers, older, pages, reading, settings
from reveil.vault.anchored import Anchored
from reveil.vault.bridge import one
from reveil.vault.erasure import delete_person
from reveil.vault.protocol import ABANDONED, ADOPTED, CONFIRMED, PENDING, Recall
from reveil.vault.requests import replace_texts
from reveil.vault.store import open_store
from reveil.vault.writing import drop_placements, write

if TYPE_CHECKING:
    import os
    from pathlib import Path
    from types import TracebackType

    import polars as pl

    from reveil.core.arrays import BoolArray, CodeArray, IntArray, Integers
    from reveil.core.json_values import JSON
    from reveil.vault.changes import Change
    from reveil.vault.drafts import Drafts
    from reveil.vault.protocol import Ledger, Revised
    from reveil.vault.store import Store, Unlocked


class Vault(Anchored):
    """What the world was told by one series, and each person's last record. One object belongs to one thread."""

    def __init__(self, store: Store, *, anchor: Path | None = None) -> None:
        """Begin with a store that was just opened; ``anchor``: see :meth:`open`."""
        super().__init__(store, anchor)
        try:
            with store.unlocked() as unlocked:
                self._begin(unlocked)
        except BaseException:
            store.close()
            raise

    @classmethod
    def open(cls, address: str | os.PathLike[str], *, create: bool = True, anchor: Path | None = None) -> Vault:
        """Open the vault at an address (a folder, or ``scheme://...``), or make it if ``create`` allows it.

        ``anchor`` is where its anchor lies; it is compared by :meth:`standing` and follows after :meth:`follow`.
        """
        return cls(open_store(address, create=create), anchor=anchor)

    def _begin(self, unlocked: Unlocked) -> None:
        self.key = unlocked.key
        if not unlocked.begun:
            with self.store.transaction() as connection:
                beginning: dict[str, JSON] = {
                    settings.SALT: unlocked.salt.hex(),
                    settings.HEAD: 0,
                    settings.SEED: secrets.randbits(63),
                    settings.SERIES: secrets.token_hex(8),
                    settings.CHECK: self.key.check(),
                }
                settings.put_all(connection, beginning)
                connection.execute("DELETE FROM chain")
                chain.append(connection, self.key, chain.BEGUN, 0)
                connection.execute("DELETE FROM settings WHERE key = ?", [settings.UNSEALED])
        connection = self.store.connection
        found = settings.get_all(connection)
        if found.get(settings.TEXTS):
            with self.store.transaction("releases", "settings") as changing:
                replace_texts(changing, self.key)
        if not chain.end(connection)[0]:  # of before there were chains
            with self.store.transaction("chain") as changing:
                chain.append(changing, self.key, chain.BEGUN, int(found.get(settings.HEAD) or 0))
        chain.check(connection, self.key)
        self.key = older.attached(self.key, found.get(settings.OLDER))
        self.series_id = str(found.get(settings.SERIES))
        if found.get(settings.ERASING) or (found.get(settings.TEXTS) and self.setting(settings.ERASING)):
            try:
                with self.store.exclusive():
                    self.store.erase()
            except BusyError:
                pass  # whoever opens it alone will

    @property
    def folder(self) -> Path:
        """Where files that belong to the vault lie on this machine."""
        return self.store.folder

    @property
    def drafts(self) -> Drafts:
        """The copies of releases."""
        return self.store.drafts

    def keep_setting(self, name: str, value: JSON) -> None:
        """Keep a setting: anything that JSON can hold."""
        with self.store.transaction("settings") as connection:
            settings.put_callers(connection, {name: value})

    def refuse_if_moved(self) -> None:
        """Refuse to go on where the series goes on in another vault."""
        with self.store.reading() as connection:
            settings.refuse_moved(connection)

    # What is known

    def attributes(self) -> dict[str, str]:
        """Return the type of each attribute whose values are remembered, in order of appearance."""
        with self.store.reading() as connection:
            return reading.attributes(connection)

    def next_code(self, attribute: str) -> int:
        """Return the code that the next new value of an attribute gets; codes are never used twice."""
        with self.store.reading() as connection:
            return reading.next_code(connection, attribute)

    def lookup(self, attribute: str, values: pl.Series) -> CodeArray:
        """Return the code of each value (null is a value), -1 where it is not in the dictionary."""
        with self.store.reading() as connection:
            return reading.lookup(connection, attribute, values)

    def values(self, attribute: str) -> pl.DataFrame:
        """Return the dictionary of an attribute: ``code`` and ``value``, ascending by code."""
        with self.store.reading() as connection:
            return reading.values(connection, attribute)

    def recall(self, high: IntArray, low: IntArray) -> Recall:
        """Return what is known of the persons with these pseudonyms, and who is missing among them."""
        with self.store.reading() as connection:
            return reading.recall(connection, high, low)

    def ledger(self, ledger: Ledger, column: str | None = None, among: Integers | None = None) -> pl.DataFrame:
        """Return the rows of a ledger, all or those whose ``column`` (``person`` included) is among some numbers.

        With a column ``person`` where it is personal; in no particular order. Nothing where nothing was written.
        """
        with self.store.reading() as connection:
            return ledgers.read(connection, ledger, column, among)

    def ledger_columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of whole numbers of a ledger, in their order; none where nothing was written."""
        with self.store.reading() as connection:
            return ledgers.columns_of(connection, name)

    def next_person(self) -> int:
        """Return the number that the next new person gets: all numbers of persons are below."""
        with self.store.reading() as connection:
            return pages.next_person(connection)

    def limit_memory(self, mebibytes: int) -> None:
        """Let the database keep no more than that of its file in memory; by itself it takes most of a machine's."""
        with self.store.reading() as connection:
            connection.execute(f"SET memory_limit = '{int(mebibytes)}MiB'")

    def page(self, first: int, end: int) -> pl.DataFrame:
        """Return what is known of the persons with these numbers; see :func:`reveil.vault.pages.persons`."""
        with self.store.reading() as connection:
            return pages.persons(connection, first, end)

    def ledger_page(self, ledger: Ledger, first: int, end: int) -> pl.DataFrame:
        """Return the rows of a personal ledger that belong to the persons with these numbers."""
        with self.store.reading() as connection:
            return pages.ledger(connection, ledger, first, end)

    def presence(self) -> tuple[CodeArray, BoolArray]:
        """Return everybody's number, and whether they were in the last release."""
        with self.store.reading() as connection:
            return reading.presence(connection)

    def last(self, persons: Integers) -> dict[str, CodeArray]:
        """Return the last record of each of some persons: dictionary codes by attribute, -1 where none is kept."""
        with self.store.reading() as connection:
            return reading.last(connection, persons)

    def archived(self, release: int) -> pl.DataFrame:
        """Return ``person`` and ``place`` of everybody whose row in a release is kept."""
        with self.store.reading(release) as connection:
            return reading.archived(connection, release)

    def placements(self, release: int, high: IntArray, low: IntArray) -> pl.DataFrame:
        """Return ``record``, ``place`` and ``grp`` of those of the given persons who were in a release."""
        with self.store.reading(release) as connection:
            return reading.placements(connection, release, high, low)

    def has_archive(self, release: int) -> bool:
        """Return whether placements of a release are kept."""
        with self.store.reading(release) as connection:
            return reading.has_archive(connection, release)

    # Changes

    def prepare(self, change: Change) -> None:
        """Write a release and all that it tells, in one transaction.

        Raises :class:`~reveil.core.errors.BusyError` if the release before it is not the last one, and
        :class:`~reveil.core.errors.PendingError` if a release is pending.
        """
        row = change.row
        act = chain.ADOPTED if row.state == ADOPTED else chain.PREPARED
        oldest = 0 if change.archive is None else row.release - change.archive
        ending = [number for number in range(1, oldest + 1) if self.has_archive(number)]
        with self._change(releases=(*ending, row.release)) as connection:
            write(connection, change)
            drop_placements(connection, ending)
            chain.append(connection, self.key, act, row.release, row.manifest_digest or row.digest or "")

    def confirm(self, release: int, *, path: str | None = None, facts: dict[str, JSON] | None = None) -> None:
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

    def forget(self, high: int, low: int, *, tombstone: bool = False, revised: Revised | None = None) -> bool:
        """Erase a person, bytes included; a tombstone keeps pseudonym and what was told.

        False if nobody has this pseudonym, or a tombstone is all that is left already. ``revised`` are settings of the
        caller's that hold values: each by name, with what it becomes when some of the values are gone.

        A vault that lacks nothing but erasures that its anchor knows of counts this one even if there is nothing to
        erase: the person may have come and gone after the backup. It never counts more of these than are missing.
        """
        with self.store.exclusive():
            with self.store.transaction(releases=None) as connection:
                self.store.check()  # what is damaged must not be taken for what was written
                found = delete_person(connection, int(high), int(low), tombstone=tombstone, revised=revised or {})
                counts = found or self.standing().lacks_erasures_only
                if counts:
                    chain.append(connection, self.key, chain.FORGOTTEN, self.head())
            if found:
                self.store.erase()
            if counts:
                self._make_durable()
        return found

    def rotate(self) -> None:
        """Give the vault another key; everybody's pseudonym becomes one of the new key of the old pseudonym."""
        with self.store.exclusive():
            self.key = older.rotate(self.store, self.key, self.head())
            self._make_durable()

    def discard(self) -> None:
        """Take a vault away in which nothing was told, and close it. Where another thread has it open, it stays."""
        if self.head():
            raise ValueError("this vault knows what was told")
        self.store.discard()

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
        self.store.close()

    def __enter__(self) -> Vault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Vault in {self.store.place!r}>"
