"""From a table and a wish to a job: read as the series reads it, cut to what is asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.errors import ConfigError, DataError, VerificationError
from reveil.expressions import matches, parse
from reveil.schema import Role, Schema
from reveil.series.agreement import check_columns
from reveil.series.backups import is_table_of, says_the_same
from reveil.series.column_types import settled, with_known_spellings, with_known_types
from reveil.series.telling import Job
from reveil.snapshot import Snapshot, read_snapshot
from reveil.snapshot.csv_file import check_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.vault import Vault


def read_job(
    vault: Vault,
    schema: Schema,
    frame: Any,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    *,
    any_columns: bool = False,
    declared: Iterable[str] = (),
) -> Job:
    """Read the snapshot as the series reads it: known types and spellings, the asked for part, in an order of its own.

    ``any_columns``: sensitive columns may be left out. ``declared`` are values that the guarantee names.
    """
    known = with_known_types(schema, vault.attributes())
    snapshot = read_snapshot(frame, with_known_spellings(known, vault, declared))
    snapshot = settled(snapshot, vault.attributes())
    request: dict[str, Any] = {"columns": None, "where": None}
    if where is not None:
        snapshot = _records(snapshot, where, hidden=snapshot.schema.plain if any_columns else ())
        request["where"] = where
    if columns is not None:
        listed = columns.split(",") if isinstance(columns, str) else columns
        wanted = tuple(dict.fromkeys(name for given in listed if (name := given.strip())))
        if not wanted:
            raise ConfigError("no column is named", hint="Name columns of the table, separated by commas.")
        request["columns"] = sorted(wanted)
        check_columns(wanted, snapshot.schema, any_columns=any_columns)
        return Job.of(vault, _columns(snapshot, wanted), request, snapshot)
    return Job.of(vault, snapshot, request)


def read_part(
    vault: Vault,
    schema: Schema,
    frame: Any,
    manifest: Mapping[str, Any],
    *,
    known: bool,
    any_columns: bool = False,
    table: Path | None = None,
    declared: Iterable[str] = (),
) -> Snapshot:
    """Return the part of a snapshot that was asked for when a release was made of it; all, if the vault cannot tell.

    ``known``: the vault must know the release, and where ``table`` is its file, the bytes.
    """
    own = manifest.get("series_id") == vault.series_id
    rows = {row.release: row for row in vault.releases()} if own else {}
    row = rows.get(manifest.get("release") or 0)
    if known and (row is None or not says_the_same(manifest, row)):
        raise VerificationError(
            "this is not a release of the series that the vault remembers",
            file=vault.folder,
            hint="Is this the config that it was published with? Beside the releases of the series it may tell more "
            "than any of them promises.",
        )
    if known and row is not None and table is not None and not is_table_of(table, row):
        raise VerificationError(
            "this file was changed after it was published", file=table, hint="The vault knows other bytes of it."
        )
    request = {} if row is None else row.request
    columns, where = request.get("columns"), request.get("where")
    return read_job(vault, schema, frame, columns, where, any_columns=any_columns, declared=declared).snapshot


def files_of(*given: object) -> list[Path]:
    """Return those of the arguments that are files, which must be there: a vault is not made for a mistyped name."""
    paths = [Path(one) for one in given if isinstance(one, str | os.PathLike)]
    for path in paths:
        check_path(path)
    return paths


def _records(snapshot: Snapshot, where: str, *, hidden: tuple[str, ...]) -> Snapshot:
    """Return the records that satisfy an expression over columns that are neither sensitive nor ``hidden``."""
    expression = parse(where)
    secret = [name for name in expression.columns() if name in (*snapshot.schema.sensitive, *hidden)]
    if secret:
        raise ConfigError(
            f"who is published must not depend on the {snapshot.schema[secret[0]].role.value} column {secret[0]!r}: "
            "absence would tell it",
            column=secret[0],
            hint="Use columns that others may know.",
        )
    frame = snapshot.frame.filter(matches(expression, snapshot.frame, snapshot.schema))
    if not frame.height:
        raise DataError("no record satisfies the expression", hint="A release needs at least one record.")
    return replace(snapshot, frame=frame)


def _columns(snapshot: Snapshot, wanted: tuple[str, ...]) -> Snapshot:
    """Return the snapshot with some of its columns; persons stay, who are never published."""
    schema = snapshot.schema
    kept = [column for column in schema.columns if column.name in wanted or column.role is Role.PERSON]
    names = {column.name for column in kept}
    frame = snapshot.frame.select(name for name in snapshot.frame.columns if name in names)
    return replace(snapshot, frame=frame, schema=Schema.of(kept, schema.null_values))
