"""Signatures as the vault keeps them: a ledger of their members, and one of who was told which.

A guarantee gives what it tells as pairs of a record and the codes of a set, as text (``3,17,22``). The vault knows sets
by numbers, which are given in order of appearance and never again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import Ragged
from reveil.guarantees.signatures.sets import Sets
from reveil.vault.protocol import Entries, Ledger

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.vault.protocol import Book

_AT_ONCE = 1 << 20  # records whose signatures are numbered at once
SIGNATURES = Ledger("signatures", keys=("signature", "code"), personal=False, coded="code")
TOLD_SIGNATURES = Ledger("told", keys=("signature",))
# The same where several columns have signatures; these are numbered over all columns.
COLUMN_SIGNATURES = Ledger("column_signatures", keys=("attribute", "signature", "code"), personal=False, coded="code")
COLUMN_TOLD = Ledger("column_told", keys=("attribute", "signature"))


def told_before(book: Book, column: str | None = None) -> tuple[Sets, CodeArray, CodeArray]:
    """Return the signatures of the persons of a snapshot, and as pairs which record was told which of them.

    ``column``: those of one of several columns that have signatures.
    """
    told = book.of_records(TOLD_SIGNATURES if column is None else COLUMN_TOLD)
    if column is not None:
        told = told.filter(pl.col("attribute") == book.number(column))
    signature = told["signature"].to_numpy()
    members = book.rows(SIGNATURES if column is None else COLUMN_SIGNATURES, "signature", signature)
    members = members.sort("signature", "code")
    numbers, sizes = np.unique(members["signature"].to_numpy(), return_counts=True)
    sets = Sets(Ragged.of_lengths(sizes, members["code"].to_numpy().astype(np.int32)))
    place = np.searchsorted(numbers, signature).astype(np.int32)
    return sets, told["record"].to_numpy().astype(np.int32), place


def entries_of(book: Book, told: pl.DataFrame | None, *, replaces: bool) -> tuple[Entries, ...]:
    """Return what the ledgers have to remember of what is told (``record`` and ``members``).

    ``replaces``: whoever is told something has nothing else told afterwards.
    """
    if told is None or not len(told):
        return ()
    if "column" in told.columns:
        return _by_column(book, told)
    numbers, added = numbered_signatures(book, told["members"].unique(maintain_order=True))
    rows = pl.concat(
        told[start : start + _AT_ONCE].join(numbers, on="members", how="left", maintain_order="left").drop("members")
        for start in range(0, len(told), _AT_ONCE)
    )
    if np.bincount(rows["record"].to_numpy()).max(initial=0) > 1:
        rows = rows.unique()
    cleared = rows.select("record").unique() if replaces else None
    return (Entries(SIGNATURES, added), Entries(TOLD_SIGNATURES, rows, cleared))


def numbered_signatures(book: Book, members: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the number of each of some different signatures (``members``), and the rows of those that are new."""
    known = book.rows(SIGNATURES)
    texts = known.group_by("signature", maintain_order=True).agg(members=pl.col("code").cast(pl.String).str.join(","))
    numbered = members.alias("members").to_frame().join(texts, on="members", how="left", maintain_order="left")
    new = numbered["signature"].is_null()
    first = 0 if known.is_empty() else int(known["signature"].to_numpy().max()) + 1
    signature = numbered["signature"].fill_null(-1).to_numpy().copy()
    signature[new.to_numpy()] = np.arange(first, first + int(new.sum()))
    numbered = numbered.with_columns(signature=pl.Series(signature, dtype=pl.Int32))
    code = pl.col("members").str.split(",").cast(pl.List(pl.Int32))
    added = numbered.filter(new).select("signature", code=code).explode("code")
    return numbered.select("members", "signature"), added


def _by_column(book: Book, told: pl.DataFrame) -> tuple[Entries, ...]:
    """Return the same where ``column`` names the column of each pair."""
    numbers = {name: book.number(name) for name in told["column"].unique().to_list()}
    told = told.with_columns(attribute=pl.col("column").replace_strict(numbers, return_dtype=pl.Int32))
    members = told.select("attribute", "members").unique(maintain_order=True)
    known = book.rows(COLUMN_SIGNATURES).sort(COLUMN_SIGNATURES.keys)
    texts = known.group_by("attribute", "signature", maintain_order=True).agg(
        members=pl.col("code").cast(pl.String).str.join(",")
    )
    keys = ["attribute", "members"]
    numbered = members.join(texts, on=keys, how="left", maintain_order="left")
    new = numbered["signature"].is_null()
    first = 0 if known.is_empty() else int(known["signature"].to_numpy().max()) + 1
    signature = numbered["signature"].fill_null(-1).to_numpy().copy()
    signature[new.to_numpy()] = np.arange(first, first + int(new.sum()))
    numbered = numbered.with_columns(signature=pl.Series(signature, dtype=pl.Int32))
    code = pl.col("members").str.split(",").cast(pl.List(pl.Int32))
    added = numbered.filter(new).select("attribute", "signature", code=code).explode("code")
    rows = told.join(numbered, on=keys, how="left", maintain_order="left")
    return (
        Entries(COLUMN_SIGNATURES, added),
        Entries(COLUMN_TOLD, rows.select("record", "attribute", "signature").unique()),
    )
