"""What a store of sealed pieces asks of the place where they lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

STATE = 0  # the "release" of pieces that are no placements


@dataclass(frozen=True)
class Header:
    """What lies in clear: format of the pieces, the vault's identity, salt and check of its key, counted commits."""

    format: int
    identity: bytes
    salt: bytes
    check: str
    version: int


@dataclass(frozen=True)
class Piece:
    """Rows of one bucket, sealed: those of placements of a release, or all others (``STATE``).

    ``version`` is the commit that wrote it, ``key`` the version of its bucket's key.
    """

    bucket: int
    release: int
    version: int
    key: int
    body: bytes = field(repr=False, default=b"")


@dataclass(frozen=True)
class HistoryRow:
    """What a database shows of a release to everybody who may look: no person, no value."""

    release: int
    state: str
    created: str
    digest: str | None
    manifest_digest: str | None
    counts: str  # JSON: how many persons came, went, changed, returned; counterfeits, withheld


class Shelf(Protocol):
    """A place for pieces, open. Nobody else is in; what goes wrong is said in our words."""

    @property
    def place(self) -> str:
        """The address as errors name it, without secrets."""

    def header(self) -> Header | None:
        """Return the header, None where there is no vault yet."""

    def fetch(self, release: int, bucket: int | None = None) -> Sequence[Piece]:
        """Return the pieces of a release, or of the state: all, or that of one bucket."""

    def index(self) -> Sequence[Piece]:
        """Return all pieces without their bodies."""

    def commit(
        self,
        header: Header,
        pieces: Iterable[Piece],
        removed: Collection[tuple[int, int]],
        history: Sequence[HistoryRow],
    ) -> None:
        """Put pieces in place, take others (bucket, release) away, replace the history: entirely or not at all.

        ``header.version`` is one more than that of now, else :class:`~reveil.core.errors.BusyError`.
        """

    def discard(self) -> None:
        """Take everything away."""

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
