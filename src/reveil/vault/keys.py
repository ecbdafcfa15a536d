"""The secret of a vault: pseudonyms of persons and the random streams of releases come from it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from reveil.core.errors import VaultError
from reveil.vault.private import private, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.core.arrays import IntArray

KEY_FILE = "key"
VARIABLE = "REVEIL_KEY"
SIZE = 32
SHORTEST = 16  # characters of a key in words
BLOCK = 64  # bytes that SHA-256 takes at a time
CHUNK = 1 << 14  # persons whose digests are in memory at a time
SALT = 16  # bytes
# 32 MiB and about a tenth of a second for each guess at a passphrase (RFC 7914).
COST, WIDTH = 1 << 15, 8
HEX = re.compile(rf"[0-9a-fA-F]{{{2 * SIZE}}}")
LOST = (
    f"Restore the file 'key' from a backup, or set {VARIABLE} to the key. "
    "If the key is lost for good, start a new vault and adopt what was published."
)


class Key:
    """32 secret bytes that show themselves to nobody."""

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SIZE:
            raise ValueError("a key has 32 bytes")
        self._secret = secret

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    def pseudonyms(self, persons: pl.Series) -> tuple[IntArray, IntArray]:
        """Return HMAC-SHA-256 of each canonical text, its first 128 bits as two signed numbers."""
        if persons.null_count():
            raise ValueError("a person without an identity has no pseudonym")
        # HMAC by hand: the two halves of the padded key are taken in once and copied for each person (RFC 2104).
        inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in self._block)) for pad in (0x36, 0x5C))
        out = np.empty((len(persons), SIZE // 8), ">i8")
        for start in range(0, len(persons), CHUNK):
            found = []
            for text in persons[start : start + CHUNK].cast(pl.Binary).to_list():
                inside, outside = inner.copy(), outer.copy()
                inside.update(text)
                outside.update(inside.digest())
                found.append(outside.digest())
            out[start : start + len(found)] = np.frombuffer(b"".join(found), ">i8").reshape(-1, SIZE // 8)
        return out[:, 0].astype(np.int64), out[:, 1].astype(np.int64)

    @property
    def _block(self) -> bytes:
        return self._secret.ljust(BLOCK, b"\0")

    def stream(self, seed: int, release: int, *about: str) -> int:
        """Return the seed of a release's generator: 256 bits that nobody without the key can know.

        ``about`` says what the release is made of, so that two different tables never share their dice, even where a
        restored vault gives both the same number.
        """
        return int.from_bytes(self._other("reveil release", str(seed), str(release), *about))

    def digest(self, text: str) -> str:
        """Return a digest by which a text is recognised again; nobody without the key can try texts against it."""
        return "hmac-sha256:" + self._other("reveil expression", text).hex()

    def check(self) -> str:
        """Return what tells this key from another without telling the key."""
        return self._other("reveil vault").hex()

    def seal(self, *words: str) -> str:
        """Return a digest that nobody without the key can make or check."""
        return self._other("reveil seal", *words).hex()

    def _other(self, *words: str) -> bytes:
        # The byte 255 is in no UTF-8 text, so that no person's pseudonym is one of these numbers.
        message = b"".join(b"\xff" + word.encode() for word in words)
        return hmac.digest(self._secret, message, "sha256")


class Keys(Protocol):
    """Where the key of a vault comes from. ``salt`` is the vault's own, for a passphrase (None: one of before)."""

    def load(self, salt: bytes | None) -> Key:
        """Return the key; refuse if there is none."""

    def load_or_make(self, salt: bytes | None) -> Key:
        """Return the key, drawn now and kept if there is none yet."""


@dataclass(frozen=True)
class FolderKeys:
    """The key in a file, unless the environment has one."""

    folder: Path

    def load(self, salt: bytes | None = None) -> Key:
        """Return the key from the environment or from the folder.

        ``salt`` is the vault's own, for a passphrase; None for a vault of before passphrases were salted.
        """
        given = _from_environment(salt)
        if given is not None:
            return Key(given)
        path = self.folder / KEY_FILE
        try:
            text = path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise VaultError("the key of this vault is missing", file=path, hint=LOST) from None
        except (OSError, ValueError):
            raise VaultError("the key of this vault cannot be read", file=path, hint=LOST) from None
        if not HEX.fullmatch(text):
            raise VaultError("the key of this vault is damaged: it should be 64 hex digits", file=path, hint=LOST)
        return Key(bytes.fromhex(text))

    def load_or_make(self, salt: bytes | None = None) -> Key:
        """Return the key, drawn now and kept in the folder if there is none yet."""
        path = self.folder / KEY_FILE
        if VARIABLE in os.environ or path.exists():
            return self.load(salt)
        secret = secrets.token_bytes(SIZE)
        try:
            with private(self.folder):
                write_private(path, (secret.hex() + "\n").encode("ascii"))
        except OSError:
            raise VaultError("cannot write a key", file=path, hint="Check the permissions of the folder.") from None
        return Key(secret)


if TYPE_CHECKING:
    _CHECKED: type[Keys] = FolderKeys


def _from_environment(salt: bytes | None) -> bytes | None:
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    if HEX.fullmatch(text):
        return bytes.fromhex(text)
    if len(text) < SHORTEST:
        raise VaultError(
            f"the key in {VARIABLE} is too short",
            hint=f"Give 64 hex digits or at least {SHORTEST} characters, or unset the variable to use the vault's own "
            "key file.",
        )
    words = text.encode("utf-8", "surrogateescape")
    if salt is None:
        return hashlib.sha256(words).digest()
    return hashlib.scrypt(words, salt=salt, n=COST, r=WIDTH, p=1, maxmem=256 * WIDTH * COST, dklen=SIZE)
