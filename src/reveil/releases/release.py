"""A release: what leaves the building, a table with its manifest, in memory and as files."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.core import registry
from reveil.core.errors import FileError, InputError, VerificationError
from reveil.releases.files import (
    batch_path,
    check_seconds,
    format_at,
    not_of_another,
    output_path,
    read_table,
    table_pieces,
    tables_of,
    write_pieces,
    write_table,
)
from reveil.releases.folders import (
    PARTS,
    check_folder,
    digest_over,
    in_folder,
    located,
    part_name,
    parts_by_table,
    place_of,
    slices,
    table_names,
)
from reveil.releases.manifest_files import digest_of, manifest_bytes, manifest_path, read_manifest
from reveil.releases.manifest_parts import TablePart
from reveil.releases.parsing import assemble
from reveil.releases.placing import draft_folder, put_folder_in_place, put_in_place
from reveil.releases.sameness import pieces, same_content
from reveil.releases.table import (
    PublishedTable,
    batch_text,
    batch_typed,
)
from reveil.tables.formats import check_path, find_format
from reveil.tables.formats.base import FAILURES
from reveil.tables.formats.folder import digest_of_file
from reveil.tables.snapshot import to_native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt

    from reveil.core.arrays import IntArray
    from reveil.releases.answers import Count, Crosstab, Figure
    from reveil.releases.manifest import Manifest
    from reveil.tables.expressions import Expression
    from reveil.tables.schema import Schema

# A table that does not match its manifest can trip anything that reads it, polars included.
_UNREADABLE = (*FAILURES, LookupError, TypeError, AttributeError, ArithmeticError)


@dataclass(frozen=True, repr=False)
class Release(PublishedTable):
    """A published table and its manifest."""

    manifest: Manifest = field(kw_only=True)
    source: Path | None = field(default=None, compare=False, kw_only=True)  # the file it was read from
    whole: Release | None = field(default=None, compare=False, repr=False, kw_only=True)  # of which it shows one column
    # Which row of the table before each row was, where another tool left that in.
    row_numbers: IntArray | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __repr__(self) -> str:
        m = self.manifest
        return f"<Release: {m.rows:,} rows in {m.groups:,} groups; {m.promise.claim}>"

    def under(self, manifest: Manifest) -> Release:
        """Return the same table under another manifest; rows that were put together are not put together again."""
        other = replace(self, manifest=manifest)
        other.__dict__.update({key: value for key, value in self.__dict__.items() if key == "text"})
        return other

    def count(self, expression: str | Expression | None = None, schema: Schema | None = None) -> Count:
        """Count the records that satisfy an expression: an estimate, bounds that hold whatever they are, an interval.

        ``schema`` gives hierarchies and orders that the manifest does not carry.
        """
        answer: Count = registry.find("questions", "count")().of(self, expression, schema)
        return answer

    def mean(self, column: str, expression: str | Expression | None = None, schema: Schema | None = None) -> Figure:
        """Return the mean of a column over the records that satisfy an expression; without one, over all."""
        answer: Figure = registry.find("questions", "mean")(column).of(self, expression, schema)
        return answer

    def quantile(
        self, column: str, q: float, expression: str | Expression | None = None, schema: Schema | None = None
    ) -> Figure:
        """Return the smallest value that a share ``q`` of the records that satisfy an expression reach from below."""
        answer: Figure = registry.find("questions", "quantile")(column, q).of(self, expression, schema)
        return answer

    def crosstab(
        self, a: str, b: str, expression: str | Expression | None = None, schema: Schema | None = None
    ) -> Crosstab:
        """Count the records for every value of one column together with every value of another."""
        answer: Crosstab = registry.find("questions", "crosstab")(a, b).of(self, expression, schema)
        return answer

    def sample(self, n: int | None = None, seed: int = 0, schema: Schema | None = None) -> Any:
        """Draw plain records that agree with the release, for tools that cannot read ranges; in the caller's type.

        Without ``n`` as many as the release has records: then they are one of the tables that it could be of.
        """
        return to_native(registry.find("questions", "sample")(self, n, seed, schema), self.native)

    def write(self, path: str | Path) -> Path:
        """Write table and manifest; a path that ends in a slash is a folder, which takes the table in Parquet parts.

        Everything is written, read back and compared in a temporary folder first, then put in place, the manifest
        last: a failure before that changes nothing, and a table without a matching manifest is refused by every reader.
        """
        self.write_checked(path, lambda _: None)
        return Path(path)

    def write_checked(
        self, path: str | Path, check: Callable[[Release], None], done: Callable[[], None] = lambda: None
    ) -> Release:
        """Write to a temporary file, read it back, let ``check`` judge what was read, and only then put it in place.

        Another release is not written over. ``done`` is called as soon as everything is in place. Returns the release
        with the digest of what was written.
        """
        target = output_path(path)
        not_of_another(target, self.manifest)
        check_seconds(target, self.manifest)
        try:
            return self._write_checked(target, check, done)
        except OSError:
            raise FileError(
                "this release cannot be written here", file=place_of(target), hint="Check permissions and free space."
            ) from None

    def _write_checked(self, target: Path, check: Callable[[Release], None], done: Callable[[], None]) -> Release:
        if in_folder(target):
            return self._write_folder(target.parent, check, done)
        table_paths = tables_of(target, self.manifest)
        leftover = [path for path in _second_tables(target) if path not in table_paths]
        with draft_folder(target) as folder:
            draft = folder / target.name
            text_only = find_format(target).text_only
            write_pieces(self._pieces(text_only=text_only), draft)
            if self.batch is not None:
                write_table(batch_text(self.batch) if text_only else batch_typed(self.batch), batch_path(draft))
            tables = tables_of(draft, self.manifest)
            for second, place in zip(self.seconds, tables[1:] if self.seconds else (), strict=True):
                write_table(batch_text(second.batch) if text_only else batch_typed(second.batch), place)
            digest = digest_of(*tables)
            digests = {**_still_true(target, self.manifest), format_at(target): digest}
            manifest = replace(self.manifest, digest=digest, digests=digests, parts=None)
            manifest_path(draft).write_bytes(manifest_bytes(manifest))
            written = Release.read(draft)
            if not same_content(written, self):
                raise VerificationError("what was written does not read back as it was", file=target)
            check(written)
            # The manifest comes last: a table without a matching manifest is not a release.
            put_in_place([*tables, manifest_path(draft)], target.parent, leftover, done)
        return self.under(manifest)

    def _write_folder(self, folder: Path, check: Callable[[Release], None], done: Callable[[], None]) -> Release:
        """Write the release in parts: its rows lie in an order drawn by dice, so that a part is any of them."""
        with draft_folder(folder) as around:
            made = around / "release"
            made.mkdir()
            parts = self._write_parts(made)
            digest = digest_over(parts)
            manifest = replace(self.manifest, digest=digest, digests={PARTS: digest}, parts=tuple(parts))
            described = manifest_path(made)
            described.write_bytes(manifest_bytes(manifest))  # the last file of the folder
            written = Release.read(described)
            if not same_content(written, self):
                raise VerificationError("what was written does not read back as it was", file=folder)
            check(written)
            put_folder_in_place(made, folder, done)
        return self.under(manifest)

    def _pieces(self, *, text_only: bool) -> Iterator[pl.DataFrame]:
        """Return the table as it stands in a file, piece by piece: the text of all of it is never there at once."""
        for rows in pieces(len(self.classes)):
            yield self.text_of(rows) if text_only else self.typed_of(rows)

    def _write_parts(self, folder: Path) -> list[TablePart]:
        seconds = [table for table in (self.batch, *(one.batch for one in self.seconds)) if table is not None]
        tables: list[tuple[int, Callable[[slice], pl.DataFrame]]] = [(len(self.classes), self.typed_of)]
        tables += [(table.height, batch_typed(table).__getitem__) for table in seconds]
        before = parts_by_table(self.manifest) if self.manifest.parts else [None] * len(tables)
        parts = []
        for name, (height, rows_of), listed in zip(table_names(self.manifest), tables, before, strict=True):
            (folder / name).mkdir(parents=True, exist_ok=True)
            sizes = None if listed is None else [part.rows for part in listed]
            for number, rows in enumerate(slices(height, sizes)):
                file_name = part_name(number, name)
                write_table(rows_of(rows), folder / file_name)
                parts.append(TablePart(file_name, rows.stop - rows.start, digest_of_file(folder / file_name)))
        return parts

    @classmethod
    def read(cls, path: str | Path) -> Release:
        """Read a release that Reveil wrote, manifest included; bytes that do not match the manifest are refused."""
        path = located(path)
        check_path(place_of(path))
        manifest = read_manifest(path)
        if in_folder(path):
            check_folder(path.parent, manifest)
            return cls._read(path, manifest, lambda: _read_parts(path.parent, manifest))
        tables = tables_of(path, manifest)
        missing = [table for table in tables if not table.is_file()]
        if missing:
            raise FileError(
                "this release has a second table, which is missing",
                file=missing[0],
                hint="Keep the files of a release together.",
            )
        if digest_of(*tables) not in (manifest.digest, (manifest.digests or {}).get(format_at(path))):
            raise VerificationError(
                "this table is not the one its manifest describes",
                file=path,
                hint="It was changed after it was published, or the two files belong to different releases.",
            )
        return cls._read(path, manifest, lambda: [table_pieces(table) for table in tables])

    @classmethod
    def _read(cls, path: Path, manifest: Manifest, read: Callable[[], list[Iterator[pl.DataFrame]]]) -> Release:
        try:
            table, *seconds = read()
            batches = [pl.concat(list(second)) for second in seconds]
            return replace(release_of(assemble(table, batches, manifest), manifest), source=path)
        except _UNREADABLE:
            raise FileError(
                "this release cannot be read", file=place_of(path), hint="Its cells do not match its manifest."
            ) from None


def _read_parts(folder: Path, manifest: Manifest) -> list[Iterator[pl.DataFrame]]:
    """Read the tables of a release in a folder; parts that have not the rows of their manifest raise ValueError."""

    def read(parts: list[TablePart]) -> Iterator[pl.DataFrame]:
        for part in parts:
            frame = read_table(folder / part.name)
            if frame.height != part.rows:
                raise ValueError("a part has not as many rows as its manifest says")
            yield frame

    return [read(parts) for parts in parts_by_table(manifest)]


def release_of(table: PublishedTable, manifest: Manifest) -> Release:
    """Return a table as a release: with the manifest that describes it."""
    columns = {column.name: getattr(table, column.name) for column in fields(PublishedTable)}
    return Release(**columns, manifest=manifest)


def release_of_part(rows: pl.DataFrame, manifest: Manifest, folder: Path) -> Release:
    """Return some rows of a release in a folder as a release; cells that are not those of its manifest are refused."""
    try:
        return release_of(assemble(rows, [], manifest), manifest)
    except _UNREADABLE:
        raise FileError(
            "this release cannot be read", file=folder, hint="Its cells do not match its manifest."
        ) from None


def _second_tables(target: Path) -> list[Path]:
    """Return the second tables of a release that stands here already, by its own manifest; nobody else's file."""
    try:
        return tables_of(target, read_manifest(target))[1:]
    except (InputError, VerificationError):
        return []


def _still_true(target: Path, manifest: Manifest) -> dict[str, str]:
    """Return the digests of this release in other formats beside the target: they share one manifest."""
    try:
        before = read_manifest(target)
    except (InputError, VerificationError):
        return {}
    digests = before.digests or {}
    before, manifest = (
        replace(manifest_of_one, digest=None, digests=None, parts=None) for manifest_of_one in (before, manifest)
    )
    if before != manifest:
        return {}
    return {suffix: digest for suffix, digest in digests.items() if target.with_suffix(f".{suffix}").is_file()}


def compact(text: pl.Series) -> pl.Series:
    """Copy a column of text so that nothing else is kept alive.

    Gathered text shares its bytes with the column it was taken from: with values that were not taken, and in the order
    of the raw table. A published column must not carry either.
    """
    return text + "" if text.dtype == pl.String else text


def taken(values: pl.Series, records: npt.NDArray[np.integer]) -> pl.Series:
    """Return the values of some records, in a column of its own."""
    return compact(values.gather(records))
