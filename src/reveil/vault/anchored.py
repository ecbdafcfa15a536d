"""What a vault does for its anchor: changes of state are chained, folded in, and the anchor follows them."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb

from reveil.vault import chain, settings
from reveil.vault.anchor import Anchor, Standing, compare, unwritable
from reveil.vault.bridge import translated
from reveil.vault.private import private

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key
    from reveil.vault.protocol import ReleaseRow


class Anchored(ABC):
    """A vault with a chain of changes, and an anchor outside it unless it is thrown away."""

    folder: Path
    key: Key
    series_id: str
    anchor: Path | None = None
    _anchoring = False

    @property
    @abstractmethod
    def _con(self) -> Connection: ...

    @abstractmethod
    def _transaction(
        self, *tables: str, releases: Collection[int] | None = ()
    ) -> AbstractContextManager[Connection]: ...

    @abstractmethod
    def setting(self, name: str) -> Any | None:
        """Return a setting, or None if there is none of this name."""

    @abstractmethod
    def head(self) -> int:
        """Return the number of the last release, 0 before the first."""

    @abstractmethod
    def releases(self) -> list[ReleaseRow]:
        """Return all releases in order."""

    @contextmanager
    def _change(self, *tables: str, releases: Collection[int] = ()) -> Iterator[Connection]:
        """Change the state: in one transaction, folded into the file at once, and then the anchor follows.

        ``tables`` (any where none is named) and placements of ``releases`` are changed, settings and the chain always.
        """
        also = ("settings", "chain") if tables else ()
        with self._transaction(*tables, *also, releases=releases) as connection:
            if self._anchoring and self.anchor is not None and self.anchor.exists():
                settings.put(connection, settings.ANCHORED, value=True)
            yield connection
        self._settle()

    def _settle(self) -> None:
        with private(self.folder), translated(self.folder), suppress(duckdb.TransactionException):
            # A damaged log is cut off in silence when it is read; blocks of the file have checksums, and tables seals.
            # Where another thread is writing, its own end will fold this in.
            self._con.execute("CHECKPOINT")
        if self._anchoring:
            self._drop_anchor()

    def _drop_anchor(self) -> None:
        if self.anchor is None:
            return
        with translated(self.folder):
            entry, digest = chain.end(self._con)
            erasures = chain.erasures(self._con)
        marks = tuple(chain.mark_of(row) for row in self.releases())
        Anchor(self.series_id, entry, digest, marks, erasures).write(self.anchor)

    def standing(self) -> Standing:
        """Return how this vault stands to its anchor."""
        anchor = None if self.anchor is None else Anchor.read(self.anchor)
        with translated(self.folder):
            digest = None if anchor is None else chain.at(self._con, anchor.entry)
            erasures = chain.erasures(self._con)
        return compare(anchor, self.series_id, digest, [chain.mark_of(row) for row in self.releases()], erasures)

    def was_anchored(self) -> bool:
        """Return whether there was an anchor when something was changed before."""
        return bool(self.setting(settings.ANCHORED))

    def follow(self) -> None:
        """Let the anchor follow from now on, and bring it here where the vault is ahead of it.

        For a vault that contains its anchor, or has none. One that knows the same by another way says so in its chain.
        """
        standing = self.standing()
        if standing.behind:
            raise ValueError("this vault is behind its anchor")
        if self.anchor is not None and not os.access(self.anchor.parent, os.W_OK):
            raise unwritable(self.anchor)  # before anything is told
        if standing.joins and standing.anchor is not None:
            with self._transaction("chain") as connection:
                chain.append(connection, self.key, chain.JOINED, self.head(), standing.anchor.digest)
            self._settle()
        self._anchoring = True
        ahead = standing.anchor is None or standing.anchor.entry != chain.end(self._con)[0]
        if self.head() and (ahead or standing.joins):
            self._drop_anchor()
