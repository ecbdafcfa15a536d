"""What a vault does for its anchor: changes of state are chained, folded in, and the anchor follows them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from reveil.vault import chain, reading, settings
from reveil.vault.anchor import Anchor, Standing, compare, unwritable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key
    from reveil.vault.protocol import ReleaseRow
    from reveil.vault.store import Store


class Anchored:
    """A vault with a chain of changes, and an anchor outside it unless it is thrown away."""

    key: Key
    series_id: str

    def __init__(self, store: Store, anchor: Path | None) -> None:
        self.store, self.anchor = store, anchor
        self._anchoring = False

    def setting(self, name: str) -> Any | None:
        """Return a setting, or None if there is none of this name."""
        with self.store.reading() as connection:
            return settings.get(connection, name)

    def head(self) -> int:
        """Return the number of the last release, 0 before the first."""
        return int(self.setting(settings.HEAD) or 0)

    def releases(self) -> list[ReleaseRow]:
        """Return all releases in order."""
        with self.store.reading() as connection:
            return reading.releases(connection)

    @contextmanager
    def _change(self, *tables: str, releases: Collection[int] = ()) -> Iterator[Connection]:
        """Change the state: in one transaction, folded into the store at once, and then the anchor follows.

        ``tables`` (any where none is named) and placements of ``releases`` are changed, settings and the chain always.
        """
        also = ("settings", "chain") if tables else ()
        with self.store.transaction(*tables, *also, releases=releases) as connection:
            if self._anchoring and self.anchor is not None and self.anchor.exists():
                settings.put(connection, settings.ANCHORED, value=True)
            yield connection
        self._make_durable()

    def _make_durable(self) -> None:
        self.store.checkpoint()
        if self._anchoring:
            self._drop_anchor()

    def _drop_anchor(self) -> None:
        if self.anchor is None:
            return
        with self.store.reading() as connection:
            entry, digest = chain.end(connection)
            erasures = chain.erasures(connection)
        marks = tuple(chain.mark_of(row) for row in self.releases())
        Anchor(self.series_id, entry, digest, marks, erasures).write(self.anchor)

    def standing(self) -> Standing:
        """Return how this vault stands to its anchor."""
        anchor = None if self.anchor is None else Anchor.read(self.anchor)
        with self.store.reading() as connection:
            digest = None if anchor is None else chain.at(connection, anchor.entry)
            erasures = chain.erasures(connection)
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
            with self.store.transaction("chain") as connection:
                chain.append(connection, self.key, chain.JOINED, self.head(), standing.anchor.digest)
            self._make_durable()
        self._anchoring = True
        with self.store.reading() as connection:
            ahead = standing.anchor is None or standing.anchor.entry != chain.end(connection)[0]
        if self.head() and (ahead or standing.joins):
            self._drop_anchor()
