"""What the columns of a table in pieces mean: their values are counted piece by piece, and added up."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from reveil.engines.shards import TooLargeError
from reveil.models.domains import ValueCounts
from reveil.models.encoding import Domains, count_values
from reveil.tables.pieces import each_piece

if TYPE_CHECKING:
    from reveil.engines.shards import Shards
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema

_COUNTS = pl.Schema({"column": pl.String, "nulls": pl.Int64, "counts": pl.Binary})
_BYTES_OF_A_VALUE = 256  # what a value costs whoever holds the domains: itself, where it lies, counts by cell


@dataclass(frozen=True)
class CountValues:
    """Work: which values the columns of a shard have, and how often."""

    schema: Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        found = []
        for snapshot, _ in each_piece(table, self.schema):
            for name, counts in count_values(snapshot).items():
                bytes_ = io.BytesIO()
                pl.DataFrame({"value": counts.values, "n": counts.counts}).write_ipc(bytes_)
                found.append((name, counts.nulls, bytes_.getvalue()))
        return pl.DataFrame(found, schema=_COUNTS, orient="row")


def domains_of_pieces(pieces: TablePieces, shards: Shards, held_bytes: int) -> Domains:
    """Return what the codes of a table mean; more values than one memory is to hold are refused."""
    return Domains.of(pieces.schema, [values_of_pieces(pieces, shards, held_bytes)])


def values_of_pieces(pieces: TablePieces, shards: Shards, held_bytes: int) -> dict[str, ValueCounts]:
    """Return which values the columns of a table have; more than one memory is to hold are refused."""
    known: dict[str, ValueCounts] = {}
    for table in shards.map(CountValues(pieces.schema), _COUNTS).tables():
        for name, nulls, counts in table.iter_rows():
            read = pl.read_ipc(io.BytesIO(counts))
            column_counts = ValueCounts(read["value"].rename(name), read["n"].to_numpy(), nulls)
            before = known.get(name)
            known[name] = column_counts if before is None else ValueCounts.merged([before, column_counts])
        largest = max(known, key=lambda name: len(known[name].values))
        if sum(len(column_counts.values) for column_counts in known.values()) * _BYTES_OF_A_VALUE > held_bytes:
            raise TooLargeError(
                f"column {largest!r} has {len(known[largest].values):,} different values or more: they would not fit "
                "the memory that [engine] allows",
                column=largest,
                hint="Round the column, put it into bins or give it a hierarchy; or allow more memory.",
            )
    return known
