"""Which formats there are, by the ending of a file's name, and how a file that somebody names is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core import registry
from reveil.core.errors import FileError
from reveil.tables.formats.dialect import DEFAULT_DIALECT
from reveil.tables.formats.folder import is_table_folder, read_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reveil.tables.formats.base import Format, NameCheck, RawTable
    from reveil.tables.formats.dialect import Dialect

DEFAULT = ".csv"  # where nobody names a file


def endings() -> tuple[str, ...]:
    """Return the endings of the files that can be read and written: those of releases, ``.csv`` and so on."""
    return tuple(ending for ending in readable() if not _class_of(ending).read_only)


def readable() -> tuple[str, ...]:
    """Return the endings of the files that raw tables are read from: those of releases and more."""
    return tuple(f".{name}" for name in registry.names("formats"))


def in_words(listed: tuple[str, ...] | None = None) -> str:
    """Return endings for a sentence, those of releases if none are given: ``.csv or .parquet``."""
    *others, last = endings() if listed is None else listed
    return f"{', '.join(others)} or {last}" if others else last


def ending_of(path: Path) -> str:
    """Return the ending of a name in small letters, with its dot; ``.csv.gz`` is one where a format has it."""
    name = path.name.lower()
    known = [ending for ending in readable() if ending.count(".") > 1 and name.endswith(ending)]
    return max(known, key=len) if known else path.suffix.lower()


def format_of(path: Path) -> Format | None:
    """Return the format of a file by its ending; None where no format has it."""
    ending = ending_of(path)
    return _class_of(ending)() if ending in readable() else None


def _class_of(ending: str) -> type[Format]:
    found: type[Format] = registry.find("formats", ending.removeprefix("."))
    return found


def find_format(path: Path) -> Format:
    """Return the format of a file by its ending, or say which endings there are."""
    found = format_of(path)
    if found is None:
        listed = readable()
        what = f"neither a {' nor a '.join(listed)}" if len(listed) > 1 else f"no {listed[0]}"
        raise FileError(f"this is {what} file", file=path, hint="Export the table as one of them.")
    return found


def read_file(
    path: Path,
    *,
    null_values: Iterable[str] = (),
    check_names: NameCheck | None = None,
    dialect: Dialect = DEFAULT_DIALECT,
) -> RawTable:
    """Read a raw table strictly, whatever its format; see :meth:`~reveil.tables.formats.base.Format.read`.

    A folder is a table in Parquet parts.
    """
    check_path(path)
    if path.is_dir():
        return read_folder(path, check_names=check_names)
    return find_format(path).speaking(dialect).read(path, null_values=null_values, check_names=check_names)


def check_path(path: Path) -> None:
    """Raise unless there is a file at this path, or a folder with a table in it."""
    try:
        str(path).encode()  # polars takes no path that is not UTF-8
        if path.is_dir() and not is_table_folder(path):
            empty = not any(path.iterdir())
            raise FileError(
                "this folder is empty" if empty else "this is a folder, not a file, and no table is in it",
                file=path,
                hint=f"Name a {in_words(readable())} file in it, or a folder with part-00000.parquet and so on.",
            )
        if not path.exists():
            raise FileError("there is no such file", file=path, hint="Check the path.")
    except (OSError, ValueError):  # a name that is no text or too long, or a folder on the way that cannot be entered
        raise FileError("cannot read this file", file=path, hint="Check its path and permissions.") from None
