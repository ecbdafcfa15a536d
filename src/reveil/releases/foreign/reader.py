"""Published tables of any tool, read into a release with a manifest that promises nothing.

A table may have its columns in any order and may lack generalised ones: of those nothing is known. Sensitive values
must be there, in the table itself or in the second table of a pair. What identifies people must not. Row numbers of
the table that it was made of (a column ``index``) are set aside as ``row_numbers``. A nested table
of Reveil's (with a column ``level``) is refused without its manifest.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from reveil.core.errors import DataError, is_shown_whole, shown
from reveil.core.json_values import FrozenObject
from reveil.releases.cell_types import dtype_name
from reveil.releases.different_cells import places_in
from reveil.releases.files import batch_path
from reveil.releases.foreign.cells import ForeignCells
from reveil.releases.foreign.values import cast_to, is_blanked, unquoted
from reveil.releases.manifest import SECOND, Manifest
from reveil.releases.manifest_files import digest_of, has_manifest
from reveil.releases.manifest_parts import PublishedColumn
from reveil.releases.parsing import classes_of
from reveil.releases.promise import UNKNOWN, Promise
from reveil.releases.release import Release
from reveil.releases.table import COUNT, GROUP, LEVEL
from reveil.tables.formats import check_path, find_format
from reveil.tables.formats.folder import parts_in, read_folder
from reveil.tables.formats.parquet_file import ParquetFile
from reveil.tables.formats.place import Place
from reveil.tables.notation import Form, to_text
from reveil.tables.schema import Column, Role, Schema, toml_key, undeclared
from reveil.tables.snapshot import canonical_text, infer_type, type_of
from reveil.tables.snapshot.frames import from_native
from reveil.tables.snapshot.types import nan_to_null, outside_the_calendar, read_as

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.arrays import CodeArray, IntArray

INDEX = "index"  # of a row in the table that a release was made of, as data frames write it
KNOWN = (GROUP, LEVEL, COUNT, INDEX)  # columns that a method may publish beside those of the schema
_ROOM = 1 << 20  # group numbers are kept up to here; larger ones would cost memory for groups that are not there


class PublishedSchema(Schema):
    """The columns that a published table may have."""

    @classmethod
    def like(cls, schema: Schema) -> PublishedSchema:
        """Return the declared columns and those that methods publish beside them."""
        declared = {column.name for column in schema.columns}
        beside = [Column(name, Role.PLAIN) for name in KNOWN if name not in declared]
        return cast(
            "PublishedSchema", cls.of([*schema.columns, *beside], schema.null_values, schema.input.of_records())
        )

    def check_columns(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        """Raise if the table has a column that nobody declared; columns may be missing."""
        extra = undeclared(names, self.columns, file=file, header_line=header_line)
        if extra:
            line = f', such as\n  {toml_key(extra[0])} = "plain"' if is_shown_whole(extra[0]) else "."
            raise DataError(
                f"column {shown(extra)} is not declared"
                if len(extra) == 1
                else f"columns {shown(extra)} are not declared",
                file=file,
                column=extra[0],
                hint="Take it out of the table, or give it a role under [columns]" + line,
            )


@dataclass(frozen=True)
class FoundTable:
    """One table as it was found."""

    frame: pl.DataFrame
    place: Place
    native: str = "polars"


def read_release(source: object, schema: Schema, *, types: Mapping[str, pl.DataType] | None = None) -> Release:
    """Read a release that any tool made.

    ``source`` is a release, the path of a file in a known format (beside which the second table of a pair is found), or
    a frame of polars, pandas or pyarrow. A table with a manifest of Reveil's is read as the release it is. ``types``
    are those of the columns that are published as they are, as the snapshot has them; else they are inferred.
    """
    if isinstance(source, Release):
        return source
    known = PublishedSchema.like(schema)
    second = None
    files: list[Path] = []
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        check_path(path)
        if has_manifest(path):
            return Release.read(path)
        first, files = _read_file(path, known), parts_in(path) if path.is_dir() else [path]
        if not path.is_dir() and not set(schema.sensitive) <= set(first.frame.columns) and batch_path(path).is_file():
            second = _read_file(batch_path(path), known)
            files.append(batch_path(path))
    else:
        frame, native = from_native(source, known)
        first = FoundTable(frame, Place("the frame"), native)
    return _Reading(schema, types or {}).release(first, second, digest_of(*files) if files else None)


def _read_file(path: Path, known: PublishedSchema) -> FoundTable:
    form = ParquetFile() if path.is_dir() else find_format(path)

    def check(names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        plain = [form.plain_name(name) for name in names]
        if len(set(plain)) < len(plain):
            raise DataError(
                "two columns of this table have the same name, quoted or not",
                file=file,
                hint="Give each column a name of its own.",
            )
        known.check_columns(plain, file=file, header_line=header_line)

    if path.is_dir():
        table = read_folder(path, check_names=check)
    else:
        table = form.read(path, null_values=known.null_values, check_names=check)
    return FoundTable(table.frame.rename(form.plain_name), table.place)


@dataclass(frozen=True)
class _Reading:
    """Makes a release of tables that were read."""

    schema: Schema
    types: Mapping[str, pl.DataType]

    def release(self, first: FoundTable, second: FoundTable | None, digest: str | None) -> Release:
        roles = {column.name: column.role for column in self.schema.columns}
        self._check_roles(first, second, roles)
        for table in (first, *(() if second is None else (second,))):
            for name in table.frame.columns:
                if outside_the_calendar(table.frame[name]) is not None:
                    raise table.place.error(
                        f"column {name!r} has dates or times that no calendar has",
                        column=name,
                        hint="Write the table again with the values as they are meant.",
                    )
        beside = [name for name in KNOWN if name not in roles]
        if LEVEL in beside and LEVEL in first.frame.columns:
            # Read as boxes that overlap, a nested table would seem to tell less than it does.
            raise first.place.error(
                f"the column {LEVEL!r} says that boxes are nested, and only the manifest says how to read them",
                column=LEVEL,
                hint="Keep NAME.manifest.json beside the table. If the column means something else, give it a role "
                f'under [columns]: {LEVEL} = "plain".',
            )
        row_numbers = _row_numbers(first) if INDEX in beside and INDEX in first.frame.columns else None
        published = [n for n in first.frame.columns if roles.get(n) not in (None, Role.PERSON, Role.IDENTIFIER)]
        cells, classes = self._classes(first, [n for n in published if roles[n] is Role.QUASI])
        values = {n: self._typed(first, n) for n in published if roles[n] is not Role.QUASI}
        groups = first.frame[GROUP] if GROUP in beside and GROUP in first.frame.columns else None
        batch, numbers = None, None
        if groups is not None:
            second_groups = None if second is None else second.frame[GROUP]
            numbers, others = _numbered(
                groups, second_groups, first.place, first.place if second is None else second.place
            )
            if second is not None and others is not None:
                counts = _counts(second) if COUNT in second.frame.columns else np.ones(len(others), np.int64)
                told = {n: self._typed(second, n) for n in self.schema.sensitive}
                batch = pl.DataFrame({GROUP: others, **told, COUNT: counts})
                batch = batch.group_by(pl.exclude(COUNT), maintain_order=True).agg(pl.col(COUNT).sum())
        table = pl.DataFrame(values)
        if COUNT in beside and COUNT in first.frame.columns:
            rows = np.repeat(np.arange(len(classes)), _counts(first))
            classes, table = classes[rows], table[rows] if table.width else table
            numbers = None if numbers is None else numbers[rows]
            row_numbers = None
        columns = [*self._described(published, table), *_described_groups(numbers, batch)]
        manifest = _manifest(columns, classes if numbers is None else numbers, digest)
        return Release(
            tuple(published),
            cells,
            classes,
            table,
            first.native,
            numbers,
            batch,
            manifest=manifest,
            row_numbers=row_numbers,
        )

    def _check_roles(self, first: FoundTable, second: FoundTable | None, roles: Mapping[str, Role]) -> None:
        """Check that the tables together have what a release needs, and nothing that tells who is who."""
        for table in (first,) if second is None else (first, second):
            for name in table.frame.columns:
                if roles.get(name) in (Role.PERSON, Role.IDENTIFIER) and not is_blanked(table.frame[name]):
                    raise table.place.error(
                        f"column {name!r} tells who is who; a release does not have it",
                        column=name,
                        hint="Take it out. If it was published like that, the people in it are known anyway.",
                    )
        told = first if second is None else second
        missing = [name for name in self.schema.sensitive if name not in told.frame.columns]
        if missing:
            raise told.place.error(
                f"the sensitive column {missing[0]!r} is not in this release",
                column=missing[0],
                hint="It belongs in the table, or in a second one beside it (NAME.sensitive.csv, joined by 'group').",
            )
        if second is None:
            return
        for table in (first, *(() if second is None else (second,))):
            if GROUP not in table.frame.columns or GROUP in roles:
                raise table.place.error(
                    f"this table of a pair has no column {GROUP!r}",
                    column=GROUP,
                    hint="The two tables of a release are joined by it; a declared column of this name is another one.",
                )
        allowed = {*self.schema.sensitive, *KNOWN, *self.schema.identifiers, self.schema.person}
        strange = [name for name in second.frame.columns if name not in allowed]
        double = [name for name in self.schema.sensitive if name in first.frame.columns]
        if strange or double:
            name = (strange or double)[0]
            raise (second if strange else first).place.error(
                f"column {name!r} is in the wrong table of the two",
                column=name,
                hint="The second table has group, sensitive columns and count; the first has all the others.",
            )

    def _classes(self, table: FoundTable, names: list[str]) -> tuple[dict[str, ForeignCells], CodeArray]:
        """Tell distinct cells and classes apart."""
        found = {}
        for name in names:
            text = self._as_text(table, name)
            distinct = text.unique(maintain_order=True)
            found[name] = (distinct, places_in(text, distinct))
        classes, first = classes_of([index for _, index in found.values()], table.frame.height)
        cells = {}
        for name, (distinct, index) in found.items():
            rows: IntArray = np.unique(index, return_index=True)[1].astype(np.int64)
            cells[name] = ForeignCells(Form.FOREIGN, distinct, index[first], table.place, rows)
        return cells, classes

    def _as_text(self, table: FoundTable, name: str) -> pl.Series:
        """Return generalised cells as text, from whatever a file can hold."""
        series = table.frame[name]
        dtype = series.dtype
        if isinstance(dtype, pl.Struct) and {f.name for f in dtype.fields} == {"lo", "hi", "null"}:
            return to_text(series, Form.INTERVAL)
        if isinstance(dtype, pl.List) and type_of(dtype.inner) is not None:  # type: ignore[arg-type]
            return to_text(series.cast(pl.List(pl.String)), Form.SET)
        if type_of(dtype) is None:
            raise table.place.error(
                f"column {name!r} holds cells that are neither text nor values",
                column=name,
                hint="Write them as text: [21, 23], {a, b}.",
            )
        return self._without_marks(canonical_text(series.cast(pl.String) if dtype == pl.Null else series))

    def _without_marks(self, text: pl.Series) -> pl.Series:
        """Make marks for missing cells null, in a frame as in a file."""
        marks = self.schema.null_values
        return text.set(text.is_in(pl.Series(marks).implode()).fill_null(value=False), None) if marks else text

    def _typed(self, table: FoundTable, name: str) -> pl.Series:
        """Give a column that is published as it is the type of its values."""
        raw = table.frame[name]
        if type_of(raw.dtype) is None:
            raise self._unreadable(table, name, None)
        if raw.dtype in (pl.Categorical, pl.Enum, pl.Null):
            raw = raw.cast(pl.String)
        raw = nan_to_null(raw)
        text = raw.dtype == pl.String
        raw = self._without_marks(raw) if text else raw
        plain = unquoted(raw) if text else raw
        wanted = self.types.get(name)
        if wanted is not None:
            typed = cast_to(plain, wanted)
        elif self.schema[name].type is not None:
            typed = read_as(plain, self.schema[name].type)  # type: ignore[arg-type]
        else:
            # What needed quotes was text where it came from.
            typed = infer_type(plain) if text and plain.equals(raw) else plain
        lost = (typed.is_null() & plain.is_not_null()).arg_true()
        if len(lost):
            raise self._unreadable(table, name, int(lost[0]))
        typed = nan_to_null(typed)
        return (canonical_text(typed) if typed.dtype == pl.String else typed).alias(name)

    @staticmethod
    def _unreadable(table: FoundTable, name: str, row: int | None) -> DataError:
        return table.place.error(
            f"column {name!r} has a cell that is no value of the column's type",
            column=name,
            row=row,
            hint="Values are published as they are; take rows with a suppressed value (*) out, or declare it as text.",
        )

    def _described(self, names: Sequence[str], values: pl.DataFrame) -> list[PublishedColumn]:
        return [
            PublishedColumn(
                name,
                self.schema[name].role.value,
                (Form.VALUE if name in values.columns else Form.FOREIGN).value,
                dtype_name(values.schema[name] if name in values.columns else pl.String()),
            )
            for name in names
        ]


def _row_numbers(table: FoundTable) -> IntArray:
    """Return the row of the table before that each row was, or refuse a column that only has the name of it."""
    numbers = table.frame[INDEX].cast(pl.Int64, strict=False)
    if numbers.null_count() or numbers.n_unique() < len(numbers) or (len(numbers) and int(numbers.min() or 0) < 0):  # type: ignore[arg-type]
        raise table.place.error(
            f"column {INDEX!r} is not declared",
            column=INDEX,
            hint=f'Take it out of the table, or give it a role under [columns], such as\n  {INDEX} = "plain"',
        )
    return numbers.to_numpy().astype(np.int64)


def _described_groups(groups: CodeArray | None, batch: pl.DataFrame | None) -> list[PublishedColumn]:
    if groups is None:
        return []
    second = [] if batch is None else list(batch.schema.items())[1:-1]
    return [
        PublishedColumn(GROUP, GROUP, Form.VALUE.value, "Int32"),
        *(PublishedColumn(name, "sensitive", "value", dtype_name(dtype), table=SECOND) for name, dtype in second),
    ]


def _manifest(columns: list[PublishedColumn], groups: CodeArray, digest: str | None) -> Manifest:
    """Return a manifest that promises nothing; who made it, when, and whom they left out: nobody said."""
    return Manifest(
        series=None,
        release=None,
        promise=Promise(UNKNOWN, ""),
        columns=tuple(columns),
        rows=len(groups),
        groups=len(np.unique(groups)),
        achieved=FrozenObject({}),
        suppressed=None,
        digest=digest,
    )


def _counts(table: FoundTable) -> IntArray:
    """Return how many records each row stands for."""
    numbers = cast_to(table.frame[COUNT], pl.Int64())
    wrong = (numbers.is_null() | (numbers < 1) | (numbers > 2**31 - 1)).arg_true()
    if len(wrong):
        raise table.place.error(
            f"column {COUNT!r} has a cell that is no number from 1 up",
            column=COUNT,
            row=int(wrong[0]),
            hint="It says how many records a row stands for.",
        )
    return numbers.to_numpy().astype(np.int64)


def _numbered(
    first: pl.Series, second: pl.Series | None, place: Place, other: Place
) -> tuple[CodeArray, CodeArray | None]:
    """Number the groups of both tables alike: by their own numbers where they have some, else as they come."""
    texts = []
    for names, where in ((first, place), (second, other)):
        if names is None:
            continue
        if names.null_count() or type_of(names.dtype) is None:
            row = names.is_null().arg_true()
            raise where.error(
                f"a cell of column {GROUP!r} names no group",
                column=GROUP,
                row=int(row[0]) if len(row) else None,
                hint="Each row belongs to a group: give it a number or a name.",
            )
        texts.append(canonical_text(names).str.strip_chars())
    both = pl.concat(texts)
    if both.str.contains(r"^[0-9]{1,9}$").all() and int(both.cast(pl.Int64).max() or 0) < max(_ROOM, 4 * len(both)):  # type: ignore[arg-type]
        numbers = both.cast(pl.Int32).to_numpy()
    else:
        numbers = places_in(both, both.unique(maintain_order=True))
    numbers = numbers.astype(np.int32)
    return numbers[: len(first)], None if second is None else numbers[len(first) :]
