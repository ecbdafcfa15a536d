"""What a format is: how a table is read strictly from a file, and how a release is written to one.

To add one: a file in this folder and a line under ``[project.entry-points."reveil.formats"]``; the contract suite
(:func:`reveil.testing.check_format`) finds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from reveil.tables.formats.dialect import Dialect
    from reveil.tables.formats.place import Place

# A damaged file can trip polars anywhere; its own words stay unsaid, they may quote cells.
FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


@dataclass(frozen=True)
class RawTable:
    """The cells of a file, and how to point at one of them."""

    frame: pl.DataFrame = field(repr=False)
    place: Place
    text_only: bool  # whether every cell is text as somebody wrote it, so that types have to be inferred


class NameCheck(Protocol):
    """Raises unless a table may have columns of these names; ``header_line``: they are the first line of a text."""

    def __call__(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        """Check the names."""


class Format(ABC):
    """One format of tables in files; it has no state but the dialect that it reads."""

    text_only: ClassVar[bool]  # whether releases are written as text, in the notation of cells; else typed
    read_only: ClassVar[bool] = False  # whether raw tables are read from it, and no release is written to it

    def speaking(self, dialect: Dialect) -> Format:  # noqa: ARG002
        """Return the format for files of a dialect: itself where that makes no difference."""
        return self

    @abstractmethod
    def read(self, path: Path, *, null_values: Iterable[str] = (), check_names: NameCheck | None = None) -> RawTable:
        """Read a table as it stands, which may have no rows; no two columns have the same name.

        Cells that are missing are null, and ``null_values`` too where cells are text. ``check_names`` is called once,
        before data is read where that can be. What is wrong raises a
        :class:`~reveil.core.errors.FileError` or :class:`~reveil.core.errors.DataError` that quotes no cell.
        """

    @abstractmethod
    def names(self, path: Path) -> list[str]:
        """Return the names of the columns as far as they can be guessed; nothing where they cannot.

        It keeps raw tables from being written over, so that a damaged file is no error here.
        """

    @abstractmethod
    def write(self, table: pl.DataFrame, path: Path) -> None:
        """Write a table of a release: all its columns are text if :attr:`text_only`.

        The bytes depend on the cells alone, not on how many threads made them. Failures are among :data:`FAILURES`.
        """

    def write_pieces(self, pieces: Iterable[pl.DataFrame], path: Path) -> None:
        """Write a table that comes in pieces, one behind the other: the same bytes as in one."""
        self.write(pl.concat(list(pieces)), path)

    def read_pieces(self, path: Path) -> Iterator[pl.DataFrame]:
        """Read the table of a release as :meth:`read` does, in pieces that lie one behind the other."""
        yield self.read(path).frame

    def plain_name(self, name: str) -> str:
        """Return the name of a column of a release as it was before :meth:`write`, from what :meth:`read` returned."""
        return name

    @abstractmethod
    def says_more(self, path: Path) -> bool:
        """Return whether a file carries anything beside the cells, names and types of its columns, such as metadata."""


class ReadOnly(Format):
    """A format that raw tables come in and that no release is written to."""

    read_only: ClassVar[bool] = True

    def write(self, table: pl.DataFrame, path: Path) -> None:  # noqa: ARG002
        """Refuse: nobody asks for it, since its ending is none of a release."""
        raise OSError(f"releases are not written as {path.suffix}")

    def write_pieces(self, pieces: Iterable[pl.DataFrame], path: Path) -> None:  # noqa: ARG002
        """Refuse, as above."""
        raise OSError(f"releases are not written as {path.suffix}")

    def read_pieces(self, path: Path) -> Iterator[pl.DataFrame]:
        """Read all at once."""
        yield self.read(path).frame

    def says_more(self, path: Path) -> bool:  # noqa: ARG002
        """Return yes: no release is of this format."""
        return True
