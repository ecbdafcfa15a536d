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
from reveil.tables.formats import read_file
from reveil.tables.schema import Role, Type
from reveil.tables.snapshot.types import canonical_text, infer_type, type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.tables.formats.place import Place

UNKNOWN = "unknown: treated as something others may know"
_ALIKE_SHOWN = 4
_FEW = 50  # rows; below this, that all values differ means nothing
_OFTEN_ENOUGH = 1000  # identities that repeat are still identities if there are so many of them


@dataclass(frozen=True)
class ColumnProfile:
    """What was seen in one column and what is proposed for it. Empty cells count under ``nulls`` alone.

    ``type`` is None where a cell is no single value. ``common`` is how many records have the most common value,
    ``order`` the values as steps of a known scale, ``marks`` the cells that look like marks for "missing", ``notes``
    what else was noticed, ``drop`` why its content must not be published whatever its name. ``name_is_a_cell`` says
    whether the name looks like one of the cells below it; None where that cannot be told. Of its texts ``alike`` look
    like another one; taken as one value, there are ``folds`` of which the most common has ``most`` records, and
    ``lookalikes`` are a few of them.
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
class Proposal:
    """The static guarantee to start with; ``reasons`` say in plain words what the numbers mean and why these."""

    k: int
    l: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """A table as it was found."""

    path: Path
    rows: int
    columns: tuple[ColumnProfile, ...]

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns with this role."""
        return tuple(column.name for column in self.columns if column.role is role)

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

    @property
    def guarantee(self) -> Proposal:
        """A guarantee that these rows can keep under these roles."""
        people = next((c.distinct for c in self.columns if c.role is Role.PERSON), self.rows)
        k = next((k for least, k in ((1000, 10), (20, 5), (6, 3)) if people >= least), 2)
        reasons = [f"k = {k}: whatever others know of a person from the quasi columns fits at least {k} records."]
        if k < 10:
            reasons.append(f"k is not 10 because there are only {people:,} rows to hide among.")
        sensitive = [c for c in self.columns if c.role is Role.SENSITIVE]
        if not sensitive:
            reasons.append(
                "No column is sensitive, so nothing is asked of what the records of a group have in common. If a "
                "column holds what must not become known of a person, make it sensitive and add l = 3."
            )
            return Proposal(k, None, tuple(reasons))
        reach = {column.name: _reachable(column, k) for column in sensitive}
        l = min(reach.values())
        least = ", ".join(repr(name) for name, reached in reach.items() if reached == l)
        if l < 2:
            reasons.append(
                f"There is no l: nearly all records agree in {least}, so that hardly any group could hold different "
                "values. Who finds a person's group may then learn the value. Without this as a sensitive column, l "
                "could be asked of the others."
            )
            return Proposal(k, None, tuple(reasons))
        reasons.append(f"l = {l}: every group has at least {l} different values in each sensitive column.")
        if l < 3:
            reasons.append(f"l is not 3 because of {least}: too few values, or one that most records share.")
        return Proposal(k, l, tuple(reasons))


def profile(path: str | Path) -> Profile:
    """Read a table from a file and propose a role for each of its columns."""
    path = Path(path)
    table = read_file(path)
    frame = table.frame
    if frame.height == 0:
        raise DataError("this table has no rows", file=path, hint="A proposal needs records to look at.")
    columns = [_profile_of(cells, from_text=table.text_only) for cells in frame.get_columns()]
    _check_names(columns, table.place)
    person = _person(columns)
    columns = [_proposal(column, person) for column in columns]
    if not any(column.role is Role.SENSITIVE for column in columns):
        columns = _money_as_sensitive(columns)
    return Profile(path, frame.height, tuple(columns))


def _profile_of(cells: pl.Series, *, from_text: bool) -> ColumnProfile:
    """Count what can be counted."""
    name, rows = cells.name, len(cells)
    if type_of(cells.dtype) is None:
        drop = "its cells are no single values and cannot be published: dropped"
        return ColumnProfile(name, None, rows, 0, cells.null_count(), 0, drop=drop)
    if cells.dtype in (pl.Categorical, pl.Enum, pl.Null):
        cells = cells.cast(pl.String)
    if from_text:
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
    return None if name.strip() in hints.MARKS else False


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
    marked = distinct.is_in(hints.MARKS)
    marks: tuple[str, ...] = ()
    if marked.any() and not marked.all() and infer_type(distinct.filter(~marked)).dtype != pl.String:
        marks = tuple(distinct.filter(marked).sort())
        notes.append('but for marks that look like "missing" it would not be text: see null_values above')
    return replace(seen, drop=drop, order=None if steps is None else tuple(steps), notes=tuple(notes), marks=marks)


def _identity(column: ColumnProfile) -> int:
    """Return how much the name speaks of an identity: 4 a person's number ... 1 some number, 0 none."""
    name = column.name
    tokens = hints.words_of(name)
    number = hints.says(name, hints.NUMBER) is not None
    if column.type is not Type.TEXT and not column.whole:
        return 0  # as a float or a date, two identities could become one
    if column.drop or hints.says(name, hints.DIRECT) or hints.says(name, hints.COUNTER):
        return 0
    if hints.says(name, hints.NATIONAL):
        return 2
    ends_so = bool(tokens) and hints.says(tokens[-1], hints.NUMBER) is not None and tokens[-1] != "code"
    about = hints.topic(name, hints.QUASI) or hints.topic(name, hints.SENSITIVE) or hints.says(name, hints.MONEY)
    if about and not ends_so:
        return 0
    if hints.says(name, hints.PERSON):
        return 4 if number or len(tokens) == 1 else 0 if hints.says(name, hints.NAME) else 3
    return 3 if number and len(tokens) == 1 else int(number)


def _person(columns: list[ColumnProfile]) -> str | None:
    """Choose the column that says whom a row is about.

    A number of persons that repeats is chosen before a number of visits that does not: with the visit as the person,
    the promise would be about visits, and somebody with ten of them would be a group alone. Publishing then stops at
    the repeated person, which is what has to be mended.
    """
    unique = [(c, score) for c in columns if c.unique and (score := _identity(c)) > 0]
    best = max(unique, key=lambda found: found[1], default=None)
    if best is not None and best[1] == 4:
        return best[0].name
    for column in columns:
        many = column.share >= 0.2 or column.distinct >= _OFTEN_ENOUGH
        if _identity(column) == 4 and many and column.distinct > 1:
            return column.name
    return None if best is None else best[0].name


def _proposal(column: ColumnProfile, person: str | None) -> ColumnProfile:
    """Propose a role; the first rule that knows something decides."""
    if column.name == person:
        return _as_person(column)
    return _left_out(column, person) or _published(column)


def _left_out(column: ColumnProfile, person: str | None) -> ColumnProfile | None:
    """Propose to drop what points at a person directly."""
    name = column.name
    if column.drop is not None:
        return column.proposed(Role.IDENTIFIER, column.drop)
    direct = hints.says(name, hints.DIRECT) or hints.says(name, hints.NATIONAL)
    if direct:
        return column.proposed(Role.IDENTIFIER, f"its name ({direct}) speaks of a direct identifier: dropped")
    if column.unique and column.rows > 1 and _identity(column):
        return column.proposed(Role.IDENTIFIER, f"every value occurs once: another number beside {person!r}, dropped")
    if column.unique and column.whole and hints.says(name, hints.COUNTER):
        return column.proposed(Role.IDENTIFIER, "by its name it counts the rows, which says nothing lasting: dropped")
    if _identity(column) and column.share >= 0.5:
        why = "by its name a number, and most rows have one of their own: dropped"
        return column.proposed(Role.IDENTIFIER, why, decide=True)
    called = hints.says(name, hints.NAME)
    topic = hints.topic(name, hints.QUASI) or hints.topic(name, hints.SENSITIVE)
    if called and column.type is Type.TEXT and topic is None:
        return column.proposed(Role.IDENTIFIER, f"its name ({called}) speaks of a person's name: dropped")
    return None


def _published(column: ColumnProfile) -> ColumnProfile:
    """Propose quasi or sensitive, or to drop what nobody can tell and singles everybody out."""
    name = column.name
    known, secret = hints.topic(name, hints.QUASI), hints.topic(name, hints.SENSITIVE)
    if column.type in (Type.DATE, Type.DATETIME, Type.TIME):
        return column.proposed(Role.QUASI, "a date or time: others may know when something happened")
    if secret and (known is None or secret[0] >= known[0]):
        why = f"its name speaks of {secret[1]}: must not become known of a person"
        return column.proposed(Role.SENSITIVE, why, decide=known is not None)
    if hints.says(name, hints.MONEY):
        why = "its name speaks of income: others may know it, or it must not become known"
        return column.proposed(Role.QUASI, why, decide=True)
    if known:
        return column.proposed(
            Role.QUASI, f"its name speaks of {known[1]}: others may know it", decide=secret is not None
        )
    if column.rows >= _FEW and column.share >= 0.9 and (column.whole or column.type is Type.TEXT):
        why = "unknown, and nearly every row has a value of its own: it would single everybody out, so it is dropped"
        return column.proposed(Role.IDENTIFIER, why, decide=True)
    if column.distinct == 1 and not column.nulls:
        return column.proposed(Role.QUASI, UNKNOWN, "the same in every row now, which may change", decide=True)
    return column


def _as_person(column: ColumnProfile) -> ColumnProfile:
    """Say why this column is the person, and what stands in the way."""
    if column.unique:
        why = "every value occurs once, none is empty, and its name speaks of an identity: whom the row is about"
        return column.proposed(Role.PERSON, why + "; never published")
    why = "by its name, whom the row is about; never published"
    return column.proposed(Role.PERSON, why, *column.obstacles, decide=True)


def _money_as_sensitive(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Take income as sensitive in a table in which nothing else is."""
    why = "its name speaks of income, and nothing else here is sensitive: must not become known of a person"
    return [
        c.proposed(Role.SENSITIVE, why, decide=True) if c.role is Role.QUASI and hints.says(c.name, hints.MONEY) else c
        for c in columns
    ]


def _reachable(column: ColumnProfile, k: int) -> int:
    """Return the l, 3 at most, for which groups of about k records have a chance to hold l values.

    With a share p of the most common value, a group of k has k (1 - p) other records on average. l values need l - 1 of
    them; for two values, half of one will do, since groups grow until they have it.
    """
    others = k * (1 - max(column.common, column.most, column.nulls) / column.rows)
    return next((asked for asked, least in ((3, 2), (2, 0.5)) if column.folds >= asked and others >= least), 1)
