"""From a table and a wish to what is submitted: read as the series reads it, cut to what is asked for."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import ConfigError, DataError, ExpressionError, VerificationError
from reveil.series.agreement import check_columns
from reveil.series.backups import is_table_of, says_the_same
from reveil.series.column_types import (
    in_known_types,
    in_round_bins,
    with_known_edges,
    with_known_spellings,
    with_known_types,
)
from reveil.series.release_context import Submission
from reveil.tables.expressions import matches, parse
from reveil.tables.formats import check_path
from reveil.tables.schema import Role, Schema
from reveil.tables.snapshot import Snapshot, read_snapshot
from reveil.vault.requests import COLUMNS, WHERE, is_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.vault import ReleaseRow, Vault


def read_submission(
    vault: Vault,
    schema: Schema,
    frame: object,
    columns: Iterable[str] | None = None,
    where: str | None = None,
    *,
    any_columns: bool = False,
    declared: Mapping[str, Iterable[str]] | None = None,
    binned: bool = False,
) -> Submission:
    """Read the snapshot as the series reads it: known types and spellings, the asked for part, in an order of its own.

    ``any_columns``: sensitive columns may be left out. ``declared`` are values that the guarantee names. ``binned``:
    bins are what is published, and get round edges where none are known.
    """
    known = with_known_types(with_known_edges(schema, vault), vault.attributes())
    snapshot = read_snapshot(frame, with_known_spellings(known, vault, declared))
    if binned:
        snapshot = in_round_bins(snapshot)
    snapshot = in_known_types(snapshot, vault.attributes())
    request: dict[str, JSON] = {COLUMNS: None, WHERE: None}
    if where is not None:
        snapshot = selected(snapshot, where, hidden=snapshot.schema.plain if any_columns else ())
        request[WHERE] = where
    if columns is not None:
        listed = columns.split(",") if isinstance(columns, str) else columns
        wanted = tuple(dict.fromkeys(name for given in listed if (name := given.strip())))
        if not wanted:
            raise ConfigError("no column is named", hint="Name columns of the table, separated by commas.")
        request[COLUMNS] = sorted(wanted)
        check_columns(wanted, snapshot.schema, any_columns=any_columns)
        return Submission.of(vault, _columns(snapshot, wanted), request, snapshot)
    return Submission.of(vault, snapshot, request)


def read_part(
    vault: Vault,
    schema: Schema,
    frame: object,
    manifest: Manifest,
    where: str | None = None,
    *,
    known: bool,
    any_columns: bool = False,
    table: Path | None = None,
    declared: Mapping[str, Iterable[str]] | None = None,
    binned: bool = False,
) -> tuple[Submission, ReleaseRow | None]:
    """Return the part of a snapshot that was asked for when a release was made of it, and what the vault knows of that.

    All of the snapshot, if the vault does not know the release.
    ``where`` is the expression again, see :func:`submission_of`. ``known``: the vault must know the release, and where
    ``table`` is its file, the bytes.
    """
    of_this_series = manifest.series_id == vault.series_id
    rows = {row.release: row for row in vault.releases()} if of_this_series else {}
    row = rows.get(manifest.release or 0)
    if known and (row is None or not says_the_same(manifest.to_json(), row)):
        raise VerificationError(
            "this is not a release of the series that the vault remembers",
            file=vault.store.place,
            hint="Is this the config that it was published with? Beside the releases of the series it may tell more "
            "than any of them promises.",
        )
    if known and row is not None and table is not None and not is_table_of(table, row):
        raise VerificationError(
            "this file was changed after it was published", file=table, hint="The vault knows other bytes of it."
        )
    if row is None:
        whole = read_submission(
            vault, schema, frame, None, where, any_columns=any_columns, declared=declared, binned=binned
        )
        return whole, None
    given = [] if where is None else [where]
    submission = submission_of(
        vault, schema, frame, row, given, any_columns=any_columns, declared=declared, binned=binned
    )
    return submission, row


def archived_rows(vault: Vault, row: ReleaseRow, submission: Submission, rows: int) -> IntArray | None:
    """Return which record the archive has in each row of a release, -1 for none; None where it has nobody."""
    found = vault.placements(row.release, submission.high, submission.low)
    record, place = found["record"].to_numpy(), found["place"].to_numpy()
    if not len(place) or place.max() >= rows:
        return None
    placed = np.full(rows, -1, np.int64)
    placed[place] = record
    return placed


def submission_of(
    vault: Vault,
    schema: Schema,
    frame: object,
    row: ReleaseRow,
    given: Sequence[str] = (),
    *,
    any_columns: bool = False,
    declared: Mapping[str, Iterable[str]] | None = None,
    binned: bool = False,
) -> Submission:
    """Return a snapshot cut as a release asked for it.

    The vault does not keep expressions. The one that a release was made with is among ``given``: the digest of its text
    is the same, or it leaves the records of which the release was made. Or the snapshot has just these records.
    """
    columns, kept = row.request.get(COLUMNS), row.request.get(WHERE)

    def cut(where: str | None) -> Submission:
        return read_submission(
            vault, schema, frame, columns, where, any_columns=any_columns, declared=declared, binned=binned
        )

    if kept is None:
        return cut(None)
    known = [where for where in given if is_expression(vault.key, kept, where)]
    if known:
        return cut(known[0])
    for where in (None, *given):
        with suppress(DataError, ExpressionError):  # no record satisfies it, or it is about other columns
            submission = cut(where)
            if submission.digest == row.snapshot:
                return submission
    reads = ", ".join(repr(name) for name in kept[COLUMNS]) or "columns that are not known any more"
    what = "by another expression" if given else "by an expression, which the vault does not keep"
    raise ConfigError(
        f"release {row.release} is of a part of the table, chosen {what}",
        hint=f"Give it again as it was written: --where EXPR. It is about {reads}.",
    )


def files_of(*given: object) -> list[Path]:
    """Return those of the arguments that are files, which must be there: a vault is not made for a mistyped name."""
    paths = [Path(one) for one in given if isinstance(one, str | os.PathLike)]
    for path in paths:
        check_path(path)
    return paths


def selected(snapshot: Snapshot, where: str, *, hidden: tuple[str, ...] = ()) -> Snapshot:
    """Return the records that satisfy an expression over columns that are neither sensitive nor ``hidden``.

    Nor over persons and identifiers: a part that is chosen person by person is made of whom somebody wants to single
    out, and the expression names them.
    """
    expression, schema = parse(where), snapshot.schema
    asked = sorted(expression.columns())
    secret = [name for name in asked if name in (*schema.sensitive, *hidden)]
    if secret:
        raise ConfigError(
            f"who is published must not depend on the {schema[secret[0]].role.value} column {secret[0]!r}: "
            "absence would tell it",
            column=secret[0],
            hint="Use columns that others may know.",
        )
    naming = [name for name in asked if name in (schema.person, *schema.identifiers)]
    if naming:
        raise ConfigError(
            f"who is published must not depend on the {schema[naming[0]].role.value} column {naming[0]!r}, which names "
            "people one by one",
            column=naming[0],
            hint="Use quasi columns. Take somebody who must not be published out of the table.",
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
    return replace(snapshot, frame=frame, schema=schema.with_columns(kept))
