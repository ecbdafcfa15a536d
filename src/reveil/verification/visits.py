"""Is each record what the rows of its person make by the declared rules? The judge's own count, all persons at once.

A rule either takes one of a person's rows (the first or last by a column, the most severe, the least, the greatest) or
counts, adds or averages. The first kind is one sort: by person, by what decides, and by place. Sums depend on their
order; where a sum is not that of the record, those rows are added once more without rounding before anybody is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.tables.snapshot import canonical_text
from reveil.verification.values import coarser, same, unlike

if TYPE_CHECKING:
    from reveil.tables.schema import Column
    from reveil.tables.snapshot import Snapshot
    from reveil.tables.visits.rules import VisitRule, Visits
    from reveil.verification.arrays import Ints

_ADDED = ("sum", "mean")


def check_visits(frame: pl.DataFrame, visits: Visits, snapshot: Snapshot, names: list[str]) -> None:
    """Compare each person's record with what their rows make."""
    person = str(snapshot.schema.person)
    ids = canonical_text(snapshot.frame[person])
    people = pl.DataFrame({"id": ids.drop_nulls()}).with_row_index("who")
    rows = pl.DataFrame({"id": canonical_text(frame[person])}).with_row_index("row").join(people, on="id")
    if people["id"].n_unique() < people.height or rows["who"].n_unique() < people.height:
        raise VerificationError("the snapshot has not one record for each person of the table")
    rows_of = _PersonRows(frame, rows.select("who", "row"), people.height)
    kept = rows_of.chosen(visits.keep, rows["row"])
    records = snapshot.frame.filter(ids.is_not_null())
    for name in names:
        rule, column = visits.rules.get(name), snapshot.schema[name]
        if rule is None:
            good = _agree(records[name], rows_of.at(name, kept), column)
        elif rule.kind in _ADDED:
            good = rows_of.adds_up(name, rule, records[name], column)
        else:
            good = _agree(records[name], rows_of.made(name, rule), column)
        if not good:
            raise VerificationError(
                f"column {name!r} has a value that the rows of its person do not make by the declared rule",
                column=name,
            )


@dataclass(frozen=True)
class _PersonRows:
    """The rows of the people of a snapshot: ``who`` and ``row``, by row."""

    frame: pl.DataFrame = field(repr=False)
    rows: pl.DataFrame = field(repr=False)
    people: int

    def at(self, name: str, row: Ints) -> pl.Series:
        """Return the cell of a row for each person; missing where there is no row (-1)."""
        cells = self.frame[name].gather(np.maximum(row, 0))
        return pl.select(pl.when(pl.Series(row >= 0)).then(cells)).to_series()

    def made(self, name: str, rule: VisitRule) -> pl.Series:
        """Return what a rule that takes one of the rows, or counts them, makes of each person's."""
        if rule.kind == "count":
            return pl.Series(np.bincount(self.rows["who"].to_numpy(), minlength=self.people))
        cells = self.frame[name].gather(self.rows["row"])
        if rule.kind in ("first", "last"):
            return self.at(name, self.chosen(rule, cells))
        there = cells.is_not_null()
        return self.at(name, _PersonRows(self.frame, self.rows.filter(there), self.people).of_values(name, rule))

    def of_values(self, name: str, rule: VisitRule) -> Ints:
        """Return the row that a rule on values takes for each person; -1 where they have none."""
        cells = self.frame[name].gather(self.rows["row"])
        if rule.kind == "most frequent" and rule.ties is not None:
            often = self.rows.with_columns(value=cells).with_columns(n=pl.len().over("who", "value"))
            most = often.select(pl.col("n") == pl.col("n").max().over("who")).to_series()
            return _PersonRows(self.frame, self.rows.filter(most), self.people).of_values(name, rule.ties)
        return self.chosen(rule, cells)

    def chosen(self, rule: VisitRule | None, cells: pl.Series) -> Ints:
        """Return for each person the first row that is least, or greatest, in what the rule goes by."""
        if rule is None:
            key, greatest = self.rows["row"], False
        elif rule.kind in ("first", "last"):
            key, greatest = self.frame[str(rule.by)].gather(self.rows["row"]), rule.kind == "last"
        elif rule.kind == "most severe":
            known = rule.severity or {}
            key, greatest = canonical_text(cells).replace_strict(list(known), list(known.values()), default=None), True
        else:
            key, greatest = cells, rule.kind == "max"
        ordered = self.rows.with_columns(key=key).sort(
            "who", "key", "row", descending=[False, greatest, False], nulls_last=True
        )
        first = ordered.unique("who", keep="first", maintain_order=True)
        found = np.full(self.people, -1, np.int64)
        found[first["who"].to_numpy()] = first["row"].to_numpy()
        return found

    def adds_up(self, name: str, rule: VisitRule, have: pl.Series, column: Column) -> bool:
        """Return whether values are the sums, or means, of each person's rows."""
        each = self.rows.with_columns(value=self.frame[name].gather(self.rows["row"])).drop_nulls("value")
        whole = each["value"].dtype.is_integer() and rule.kind == "sum"
        value = pl.col("value").cast(pl.Int128 if whole else pl.Float64)
        added = each.group_by("who").agg(value.sum() if rule.kind == "sum" else value.mean())
        everybody = pl.DataFrame({"who": np.arange(self.people, dtype=np.uint32)})
        wanted = everybody.join(added, on="who", how="left", maintain_order="left")["value"]
        doubtful = unlike(have, wanted, column)
        some = each.filter(pl.col("who").is_in(pl.Series(doubtful).cast(pl.UInt32).implode()))
        values_of = dict(some.group_by("who").agg("value").iter_rows())
        return all(same(have[who], _exact(values_of.get(who, []), rule, column)) for who in doubtful.tolist())


def _agree(have: pl.Series, wanted: pl.Series, column: Column) -> bool:
    """Return whether records have the wanted values, made coarser where the column is."""
    at = unlike(have, wanted, column)
    pairs = pl.DataFrame({"have": have.gather(at), "wanted": wanted.gather(at)}).unique()
    return all(same(value, coarser(made, column)) for value, made in pairs.iter_rows())


def _exact(values: list[float], rule: VisitRule, column: Column) -> object:
    if not values:
        return None
    total = sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)
    return coarser(total if rule.kind == "sum" else total / len(values), column)
