"""What the owner is told of the columns of a release, whatever was published before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import shown
from reveil.tables.schema import EXACT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reveil.tables.snapshot import Snapshot


def warnings(snapshot: Snapshot, kept: Iterable[str] = (), *, apart: bool = False) -> Iterator[str]:
    """Yield what is to be said when a table is published; ``kept``: columns that a series compares as it began.

    ``apart``: each sensitive column has a table of its own, and no value stands in a row.
    """
    names = snapshot.schema.sensitive
    if len(names) > 1 and not apart:
        yield (
            f"{len(names)} sensitive columns are published in the same row: each is protected by itself, and whoever "
            "knows one of somebody's values may find the row by it and read the others (reveil audit --known values "
            "shows what that gives)"
        )
    texts = [name for name in kept if snapshot.frame.schema.get(name) == pl.String]
    if texts:
        yield (
            f"this series has compared {shown(texts)} exactly since its first release and goes on so: texts that look "
            f'alike count as different values (compare = "{EXACT}" says the same)'
        )
