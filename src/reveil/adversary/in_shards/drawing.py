"""Who is attacked where not everybody is: the people with the smallest numbers, found without a list of all people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.in_shards.tables import persons_of
from reveil.adversary.sampling import ALL, Draw
from reveil.tables.pieces import each_piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.engines.shards import Engine, Shards
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema

NUMBERS = pl.Schema({"number": pl.UInt64})


@dataclass(frozen=True)
class SmallestNumbers:
    """Work: the smallest numbers of the persons in pieces, so many at most."""

    draw: Draw
    schema: Schema
    many: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the pieces."""
        found = [np.zeros(0, np.uint64)]
        for snapshot, numbers in each_piece(table, self.schema):
            found.append(np.unique(self.draw.numbers(persons_of(snapshot, numbers)))[: self.many])
        return pl.DataFrame({"number": np.unique(np.concatenate(found))[: self.many]}, schema=NUMBERS)


@dataclass(frozen=True)
class NumbersDrawn:
    """Work: the numbers of those whom a draw takes."""

    draw: Draw

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at some people."""
        numbers = self.draw.numbers(table["person"])
        return pl.DataFrame({"number": numbers[numbers <= np.uint64(self.draw.most)]}, schema=NUMBERS)


@dataclass(frozen=True)
class Lighten:
    """Work: forget where people may be whom a draw does not take, or all of them; one group alone tells of others."""

    draw: Draw | None

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at some people."""
        kept = table["groups"].list.len() == 1
        if self.draw is not None:
            kept |= pl.Series(self.draw.takes(table["person"]))
        nowhere = pl.lit([], dtype=table.schema["groups"])
        return table.with_columns(pl.when(kept).then(pl.col("groups")).otherwise(nowhere).alias("groups"))


def at_most(engine: Engine, tables: Sequence[TablePieces], sample: int, seed: int) -> Draw:
    """Return a draw that takes everybody who will be attacked, and few others: that of the largest snapshot."""
    largest, draw = max(tables, key=lambda pieces: pieces.rows), Draw(seed)
    work = SmallestNumbers(draw, largest.schema, sample)
    numbers = np.unique(largest.shards(engine).map(work, NUMBERS).collect()["number"].to_numpy())
    return draw if len(numbers) < sample else Draw(seed, int(numbers[sample - 1]))


def drawn_of(draw: Draw, releases: Sequence[Shards], sample: int) -> Draw | None:
    """Return the draw of so many of the people of all releases; None where they are no more than that."""
    numbers = np.zeros(0, np.uint64)
    for people in releases:
        found = people.map(NumbersDrawn(draw), NUMBERS).collect()["number"].to_numpy()
        numbers = np.unique(np.concatenate([numbers, found]))
    if draw.most == ALL and len(numbers) <= sample:
        return None
    return draw.smallest(numbers, sample)
