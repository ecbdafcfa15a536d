"""The alternative of the source: one table with all columns, of which every release is a projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reveil.guarantees.worlds.drawing import Tokens
    from reveil.guarantees.worlds.matching import Matchings


def projected(tokens: Tokens) -> Matchings:
    """Return the record that each row covers in each world: row t is token t, and covers all who ever hold it.

    These are the persons at the places h, h - 1, .., h - l + 1 of a bucket. Every column is widened to all of them,
    whatever else is published: rows of different releases have the same persons in them.
    """
    rows = np.empty_like(tokens)
    worlds = np.arange(len(tokens))[:, None]
    rows[worlds, tokens] = np.arange(tokens.shape[1], dtype=tokens.dtype)
    return rows
