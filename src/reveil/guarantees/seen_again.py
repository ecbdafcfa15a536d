"""What a written release shows of the cells, and what the vault knew of them before, read once more for the check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.cells_rule import Before, Shown
from reveil.codes import SensitiveAttribute, encode_sensitive
from reveil.models.t_closeness import TCloseness
from reveil.notation import parsed
from reveil.refining.ledgers import CELLS, COUNTS, SIZES, TABLES, TOLD
from reveil.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.guarantees.base import Memory, Prepared
    from reveil.models.base import Model
    from reveil.release import Release
    from reveil.schema import Column
    from reveil.statistics import CodeArray, IntArray


def seen_again(written: Release, prepared: Prepared, memory: Memory, model: Model) -> tuple[Before, Shown]:
    """Return the published persons with their cells and values: records of the snapshot first, then dirty ones."""
    book = memory.book
    snapshot = prepared.snapshot
    if snapshot is None or written.groups is None:
        raise ValueError("a release of cells has groups")
    asked = len(memory.present)
    strangers = np.zeros(0, np.int32) if prepared.dirty is None else prepared.dirty
    rows = np.flatnonzero(prepared.placement >= 0)
    record = prepared.placement[rows]
    cell, person = np.full(len(record), -1, np.int64), np.full(asked + len(strangers), -1, np.int64)
    person[record] = np.arange(len(record))
    own = book.of_records(CELLS)
    theirs = book.rows(CELLS, "person", strangers)
    place = asked + _places(strangers, theirs["person"].to_numpy())
    for at, numbers in ((own["record"].to_numpy(), own["cell"]), (place, theirs["cell"])):
        there = person[at] >= 0
        cell[person[at][there]] = numbers.to_numpy()[there]
    touched = np.unique(cell[cell >= 0])
    told = pl.concat(
        [
            book.of_records(TOLD).select("attribute", "release", "value", at=pl.col("record").cast(pl.Int64)),
            _strangers_told(book.rows(TOLD, "person", strangers), strangers, asked),
        ]
    )
    told = told.with_columns(person=pl.Series(person[told["at"].to_numpy()])).filter(pl.col("person") >= 0)
    counts = book.rows(COUNTS, "cell", touched)
    attributes, told_of, counts_of, values, tables = [], [], [], [], {}
    for name in snapshot.schema.sensitive:
        number = book.number(name)
        mine = told.filter(pl.col("attribute") == number)
        counted = counts.filter(pl.col("attribute") == number)
        compared = any(isinstance(part, TCloseness) and part.concerns(name) for part in model.parts)
        table = book.rows(TABLES, "attribute", np.array([number] if compared else [], np.int32))
        now = _published(book.values(name), written.values[name])
        used = np.unique(np.concatenate([now, mine["value"], counted["value"], table["value"]])).astype(np.int64)
        attribute, code_of = _codes(book.texts(name), snapshot.schema[name], written.values[name].dtype, used)
        attributes.append(attribute)
        values.append(code_of[now][rows])
        told_of.append(mine.select("person", "release", value=pl.Series(code_of[mine["value"].to_numpy()])))
        counts_of.append(
            counted.select("cell", "release", value=pl.Series(code_of[counted["value"].to_numpy()]), count="number")
        )
        if compared:
            known = {memory.release: np.bincount(code_of[now], minlength=attribute.domain).astype(np.int64)}
            tables[name] = known | _tables(table, code_of, attribute.domain)
    dirty = record >= asked
    fakes = np.flatnonzero(prepared.placement < 0)
    cell_of_group = pl.DataFrame({"group": written.groups[rows].astype(np.int64), "cell": cell}).unique("group")
    faked = pl.DataFrame({"group": written.groups[fakes].astype(np.int64)}).join(cell_of_group, on="group")
    return (
        Before(
            memory.release,
            cell,
            dirty,
            book.rows(SIZES, "cell", touched).cast(pl.Int64),
            tuple(attributes),
            tuple(frame.cast(pl.Int64) for frame in told_of),
            tuple(frame.cast(pl.Int64) for frame in counts_of),
            tables,
        ),
        Shown(
            written.groups[rows],
            tuple(values),
            faked.group_by("cell").agg(number=pl.len().cast(pl.Int64)),
        ),
    )


def _places(persons: CodeArray, wanted: CodeArray) -> IntArray:
    order = np.argsort(persons)
    return order[np.searchsorted(persons[order], wanted)] if len(wanted) else np.zeros(0, np.int64)


def _strangers_told(rows: pl.DataFrame, strangers: CodeArray, asked: int) -> pl.DataFrame:
    at = asked + _places(strangers, rows["person"].to_numpy())
    return rows.select("attribute", "release", "value", at=pl.Series(at, dtype=pl.Int64))


def _codes(
    texts: pl.Series, column: Column, dtype: pl.DataType, used: IntArray
) -> tuple[SensitiveAttribute, CodeArray]:
    """Return how values relate, and the code of each lasting one that is in use."""
    own = texts.gather(used).alias(column.name)
    attribute = encode_sensitive(parsed(own, dtype), column)
    code_of = np.full(len(texts), -1, np.int32)
    code_of[used] = attribute.codes
    return attribute, code_of


def _published(values: pl.DataFrame, published: pl.Series) -> IntArray:
    """Return the lasting code of each published value."""
    rows = canonical_text(published).alias("value").to_frame()
    found = rows.join(values, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
    if found.null_count():
        raise ValueError("a value was published that the dictionary does not have")
    return found.to_numpy().astype(np.int64)


def _tables(rows: pl.DataFrame, code_of: CodeArray, domain: int) -> dict[int, IntArray]:
    found = {}
    for release in rows["release"].unique():
        own = rows.filter(pl.col("release") == release)
        table = np.zeros(domain, np.int64)
        table[code_of[own["value"].to_numpy()]] = own["number"].to_numpy()
        found[int(release)] = table
    return found
