"""Writing a release in shards as parts: rows are dealt by their dice, so that no part shows where a row comes from."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import FileError
from reveil.engines.shards import with_column
from reveil.releases.files import write_table
from reveil.releases.folders import PART_ROWS, part_name
from reveil.releases.manifest_parts import TablePart
from reveil.tables.formats.folder import digest_of_file

if TYPE_CHECKING:
    from reveil.engines.shards import Engine, Shards

PART = "part"
_WRITTEN = pl.Schema({PART: pl.Int32, "rows": pl.Int64, "digest": pl.String})


@dataclass(frozen=True)
class DealIntoParts:
    """Work: the part of each row, by its die."""

    seat: str
    parts: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Deal a shard."""
        dealt = ((table[self.seat].to_numpy() >> 32) * self.parts) >> 31
        return table.with_columns(pl.Series(PART, dealt, pl.Int32))


@dataclass(frozen=True)
class WritePart:
    """Work: a part as a file, and beside it, in the private folder, whose rows are in it.

    Files get their name when they are whole: work may be done twice.
    """

    folder: str
    private: str
    number: str
    seat: str
    names: tuple[tuple[str, str], ...]  # how columns are called on their way, and in the file

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Write the rows of a part, all of which are here."""
        if not table.height:
            return _WRITTEN.to_frame()
        part = int(table[PART][0])
        rows = table.sort(self.seat)
        if (rows[self.seat].diff() == 0).any():
            rows = table.sort(self.seat, self.number)
        path = Path(self.folder) / part_name(part)
        try:
            _whole(rows.select(pl.col(source).alias(name) for source, name in self.names), path)
            rows.select(self.number).write_ipc(numbers_path(Path(self.private), part))
        except (OSError, pl.exceptions.PolarsError):
            raise FileError(
                "this release cannot be written here", file=path.parent, hint="Check permissions and free space."
            ) from None
        return pl.DataFrame([(part, rows.height, digest_of_file(path))], schema=_WRITTEN, orient="row")


def numbers_path(private: Path, part: int) -> Path:
    """Return where the numbers of the records of a part are noted."""
    return private / f"numbers-{part:05d}.arrow"


def write_parts(
    engine: Engine, rows: Shards, folder: Path, *, records: int, number: str, seat: str, names: dict[str, str]
) -> list[TablePart]:
    """Write rows to the parts of a folder; ``names`` says how a column is called in the files."""
    part_rows = min(PART_ROWS, engine.shard_rows)
    parts = max(1, -(-records // part_rows))
    schema = with_column(rows.schema, PART, pl.Int32())
    work = WritePart(str(folder), str(engine.scratch), number, seat, tuple(names.items()))
    written = rows.map(DealIntoParts(seat, parts), schema).each(PART, work, _WRITTEN).collect()
    found = {part: TablePart(part_name(part), many, digest) for part, many, digest in written.iter_rows()}
    if len(found) < parts:  # dice may leave a part of a small table empty
        none = pl.DataFrame({name: pl.Series(name, [], rows.schema[source]) for source, name in names.items()})
        for part in set(range(parts)) - found.keys():
            path = folder / part_name(part)
            _whole(none, path)
            none_at = pl.DataFrame({number: pl.Series([], dtype=pl.Int64)})
            none_at.write_ipc(numbers_path(engine.scratch, part))
            found[part] = TablePart(part_name(part), 0, digest_of_file(path))
    return [found[part] for part in sorted(found)]


def _whole(table: pl.DataFrame, path: Path) -> None:
    draft = path.with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        write_table(table, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
