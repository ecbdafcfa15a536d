"""What a reveil.toml says of columns. Which sections there are is known here; the others are read further up."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reveil.core.errors import ConfigError, FileError
from reveil.core.settings import Section, build, kind_of
from reveil.tables.hierarchy import read_toml
from reveil.tables.input import input_of
from reveil.tables.schema import Column, Role, Schema, Type, make_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON

SECTIONS = ("series", "input", "columns", "guarantee", "method", "limits", "engine")


@dataclass(frozen=True, kw_only=True)
class SeriesSettings:
    """What the section [series] may say."""

    name: str | None = None
    vault: str | None = None
    anchor: str | None = None
    seed: int | None = None
    archive: bool | int | str = True
    sealed: bool = False
    keys: str | None = None
    key_command: str | None = None
    null_values: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ColumnSettings:
    """What the section [columns] may say about a column."""

    role: Role
    type: Type | None = None
    hierarchy: str | dict[str, object] | None = None
    order: list[object] | None = None
    bins: int | list[float] | None = None
    compare: Literal["folded", "exact"] | None = None
    weight: float | None = None
    top: object = None
    bottom: object = None
    round: object = None
    dates: str | None = None
    null_values: list[str] | None = None
    cells: Literal["tightest", "label"] | None = None
    tell: bool = True
    relation: bool = False


def load_schema(path: str | Path) -> Schema:
    """Read the columns of a reveil.toml alone."""
    path = Path(path)
    table = read_settings(path)
    try:
        return schema_of(table, path.parent)
    except ConfigError as error:
        raise placed(error, path) from None


def read_settings(path: Path) -> dict[str, JSON]:
    """Read a reveil.toml as it is; unknown sections are refused."""
    try:
        table = read_toml(path.read_text(encoding="utf-8-sig"), path)
    except FileNotFoundError:
        raise FileError("there is no such config", file=path, hint="Check the path given with -c.") from None
    except (OSError, ValueError):
        raise FileError("this config cannot be read", file=path, hint="It must be a UTF-8 text file.") from None
    unknown = [key for key in table if key not in SECTIONS]
    if unknown:
        raise ConfigError(f"unknown section [{unknown[0]}]", file=path, hint=f"Known: {', '.join(SECTIONS)}.")
    return table


def placed(error: ConfigError, path: Path) -> ConfigError:
    """Name the config file in an error that names no file yet."""
    return ConfigError(error.message, hint=error.hint, file=error.file or path, line=error.line, column=error.column)


def section_of(table: Mapping[str, JSON], name: str, *, required: bool = False) -> dict[str, JSON]:
    """Return a section; empty where there is none and none is required."""
    section = table.get(name, {})
    if not isinstance(section, dict) or (required and not section):
        raise ConfigError(f"the config has no [{name}] section" if required else f"[{name}] must be a section")
    return section


def schema_of(table: Mapping[str, JSON], folder: Path) -> Schema:
    """Return what the columns are; paths of hierarchies are relative to a folder."""
    columns = [_column(name, given, folder) for name, given in section_of(table, "columns", required=True).items()]
    series = section_of(table, "series")
    settings = {key: series[key] for key in series if key == "null_values"}  # the others are read further up
    marks = build(SeriesSettings, settings, Section("[series]", "[series]")).null_values
    read = input_of(section_of(table, "input"), folder)
    declared = {column.name for column in columns}
    for key, named in (("dates", read.dates_of), ("null_values", read.nulls_of)):
        unknown = [name for name in named if name not in declared]
        if unknown:
            raise ConfigError(
                f"[input]: {key} names the column {unknown[0]!r}, which is not declared",
                column=unknown[0],
                hint="Mend the name, or give the column a role under [columns].",
            )
    return Schema.of(columns, marks, read)


def _column(name: str, given: object, folder: Path) -> Column:
    table = {"role": given} if isinstance(given, str) else given
    if not isinstance(table, dict):
        raise ConfigError(
            f"column {name!r} must be a role or a table of settings, not {kind_of(given)}",
            column=name,
            hint=f"Roles: {', '.join(Role)}.",
        )
    found = build(ColumnSettings, table, Section("[columns]", f"column {name!r}", column=name))
    return make_column(
        name,
        found.role,
        type=found.type,
        hierarchy=folder / found.hierarchy if isinstance(found.hierarchy, str) else found.hierarchy,
        order=found.order,
        bins=found.bins,
        compare=found.compare,
        weight=found.weight,
        coarse={"top": found.top, "bottom": found.bottom, "round": found.round},
        dates=found.dates,
        null_values=found.null_values or (),
        cells=found.cells,
        tell=found.tell,
        relation=found.relation,
    )
