"""From rows of visits to records of persons.

Everything is the same for the same rows in another order: sums are taken over sorted numbers, and where the order of
rows would decide, it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import shown
from reveil.tables.schema import Role, Schema, Type
from reveil.tables.snapshot.types import canonical_text, type_of
from reveil.tables.visits.rules import COUNT, FIRST, FREQUENT, LAST, MAX, MEAN, MIN, SEVERE, SUM, VisitRule, Visits

if TYPE_CHECKING:
    from reveil.tables.formats.place import Place

_WHO, _ROW, _BY, _VALUE = "who", "row", "by", "value"
_LONGEST = 2**63 - 1


def records_of(frame: pl.DataFrame, schema: Schema, visits: Visits, place: Place) -> pl.DataFrame:
    """Return one record for each person, in the order of their first rows; columns that are counted come last."""
    person = str(schema.person)
    ids = canonical_text(frame[person])
    order = pl.DataFrame({"id": ids.unique(maintain_order=True)}).with_row_index(_WHO)
    who = pl.DataFrame({"id": ids}).join(order, on="id", how="left", maintain_order="left")[_WHO]
    made = _Summary(frame, schema, who, place)
    columns = [frame[person].filter(who.is_first_distinct())]
    rest = [name for name in frame.columns if name != person and name not in visits.rules]
    columns += made.kept(rest, visits.keep)
    columns += [made.of(name, rule) for name, rule in visits.rules.items()]
    named = {series.name: series for series in columns}
    return pl.DataFrame([named[name] for name in (*frame.columns, *visits.made)])


@dataclass(frozen=True)
class _Summary:
    """Typed rows, whose each is, and how to point at one."""

    frame: pl.DataFrame
    schema: Schema
    who: pl.Series
    place: Place

    def of(self, name: str, rule: VisitRule) -> pl.Series:
        """Return the column with one value for each person."""
        if rule.kind == COUNT:
            counts = self.who.to_frame().group_by(_WHO).len().sort(_WHO)["len"].cast(pl.Int64)
            return counts.alias(name)
        rows = self._rows(self.frame[name])
        if rule.kind in (SUM, MEAN, MIN, MAX):
            return self._computed(rows, rule.kind, name)
        if rule.kind == FREQUENT and rule.ties is not None:
            often = rows.drop_nulls(_VALUE).with_columns(n=pl.len().over(_WHO, _VALUE))
            often = often.filter(pl.col("n") == pl.col("n").max().over(_WHO)).select(_WHO, _ROW, _VALUE)
            return self._one_of(often, rule.ties, name)
        return self._one_of(rows, rule, name)

    def kept(self, names: list[str], keep: VisitRule | None) -> list[pl.Series]:
        """Return the columns without a rule: from the row that is kept, or from all rows, which must agree."""
        rows = self._rows(pl.Series(range(len(self.who)), dtype=pl.UInt32))
        if keep is not None:
            rows = self._extreme(rows, keep, "keep")
        found = []
        first = rows.filter(pl.col(_WHO).is_first_distinct()).sort(_WHO)[_ROW]
        for name in names:
            if self.schema[name].role is not Role.IDENTIFIER:  # which are dropped: any of them will do
                different = self._different(rows.with_columns(self.frame[name].gather(rows[_ROW]).alias(_VALUE)))
                if different is not None:
                    raise self._unsettled(name, different, keep)
            found.append(self.frame[name].gather(first))
        return found

    def _rows(self, values: pl.Series) -> pl.DataFrame:
        return pl.DataFrame({_WHO: self.who, _VALUE: values}).with_row_index(_ROW).select(_WHO, _ROW, _VALUE)

    def _computed(self, rows: pl.DataFrame, kind: str, name: str) -> pl.Series:
        have = type_of(rows[_VALUE].dtype)
        fits = have is Type.NUMBER or (kind in (MIN, MAX) and have in (Type.DATE, Type.DATETIME, Type.TIME))
        if not fits:
            raise self.place.error(
                f"column {name!r} has the rule {kind}, but its type is {have}, not number",
                column=name,
                hint='Choose another rule, or mend the cells: with type = "number" the first that is none is named.',
            )
        value = pl.col(_VALUE)
        there = value.count() > 0
        if kind in (MIN, MAX):
            found = value.min() if kind == MIN else value.max()
        else:
            if rows[_VALUE].dtype.is_integer():
                value = value.cast(pl.Int128)
            total = value.sort().sum()
            found = pl.when(there).then(total if kind == SUM else total.cast(pl.Float64) / value.count())
        series = rows.group_by(_WHO).agg(found.alias(name)).sort(_WHO)[name]
        if str(series.dtype) != "Int128":
            return series
        if (series.abs() > _LONGEST).any():
            raise self.place.error(f"a sum of column {name!r} is too large", column=name, hint="Choose another rule.")
        return series.cast(pl.Int64)

    def _one_of(self, rows: pl.DataFrame, rule: VisitRule, name: str) -> pl.Series:
        """Return one of each person's values."""
        if rule.kind in (MIN, MAX):
            extreme = pl.col(_VALUE).min() if rule.kind == MIN else pl.col(_VALUE).max()
            chosen = rows.filter(pl.col(_VALUE) == extreme.over(_WHO))
        elif rule.kind == SEVERE:
            chosen = self._most_severe(rows.drop_nulls(_VALUE), rule, name)
        else:
            chosen = self._extreme(rows, rule, f"column {name!r}")
        different = self._different(chosen)
        if different is not None:
            raise self._unsettled(name, different, rule)
        people = pl.DataFrame({_WHO: self.who.unique().sort()})
        one = chosen.unique(_WHO, keep="first", maintain_order=True).select(_WHO, _VALUE)
        return people.join(one, on=_WHO, how="left", maintain_order="left")[_VALUE].alias(name)

    def _most_severe(self, rows: pl.DataFrame, rule: VisitRule, name: str) -> pl.DataFrame:
        texts = canonical_text(rows[_VALUE])
        known = pl.DataFrame({"text": list(rule.severity or {}), _BY: list((rule.severity or {}).values())})
        rows = rows.with_columns(text=texts).join(known, on="text", how="left", maintain_order="left")
        unknown = rows.filter(pl.col(_BY).is_null())
        if unknown.height:
            values = unknown["text"].unique(maintain_order=True)
            seen = f": {shown(values)}" if self.schema[name].role is Role.QUASI else ""
            raise self.place.error(
                f"column {name!r}: {len(values):,} different values have no severity{seen}",
                column=name,
                row=int(unknown[_ROW][0]),
                hint="Add a line for each to the file that the rule names.",
            )
        return rows.filter(pl.col(_BY) == pl.col(_BY).max().over(_WHO)).select(_WHO, _ROW, _VALUE)

    def _extreme(self, rows: pl.DataFrame, rule: VisitRule, what: str) -> pl.DataFrame:
        """Return of each person's rows the first or the last ones in the order of another column."""
        by = self.frame[str(rule.by)]
        rows = rows.with_columns(by.gather(rows[_ROW]).alias(_BY), several=pl.len().over(_WHO) > 1)
        lost = rows.filter(pl.col("several") & pl.col(_BY).is_null())
        if lost.height:
            raise self.place.error(
                f"{what}: {lost[_WHO].n_unique():,} persons have several rows, of which one has no {rule.by!r}",
                column=str(rule.by),
                row=int(lost[_ROW][0]),
                hint="Fill the cell in or take the row out: nobody can tell which row is first.",
            )
        extreme = pl.col(_BY).max() if rule.kind == LAST else pl.col(_BY).min()
        return rows.filter(~pl.col("several") | (pl.col(_BY) == extreme.over(_WHO))).select(_WHO, _ROW, _VALUE)

    @staticmethod
    def _different(rows: pl.DataFrame) -> pl.DataFrame | None:
        """Return the rows of the persons that do not agree in their value; None where all do."""
        several = rows.filter(pl.len().over(_WHO) > 1)
        if several.is_empty():
            return None
        # A missing value is not the same as a value.
        other = several.filter(~pl.col(_VALUE).eq_missing(pl.col(_VALUE).first().over(_WHO)))
        return None if other.is_empty() else other

    def _unsettled(self, name: str, rows: pl.DataFrame, rule: VisitRule | None) -> Exception:
        persons = rows[_WHO].n_unique()
        many = "1 person has" if persons == 1 else f"{persons:,} persons have"
        if rule is None:
            said, remedy = (
                "several values, and no rule says which one holds",
                f'Give it one: summarise = {{ {name} = "last by COLUMN" }}, or keep = "last by COLUMN" for all.',
            )
        elif rule.kind in (FIRST, LAST):
            said = f"several values in rows that are equally {rule.kind} by {rule.by!r}"
            remedy = f"Mend {rule.by!r} in one of the rows, or choose a column that tells them apart."
        else:
            said = f"several values that are equal by the rule {rule.kind!r}"
            remedy = "Give each value a severity of its own."
        return self.place.error(f"column {name!r}: {many} {said}", column=name, row=int(rows[_ROW][0]), hint=remedy)
