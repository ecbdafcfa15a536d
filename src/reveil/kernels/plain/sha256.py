"""Plain twin of :mod:`reveil.kernels.sha256`: the standard library's."""

from __future__ import annotations

import hashlib
import hmac as standard


def hmac(key: bytes, message: bytes) -> tuple[int, int]:
    """Return the first 16 bytes of the HMAC as two unsigned numbers."""
    digest = standard.digest(key, message, hashlib.sha256)
    return int.from_bytes(digest[:8]), int.from_bytes(digest[8:16])
