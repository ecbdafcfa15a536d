"""Looks at a table nobody has described yet and proposes what each column is, with its reasons.

A proposal is a starting point for somebody who knows the data. It errs on the safe side: what looks like an identity
is left out, what it knows nothing of is treated as something others may know, and nothing is ever proposed as
``plain``, because that a column is harmless cannot be seen from the column. Where it had to guess, ``decide`` is set.

Reasons and facts speak of names and counts. The only values that leave here are the steps of an order, at most ten, and
marks for missing cells; both are for quasi columns alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import SHOWN_AT_MOST, DataError, has_swallowed
from reveil.tables import column_hints as hints
from reveil.tables.alike import fold_distinct
from reveil.tables.column_roles import UNKNOWN, with_roles
from reveil.tables.detection import detect, visit_order
from reveil.tables.input import AS_WRITTEN
from reveil.tables.schema import Role, Type
from reveil.tables.snapshot.types import canonical_text, infer_type, type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.tables.detection import FoundInput
    from reveil.tables.formats.place import Place
    from reveil.tables.input import Input

_ALIKE_SHOWN = 4
_FEW_VALUES = 8  # of so many at most it is seen whether another column has the same


@dataclass(frozen=True)
class ColumnProfile:
    """What was seen in one column and what is proposed for it. Empty cells count under ``nulls`` alone.

    ``type`` is None where a cell is no single value. ``common`` is how many records have the most common value,
    ``order`` the values as steps of a known scale, ``marks`` the cells that look like marks for "missing", ``notes``
    what else was noticed (``marked`` cells have such a mark), ``few`` its texts where there are few, ``drop`` why its
    content must not be published whatever its name. ``name_is_a_cell`` says whether the name looks like one of the
    cells below it; None where that cannot be told. Of its texts ``alike`` look like another one; taken as one value,
    there are ``folds`` of which the most common has ``most`` records, and ``lookalikes`` are a few of them.
    """

    name: str
    type: Type | None
    rows: int
    distinct: int
    nulls: int
    common: int
    whole: bool = False
    zip: bool = False
    drop: str | None = None
    notes: tuple[str, ...] = ()
    name_is_a_cell: bool | None = None
    order: tuple[str, ...] | None = field(default=None, repr=False)
    marks: tuple[str, ...] = field(default=(), repr=False)
    marked: int = 0
    few: frozenset[str] = field(default=frozenset(), repr=False)
    role: Role = Role.QUASI
    reasons: tuple[str, ...] = (UNKNOWN,)
    decide: bool = True
    alike: int = 0
    most: int = 0
    lookalikes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def folds(self) -> int:
        """How many values there are if those that look alike are one."""
        return self.distinct - self.alike

    @property
    def spelling(self) -> str | None:
        """What is to be said of texts that look alike, where a role makes it matter; a few are shown if it is quasi."""
        if not self.alike or self.role not in (Role.QUASI, Role.SENSITIVE):
            return None
        some = "1 of its values looks" if self.alike == 1 else f"{self.alike:,} of its values look"
        if self.role is Role.SENSITIVE:
            return (
                f"{some} like another one and is read as the same"
                if self.alike == 1
                else (f"{some} like another one and are read as the same")
            )
        seen = "" if self.decide else f" ({', '.join(map(repr, self.lookalikes))})"
        return f"{some} like another one{seen}: quasi texts are compared exactly, so write each value in one way"

    @property
    def share(self) -> float:
        """Different values per row."""
        return self.distinct / self.rows

    @property
    def unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self.distinct == self.rows

    @property
    def facts(self) -> str:
        """The counts in words, without a value."""
        kind = "no single values" if self.type is None else self.type.value
        if self.type is None or self.nulls == self.rows:
            return kind if self.type is None else f"{kind}, every cell is empty"
        values = f"{self.distinct:,} different values" if self.distinct > 1 else "one value"
        of = ", one for each row" if self.unique and self.rows > 1 else f" in {self.rows:,} rows"
        return f"{kind}, {values}{of}, " + (f"{self.nulls:,} empty" if self.nulls else "none empty")

    @property
    def handling(self) -> str | None:
        """How the values of a quasi column are published."""
        if self.role is not Role.QUASI:
            return None
        if self.order and not self.zip:
            return "its values are the steps of a known scale: published as steps next to each other"
        return (
            "published as sets of values"
            if self.type in (Type.TEXT, Type.BOOLEAN) or self.zip
            else "published as ranges"
        )

    @property
    def obstacles(self) -> tuple[str, ...]:
        """What keeps this from being the person column of a table that can be published."""
        wrong = []
        if self.distinct < self.rows - self.nulls:
            wrong.append("values repeat, but a table to publish has one row for each person: keep the one that holds")
        if self.nulls:
            wrong.append(f"{self.nulls:,} rows have no person: fill the cells in or take the rows out")
        return tuple(wrong)

    def proposed(self, role: Role, *reasons: str, decide: bool = False) -> ColumnProfile:
        """Return the column with this proposal."""
        return replace(self, role=role, reasons=reasons, decide=decide)


@dataclass(frozen=True)
class Profile:
    """A table as it was found.

    ``input`` is how it is written. ``visits`` is a person column and the column that puts the rows of each person in
    order; None where each person has one row, or no column tells their rows apart.
    """

    path: Path
    rows: int
    columns: tuple[ColumnProfile, ...]
    input: Input = AS_WRITTEN
    visits: tuple[str, str] | None = None

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role."""
        return tuple(column.name for column in self.columns if column.role is role)

    @property
    def visits_in_words(self) -> str | None:
        """What becomes of a person's rows, where there are several."""
        if self.visits is None or self.visits[0] not in self.names(Role.PERSON):
            return None
        people = next(column.distinct for column in self.columns if column.name == self.visits[0])
        return (
            f"The {self.rows:,} rows are visits of {people:,} people: the last one of each, by {self.visits[1]!r}, "
            "becomes their record; [input] in the config says how it can be otherwise."
        )

    def with_roles(self, roles: Mapping[str, Role]) -> Profile:
        """Return the profile with the roles that the steward chose; a chosen role is decided."""
        columns = []
        for column in self.columns:
            role = roles.get(column.name)
            if role is None:
                columns.append(column)
            elif role is column.role:
                columns.append(replace(column, decide=False))
            else:
                instead = f"chosen by you; the proposal was {column.role.value} ({'; '.join(column.reasons)})"
                columns.append(column.proposed(role, instead, *(column.obstacles if role is Role.PERSON else ())))
        return replace(self, columns=tuple(columns))


def profile(path: str | Path) -> Profile:
    """Read a table from a file and propose a role for each of its columns."""
    path = Path(path)
    found = detect(path)
    table, frame = found.table, found.table.frame
    if frame.height == 0:
        raise DataError("this table has no rows", file=path, hint="A proposal needs records to look at.")
    columns = [_profile_of(cells, from_text=table.text_only) for cells in frame.get_columns()]
    columns = [_with_read_marks(column, found) if column.name in found.input.nulls_of else column for column in columns]
    _check_names(columns, table.place)
    columns = with_roles(columns)
    person = next((column for column in columns if column.role is Role.PERSON), None)
    visits = None
    if person is not None and not person.unique and not person.nulls:
        order = visit_order(frame, person.name)
        visits = None if order is None else (person.name, order)
    if visits is not None:
        how = f"a person has several rows, taken as visits: the last by {visits[1]!r} is kept, see [input]"
        columns = [
            replace(column, reasons=(column.reasons[0], how)) if column is person else column for column in columns
        ]
    return Profile(path, frame.height, tuple(columns), found.input, visits)


def _with_read_marks(seen: ColumnProfile, found: FoundInput) -> ColumnProfile:
    """Tell of marks that were found beside numbers and dates and are null already."""
    note = 'some cells look like marks for "missing": see null_values above'
    return replace(
        seen, marks=found.input.nulls_of[seen.name], marked=found.marked[seen.name], notes=(*seen.notes, note)
    )


def _profile_of(cells: pl.Series, *, from_text: bool) -> ColumnProfile:
    """Count what can be counted."""
    name, rows = cells.name, len(cells)
    if type_of(cells.dtype) is None:
        drop = "its cells are no single values and cannot be published: dropped"
        return ColumnProfile(name, None, rows, 0, cells.null_count(), 0, drop=drop)
    if cells.dtype in (pl.Categorical, pl.Enum, pl.Null):
        cells = cells.cast(pl.String)
    if from_text and cells.dtype == pl.String:
        cells = infer_type(cells)
    elif cells.dtype.is_float():
        cells = cells.fill_nan(None)
    kind = type_of(cells.dtype)
    values = cells.drop_nulls()
    if kind is Type.TEXT:
        values = canonical_text(values)
    counts = values.alias("value").value_counts(name="n")
    common = 0 if counts.is_empty() else int(counts["n"].to_numpy().max())
    whole = cells.dtype.is_integer()
    zipped = hints.says(name, hints.ZIP) is not None and (
        whole or (kind is Type.TEXT and bool(values.str.contains(r"\d").all()))
    )
    seen = ColumnProfile(name, kind, rows, counts.height, rows - len(values), common, whole=whole, zip=zipped)
    seen = replace(seen, name_is_a_cell=_is_a_cell(name, kind, counts["value"]))
    if kind is Type.NUMBER:
        return _with_codes(seen, counts)
    if kind is Type.TEXT and len(values):
        seen = _with_lookalikes(seen, counts)
    return _look_at_text(seen, counts["value"], counts["n"]) if kind is Type.TEXT and len(values) else seen


def _is_a_cell(name: str, kind: Type | None, values: pl.Series) -> bool | None:
    """Return whether a name looks like one of the values: of their type, or one of them where they are texts."""
    if values.is_empty():
        return None
    if kind is Type.TEXT:
        return True if name.strip() in canonical_text(values).str.strip_chars() else None
    if type_of(infer_type(pl.Series([name])).dtype) is kind:
        return True
    return None if name.strip().lower() in hints.MARKS_AMONG_NUMBERS else False


def _check_names(columns: list[ColumnProfile], place: Place) -> None:
    """Refuse a table whose names look like a record, before one of them is shown.

    One column of numbers or dates with a name that is none tells that there is a header.
    """
    if any(has_swallowed(column.name) for column in columns):
        raise DataError(
            "the name of a column looks like records that a quote swallowed",
            file=place.file,
            line=None if place.lines is None else 1,
            hint="Close the quote in the first line, or write each name on one line.",
        )
    told = [column.name_is_a_cell for column in columns]
    if any(told) and False not in told:
        raise DataError(
            "the names of the columns look like a record",
            file=place.file,
            line=None if place.lines is None else 1,
            hint="Write a first line with a name for each column; names of columns with numbers must not be numbers.",
        )


def _with_lookalikes(seen: ColumnProfile, counts: pl.DataFrame) -> ColumnProfile:
    """Count the texts that look like others, and keep a few."""
    folds = counts.with_columns(fold=fold_distinct(counts["value"]))
    groups = folds.group_by("fold").agg(pl.col("n").sum(), pl.col("value").sort())
    several = groups.filter(pl.col("value").list.len() > 1).sort("n", "fold", descending=[True, False])
    return replace(
        seen,
        alike=counts.height - groups.height,
        most=int(groups["n"].to_numpy().max()),
        lookalikes=tuple(several["value"].explode().head(_ALIKE_SHOWN)) if several.height else (),
    )


def _look_at_text(seen: ColumnProfile, distinct: pl.Series, times: pl.Series) -> ColumnProfile:
    """Find scales and prose, and what other programs write for numbers, dates and empty cells."""
    weights = times.to_numpy()
    length = np.average(distinct.str.len_chars().to_numpy(), weights=weights)
    words = np.average(distinct.str.count_matches(r"\s+").to_numpy(), weights=weights) + 1
    spread = len(distinct) / weights.sum()
    prose = (words >= 4 and spread >= 0.5 and len(distinct) >= 20) or (length >= 80 and spread >= 0.1)
    drop = None
    if prose or (hints.says(seen.name, hints.FREE) and words >= 3):
        drop = "free text, mostly different in each row: it may hold names and anything else, so it is dropped"
    elif distinct.str.contains(r"^\S+@\S+\.\S+$").to_numpy().mean() > 0.8:
        drop = "its cells look like e-mail addresses: dropped"
    steps = hints.steps(distinct.to_list()) if len(distinct) <= 100 else None
    notes = [f"its cells look like {what}" for what, form in hints.FOREIGN.items() if distinct.str.contains(form).all()]
    if steps and len(steps) > SHOWN_AT_MOST:
        notes.append("its values look like the steps of a scale: list them in order = [...], least first, to keep it")
        steps = None
    seen = _with_marks(seen, distinct, times)
    few = frozenset(distinct) if len(distinct) <= _FEW_VALUES else frozenset()
    notes += seen.notes
    return replace(seen, drop=drop, order=None if steps is None else tuple(steps), notes=tuple(notes), few=few)


def _with_marks(seen: ColumnProfile, distinct: pl.Series, times: pl.Series) -> ColumnProfile:
    """Find the texts that mean "missing"; more of them where the others are no texts."""
    small = distinct.str.strip_chars().str.to_lowercase()
    marked = small.is_in(list(hints.MARKS_AMONG_NUMBERS))
    note = 'but for marks that look like "missing" it would not be text: see null_values above'
    if not marked.any() or marked.all() or infer_type(distinct.filter(~marked)).dtype == pl.String:
        marked = small.is_in(list(hints.MARKS))
        note = 'some cells look like marks for "missing": see null_values above'
    if not marked.any() or marked.all():
        return seen
    count = int(times.filter(marked).sum())
    return replace(seen, marks=tuple(distinct.filter(marked).sort()), marked=count, notes=(*seen.notes, note))


def _with_codes(seen: ColumnProfile, counts: pl.DataFrame) -> ColumnProfile:
    """Find numbers that mean "missing": -9 and the like among numbers that are otherwise not negative."""
    negative = counts.filter(pl.col("value") < 0)
    if negative.is_empty() or not negative["value"].is_in(list(hints.CODES)).all() or negative.height == counts.height:
        return seen
    return replace(
        seen,
        marks=tuple(f"{value:g}" for value in negative["value"].sort()),
        marked=int(negative["n"].sum()),
        notes=(*seen.notes, 'its only negative numbers look like codes for "missing": see null_values above'),
    )
