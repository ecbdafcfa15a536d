"""Small tables for the core, without a vault."""

import numpy as np
import polars as pl

import reveil as rv
from reveil.models.encoding import Codes, encode
from reveil.tables.snapshot import Snapshot


def codes_of(frame: pl.DataFrame, quasi, sensitive="value", **options) -> Codes:
    return encode(Snapshot(frame, rv.Schema(quasi=tuple(quasi), sensitive=sensitive, **options), "a frame", "polars"))


def only(codes: Codes, *names: str) -> Codes:
    return Codes(tuple(a for a in codes.quasi if a.name in names), codes.sensitive, codes.n)


def boxes(codes: Codes, rows: np.ndarray) -> list[tuple[str, ...]]:
    """What each row admits, attribute by attribute: the values of those it covers, joined (for sets)."""
    found = []
    for members in rows.T:
        cells = [sorted({str(a.domain[int(code)]) for code in a.codes[members]}) for a in codes.quasi]
        found.append(tuple("".join(cell) for cell in cells))
    return found
