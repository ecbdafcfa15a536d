"""Release files: where they lie, how a table is read and written, and how files are put in place together."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import unicodedata
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.errors import FileError
from reveil.manifest import manifest_path
from reveil.snapshot import read_text_table
from reveil.snapshot.parquet_file import FAILURES, read_parquet
from reveil.snapshot.types import outside_the_calendar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import polars as pl

SUFFIXES = (".csv", ".parquet")
# How a header cell begins that a spreadsheet would run, or that is quoted already.
FORMULA = ("=", "+", "-", "@", "\t", "\r", '"')


def batch_path(table: str | Path) -> Path:
    """Return where the second table of a release lies."""
    path = Path(table)
    return path.with_suffix(f".sensitive{path.suffix}")


def tables_of(path: Path, manifest: Mapping[str, Any]) -> list[Path]:
    """Return the files that hold a release, in the order in which they are digested."""
    two = any(column.get("table") == "sensitive" for column in manifest["columns"])
    return [path, batch_path(path)] if two else [path]


def output_path(path: str | Path) -> Path:
    """Return the path a release is to be written to, checked before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise FileError("a release is written as .csv or .parquet", file=target, hint="Choose one of these endings.")
    try:
        str(target).encode()
        folders = [path for path in (target, manifest_path(target), batch_path(target)) if path.is_dir()]
        there = target.parent.is_dir()
    except (OSError, ValueError):  # a name too long for the disk, with a NUL, or that is not UTF-8
        hint = "Choose a short name of ordinary letters; .manifest.json is written beside the table."
        raise FileError("cannot write here", file=target, hint=hint) from None
    if not there or folders:
        raise FileError(
            "cannot write here", file=target, hint="The folder must exist and the name must not be a folder."
        )
    if not os.access(target.parent, os.W_OK):
        raise FileError("cannot write here", file=target, hint="The folder is not writable for you.")
    return target


def spare(target: Path, inputs: Iterable[Path]) -> None:
    """Refuse to write over what is read: it may be the only copy."""
    for path in (target, manifest_path(target), batch_path(target)):
        for given in inputs:
            if path.exists() and given.exists() and path.samefile(given):
                raise FileError(
                    "this would replace a file that is read", file=path, hint="Choose another name with -o."
                )


def keep_out(target: Path, folder: Path) -> None:
    """Refuse to write into a folder that is nobody's business, such as a vault."""
    for path in (target, manifest_path(target), batch_path(target)):
        if path.resolve().is_relative_to(folder.resolve()):
            raise FileError("this would be inside the vault", file=path, hint="Choose another folder with -o.")


def read_table(path: Path) -> pl.DataFrame:
    """Read one table of a release: a CSV as text, a Parquet file typed."""
    if path.suffix.lower() == ".csv":
        table = read_text_table(path)
        return table.rename({name: json.loads(name) for name in table.columns if name.startswith('"')})
    table = read_parquet(path, lambda _: None)
    if any(outside_the_calendar(table[name]) is not None for name in table.columns):
        raise FileError("this table has dates or times that no calendar has", file=path, hint="It was altered.")
    return table


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write one table; a single chunk, so that the bytes do not depend on how many threads made it."""
    try:
        _write(table, path)
    except FAILURES:
        # polars says "no space left" in several ways, and what it says may quote cells.
        raise OSError(f"cannot write {path.name}") from None


def _write(table: pl.DataFrame, path: Path) -> None:
    if path.suffix.lower() != ".csv":
        table.rechunk().write_parquet(path, compression="zstd", statistics=False)
        return
    header = {name: json.dumps(name, ensure_ascii=False) for name in table.columns if _is_quoted(name)}
    # A null alone on its line would be an empty line, which no reader counts.
    table.rename(header).write_csv(path, null_value='""' if table.width == 1 else None)


def _is_quoted(name: str) -> bool:
    """Return whether a column name is written as a JSON string: as with cells, no program is to make more of it."""
    return name[:1] in FORMULA or unicodedata.category(name[:1] or " ") == "Cf"


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Return a temporary folder beside the target, from which files can be moved in one step."""
    try:
        # Of a long name only the beginning: with more letters it would be too long itself.
        folder = tempfile.TemporaryDirectory(prefix=f".{target.stem[:40]}-", dir=target.parent)
    except OSError:
        raise FileError("cannot write here", file=target, hint="The folder does not take new files.") from None
    with folder as name:
        yield Path(name)


def put_in_place(drafts: Sequence[Path], folder: Path, leftover: Sequence[Path]) -> None:
    """Move finished files to where they belong, in order, and remove what they replace."""
    for file in drafts:
        _settle(file)
    with undisturbed():
        for file in drafts:
            file.replace(folder / file.name)
        for file in leftover:
            file.unlink(missing_ok=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore a keyboard interrupt where half of the work is worse than none: a moment later all is done anyway."""
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
