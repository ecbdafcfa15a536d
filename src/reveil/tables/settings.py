"""What a reveil.toml says of columns. Which sections there are is known here; the others are read further up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reveil.core.errors import ConfigError, FileError
from reveil.tables.hierarchy import read_toml
from reveil.tables.schema import COLUMN_KEYS, Column, Role, Schema, make_column

SECTIONS = ("series", "columns", "guarantee", "method")


def load_schema(path: str | Path) -> Schema:
    """Read the columns of a reveil.toml alone."""
    path = Path(path)
    table = read_settings(path)
    try:
        return schema_of(table, path.parent)
    except ConfigError as error:
        raise placed(error, path) from None


def read_settings(path: Path) -> dict[str, Any]:
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


def section_of(table: dict[str, Any], name: str, *, required: bool = False) -> dict[str, Any]:
    """Return a section; empty where there is none and none is required."""
    section = table.get(name, {})
    if not isinstance(section, dict) or (required and not section):
        raise ConfigError(f"the config has no [{name}] section" if required else f"[{name}] must be a section")
    return section


def schema_of(table: dict[str, Any], folder: Path) -> Schema:
    """Return what the columns are; paths of hierarchies are relative to a folder."""
    columns = [_column(name, given, folder) for name, given in section_of(table, "columns", required=True).items()]
    null_values = section_of(table, "series").get("null_values", [])
    if not isinstance(null_values, list) or not all(isinstance(value, str) for value in null_values):
        raise ConfigError("null_values must be a list of texts", hint='null_values = ["NA", "?"]')
    return Schema.of(columns, null_values)


def _column(name: str, given: object, folder: Path) -> Column:
    settings: dict[str, Any] = (
        {"role": given} if isinstance(given, str) else dict(given) if isinstance(given, dict) else {}
    )
    unknown = [key for key in settings if key not in COLUMN_KEYS]
    if unknown:
        raise ConfigError(
            f"column {name!r} has no setting {unknown[0]!r}", column=name, hint=f"Known: {', '.join(COLUMN_KEYS)}."
        )
    try:
        role = Role(settings.pop("role", None))
    except ValueError:
        raise ConfigError(
            f"column {name!r} has no known role", column=name, hint=f"Roles: {', '.join(Role)}."
        ) from None
    hierarchy = settings.get("hierarchy")
    if isinstance(hierarchy, str):
        settings["hierarchy"] = folder / hierarchy
    elif hierarchy is not None and not isinstance(hierarchy, Mapping):
        raise ConfigError(f"the hierarchy of column {name!r} must be a path or a table", column=name)
    return make_column(name, role, **settings)
