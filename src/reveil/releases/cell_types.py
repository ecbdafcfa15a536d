"""Types of the values in cells, by the names that manifests have for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

TYPES = frozenset(
    [
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "Int128",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "UInt128",
        "Float32",
        "Float64",
        "Decimal",
        "String",
        "Boolean",
        "Date",
        "Datetime",
        "Time",
    ]
)


def dtype_name(dtype: pl.DataType) -> str:
    """Return the name of a column's type as it stands in a manifest."""
    return repr(dtype)


def dtype_named(name: str) -> pl.DataType:
    """Return the type with this name; a name that is not one of a cell's types raises ValueError."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", name) if isinstance(name, str) else None
    if found is None or found[1] not in TYPES:
        raise ValueError("unknown type")
    arguments: dict[str, JSON] = {}
    for part in filter(None, (p.strip() for p in (found[2] or "").split(","))):
        key, _, value = part.partition("=")
        arguments[key.strip()] = None if value == "None" else int(value) if value.isdigit() else value.strip("'\"")
    made: pl.DataType = getattr(pl, found[1])(**arguments)
    return made
