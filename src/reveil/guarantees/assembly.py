"""From cells, classes and rows to a release and the description of its columns: what all guarantees share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.errors import ConfigError
from reveil.notation import Form
from reveil.recoders.boxes import FORMS
from reveil.release import COUNT, GROUP, compact, dtype_name
from reveil.schema import Role

if TYPE_CHECKING:
    from reveil.codes import Codes
    from reveil.schema import Schema
    from reveil.snapshot import Snapshot
    from reveil.statistics import CodeArray


def check_names(schema: Schema, *, two_tables: bool) -> None:
    """Refuse columns whose names a release with groups has for itself."""
    own = (GROUP, COUNT) if two_tables else (GROUP,)
    double = [name for name in own if name in schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)]
    if double:
        raise ConfigError(f"this release has a column {double[0]!r} of its own", column=double[0], hint="Rename yours.")


def published_names(snapshot: Snapshot, *, two_tables: bool) -> tuple[str, ...]:
    """Return the columns of the first table, in the order of the snapshot."""
    roles = (Role.QUASI, Role.PLAIN) if two_tables else (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    return tuple(name for name in snapshot.frame.columns if snapshot.schema[name].role in roles)


def second_table(groups: CodeArray, values: pl.DataFrame) -> pl.DataFrame:
    """Return the sensitive values of each group with their counts, in an order that says nothing of the rows."""
    told = values.insert_column(0, pl.Series(GROUP, groups))
    batch = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(told.columns)
    return batch.with_columns(compact(batch[name]) for name in values.columns[1:]).rechunk()


def describe_columns(snapshot: Snapshot, codes: Codes, *, two_tables: bool, groups: bool) -> list[dict[str, str]]:
    """Describe the published columns, table by table."""
    schema, frame = snapshot.schema, snapshot.frame
    kinds = {attribute.name: attribute.kind for attribute in codes.quasi}
    first, second = [], []
    for name in frame.columns:
        role = schema[name].role
        if role in (Role.PERSON, Role.IDENTIFIER):
            continue
        form = FORMS[kinds[name]] if name in kinds else Form.VALUE
        column = {"name": name, "role": role.value, "form": form.value, "type": dtype_name(frame.schema[name])}
        if two_tables and role is Role.SENSITIVE:
            second.append({**column, "table": "sensitive"})
        else:
            first.append(column)
    own = [{"name": GROUP, "role": GROUP, "form": Form.VALUE.value, "type": "Int32"}] if groups else []
    return [*first, *own, *second]
