"""From the ledgers to the cells that a snapshot touches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SEALED, SIZES, TABLES, TOLD_VALUES
from reveil.guarantees.refinement.past import Past, ToldValues, said_of
from reveil.models.encoding import SensitiveAttribute, encode_sensitive
from reveil.models.t_closeness import TCloseness
from reveil.tables.notation import parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.models.base import Model
    from reveil.tables.schema import Column
    from reveil.vault.protocol import Book


@dataclass(frozen=True)
class ColumnCoding:
    """The values of one sensitive column: codes that last, and codes that models understand.

    ``of_model[code]`` is the model's code of a stable one that is in use, ``stable`` goes back.
    """

    attribute: SensitiveAttribute
    number: int
    of_model: CodeArray = field(repr=False)
    stable: CodeArray = field(repr=False)


@dataclass(frozen=True)
class Reading:
    """All that was told of the persons of a snapshot and of their cells.

    ``rests`` are records of persons who are in a cell and of whom nobody knows any more what was told: they were erased
    but for a tombstone. ``next_cell`` is the number of the next new cell.
    """

    past: Past
    codings: tuple[ColumnCoding, ...]
    rests: BoolArray = field(repr=False)
    tables: Mapping[str, Mapping[int, IntArray]] = field(repr=False)
    asked: IntArray = field(repr=False)
    stayed: IntArray = field(repr=False)
    next_cell: int
    counts: pl.DataFrame = field(repr=False)  # the rows of COUNTS that are about these cells, as they were read

    def frozen(self, chosen: BoolArray) -> Reading:
        """Return the same with some of the records as they were told last."""
        if not (chosen & self.past.changed).any():
            return self
        versions = tuple(each.frozen(chosen) for each in self.past.versions)
        codings = tuple(
            replace(coding, attribute=each.attribute) for coding, each in zip(self.codings, versions, strict=True)
        )
        return replace(self, past=replace(self.past, versions=versions), codings=codings)


def read(
    book: Book,
    stable_codes: Mapping[str, CodeArray],
    columns: Mapping[str, tuple[Column, pl.DataType]],
    model: Model,
    release: int,
    present: BoolArray,
) -> Reading:
    """Read what was told. ``columns`` are the sensitive columns with their types.

    All of them, also where the model looks at none: a row that changes is told apart from one that does not.
    """
    size = len(present)
    rows = book.of_records(CELLS)
    cell = np.full(size, -1, np.int64)
    cell[rows["record"].to_numpy()] = rows["cell"].to_numpy()
    told = book.of_records(TOLD_VALUES)
    rests = np.zeros(size, np.bool_)
    for name in columns:
        known = np.zeros(size, np.bool_)
        known[told.filter(pl.col("attribute") == book.number(name))["record"].to_numpy()] = True
        rests |= (cell >= 0) & ~known
    numbers, place = np.unique(cell[(cell >= 0) & ~rests], return_inverse=True)
    cell_of_record = np.full(size, -1, np.int32)
    cell_of_record[(cell >= 0) & ~rests] = place
    sizes = book.rows(SIZES, "cell", numbers)
    if not np.array_equal(sizes["cell"], numbers):
        raise ValueError("a cell has no size")
    counts = book.rows(COUNTS, "cell", numbers) if columns else pl.DataFrame()
    versions, codings = [], []
    tables: dict[str, Mapping[int, IntArray]] = {}
    parts = [part for part in model.parts if isinstance(part, TCloseness)]
    compared = [name for name in columns if any(part.concerns(name) for part in parts)]
    for name, (column, dtype) in columns.items():
        number = book.number(name)
        mine = told.filter(pl.col("attribute") == number, pl.Series(cell_of_record[told["record"].to_numpy()] >= 0))
        theirs = counts.filter(pl.col("attribute") == number)
        table = book.rows(TABLES, "attribute", np.array([number])) if name in compared else None
        more = () if table is None else (table["value"],)
        coding = _coding(book, name, column, dtype, number, stable_codes[name], mine["value"], theirs["value"], *more)
        if table is not None:
            tables[name] = _tables(table, coding, release)
        codings.append(coding)
        versions.append(
            said_of(
                coding.attribute,
                cell_of_record,
                ToldValues.of(mine.with_columns(value=pl.Series(coding.of_model[mine["value"].to_numpy()])), "record"),
                theirs.select(
                    "release",
                    cell=pl.Series(np.searchsorted(numbers, theirs["cell"].to_numpy())),
                    value=pl.Series(coding.of_model[theirs["value"].to_numpy()]),
                    count="number",
                ),
                release,
                len(numbers),
            )
        )
    pace = book.rows(PACE)
    sealed = np.zeros(len(numbers), np.int32)
    states = book.rows(SEALED, "cell", numbers)
    sealed[np.searchsorted(numbers, states["cell"].to_numpy())] = states["state"].to_numpy()
    many = sizes["size"].to_numpy().astype(np.int64)
    past = Past(release, cell_of_record, numbers.astype(np.int32), many, tuple(versions), sealed)
    return Reading(
        past,
        tuple(codings),
        rests,
        tables,
        np.append(pace["asked"].to_numpy(), size).astype(np.int64),
        np.append(pace["stayed"].to_numpy(), int(present.sum())).astype(np.int64),
        int(pace["next_cell"].to_numpy().max(initial=0)),
        counts,
    )


def _coding(
    book: Book,
    name: str,
    column: Column,
    dtype: pl.DataType,
    number: int,
    now: CodeArray,
    *before: pl.Series,
) -> ColumnCoding:
    """Give every value in use a code that says how it relates to the others."""
    texts = book.texts(name)
    used = np.unique(np.concatenate([now, *(codes.to_numpy() for codes in before)])).astype(np.int32)
    values = texts.gather(used).alias(name)
    attribute = encode_sensitive(parsed(values, dtype), column)
    of_model = np.full(len(texts), -1, np.int32)
    of_model[used] = attribute.codes
    stable = np.full(attribute.domain, -1, np.int32)
    stable[attribute.codes] = used
    today = replace(attribute, codes=of_model[now])
    return ColumnCoding(today, number, of_model, stable)


def _tables(rows: pl.DataFrame, coding: ColumnCoding, release: int) -> dict[int, IntArray]:
    """Return what the table of each release was, in codes that the model understands; today's is what is asked for."""
    found = {release: np.bincount(coding.attribute.codes, minlength=coding.attribute.domain).astype(np.int64)}
    for at in rows["release"].unique():
        then = rows.filter(pl.col("release") == at)
        table = np.zeros(coding.attribute.domain, np.int64)
        table[coding.of_model[then["value"].to_numpy()]] = then["number"].to_numpy()
        found[int(at)] = table
    return found
