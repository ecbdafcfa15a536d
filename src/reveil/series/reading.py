"""From a table and a wish to a job: read as the series reads it, cut to what is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reveil.errors import ConfigError, DataError
from reveil.expressions import matches, parse
from reveil.schema import Role, Schema
from reveil.series.agreement import check_columns
from reveil.series.column_types import settled, with_known_types
from reveil.series.telling import Job
from reveil.snapshot import Snapshot, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.vault import Vault


def read_job(
    vault: Vault, schema: Schema, frame: Any, columns: Iterable[str] | None = None, where: str | None = None
) -> Job:
    """Read the snapshot as the series reads it: known types, the asked for part, in an order of its own."""
    snapshot = read_snapshot(frame, with_known_types(schema, vault.attributes()))
    snapshot = settled(snapshot, vault.attributes())
    request: dict[str, Any] = {"columns": None, "where": None}
    if where is not None:
        snapshot = _records(snapshot, where)
        request["where"] = where
    if columns is not None:
        listed = columns.split(",") if isinstance(columns, str) else columns
        wanted = tuple(dict.fromkeys(name.strip() for name in listed))
        snapshot = _columns(snapshot, wanted)
        request["columns"] = sorted(wanted)
    return Job.of(vault, snapshot, request)


def _records(snapshot: Snapshot, where: str) -> Snapshot:
    """Return the records that satisfy an expression over columns that are not sensitive."""
    expression = parse(where)
    secret = [name for name in expression.columns() if name in snapshot.schema.sensitive]
    if secret:
        raise ConfigError(
            f"who is published must not depend on the sensitive column {secret[0]!r}: absence would tell it",
            column=secret[0],
            hint="Use columns that are not sensitive.",
        )
    frame = snapshot.frame.filter(matches(expression, snapshot.frame, snapshot.schema))
    if not frame.height:
        raise DataError("no record satisfies the expression", hint="A release needs at least one record.")
    return replace(snapshot, frame=frame)


def _columns(snapshot: Snapshot, wanted: tuple[str, ...]) -> Snapshot:
    """Return the snapshot with some of its columns; persons stay, who are never published."""
    schema = snapshot.schema
    check_columns(wanted, schema)
    kept = [column for column in schema.columns if column.name in wanted or column.role is Role.PERSON]
    names = {column.name for column in kept}
    frame = snapshot.frame.select(name for name in snapshot.frame.columns if name in names)
    return replace(snapshot, frame=frame, schema=Schema.of(kept, schema.null_values))
