"""Releases and tables side by side: the same value in the same spelling, where a schema says that they look alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import VerificationError
from reveil.releases.column_views import column_views
from reveil.tables.alike import alike, folded, one_spelling
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.schema import FOLDED, Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.schema import Column
    from reveil.tables.snapshot import Snapshot


def spelled(schema: Schema, frame: pl.DataFrame) -> Schema:
    """Return the schema with the spellings that a table has: what is read with it is written alike."""
    columns = [
        replace(column, spellings=tuple(_texts(frame[column.name]))) if _folds(column, frame) else column
        for column in schema.columns
    ]
    return schema.with_columns(columns)


def respelled(release: Release, snapshot: Snapshot) -> Release:
    """Return a release with its sensitive texts as the snapshot, or what is known before it, writes the same values."""
    schema, known = snapshot.schema, {}
    for name in schema.sensitive:
        if _folds(schema[name], snapshot.frame):
            spellings = _texts(snapshot.frame[name])
            known[name] = (*(schema[name].labels or ()), *schema[name].spellings, *spellings)
    return with_spellings(release, known, schema.null_values)


def with_spellings(release: Release, known: Mapping[str, Iterable[str]], missing: Iterable[str] = ()) -> Release:
    """Return a release with the texts of some columns as they are known; a suppressed value stays one.

    What looks like a mark for ``missing`` cells is one, as it is in a snapshot.
    """
    marks = tuple(missing)

    def respelt(cells: pl.Series, texts: Iterable[str]) -> pl.Series:
        hidden = (cells == SUPPRESSED_VALUE).fill_null(value=False)
        if not hidden.any():
            return one_spelling(cells, texts, marks)
        return one_spelling(cells.set(hidden, None), texts, marks).set(hidden, SUPPRESSED_VALUE)

    def written(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(
            respelt(frame[name], texts).alias(name)
            for name, texts in known.items()
            if frame.schema.get(name) == pl.String
        )

    batch = None if release.batch is None else written(release.batch)
    seconds = tuple(replace(second, batch=written(second.batch)) for second in release.seconds)
    return replace(release, values=written(release.values), batch=batch, seconds=seconds)


def check_spellings(release: Release, schema: Schema) -> None:
    """Refuse a release that shows a value in two spellings: they tell apart who has the same."""
    tables = [view.group_values()[1] for view in column_views(release, joint=False)]
    for values, name in [(table, name) for table in tables for name in table.columns]:
        if name in schema.sensitive and _folds(schema[name], values) and (many := alike(_texts(shown(values[name])))):
            raise VerificationError(
                f"column {name!r} shows {many:,} spellings of values that it shows in another one, too",
                column=name,
                hint='Values that look alike are one value. If it was published with compare = "exact", say so in the '
                "config.",
            )


def shown(values: pl.Series) -> pl.Series:
    """Return a column of texts of a release without its suppressed cells: their mark is no text, and looks like one."""
    return values.filter((values != SUPPRESSED_VALUE).fill_null(value=True))


def folded_values(values: pl.Series) -> pl.Series:
    """Fold a column of texts of a release; the mark of suppressed cells stays what it is."""
    hidden = (values == SUPPRESSED_VALUE).fill_null(value=False)
    return folded(values).set(hidden, SUPPRESSED_VALUE) if hidden.any() else folded(values)


def folds(manifest: Manifest, name: str) -> bool:
    """Return whether a release says that texts of a column that look alike are one value."""
    return any(column.name == name and column.compare == FOLDED for column in manifest.columns)


def _folds(column: Column, frame: pl.DataFrame) -> bool:
    return column.folds and frame.schema.get(column.name) == pl.String


def _texts(values: pl.Series) -> list[str]:
    return values.drop_nulls().unique().sort().to_list()
