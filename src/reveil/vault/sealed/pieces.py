"""The pieces of one vault: which there are, of which commit and under which key; opened, refused, sealed.

Every piece is bound to vault, bucket, release, commit and key; the commons list, for the state and for the placements
of each release, a digest of which pieces there are. So a piece that was changed, moved, taken away or put back from an
older commit is noticed when it is read; a shelf that was put back as a whole is noticed by the anchor.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reveil.core.errors import VaultError
from reveil.vault.sealed.bucket_keys import COMMONS, BucketKeys
from reveil.vault.sealed.cipher import DamagedPieceError, opened, sealed
from reveil.vault.sealed.shelf import STATE, Piece

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from reveil.vault.sealed.shelf import Shelf

HINT = (
    "Restore the latest backup of the pieces, and see that the file of bucket keys is the one of today. If there is "
    "none, start a new vault and adopt what was published."
)
Index = dict[tuple[int, int], tuple[int, int]]  # (bucket, release): (version, key)


@dataclass(frozen=True)
class SealedPieces:
    """What lies on a shelf; ``listed`` is, by release, the digest that the commons have of it."""

    shelf: Shelf
    keys: BucketKeys
    index: Index = field(default_factory=dict, repr=False)
    listed: dict[int, str] = field(default_factory=dict, repr=False)

    def found(self) -> SealedPieces:
        """Return the pieces that are on the shelf now."""
        there = {(piece.bucket, piece.release): (piece.version, piece.key) for piece in self.shelf.index()}
        return replace(self, index=there)

    @property
    def releases(self) -> list[int]:
        """The releases that have placements."""
        return sorted({release for _, release in self.index} - {STATE})

    def commons(self) -> bytes:
        """Open what belongs to no person."""
        piece = next((piece for piece in self.shelf.fetch(STATE, COMMONS)), None)
        if piece is None:
            raise self._damaged("the commons")
        return self.opened(piece)

    def of(self, release: int) -> Iterator[bytes]:
        """Open the pieces of persons, of the state or of the placements of a release; all have to be there."""
        pieces = [piece for piece in self.shelf.fetch(release) if piece.bucket != COMMONS]
        there = {piece.bucket: (piece.version, piece.key) for piece in pieces}
        if there != self._buckets(release) or self.listed.get(release, _digest({})) != _digest(there):
            raise self._damaged("the state" if release == STATE else f"the placements of release {release}")
        return (self.opened(piece) for piece in pieces)

    def check(self) -> None:
        """Open every piece again."""
        self.commons()
        for release in (STATE, *self.releases):
            for _ in self.of(release):
                pass

    def opened(self, piece: Piece) -> bytes:
        """Return what was sealed, or say what is not what was written."""
        try:
            return opened(self.keys.key(piece.bucket, piece.key), piece.body, self._bound(piece))
        except (KeyError, DamagedPieceError):
            what = "the commons" if piece.bucket == COMMONS else f"bucket {piece.bucket}"
            raise self._damaged(what if piece.release == STATE else f"{what} of release {piece.release}") from None

    def sealed(self, bucket: int, release: int, version: int, content: bytes) -> Piece:
        """Return a piece under the newest key of its bucket."""
        key = self.keys.newest(bucket)
        piece = Piece(bucket, release, version, key)
        return replace(piece, body=sealed(self.keys.key(bucket, key), content, self._bound(piece)))

    def after(self, written: Iterable[Piece], removed: Collection[tuple[int, int]]) -> SealedPieces:
        """Return the pieces after a commit, with what the commons will say of them."""
        index = {place: at for place, at in self.index.items() if place not in removed}
        index |= {(piece.bucket, piece.release): (piece.version, piece.key) for piece in written}
        changed = replace(self, index=index)
        listed = {release: _digest(changed._buckets(release)) for release in (STATE, *changed.releases)}
        return replace(changed, listed=listed)

    def destroy_old_keys(self) -> None:
        """Keep no key but those of pieces that are there."""
        self.keys.keep({(bucket, key) for (bucket, _), (_, key) in self.index.items()})

    def _buckets(self, release: int) -> dict[int, tuple[int, int]]:
        return {bucket: at for (bucket, of), at in self.index.items() if of == release and bucket != COMMONS}

    def _bound(self, piece: Piece) -> bytes:
        """Return what a piece is bound to."""
        place = f"{piece.bucket} {piece.release} {piece.version} {piece.key}"
        return b"reveil piece " + self.keys.identity + place.encode()

    def _damaged(self, what: str) -> VaultError:
        return VaultError(f"{what} in this vault is not what was written", file=self.shelf.place, hint=HINT)


def _digest(pieces: dict[int, tuple[int, int]]) -> str:
    """Return a digest of which pieces there are, of which commit and under which key."""
    return hashlib.sha256(json.dumps(sorted(pieces.items())).encode()).hexdigest()
