"""Which values of two sensitive columns occur together: what somebody knows who has seen them side by side elsewhere.

A pair that occurs in a public table (or, for the strongest such reader, in the snapshots) is possible, any other is
not. Of a value that the table does not have nothing is known: it may go with any.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.background import any_table
from reveil.adversary.prior_table import coded_values
from reveil.core.errors import ConfigError, DataError
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray
    from reveil.tables.schema import Schema

TRUTH = "truth"


@dataclass(frozen=True)
class PairedColumn:
    """Another sensitive column: what the releases tell of it, and which values of both go together.

    ``possible`` has a line for each value of the column that is attacked, and a place for each of the other.
    """

    name: str
    evidence: Evidence = field(repr=False)
    possible: BoolArray = field(repr=False)


@dataclass(frozen=True)
class KnownPairs:
    """What is known of pairs, and where from."""

    source: str
    others: tuple[PairedColumn, ...] = field(repr=False)


def with_pairs(evidences: Sequence[Evidence], given: object, truth: Sequence[object], schema: Schema) -> list[Evidence]:
    """Give everybody who attacks a column what the releases tell of each other one, and which values go together."""
    if len(evidences) < 2:
        raise ConfigError(
            "pairs of values need a second sensitive column",
            hint="Declare the columns that must not be linked as sensitive, or take --pairs out.",
        )
    tables, source = _tables(given, evidences, truth, schema)
    found = []
    for evidence in evidences:
        others = [
            PairedColumn(other.column, other, _possible(tables, evidence, other, schema))
            for other in evidences
            if other is not evidence and _both(tables, evidence.column, other.column)
        ]
        found.append(replace(evidence, pairs=KnownPairs(source, tuple(others))))
    return found


def _tables(
    given: object, evidences: Sequence[Evidence], truth: Sequence[object], schema: Schema
) -> tuple[list[pl.DataFrame], str]:
    if isinstance(given, str) and given == TRUTH:
        if not truth:
            raise ConfigError(
                "which values occur together in the snapshots cannot be known without them",
                hint="Give them as truth, or a public table: --pairs F.",
            )
        columns = [[view.told for view in evidence.views if view.told is not None] for evidence in evidences]
        return [pl.DataFrame(list(parts)) for parts in zip(*columns, strict=True)], "the snapshots"
    if not isinstance(given, str | os.PathLike) and not hasattr(given, "columns"):
        raise ConfigError("pairs must be truth, a file or a table", hint="--pairs truth, for example.")
    frame, place = any_table(given)
    there = [name for name in schema.sensitive if name in frame.columns]
    if len(there) < 2:
        raise DataError(
            "the table of pairs has fewer than two sensitive columns",
            file=place.file,
            hint=f"It needs two or more of {', '.join(schema.sensitive)}, under the names of the config.",
        )
    name = Path(given).name if isinstance(given, str | os.PathLike) else "the table given"
    return [frame.select(there)], name


def _both(tables: Sequence[pl.DataFrame], one: str, other: str) -> bool:
    return all({one, other} <= set(table.columns) for table in tables)


def _possible(tables: Sequence[pl.DataFrame], evidence: Evidence, other: Evidence, schema: Schema) -> BoolArray:
    """Return which values go together: those that do in a table, and those that it does not have with any."""
    possible = np.zeros((len(evidence.values), len(other.values)), np.bool_)
    for table in tables:
        one, two = (
            coded_values(
                canonical_text(table[column_evidence.column]),
                column_evidence.values,
                fold=schema[column_evidence.column].folds,
            )
            for column_evidence in (evidence, other)
        )
        known = (one >= 0) & (two >= 0)
        possible[one[known], two[known]] = True
    possible[~possible.any(axis=1)] = True
    possible[:, ~possible.any(axis=0)] = True
    return possible
