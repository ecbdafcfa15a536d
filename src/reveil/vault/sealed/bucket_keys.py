"""The keys of buckets: one for each, wrapped by the master key, in a file that is in no backup of the pieces.

An erasure gives the person's bucket a new key and destroys the old one. What logs, deleted rows and backups of the
store still have of that bucket can then be opened by nobody, not even with the master key. Whoever restores an old copy
of this file undoes that.
"""

from __future__ import annotations

import secrets
import struct
from typing import TYPE_CHECKING

from reveil.core.errors import VaultError
from reveil.vault.private import write_private
from reveil.vault.sealed.cipher import DamagedPieceError, opened, sealed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from reveil.vault.keys import Key

BUCKETS = 4096
COMMONS = -1  # the bucket of what belongs to no person
_MAGIC = b"reveil bucket keys 1\n"
_IDENTITY = 16
_ENTRY = struct.Struct(">iI32s")  # bucket, version, key
_LOST = (
    "Restore the file from where it is kept apart from the backups of the vault. Without it nobody can open the vault: "
    "start a new one and adopt what was published."
)


class BucketKeys:
    """The keys of one vault. ``identity`` is the vault's, at random."""

    def __init__(self, path: Path, master: Key, identity: bytes, keys: Mapping[tuple[int, int], bytes]) -> None:
        self.path, self._master, self.identity = path, master, identity
        self._keys = dict(keys)
        self._newest: dict[int, int] = {}
        for bucket, version in self._keys:
            self._newest[bucket] = max(version, self._newest.get(bucket, 0))

    def __repr__(self) -> str:
        return "BucketKeys(...)"

    @classmethod
    def make(cls, path: Path, master: Key) -> BucketKeys:
        """Draw a key for each bucket and keep them."""
        keys = {(bucket, 1): secrets.token_bytes(32) for bucket in range(COMMONS, BUCKETS)}
        made = cls(path, master, secrets.token_bytes(_IDENTITY), keys)
        made.write()
        return made

    @classmethod
    def load(cls, path: Path, master: Key) -> BucketKeys:
        """Read the file, or the staged one if that is wrapped by this master key; refuse what is missing or damaged."""
        staged = _staged(path)
        try:
            return cls._read(path, master)
        except VaultError:
            if not staged.exists():
                raise
            found = cls._read(staged, master)
            staged.replace(path)
            return BucketKeys(path, master, found.identity, found._keys)

    @classmethod
    def _read(cls, path: Path, master: Key) -> BucketKeys:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise VaultError("the keys of this vault's buckets are missing", file=path, hint=_LOST) from None
        except OSError:
            raise VaultError("the keys of this vault's buckets cannot be read", file=path, hint=_LOST) from None
        start = len(_MAGIC) + _IDENTITY
        if not content.startswith(_MAGIC) or len(content) <= start:
            raise VaultError("this is no file of bucket keys", file=path, hint=_LOST)
        try:
            rows = opened(master.derived("bucket keys"), content[start:], content[:start])
        except DamagedPieceError:
            raise VaultError(
                "these bucket keys are damaged, or belong to another master key", file=path, hint=_LOST
            ) from None
        keys = {(bucket, version): key for bucket, version, key in _ENTRY.iter_unpack(rows)}
        return cls(path, master, content[len(_MAGIC) : start], keys)

    def write(self) -> None:
        """Put the file in place, entirely or not at all."""
        head = _MAGIC + self.identity
        rows = b"".join(_ENTRY.pack(bucket, version, key) for (bucket, version), key in sorted(self._keys.items()))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_private(self.path, head + sealed(self._master.derived("bucket keys"), rows, head))
        except OSError:
            raise VaultError(
                "the keys of this vault's buckets cannot be written",
                file=self.path,
                hint="Check the folder, its permissions and the free space, or name another file with `keys`.",
            ) from None

    def wrapped_by(self, master: Key) -> BucketKeys:
        """Return the same keys, to be wrapped by another master key when they are written."""
        return BucketKeys(self.path, master, self.identity, self._keys)

    def stage(self) -> None:
        """Write the file beside that of now."""
        BucketKeys(_staged(self.path), self._master, self.identity, self._keys).write()

    def take(self) -> None:
        """Let the staged file be that of now."""
        _staged(self.path).replace(self.path)

    def newest(self, bucket: int) -> int:
        """Return the version of the key with which a bucket is sealed now."""
        return self._newest[bucket]

    def key(self, bucket: int, version: int) -> bytes:
        """Return a key; KeyError if it was destroyed."""
        return self._keys[bucket, version]

    def renew(self, buckets: Collection[int]) -> None:
        """Draw new keys for some buckets; the old ones stay until :meth:`keep`."""
        for bucket in buckets:
            self._newest[bucket] += 1
            self._keys[bucket, self._newest[bucket]] = secrets.token_bytes(32)
        self.write()

    def keep(self, used: Collection[tuple[int, int]]) -> None:
        """Destroy every key that no piece is sealed with, but for the newest of each bucket."""
        kept = {place: self._keys[place] for place in {*used, *self._newest.items()} if place in self._keys}
        if len(kept) < len(self._keys):
            self._keys = kept
            self.write()


def _staged(path: Path) -> Path:
    return path.with_name(f"{path.name}.next")
