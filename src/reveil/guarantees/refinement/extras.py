"""Rows that nobody asked for: dirty records, and the places of those for whom counterfeits stand in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import CodeArray, IntArray, offsets_of, ranks_in_rows
from reveil.guarantees.refinement.ledgers import BOXES
from reveil.models.encoding import Kind
from reveil.models.statistics import Boxes, Histogram
from reveil.tables.notation import parsed
from reveil.tables.schema import Role
from reveil.vault.protocol import Entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.guarantees.refinement.plan import Decided
    from reveil.guarantees.refinement.reading import Reading
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Book


@dataclass(frozen=True)
class Extras:
    """Rows behind those of the snapshot: ``dirty`` of them are published, the others only widen the box of their cell.

    A counterfeit has no quasi values of its own. If the box shrank with the person for whom it stands, the box would
    show who left; so that person's last record, or the box that was told last, is counted in.
    """

    cell: CodeArray = field(repr=False)
    quasi: Mapping[str, CodeArray] = field(repr=False)
    dirty: int


def extras_of(
    decided: Decided, reading: Reading, book: Book, names: tuple[str, ...], stable_codes: Mapping[str, CodeArray]
) -> Extras:
    """Return the rows that a decision needs beside the records, whose lasting codes are given."""
    absent = decided.absent
    chosen = np.concatenate([np.flatnonzero(decided.beside), np.flatnonzero(decided.shapes)])
    cell = absent.cell[chosen]
    quasi = {name: absent.quasi[name][chosen] for name in names}
    placed = np.bincount(absent.cell[decided.shapes], minlength=len(decided.stand_ins))
    erased = np.flatnonzero(decided.stand_ins > placed)
    if len(erased):
        there = np.flatnonzero((reading.past.cell >= 0) & ~reading.rests)
        lenders = {name: np.full(reading.past.n_cells, -1, np.int32) for name in names}
        for name in names:
            lenders[name][reading.past.cell[there]] = stable_codes[name][there]
        more, codes = _last_boxes(book, reading, erased, names, lenders)
        cell = np.concatenate([cell, more])
        quasi = {name: np.concatenate([quasi[name], codes[name]]) for name in names}
    return Extras(cell.astype(np.int32), quasi, int(decided.beside.sum()))


def _last_boxes(
    book: Book, reading: Reading, cells: IntArray, names: tuple[str, ...], lenders: Mapping[str, CodeArray]
) -> tuple[CodeArray, dict[str, CodeArray]]:
    """Return rows that span the box that was told last of each cell."""
    numbers = reading.past.numbers[cells]
    rows = book.rows(BOXES, "cell", numbers)
    owner = np.searchsorted(numbers, rows["cell"].to_numpy())
    number = rows["attribute"].to_numpy()
    per = [np.bincount(owner[number == book.number(name)], minlength=len(cells)) for name in names]
    many = np.max(per, axis=0).astype(np.int64)
    cell = np.repeat(np.arange(len(cells)), many)
    turn = ranks_in_rows(many)
    codes = {}
    for name, many in zip(names, per, strict=True):
        mine = np.append(rows.filter(pl.col("attribute") == book.number(name))["code"].to_numpy(), -1)
        first = offsets_of(many)[:-1]
        found = mine[np.where(many[cell] > 0, first[cell] + turn % np.maximum(many, 1)[cell], -1)]
        # A column that the last release did not have widens nothing: the value of somebody who is there will do.
        codes[name] = np.where(found >= 0, found, lenders[name][cells[cell]]).astype(np.int32)
    return cells[cell].astype(np.int32), codes


def extended(
    snapshot: Snapshot, extras: Extras, decided: Decided, reading: Reading, before: Reading, book: Book
) -> Snapshot:
    """Return the snapshot as it is published: frozen values as they were told, and the extra rows behind its own."""
    schema, frame = snapshot.schema, _as_told(snapshot.frame, reading, before, book)
    if not len(extras.cell):
        return snapshot if frame is snapshot.frame else replace(snapshot, frame=frame)
    codings = {coding.attribute.name: (coding, at) for at, coding in enumerate(reading.codings)}
    chosen = np.flatnonzero(decided.beside)
    columns = []
    for name in frame.columns:
        role, dtype = schema[name].role, frame.schema[name]
        if role is Role.QUASI:
            columns.append(decoded(book, name, extras.quasi[name], dtype))
        elif role is Role.SENSITIVE:
            coding, at = codings[name]
            known = decoded(book, name, coding.stable[decided.absent.last(at)[chosen]], dtype)
            # A row that only widens a box has no value: any that occurs will do.
            fill = frame[name].gather(np.zeros(len(extras.cell) - len(known), np.int64))
            columns.append(pl.concat([known, fill]))
        else:
            columns.append(pl.Series(name, [None] * len(extras.cell), dtype))
    return replace(snapshot, frame=pl.concat([frame, pl.DataFrame(columns)]))


def _as_told(frame: pl.DataFrame, reading: Reading, before: Reading, book: Book) -> pl.DataFrame:
    """Return the table with the values that are published."""
    for now, coding in zip(before.codings, reading.codings, strict=True):
        name = coding.attribute.name
        moved = np.flatnonzero(now.attribute.codes != coding.attribute.codes)
        if len(moved):
            told = decoded(book, name, coding.stable[coding.attribute.codes[moved]], frame.schema[name])
            frame = frame.with_columns(frame[name].scatter(moved, told))
    return frame


def decoded(book: Book, name: str, codes: CodeArray, dtype: pl.DataType) -> pl.Series:
    """Return what lasting codes stand for, as values of the column's type."""
    if codes.min(initial=0) < 0:
        raise ValueError("a value is not known")
    texts = book.texts(name).gather(codes)
    return parsed(texts, dtype).alias(name)


def box_entries(
    codes: Codes, partition: Partition, stable_codes: Mapping[str, CodeArray], numbers: CodeArray, book: Book
) -> Entries:
    """Return codes that span the published box of each group; ``stable_codes`` are the records' in ``codes``."""
    rows = codes.columns(partition.order)
    starts, ends = partition.offsets[:-1], partition.offsets[1:]
    boxes = Boxes.of_segments(rows, starts, ends, [a.null_code for a in codes.quasi])
    found = []
    for a, attribute in enumerate(codes.quasi):
        code_of = np.full(attribute.null_code + 1, -1, np.int32)
        code_of[attribute.codes] = stable_codes[attribute.name]
        if attribute.kind is Kind.SET:
            seen = Histogram.of_segments(np.ascontiguousarray(rows[:, a]), starts, ends, attribute.null_code + 1)
            group, code = seen.groups, seen.codes
        else:
            lo, hi, null = boxes.lo[a], boxes.hi[a], boxes.null[a]
            some = np.flatnonzero(lo <= hi)
            group = np.concatenate([some, some, np.flatnonzero(null)])
            code = np.concatenate([lo[some], hi[some], np.full(int(null.sum()), attribute.null_code)])
        found.append(
            pl.DataFrame(
                {
                    "cell": numbers[group].astype(np.int32),
                    "attribute": np.full(len(group), book.number(attribute.name), np.int32),
                    "code": code_of[code],
                }
            ).unique()
        )
    before = book.rows(BOXES, "cell", numbers)
    return Entries(BOXES, pl.concat(found), before.select(BOXES.keys))
