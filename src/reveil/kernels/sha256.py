"""HMAC-SHA-256 of many short messages under one key (FIPS 180-4, RFC 2104)."""

from __future__ import annotations

import numpy as np

from reveil.kernels import kernel

START = np.array(
    [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19], np.uint32
)


def _round_constants() -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the first 32 bits of the fractional parts of the cube roots of the first 64 primes."""
    primes: list[int] = []
    number = 2
    while len(primes) < 64:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    found = []
    for prime in primes:
        scaled, root = prime << 96, 1 << 40
        while True:  # Newton's method on integers: the cube root of prime * 2**96 is the root times 2**32
            better = (2 * root + scaled // (root * root)) // 3
            if better >= root:
                break
            root = better
        found.append(root & 0xFFFFFFFF)
    return np.array(found, np.uint32)


ROUNDS = _round_constants()


@kernel
def _rotated(x, by):
    return (x >> np.uint64(by)) | (x << np.uint64(32 - by))


@kernel
def compress(state, words, rounds):
    """Take one block of 16 words into the state; ``words`` has room for 64. Sums are taken in 64 bits and cut to 32."""
    mask = np.uint64(0xFFFFFFFF)
    for t in range(16, 64):
        x, y = np.uint64(words[t - 15]), np.uint64(words[t - 2])
        s0 = (_rotated(x, 7) ^ _rotated(x, 18) ^ (x >> np.uint64(3))) & mask
        s1 = (_rotated(y, 17) ^ _rotated(y, 19) ^ (y >> np.uint64(10))) & mask
        words[t] = (np.uint64(words[t - 16]) + s0 + np.uint64(words[t - 7]) + s1) & mask
    a, b, c, d = np.uint64(state[0]), np.uint64(state[1]), np.uint64(state[2]), np.uint64(state[3])
    e, f, g, h = np.uint64(state[4]), np.uint64(state[5]), np.uint64(state[6]), np.uint64(state[7])
    for t in range(64):
        s1 = (_rotated(e, 6) ^ _rotated(e, 11) ^ _rotated(e, 25)) & mask
        one = (h + s1 + ((e & f) ^ (~e & g & mask)) + np.uint64(rounds[t]) + np.uint64(words[t])) & mask
        s0 = (_rotated(a, 2) ^ _rotated(a, 13) ^ _rotated(a, 22)) & mask
        two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) & mask
        h, g, f, e = g, f, e, (d + one) & mask
        d, c, b, a = c, b, a, (one + two) & mask
    state[0] = (np.uint64(state[0]) + a) & mask
    state[1] = (np.uint64(state[1]) + b) & mask
    state[2] = (np.uint64(state[2]) + c) & mask
    state[3] = (np.uint64(state[3]) + d) & mask
    state[4] = (np.uint64(state[4]) + e) & mask
    state[5] = (np.uint64(state[5]) + f) & mask
    state[6] = (np.uint64(state[6]) + g) & mask
    state[7] = (np.uint64(state[7]) + h) & mask


@kernel
def hmac(inner, outer, content, starts, first, last, rounds, out):
    """Write the first 16 bytes of the HMAC of the messages ``first`` to ``last`` as two numbers each.

    Message i is ``content[starts[i]:starts[i+1]]``. ``inner`` and ``outer`` are the states after the padded key.
    """
    state, words = np.empty(8, np.uint32), np.empty(64, np.uint32)
    for i in range(first, last):
        start, length = starts[i], starts[i + 1] - starts[i]
        state[:] = inner
        blocks = (length + 9 + 63) // 64
        for block in range(blocks):
            for t in range(16):
                word = np.uint64(0)
                for byte in range(4):
                    at = block * 64 + t * 4 + byte
                    value = np.uint64(0)
                    if at < length:
                        value = np.uint64(content[start + at])
                    elif at == length:
                        value = np.uint64(0x80)
                    word = (word << np.uint64(8)) | value
                words[t] = word
            if block == blocks - 1:
                bits = (length + 64) * 8  # the padded key was a block of its own
                words[14] = bits >> 32
                words[15] = bits & 0xFFFFFFFF
            compress(state, words, rounds)
        words[:8] = state
        words[8] = 0x80000000
        words[9:15] = 0
        words[15] = (64 + 32) * 8
        state[:] = outer
        compress(state, words, rounds)
        out[i, 0] = (np.uint64(state[0]) << np.uint64(32)) | np.uint64(state[1])
        out[i, 1] = (np.uint64(state[2]) << np.uint64(32)) | np.uint64(state[3])
