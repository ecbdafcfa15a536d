"""What a config says of how raw tables are written: the section [input].

The dialect is about files, the notation about cells, the visits about rows. All of it is *reading*: what comes out is
values, and a table that is written in another way with the same values is the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from reveil.core.errors import ConfigError
from reveil.core.settings import Section, build
from reveil.tables.cell_notation import CellNotation, check_date_format
from reveil.tables.formats.dialect import DEFAULT_DIALECT, Dialect
from reveil.tables.visits.rules import Visits

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Input:
    """How the raw tables of a series are written.

    ``null_values`` are marks for missing cells in all columns; ``dates_of`` and ``nulls_of`` are for single columns.
    """

    dialect: Dialect = DEFAULT_DIALECT
    notation: CellNotation = field(default_factory=CellNotation)
    null_values: tuple[str, ...] = ()
    dates_of: Mapping[str, str] = field(default_factory=dict)
    nulls_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    visits: Visits | None = None

    def for_lists(self) -> Input:
        """Return how tables are read that have one row for each person, such as registration lists."""
        return replace(self, dialect=replace(self.dialect, sheet=None), visits=None)

    def of_records(self) -> Input:
        """Return how a table is read whose rows are put together already."""
        return replace(self, visits=None)


AS_WRITTEN = Input()  # nothing is declared: text is UTF-8, numbers and dates are as a program writes them


@dataclass(frozen=True, kw_only=True)
class InputSettings:
    """What the section [input] may say."""

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    dates: str | dict[str, object] | None = None
    null_values: list[str] | dict[str, object] | None = None
    sheet: str | int | None = None
    rows: Literal["persons", "visits"] = "persons"
    keep: str | None = None
    summarise: dict[str, object] | None = None


def input_of(section: Mapping[str, object], folder: Path | None = None) -> Input:
    """Read the section [input]; paths in it are relative to a folder."""
    said = build(InputSettings, section, Section("[input]", "[input]"))
    if said.rows == "persons" and (said.keep is not None or said.summarise is not None):
        key = "keep" if said.keep is not None else "summarise"
        raise ConfigError(
            f'[input]: {key} is for tables with rows = "visits"', hint='Add rows = "visits", or take the line out.'
        )
    dates = {
        name: check_date_format(form, f"column {name!r}")
        for name, form in (said.dates.items() if isinstance(said.dates, dict) else ())
    }
    nulls: dict[str, tuple[str, ...]] = {}
    for name, marks in said.null_values.items() if isinstance(said.null_values, dict) else ():
        if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
            raise ConfigError(
                f"[input]: null_values of column {name!r} must be a list of texts",
                column=name,
                hint=f'null_values = {{ {name} = ["NA", "?"] }}',
            )
        nulls[name] = tuple(marks)
    return Input(
        Dialect(said.separator, said.encoding, said.sheet),
        CellNotation(said.decimal, said.thousands, said.dates if isinstance(said.dates, str) else None),
        tuple(said.null_values) if isinstance(said.null_values, list) else (),
        dates,
        nulls,
        Visits.of(said.keep, said.summarise, folder) if said.rows == "visits" else None,
    )


def severity_files(section: Mapping[str, object], folder: Path) -> list[Path]:
    """Return the files that rules for visits name: nothing may be written over them."""
    rules = section.get("summarise")
    texts = rules.values() if isinstance(rules, Mapping) else ()
    named = [text.rpartition("most severe by ")[2].strip() for text in texts if "most severe by " in str(text)]
    return [folder / name for name in named]
