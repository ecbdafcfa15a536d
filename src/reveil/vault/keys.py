"""The secret of a vault: pseudonyms of persons and the random streams of releases come from it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from reveil.core.arrays import offsets_of
from reveil.core.errors import VaultError
from reveil.core.threads import each
from reveil.vault.private import private_files, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reveil.core.arrays import IntArray

KEY_FILE = "key"
VARIABLE, NEXT = "REVEIL_KEY", "REVEIL_NEW_KEY"
SIZE = 32
SHORTEST = 16  # characters of a key in words
BLOCK = 64  # bytes that SHA-256 takes at a time
CHUNK = 1 << 14  # persons whose digests are in memory at a time
MANY = 100_000  # persons from which on it is worth it to load what makes their digests in one go
PIECE = 1 << 16  # persons for whom one thread does so
SALT = 16  # bytes
WAIT = 60  # seconds for a command to print a key
# 32 MiB and about a tenth of a second for each guess at a passphrase (RFC 7914).
COST, WIDTH = 1 << 15, 8
HEX = re.compile(rf"[0-9a-fA-F]{{{2 * SIZE}}}")
LOST = (
    f"Restore the file 'key' from a backup, or set {VARIABLE} to the key. "
    "If the key is lost for good, start a new vault and adopt what was published."
)


class Key:
    """32 secret bytes that show themselves to nobody.

    ``before`` is the key that this one took the place of: a pseudonym is then one of this key of the pseudonym before.
    """

    __slots__ = ("_before", "_secret")

    def __init__(self, secret: bytes, before: Key | None = None) -> None:
        if len(secret) != SIZE:
            raise ValueError("a key has 32 bytes")
        self._secret, self._before = secret, before

    def after(self, older: Iterable[str]) -> Key:
        """Return the key that took the place of others, given as they are written, the first one first."""
        before: Key | None = None
        for text in older:
            before = Key(bytes.fromhex(text), before)
        return Key(self._secret, before)

    @property
    def older(self) -> tuple[str, ...]:
        """The keys before this one as they are written, the first one first."""
        return () if self._before is None else (*self._before.older, self._before.hex())

    def __repr__(self) -> str:
        return "Key(...)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    def pseudonyms(self, persons: pl.Series) -> tuple[IntArray, IntArray]:
        """Return HMAC-SHA-256 of each canonical text, its first 128 bits as two signed numbers."""
        if persons.null_count():
            raise ValueError("a person without an identity has no pseudonym")
        if self._before is not None:
            return self.renewed(*self._before.pseudonyms(persons))
        return self._pseudonyms(persons)

    def renewed(self, high: IntArray, low: IntArray) -> tuple[IntArray, IntArray]:
        """Return the pseudonyms of this key in place of those of the key before."""
        before = pl.DataFrame({"high": high, "low": low})
        return self._pseudonyms(before.select(pl.concat_str("high", "low", separator=","))["high"])

    def _pseudonyms(self, persons: pl.Series) -> tuple[IntArray, IntArray]:
        out = self._at_once(persons) if len(persons) >= MANY else None
        if out is None:
            out = np.concatenate([self._one_by_one(persons[:0]), *map(self._one_by_one, _pieces(persons, CHUNK))])
        return out[:, 0].astype(np.int64), out[:, 1].astype(np.int64)

    def _at_once(self, persons: pl.Series) -> IntArray | None:
        """Return the numbers of many persons; None where they can only be had one by one."""
        from reveil.core.kernels import keyed_digests

        if not keyed_digests.are_possible():
            return None
        out = np.empty((len(persons), 2), np.int64)
        halves = keyed_digests.halves(self._secret)

        def work(piece: tuple[IntArray, pl.Series]) -> None:
            found, some = piece
            texts = np.frombuffer(some.str.join("").item().encode(), np.uint8)
            keyed_digests.digests(texts, offsets_of(some.str.len_bytes().to_numpy()), *halves, found)

        rows = (out[start : start + PIECE] for start in range(0, len(out), PIECE))
        each(work, zip(rows, _pieces(persons, PIECE), strict=True), len(persons))
        return out

    def _one_by_one(self, persons: pl.Series) -> IntArray:
        # HMAC by hand: the two halves of the padded key are taken in once and copied for each person (RFC 2104).
        inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in self._block)) for pad in (0x36, 0x5C))
        found = []
        for text in persons.cast(pl.Binary).to_list():
            inside, outside = inner.copy(), outer.copy()
            inside.update(text)
            outside.update(inside.digest())
            found.append(outside.digest())
        return np.frombuffer(b"".join(found), ">i8").reshape(-1, SIZE // 8)[:, :2]

    @property
    def _block(self) -> bytes:
        return self._secret.ljust(BLOCK, b"\0")

    def stream(self, seed: int, release: int, *about: str) -> bytes:
        """Return the seed of a release's dice: 256 bits that nobody without the key can know.

        ``about`` says what the release is made of, so that two different tables never share their dice, even where a
        restored vault gives both the same number.
        """
        return self._other("reveil release", str(seed), str(release), *about)

    def digest(self, text: str) -> str:
        """Return a digest by which a text is recognised again; nobody without the key can try texts against it."""
        return "hmac-sha256:" + self._other("reveil expression", text).hex()

    def digests(self, text: str) -> tuple[str, ...]:
        """Return what this key and those before it would have kept of a text."""
        return (self.digest(text), *(() if self._before is None else self._before.digests(text)))

    def check(self) -> str:
        """Return what tells this key from another without telling the key."""
        return self._other("reveil vault").hex()

    def seal(self, *words: str) -> str:
        """Return a digest that nobody without the key can make or check."""
        return self._other("reveil seal", *words).hex()

    def hex(self) -> str:
        """Return the key as it is written into a file."""
        return self._secret.hex()

    def derived(self, *words: str) -> bytes:
        """Return 32 bytes for another purpose, from which nobody can come back to the key."""
        return self._other("reveil derived", *words)

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

    def fitting(self, salt: bytes | None, check: str) -> Key:
        """Return the key of which :meth:`Key.check` is this; refuse any other."""

    def stage(self, key: Key) -> None:
        """Put a key beside that of now, which it is about to take the place of."""

    def take(self, key: Key) -> None:
        """Let the staged key be that of now."""


@dataclass(frozen=True)
class GivenKeys:
    """A key that somebody has in hand: that of a vault which is being copied."""

    key: Key

    def load(self, salt: bytes | None = None) -> Key:  # noqa: ARG002
        """Return it."""
        return self.key

    load_or_make = load

    def fitting(self, salt: bytes | None, check: str) -> Key:  # noqa: ARG002
        """Return it."""
        return self.key

    def stage(self, key: Key) -> None:  # noqa: ARG002
        """Refuse: it takes no file's place."""
        raise ValueError("this key lies nowhere")

    take = stage


@dataclass(frozen=True)
class FileKeys:
    """The key in a file, unless the environment has one or a command prints it."""

    path: Path
    command: str | None = None

    def load(self, salt: bytes | None = None) -> Key:
        """Return the key from the environment, the command or the file.

        ``salt`` is the vault's own, for a passphrase; None for a vault of before passphrases were salted.
        """
        given = _from_environment(salt)
        if given is not None:
            return Key(given)
        if self.command is not None:
            return Key(_from_command(self.command))
        try:
            text = self.path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise VaultError("the key of this vault is missing", file=self.path, hint=LOST) from None
        except (OSError, ValueError):
            raise VaultError("the key of this vault cannot be read", file=self.path, hint=LOST) from None
        if not HEX.fullmatch(text):
            raise VaultError("the key of this vault is damaged: it should be 64 hex digits", file=self.path, hint=LOST)
        return Key(bytes.fromhex(text))

    def load_or_make(self, salt: bytes | None = None) -> Key:
        """Return the key, drawn now and kept in the file if there is none yet."""
        if VARIABLE in os.environ or self.command is not None or self.path.exists():
            return self.load(salt)
        key = Key(secrets.token_bytes(SIZE))
        self.keep(key)
        return key

    @property
    def outside(self) -> bool:
        """Whether the key is not in the file but comes from the environment or a command."""
        return VARIABLE in os.environ or self.command is not None

    @property
    def _staged(self) -> Path:
        return self.path.with_name(f"{self.path.name}.next")

    def fitting(self, salt: bytes | None, check: str) -> Key:
        """Return the key that belongs to a vault; one that was staged if it was about to take this one's place."""
        key = self.load(salt)
        if key.check() == check:
            return key
        if not self.outside and self._staged.exists():
            staged = FileKeys(self._staged).load(salt)
            if staged.check() == check:
                self._staged.replace(self.path)
                return staged
        raise VaultError("this key does not belong to this vault", hint=LOST)

    def stage(self, key: Key) -> None:
        """Put a key beside that of now; the owner keeps it where it does not come from the file."""
        if not self.outside:
            self.keep(key, self._staged)

    def take(self, key: Key) -> None:  # noqa: ARG002 -- the staged one
        """Let the staged key be that of now."""
        if not self.outside:
            self._staged.replace(self.path)

    def keep(self, key: Key, path: Path | None = None) -> None:
        """Write a key into the file, or into another."""
        path = path or self.path
        try:
            with private_files():
                write_private(path, (key.hex() + "\n").encode("ascii"))
        except OSError:
            raise VaultError("cannot write a key", file=path, hint="Check the permissions of the folder.") from None


def FolderKeys(folder: Path) -> FileKeys:  # noqa: N802 -- it makes one
    """Return where the key of a folder lies: in a file of its own there."""
    return FileKeys(folder / KEY_FILE)


if TYPE_CHECKING:
    _CHECKED: type[Keys] = FileKeys


def _pieces(persons: pl.Series, size: int) -> Iterator[pl.Series]:
    return (persons[start : start + size] for start in range(0, len(persons), size))


def new_key(salt: bytes | None, *, outside: bool) -> Key:
    """Return a key to take the place of another: from the environment if there, else drawn.

    ``outside``: the owner keeps keys, and must give the new one.
    """
    given = _from_environment(salt, NEXT)
    if given is not None:
        return Key(given)
    if outside:
        raise VaultError(
            f"the key of this vault comes from {VARIABLE} or a command, and no new one is given",
            hint=f"Set {NEXT} to 64 hex digits, and use them as the key from then on.",
        )
    return Key(secrets.token_bytes(SIZE))


def _from_environment(salt: bytes | None, variable: str = VARIABLE) -> bytes | None:
    text = os.environ.get(variable)
    if text is None:
        return None
    if HEX.fullmatch(text):
        return bytes.fromhex(text)
    if len(text) < SHORTEST:
        raise VaultError(
            f"the key in {variable} is too short",
            hint=f"Give 64 hex digits or at least {SHORTEST} characters, or unset the variable to use the vault's own "
            "key file.",
        )
    words = text.encode("utf-8", "surrogateescape")
    if salt is None:
        return hashlib.sha256(words).digest()
    return hashlib.scrypt(words, salt=salt, n=COST, r=WIDTH, p=1, maxmem=256 * WIDTH * COST, dklen=SIZE)


def _from_command(command: str) -> bytes:
    """Return the key that a command of the owner's prints; nothing that it says is shown."""
    hint = "It must print 64 hex digits and end with exit code 0. Run it by hand to see what it says."
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, timeout=WAIT, check=True)  # noqa: S603 -- the owner's
        text = done.stdout.decode("ascii").strip()
    except (OSError, ValueError, subprocess.SubprocessError):
        raise VaultError("the key_command of this vault failed", hint=hint) from None
    if not HEX.fullmatch(text):
        raise VaultError("the key_command of this vault printed no key", hint=hint)
    return bytes.fromhex(text)
