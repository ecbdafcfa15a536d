"""Several sensitive columns as one: the values of a record in all of them together are one value.

Such a *joint* column is named after its parts (``a+b``), and its values are lists in JSON notation, so that no two
combinations are written alike.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.tables.notation import parsed
from reveil.tables.schema import EXACT, Column, Role, Schema, Type
from reveil.tables.snapshot.types import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.tables.snapshot import Snapshot

Together = tuple[tuple[str, ...], ...]


def joint_name(parts: Sequence[str]) -> str:
    """Return what the column is called that is made of some columns; of one, its own name."""
    return "+".join(parts)


def units_of(sensitive: Sequence[str], together: Together) -> dict[str, tuple[str, ...]]:
    """Return the sensitive columns by the names of what is one value, in the order of declaration."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sensitive:
        parts = next((unit for unit in together if name in unit), (name,))
        ordered = tuple(unit for unit in sensitive if unit in parts)
        found.setdefault(joint_name(ordered), ordered)
    return found


def joint_values(values: pl.DataFrame, name: str) -> pl.Series:
    """Return the values of some columns as one text for each row; of one column, its values as they are."""
    if values.width == 1:
        return values.to_series().alias(name)
    texts = values.select(canonical_text(values[unit]).alias(unit) for unit in values.columns)
    distinct = texts.unique(maintain_order=True)
    written = pl.Series(name, [json.dumps(row, ensure_ascii=False) for row in distinct.rows()], dtype=pl.String)
    joined = texts.join(
        distinct.with_columns(written.alias("\0")),
        on=texts.columns,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )
    return joined["\0"].alias(name)


def split_values(joined: pl.Series, types: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return the columns of which a joint one was made, in their types."""
    if len(types) == 1:
        return joined.alias(next(iter(types))).to_frame()
    rows = [json.loads(text) for text in joined.to_list()]
    columns = zip(types.items(), zip(*rows, strict=True) if rows else ((),) * len(types), strict=True)
    return pl.DataFrame(
        [parsed(pl.Series(name, list(texts), dtype=pl.String), dtype).alias(name) for (name, dtype), texts in columns]
    )


def joint_schema(schema: Schema, together: Together) -> Schema:
    """Return the schema with joint columns in the place of the first of their parts."""
    if not together:
        return schema
    units = units_of(schema.sensitive, together)
    of_first = {parts[0]: (name, parts) for name, parts in units.items()}
    columns: list[Column] = []
    for column in schema.columns:
        if column.role is not Role.SENSITIVE:
            columns.append(column)
        elif column.name in of_first:
            name, parts = of_first[column.name]
            columns.append(column if len(parts) == 1 else Column(name, Role.SENSITIVE, Type.TEXT, compare=EXACT))
    return schema.with_columns(columns)


def joint_snapshot(snapshot: Snapshot, together: Together) -> Snapshot:
    """Return a table in which the values of columns that are together are one."""
    if not together:
        return snapshot
    schema = joint_schema(snapshot.schema, together)
    units = units_of(snapshot.schema.sensitive, together)
    frame = snapshot.frame
    columns = [
        joint_values(frame.select(units[column.name]), column.name) if column.name in units else frame[column.name]
        for column in schema.columns
        if column.name in units or column.name in frame.columns
    ]
    made = pl.DataFrame(columns)
    order = [name for name in frame.columns if name in made.columns]
    return replace(
        snapshot, frame=made.select(*order, *(name for name in made.columns if name not in order)), schema=schema
    )
