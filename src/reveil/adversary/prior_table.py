"""A table about other people from which a prior is learnt: quasi columns and a sensitive one, whatever else it has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from reveil.adversary.background import PopulationSchema, any_table
from reveil.core.errors import DataError
from reveil.tables.alike import folded
from reveil.tables.schema import Role, Schema
from reveil.tables.snapshot import canonical_text, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import CodeArray

MISSING = "\0"  # stands for a missing value where texts are compared


class _TableSchema(PopulationSchema):
    """The columns that are looked at: those that say who people are, and one that says what they have."""

    @classmethod
    def about(cls, schema: Schema, column: str) -> _TableSchema:
        looked_at = [c for c in schema.columns if c.role in (Role.PERSON, Role.QUASI) or c.name == column]
        return cast("_TableSchema", cls.of(looked_at, schema.null_values, schema.input.for_lists()))


@dataclass(frozen=True)
class PriorTable:
    """People of a table: who they are, if it says so, their quasi values, and the codes of their sensitive values."""

    ids: pl.Series | None
    quasi: pl.DataFrame = field(repr=False)
    codes: CodeArray = field(repr=False)


def read_prior_table(
    source: object, schema: Schema, column: str, values: pl.Series, *, what: str = "prior"
) -> PriorTable | None:
    """Read a table; None where it lacks the column but has another sensitive one.

    As a prior it must have every value that the releases tell: of one that nobody has nothing can be learnt.
    """
    raw, place = any_table(source)
    if column not in raw.columns:
        if set(schema.sensitive) & set(raw.columns):
            return None
        raise DataError(
            f"the table of the {what} has no sensitive column", file=place.file, column=column,
            hint=f"It needs quasi columns and {', '.join(schema.sensitive)}, under the names of the config.",
        )  # fmt: skip
    frame = read_snapshot(source, _TableSchema.about(schema, column)).frame
    codes = coded_values(canonical_text(frame[column]), values, fold=schema[column].folds)
    lacking = len(values) - len(np.unique(codes[codes >= 0]))
    if lacking and what == "prior":
        raise DataError(
            f"nobody in the table of the prior has {lacking:,} of the {len(values):,} values that the releases and "
            "snapshots have",
            file=place.file,
            column=column,
            hint="Take a larger table, --prior releases, or a file of probabilities that lists every value.",
        )
    ids = None
    if schema.person is not None and schema.person in frame.columns:
        ids = canonical_text(frame[schema.person])
    return PriorTable(ids, frame.select(name for name in schema.quasi if name in frame.columns), codes)


def coded_values(texts: pl.Series, values: pl.Series, *, fold: bool) -> CodeArray:
    """Return the place of each text among the values, -1 where it is none of them; texts that look alike are one."""
    if fold:
        texts, values = folded(texts), folded(values)
    known = pl.DataFrame({"text": values.cast(pl.String).fill_null(MISSING), "code": np.arange(len(values))})
    asked = pl.DataFrame({"text": texts.cast(pl.String).fill_null(MISSING)})
    places = asked.join(known.unique("text", keep="first"), on="text", how="left", maintain_order="left")["code"]
    return places.fill_null(-1).to_numpy().astype(np.int32)


def known_columns(names: Sequence[str], schema: Schema) -> list[str]:
    """Return the quasi columns among some names."""
    return [name for name in schema.quasi if name in names]
