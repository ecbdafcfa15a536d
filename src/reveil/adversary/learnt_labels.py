"""Labels explained by the truth: which raw values occur under a label, where no hierarchy is at hand.

The owner of the snapshots can see it: in a release with a row for each record, in the order of the snapshot or with its
row numbers, a label stands for the values of the records that have it. What is concluded so is true. It is as much as
somebody knows who can read the labels, and now and then more: a value that its hierarchy has under a label, and that
never occurs there, is left out. So a cell that can be read, and admits all the values that occur under it, keeps its
meaning.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import DataError
from reveil.models.encoding import encode_quasi
from reveil.releases.foreign.cells import CellReader, ForeignCells
from reveil.tables.notation import OR_NULL, SUPPRESSED_VALUE, Form
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.background import Background
    from reveil.core.arrays import IntArray
    from reveil.releases.release import Release
    from reveil.releases.table import Cells
    from reveil.tables.schema import Schema


def learn_labels(releases: Sequence[Release], people: Background, schema: Schema) -> list[Release]:
    """Write what labels stand for instead of them, in every column that has no hierarchy."""
    records = [_records(number, release, people, schema) for number, release in enumerate(releases)]
    if all(rows is None for rows in records):
        raise DataError(
            "labels cannot be learnt: no release has a row for each record of its snapshot in the same order, or says "
            "with row numbers (a column index) which is which",
            hint="Give the snapshots as they were published, or the hierarchies under [columns].",
        )
    out = list(releases)
    for name in schema.quasi:
        if schema[name].taxonomy is not None:
            continue
        meaning = _meanings(name, releases, records, people, schema)
        for number, release in enumerate(out):
            if name in release.cells and release.cells[name].form is Form.FOREIGN:
                cells = _explained(release.cells[name], meaning)
                out[number] = replace(release, cells={**release.cells, name: cells})
    return out


def _records(number: int, release: Release, people: Background, schema: Schema) -> IntArray | None:
    """Return the record of the snapshot in each row of a release of another tool; None where nobody can know."""
    values, ids = people.values[number], people.truth_ids[number]
    if values is None or people.tables[number].ids is not ids or release.batch is not None:
        return None
    foreign = any(cells.form is Form.FOREIGN for cells in release.cells.values())
    _, told = release.group_values()
    rows = np.arange(len(release.classes)) if release.row_numbers is None else release.row_numbers
    if not foreign or len(rows) > values.height or (len(rows) and int(rows.max()) >= values.height):
        return None
    if release.row_numbers is None and len(rows) != values.height:
        return None
    for name in schema.sensitive:
        if name not in told.columns:
            return None
        shown, true = canonical_text(told[name]), canonical_text(values[name]).gather(rows)
        agrees = shown.eq_missing(true) | (shown == SUPPRESSED_VALUE).fill_null(value=False)
        if not agrees.all():
            return None
    return rows


def leaked_rows(number: int, release: Release, people: Background, schema: Schema) -> str | None:
    """Say that a release tells which row of its snapshot each row was; None where it does not."""
    if release.row_numbers is None:
        return None
    text = (
        f"release {number + 1} has a column 'index' that numbers the rows of the table it was made of: whoever knows "
        "where somebody stands in that table, or that it is in the order of something they know, reads off their value"
    )
    rows = _records(number, release, people, schema)
    return text if rows is None else f"{text} ({len(rows):,} records can be found so)"


def _meanings(
    name: str, releases: Sequence[Release], records: Sequence[IntArray | None], people: Background, schema: Schema
) -> dict[str, str]:
    """Return for each label the set of values that occur under it, over all releases, as a cell."""
    pairs = [
        pl.DataFrame(
            {
                "label": canonical_text(release.cells[name].distinct).gather(
                    release.cells[name].index[release.classes]
                ),
                "value": canonical_text(table.quasi[name]).gather(rows),
            }
        )
        for release, rows, table in zip(releases, records, people.tables, strict=True)
        if rows is not None and name in release.cells and name in table.quasi.columns
    ]
    if not pairs:
        return {}
    raw = pl.concat([pair["value"] for pair in pairs]).unique()
    found = pl.concat(pairs).unique().filter(pl.col("label").is_not_null() & ~pl.col("label").is_in(raw.implode()))
    found = found.filter(~pl.col("label").str.contains(r"^\s*\**\s*$"))  # stars are anything
    columns = [table.quasi[name] for table in people.tables if name in table.quasi.columns]
    reader = CellReader(encode_quasi(pl.concat(columns), schema[name]))
    meaning = {}
    for label, values in found.group_by("label").agg("value").iter_rows():
        if _reads(reader, label, values):
            continue
        members = sorted(value for value in values if value is not None)
        text = "{" + ", ".join(json.dumps(value, ensure_ascii=False) for value in members) + "}"
        meaning[label] = text + (OR_NULL if len(members) < len(values) else "") if members else ""
    return meaning


def _reads(reader: CellReader, label: str, values: list[str | None]) -> bool:
    """Return whether a cell can be read, and admits all these values."""
    found = reader.meaning(label)
    if found is None or found.unread:
        return False
    admitted = {int(code) for part in found.parts for code in part}
    return all(found.null if value is None else reader.exact[value] in admitted for value in values)


def _explained(cells: Cells, meaning: dict[str, str]) -> Cells:
    texts = [meaning.get(text, text) if text is not None else None for text in canonical_text(cells.distinct)]
    distinct = pl.Series(cells.distinct.name, [text or None for text in texts], dtype=pl.String)
    return replace(cells, distinct=distinct) if isinstance(cells, ForeignCells) else cells
