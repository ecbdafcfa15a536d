"""A release: what leaves the building, in memory and as files.

Boxes are kept once per distinct cell and groups as integers; rows are put together only when somebody looks at
:attr:`Release.table` or writes a file. The object holds published data only: nothing raw can be got out of it.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.errors import FileError, InputError, VerificationError
from reveil.manifest import digest_of, manifest_bytes, manifest_path, read_manifest
from reveil.notation import Form, from_text, to_text
from reveil.snapshot import read_text_table, to_native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reveil.expressions import Expression
    from reveil.queries import Count
    from reveil.schema import Schema
    from reveil.statistics import CodeArray

SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class Cells:
    """One generalised column: the distinct cells, typed, and which of them each class has."""

    form: Form
    distinct: pl.Series = field(repr=False)
    index: CodeArray = field(repr=False)

    @cached_property
    def text(self) -> pl.Series:
        """The distinct cells as text."""
        return to_text(self.distinct, self.form)


@dataclass(frozen=True, repr=False)
class Release:
    """A published table and its manifest.

    ``classes`` is the class (the rows with equal generalised cells) of each published row; ``cells`` describes the
    classes column by column; ``values`` are the columns published as they are.
    """

    manifest: dict[str, Any]
    columns: tuple[str, ...]
    cells: Mapping[str, Cells]
    classes: CodeArray
    values: pl.DataFrame
    native: str = "polars"

    def __repr__(self) -> str:
        m = self.manifest
        return f"<Release: {m['rows']:,} rows in {m['groups']:,} groups; {m['claim']}>"

    @property
    def table(self) -> Any:
        """The published table as text cells (``[21, 23]``), in the caller's type of frame."""
        return to_native(self.text, self.native)

    @cached_property
    def text(self) -> pl.DataFrame:
        """The published table as it stands in a CSV file."""
        return self._rows(lambda cells: cells.text, lambda values: to_text(values, Form.VALUE))

    @property
    def typed(self) -> pl.DataFrame:
        """The published table as it stands in a Parquet file: intervals as ``lo, hi, null``, sets as lists."""
        # Text keeps its notation here too, so that a raw "*" is never a suppressed one.
        return self._rows(
            lambda cells: cells.distinct,
            lambda values: to_text(values, Form.VALUE) if values.dtype == pl.String else values,
        )

    def _rows(self, cells: Callable[[Cells], pl.Series], values: Callable[[pl.Series], pl.Series]) -> pl.DataFrame:
        columns = {}
        for name in self.columns:
            if name in self.cells:
                own = self.cells[name]
                columns[name] = cells(own).gather(own.index[self.classes])
            else:
                columns[name] = values(self.values[name])
        return pl.DataFrame(columns)

    def count(self, expression: str | Expression, schema: Schema | None = None) -> Count:
        """Count the records that satisfy an expression: an estimate, and bounds that hold whatever they are.

        ``schema`` gives hierarchies and orders: without it, only published labels of a hierarchy have a meaning.
        """
        from reveil.queries import count

        return count(self, expression, schema)

    def write(self, path: str | Path) -> Path:
        """Write table and manifest; either both are there afterwards or nothing has changed."""
        return self.write_checked(path, lambda _: None)

    def write_checked(self, path: str | Path, check: Callable[[Release], None]) -> Path:
        """Write to a temporary file, read it back, let ``check`` judge what was read, and only then put it in place."""
        target = output_path(path)
        with tempfile.TemporaryDirectory(prefix=f".{target.stem}-", dir=target.parent) as folder:
            draft = Path(folder) / target.name
            if target.suffix.lower() == ".csv":
                self.text.write_csv(draft)
            else:
                self.typed.write_parquet(draft, compression="zstd", statistics=False)
            self.manifest["digest"] = digest_of(draft)
            manifest_path(draft).write_bytes(manifest_bytes(self.manifest))
            check(Release.read(draft))
            for file in (draft, manifest_path(draft)):
                _settle(file)
            with _undisturbed():
                # The manifest comes last: a table without a matching manifest is not a release.
                draft.replace(target)
                manifest_path(draft).replace(manifest_path(target))
        return target

    @classmethod
    def read(cls, path: str | Path) -> Release:
        """Read a release that Reveil wrote, manifest included; bytes that do not match the manifest are refused."""
        path = Path(path)
        if not path.is_file():
            raise FileError("there is no such file", file=path, hint="Check the path.")
        manifest = read_manifest(path)
        if digest_of(path) != manifest["digest"]:
            raise VerificationError(
                "this table is not the one its manifest describes",
                file=path,
                hint="It was changed after it was published, or the two files belong to different releases.",
            )
        try:
            return _assemble(_read_table(path), manifest)
        except (ValueError, KeyError, pl.exceptions.PolarsError):
            raise FileError(
                "this release cannot be read", file=path, hint="Its cells do not match its manifest."
            ) from None


def output_path(path: str | Path) -> Path:
    """Return the path a release is to be written to, checked before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise FileError("a release is written as .csv or .parquet", file=target, hint="Choose one of these endings.")
    if not target.parent.is_dir() or target.is_dir():
        raise FileError(
            "cannot write here", file=target, hint="The folder must exist and the name must not be a folder."
        )
    if not os.access(target.parent, os.W_OK):
        raise FileError("cannot write here", file=target, hint="The folder is not writable for you.")
    return target


def classes_of(columns: list[np.ndarray[Any, np.dtype[np.integer[Any]]]], rows: int) -> tuple[CodeArray, CodeArray]:
    """Number the distinct combinations of the given codes; return each row's number and each number's first row."""
    key = np.zeros(rows, np.int64)
    room = 1
    for codes in columns:
        many = int(codes.max(initial=0)) + 1
        if room * many >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key = key * many + codes
        room *= many
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.astype(np.int32), first.astype(np.int32)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore a keyboard interrupt while the two files are put in place: a moment later all is done anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _settle(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())


def _read_table(path: Path) -> pl.DataFrame:
    if path.suffix.lower() == ".csv":
        return read_text_table(path)
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError):
        raise FileError(
            "this Parquet file cannot be read", file=path, hint="It may be cut off; copy it again."
        ) from None


def _assemble(table: pl.DataFrame, manifest: dict[str, Any]) -> Release:
    """Turn the rows of a file back into distinct cells and classes."""
    described = {column["name"]: column for column in manifest["columns"]}
    if list(described) != table.columns:
        raise InputError("the columns of this table are not those of its manifest")
    distinct: dict[str, tuple[Form, pl.Series, CodeArray]] = {}
    values = {}
    for name, column in described.items():
        form, dtype, cells = Form(column["form"]), dtype_named(column["type"]), table[name]
        if form is Form.VALUE:
            text = cells.dtype == pl.String
            values[name] = from_text(cells, form, dtype) if text else cells.cast(dtype)
            continue
        each = cells.unique(maintain_order=True)
        place = pl.DataFrame({"cell": each}).with_row_index("place")
        index = table.select(cell=name).join(place, on="cell", how="left", maintain_order="left", nulls_equal=True)[
            "place"
        ]
        typed = from_text(each, form, dtype) if each.dtype == pl.String else each
        distinct[name] = (form, typed, index.to_numpy().astype(np.int32))
    classes, first = classes_of([index for _, _, index in distinct.values()], table.height)
    cells_of = {name: Cells(form, typed, index[first]) for name, (form, typed, index) in distinct.items()}
    return Release(manifest, tuple(described), cells_of, classes, pl.DataFrame(values))


def dtype_name(dtype: pl.DataType) -> str:
    """Return the name of a column's type as it stands in a manifest."""
    return repr(dtype)


def dtype_named(name: str) -> pl.DataType:
    """Return the type with this name. Parameters of types are names, numbers and quoted words only."""
    head, _, rest = name.partition("(")
    cls = getattr(pl, head)
    arguments: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in rest.rstrip(")").split(","))):
        key, _, value = part.partition("=")
        arguments[key.strip()] = None if value == "None" else int(value) if value.isdigit() else value.strip("'\"")
    made: pl.DataType = cls(**arguments)
    return made
