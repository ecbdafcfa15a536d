"""How a piece is sealed: compressed, padded, encrypted, and bound to its place.

AES-256-GCM with a nonce at random. A key belongs to one bucket and seals a few thousand pieces in its life, far below
the 2**32 messages for which 96 random bits are safe (NIST SP 800-38D, 8.3).
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PAGE = 4096  # a piece is a multiple of this: its size does not tell how many rows it has
_NONCE, _TAG, _LENGTH = 12, 16, 4


class DamagedPieceError(Exception):
    """The bytes are not what was sealed under this key at this place."""


def sealed(key: bytes, content: bytes, place: bytes) -> bytes:
    """Return the bytes of a piece; ``place`` is what it is bound to."""
    packed = zlib.compress(content, 1)
    body = len(packed).to_bytes(_LENGTH) + packed
    body += bytes(-(len(body) + _NONCE + _TAG) % PAGE)
    nonce = os.urandom(_NONCE)
    return nonce + _cipher(key).encrypt(nonce, body, place)


def opened(key: bytes, piece: bytes, place: bytes) -> bytes:
    """Return what was sealed; :class:`DamagedPieceError` if it was not sealed so."""
    from cryptography.exceptions import InvalidTag

    try:
        body = _cipher(key).decrypt(piece[:_NONCE], piece[_NONCE:], place)
    except (InvalidTag, ValueError):
        raise DamagedPieceError from None
    length = int.from_bytes(body[:_LENGTH])
    return zlib.decompress(body[_LENGTH : _LENGTH + length])


def _cipher(key: bytes) -> AESGCM:
    require()
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def require() -> None:
    """Refuse where the library that seals is not installed."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise ConfigError(
            "sealed vaults need the package 'cryptography', which is not installed",
            hint="Install it: pip install 'reveil[sealed]' (or 'reveil[postgresql]' for a server).",
        ) from None
