"""The secret of a vault: pseudonyms of persons and the random streams of releases come from it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from typing import TYPE_CHECKING

import numpy as np

from reveil.errors import VaultError
from reveil.kernels import sha256
from reveil.kernels.plain import sha256 as plain
from reveil.threads import each
from reveil.vault.private import private, write_private

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    import polars as pl

    from reveil.vault.protocol import Int64Array

KEY_FILE = "key"
VARIABLE = "REVEIL_KEY"
SIZE = 32
SHORTEST = 16  # characters of a key in words
BLOCK = 64  # bytes that SHA-256 takes at a time
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

    @classmethod
    def load(cls, folder: Path) -> Key:
        """Return the key from the environment or from the vault's folder."""
        given = _from_environment()
        if given is not None:
            return cls(given)
        path = folder / KEY_FILE
        try:
            text = path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise VaultError("the key of this vault is missing", file=path, hint=LOST) from None
        except (OSError, ValueError):
            raise VaultError("the key of this vault cannot be read", file=path, hint=LOST) from None
        if not HEX.fullmatch(text):
            raise VaultError("the key of this vault is damaged: it should be 64 hex digits", file=path, hint=LOST)
        return cls(bytes.fromhex(text))

    @classmethod
    def load_or_make(cls, folder: Path) -> Key:
        """Return the key, drawn now and kept in the vault's folder if there is none yet."""
        path = folder / KEY_FILE
        if VARIABLE in os.environ or path.exists():
            return cls.load(folder)
        secret = secrets.token_bytes(SIZE)
        try:
            with private(folder):
                write_private(path, (secret.hex() + "\n").encode("ascii"))
        except OSError:
            raise VaultError("cannot write a key", file=path, hint="Check the permissions of the folder.") from None
        return cls(secret)

    def pseudonyms(self, persons: pl.Series) -> tuple[Int64Array, Int64Array]:
        """Return HMAC-SHA-256 of each canonical text, its first 128 bits as two signed numbers."""
        if persons.null_count():
            raise ValueError("a person without an identity has no pseudonym")
        content, starts = _joined(persons)
        out = np.empty((len(persons), 2), np.uint64)
        inner, outer = (self._state(pad) for pad in (0x36, 0x5C))

        def work(part: slice) -> None:
            sha256.hmac(inner, outer, content, starts, part.start, part.stop, sha256.ROUNDS, out)

        half = len(persons) // 2
        each(work, [slice(0, half), slice(half, len(persons))])
        if len(persons) and tuple(map(int, out[0])) != plain.hmac(self._secret, str(persons[0]).encode()):
            raise VaultError(
                "pseudonyms come out wrong on this machine", hint="Clear numba's cache and try again; please report it."
            )
        numbers = out.view(np.int64)
        return numbers[:, 0].copy(), numbers[:, 1].copy()

    def _state(self, pad: int) -> npt.NDArray[np.uint32]:
        """Return the state of SHA-256 after the padded key."""
        state, words = sha256.START.copy(), np.zeros(64, np.uint32)
        block = bytes(byte ^ pad for byte in self._secret.ljust(BLOCK, b"\0"))
        words[:16] = np.frombuffer(block, ">u4")
        sha256.compress(state, words, sha256.ROUNDS)
        return state

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

    def _other(self, *words: str) -> bytes:
        # The byte 255 is in no UTF-8 text, so that no person's pseudonym is one of these numbers.
        message = b"".join(b"\xff" + word.encode() for word in words)
        return hmac.digest(self._secret, message, "sha256")


def _joined(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], Int64Array]:
    """Return the bytes of texts one behind the other, and where each starts."""
    lengths = texts.str.len_bytes().to_numpy()
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    whole = str(texts.str.join("").item()) if len(texts) else ""
    return np.frombuffer(whole.encode(), np.uint8), starts


def _from_environment() -> bytes | None:
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
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
