"""From the ledgers to the cells that a snapshot touches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SEALED, SIZES, TABLES, TOLD
from reveil.guarantees.refinement.past import Past, Told, said_of
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
class Words:
    """The values of one sensitive column: codes that last, and codes that models understand.

    ``own[code]`` is the model's code of a lasting one that is in use, ``lasting`` goes back.
    """

    attribute: SensitiveAttribute
    number: int
    own: CodeArray = field(repr=False)
    lasting: CodeArray = field(repr=False)


@dataclass(frozen=True)
class Reading:
    """All that was told of the persons of a snapshot and of their cells.

    ``rests`` are records of persons who are in a cell and of whom nobody knows any more what was told: they were erased
    but for a tombstone. ``next_cell`` is the number of the next new cell.
    """

    past: Past
    words: tuple[Words, ...]
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
        said = tuple(own.frozen(chosen) for own in self.past.said)
        words = tuple(replace(word, attribute=own.attribute) for word, own in zip(self.words, said, strict=True))
        return replace(self, past=replace(self.past, said=said), words=words)


def read(
    book: Book,
    lasting: Mapping[str, CodeArray],
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
    told = book.of_records(TOLD)
    rests = np.zeros(size, np.bool_)
    for name in columns:
        known = np.zeros(size, np.bool_)
        known[told.filter(pl.col("attribute") == book.number(name))["record"].to_numpy()] = True
        rests |= (cell >= 0) & ~known
    numbers, place = np.unique(cell[(cell >= 0) & ~rests], return_inverse=True)
    own = np.full(size, -1, np.int32)
    own[(cell >= 0) & ~rests] = place
    sizes = book.rows(SIZES, "cell", numbers)
    if not np.array_equal(sizes["cell"], numbers):
        raise ValueError("a cell has no size")
    counts = book.rows(COUNTS, "cell", numbers) if columns else pl.DataFrame()
    said, words = [], []
    tables: dict[str, Mapping[int, IntArray]] = {}
    parts = [part for part in model.parts if isinstance(part, TCloseness)]
    compared = [name for name in columns if any(part.concerns(name) for part in parts)]
    for name, (column, dtype) in columns.items():
        number = book.number(name)
        mine = told.filter(pl.col("attribute") == number, pl.Series(own[told["record"].to_numpy()] >= 0))
        theirs = counts.filter(pl.col("attribute") == number)
        table = book.rows(TABLES, "attribute", np.array([number])) if name in compared else None
        more = () if table is None else (table["value"],)
        word = _words(book, name, column, dtype, number, lasting[name], mine["value"], theirs["value"], *more)
        if table is not None:
            tables[name] = _tables(table, word, release)
        words.append(word)
        said.append(
            said_of(
                word.attribute,
                own,
                Told.of(mine.with_columns(value=pl.Series(word.own[mine["value"].to_numpy()])), "record"),
                theirs.select(
                    "release",
                    cell=pl.Series(np.searchsorted(numbers, theirs["cell"].to_numpy())),
                    value=pl.Series(word.own[theirs["value"].to_numpy()]),
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
    past = Past(release, own, numbers.astype(np.int32), many, tuple(said), sealed)
    return Reading(
        past,
        tuple(words),
        rests,
        tables,
        np.append(pace["asked"].to_numpy(), size).astype(np.int64),
        np.append(pace["stayed"].to_numpy(), int(present.sum())).astype(np.int64),
        int(pace["next_cell"].to_numpy().max(initial=0)),
        counts,
    )


def _words(
    book: Book,
    name: str,
    column: Column,
    dtype: pl.DataType,
    number: int,
    now: CodeArray,
    *before: pl.Series,
) -> Words:
    """Give every value in use a code that says how it relates to the others."""
    texts = book.texts(name)
    used = np.unique(np.concatenate([now, *(codes.to_numpy() for codes in before)])).astype(np.int32)
    values = texts.gather(used).alias(name)
    attribute = encode_sensitive(parsed(values, dtype), column)
    own = np.full(len(texts), -1, np.int32)
    own[used] = attribute.codes
    lasting = np.full(attribute.domain, -1, np.int32)
    lasting[attribute.codes] = used
    today = SensitiveAttribute(name, own[now], attribute.domain, attribute.ordered, attribute.levels)
    return Words(today, number, own, lasting)


def _tables(rows: pl.DataFrame, word: Words, release: int) -> dict[int, IntArray]:
    """Return what the table of each release was, in codes that the model understands; today's is what is asked for."""
    found = {release: np.bincount(word.attribute.codes, minlength=word.attribute.domain).astype(np.int64)}
    for at in rows["release"].unique():
        own = rows.filter(pl.col("release") == at)
        table = np.zeros(word.attribute.domain, np.int64)
        table[word.own[own["value"].to_numpy()]] = own["number"].to_numpy()
        found[int(at)] = table
    return found
