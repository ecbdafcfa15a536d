"""HMAC-SHA-256 of many short texts in one go; its rounds are those of the library that ``hashlib`` calls.

Taking the prepared halves of a key and copying them for each text costs Python five times what the rounds cost. Padding
is done here, and the rounds are the library's own (``SHA256_Transform`` of OpenSSL, which uses what the processor has
for it). Where the library does not show them, or where what comes out is not what ``hmac`` says, nothing is done here.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import importlib
import itertools
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
from llvmlite import binding
from numba import config, types
from numba.core.typing.templates import signature

from reveil.core.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.core.arrays import IntArray

BLOCK = 64  # bytes that SHA-256 takes at a time
_CONTEXT = 256  # bytes for the library's state, of which the eight words come first
_NAME = "reveil_sha256_rounds"
_BEGINNING = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
_LENGTHS = (0, 1, 9, 55, 56, 63, 64, 119, 120, 300)  # of texts around the ends of blocks

_external = types.ExternalFunction(_NAME, signature(types.void, types.intp, types.intp))
_rounds = cast("Callable[[int, int], None]", _external)


@kernel
def digests(texts, offsets, inner, outer, out):
    """Write the first 128 bits of the digest of each text ``texts[offsets[p]:offsets[p + 1]]``, as two numbers.

    ``inner`` and ``outer`` are the eight words after the two halves of the padded key.
    """
    state = np.zeros(_CONTEXT, np.uint8)
    words = state.view(np.uint32)
    block = np.zeros(BLOCK, np.uint8)
    second = np.zeros(BLOCK, np.uint8)
    second[32] = 0x80
    second[62] = 3  # 96 bytes are 768 bits
    for p in range(offsets.shape[0] - 1):
        start, size = offsets[p], offsets[p + 1] - offsets[p]
        words[:8] = inner
        blocks = (size + 9 + BLOCK - 1) // BLOCK
        for b in range(blocks):
            for i in range(BLOCK):
                at = b * BLOCK + i
                if at < size:
                    block[i] = texts[start + at]
                else:
                    block[i] = 0x80 if at == size else 0
            if b == blocks - 1:
                bits = (size + BLOCK) * 8
                for i in range(8):
                    block[BLOCK - 1 - i] = (bits >> (8 * i)) & 255
            _rounds(state.ctypes.data, block.ctypes.data)
        for i in range(8):
            for byte in range(4):
                second[4 * i + byte] = (words[i] >> np.uint32(24 - 8 * byte)) & np.uint32(255)
        words[:8] = outer
        _rounds(state.ctypes.data, second.ctypes.data)
        out[p, 0] = (np.int64(words[0]) << 32) | np.int64(words[1])
        out[p, 1] = (np.int64(words[2]) << 32) | np.int64(words[3])


@kernel
def after(block, out):
    """Write the eight words after one block."""
    state = np.zeros(_CONTEXT, np.uint8)
    words = state.view(np.uint32)
    words[:8] = out
    _rounds(state.ctypes.data, block.ctypes.data)
    out[:] = words[:8]


def halves(key: bytes) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return the words after the two halves of a key of at most 64 bytes."""
    found = []
    for pad in (0x36, 0x5C):
        words = np.array(_BEGINNING, np.uint32)
        after(np.frombuffer(key.ljust(BLOCK, b"\0"), np.uint8) ^ np.uint8(pad), words)
        found.append(words)
    return found[0], found[1]


@cache
def are_possible() -> bool:
    """Return whether digests can be made here; where the library shows its rounds, they are tried first."""
    address = None if getattr(config, "DISABLE_JIT", 0) else _address()
    if address is None:
        return False
    binding.add_symbol(_NAME, address)
    key = hashlib.sha256(b"tried").digest()
    offsets = np.cumsum([0, *_LENGTHS]).astype(np.int64)
    content = np.resize(np.arange(256, dtype=np.uint8), int(offsets[-1]))
    out = np.empty((len(_LENGTHS), 2), np.int64)
    digests(content, offsets, *halves(key), out)
    cuts = itertools.pairwise(offsets)
    return out.tolist() == [plain(key, content[a:b].tobytes()).tolist() for a, b in cuts]


def plain(key: bytes, text: bytes) -> IntArray:
    """Return the first 128 bits of the digest of one text, as two numbers."""
    return np.frombuffer(hmac.digest(key, text, "sha256")[:16], ">i8").astype(np.int64)


def _address() -> int | None:
    """Return where the rounds are in the library that ``hashlib`` calls, None where it does not show them."""
    try:
        library = ctypes.CDLL(importlib.import_module("_hashlib").__file__)
        return ctypes.cast(library.SHA256_Transform, ctypes.c_void_p).value
    except (ImportError, OSError, AttributeError, TypeError):
        return None
