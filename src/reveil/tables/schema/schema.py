"""The roles of all the columns of a table, and whether a table has these columns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, DataError, has_line_end, is_shown_whole, shown
from reveil.tables.input import AS_WRITTEN, Input, input_of
from reveil.tables.schema.column import Column, HierarchySource, Role, Type, make_column
from reveil.tables.schema.toml_text import toml_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, init=False)
class Schema:
    """The roles of all the columns of a table.

    >>> Schema(quasi=["age", "zip"], sensitive="disease").quasi
    ('age', 'zip')
    """

    columns: tuple[Column, ...]
    null_values: tuple[str, ...] = field(default=())
    input: Input = field(default=AS_WRITTEN)

    def __init__(
        self,
        person: str | None = None,
        identifiers: str | Iterable[str] = (),
        quasi: str | Iterable[str] = (),
        sensitive: str | Iterable[str] = (),
        plain: str | Iterable[str] = (),
        hierarchies: Mapping[str, HierarchySource] | None = None,
        orders: Mapping[str, Sequence[object]] | None = None,
        types: Mapping[str, str] | None = None,
        bins: Mapping[str, int | Sequence[float]] | None = None,
        *,
        null_values: Iterable[str] = (),
        compare: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
        coarse: Mapping[str, Mapping[str, object]] | None = None,
        input: Mapping[str, object] | Input | None = None,  # noqa: A002  (the config's own word)
        cells: Mapping[str, str] | None = None,
        tell: Mapping[str, bool] | None = None,
        relation: str | None = None,
    ) -> None:
        if not (person is None or isinstance(person, str)):
            raise ConfigError("there can be one person column only", hint="Name the column that identifies people.")
        named = [
            *((name, Role.PERSON) for name in _names(person)),
            *((name, Role.IDENTIFIER) for name in _names(identifiers)),
            *((name, Role.QUASI) for name in _names(quasi)),
            *((name, Role.SENSITIVE) for name in _names(sensitive)),
            *((name, Role.PLAIN) for name in _names(plain)),
        ]
        settings = {
            "hierarchies": hierarchies,
            "orders": orders,
            "types": types,
            "bins": bins,
            "compare": compare,
            "weights": weights,
            "coarse": coarse,
            "cells": cells,
            "tell": tell,
            "relation": {} if relation is None else {relation: True},
        }
        known = {name for name, _ in named}
        for key, mapping in settings.items():
            unknown = [name for name in mapping or {} if name not in known]
            if unknown:
                raise ConfigError(f"{key} names columns without a role: {shown(unknown)}", hint="Give each a role.")
        columns = [
            make_column(
                name,
                role,
                type=(types or {}).get(name),
                hierarchy=(hierarchies or {}).get(name),
                order=(orders or {}).get(name),
                bins=(bins or {}).get(name),
                compare=(compare or {}).get(name),
                weight=(weights or {}).get(name),
                coarse=(coarse or {}).get(name),
                cells=(cells or {}).get(name),
                tell=(tell or {}).get(name, True),
                relation=name == relation,
            )
            for name, role in named
        ]
        self._set(columns, null_values, input if isinstance(input, Input) else input_of(input or {}))

    @classmethod
    def of(cls, columns: Iterable[Column], null_values: Iterable[str] = (), input: Input = AS_WRITTEN) -> Schema:  # noqa: A002
        """Build a schema from ready columns, as a config file gives them."""
        schema = cls.__new__(cls)
        schema._set(list(columns), null_values, input)
        return schema

    def with_columns(self, columns: Iterable[Column]) -> Schema:
        """Return a schema with other columns for tables that are written in the same way."""
        return Schema.of(columns, self.null_values, self.input)

    def of_records(self) -> Schema:
        """Return the schema for a table whose rows are put together already: one for each person, numbers in bins."""
        read = self.in_bins()
        return read if self.input.visits is None else Schema.of(read.columns, self.null_values, self.input.of_records())

    def in_bins(self) -> Schema:
        """Return the schema of the table once its numbers are in declared bins; the same where there are none."""
        if not any(isinstance(column.bins, tuple) for column in self.columns):
            return self
        return self.with_columns(column.in_bins for column in self.columns)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read the columns from a reveil.toml."""
        from reveil.tables.settings import load_schema

        return load_schema(path)

    def steadied(self) -> Schema:
        """Return the schema with typed quasi and sensitive columns steady; those with an order or hierarchy are text.

        What is published of them then says nothing of a single cell by its type.
        """
        columns = [
            replace(column, type=column.type or Type.TEXT, steady=True)
            if column.role in (Role.QUASI, Role.SENSITIVE) and column.typed
            else column
            for column in self.columns
        ]
        return self.with_columns(columns)

    def _set(self, columns: list[Column], null_values: Iterable[str], input: Input) -> None:  # noqa: A002
        seen: set[str] = set()
        for column in columns:
            if column.name in seen:
                raise ConfigError(f"column {column.name!r} has two roles", column=column.name, hint="Keep one.")
            seen.add(column.name)
        persons = [c.name for c in columns if c.role is Role.PERSON]
        if len(persons) > 1:
            raise ConfigError(
                f"two person columns: {shown(persons)}",
                hint="Keep the one that stays the same from release to release; make the others identifiers.",
            )
        related = [c.name for c in columns if c.relation]
        if len(related) > 1:
            raise ConfigError(
                f"two columns say who belongs together: {shown(related)}",
                hint="Keep relation = true at one of them, the one that connects more people.",
            )
        if not any(c.role is Role.QUASI for c in columns):
            raise ConfigError(
                "no quasi column is declared",
                hint='Columns that others may know of a person (age, place, dates) are "quasi".',
            )
        if input.visits is not None:
            input.visits.check([column.name for column in columns], next(iter(persons), None))
        object.__setattr__(self, "columns", tuple(_written(column, input) for column in columns))
        object.__setattr__(self, "null_values", tuple(dict.fromkeys((*null_values, *input.null_values))))
        object.__setattr__(self, "input", input)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def names(self, *roles: Role) -> tuple[str, ...]:
        """Return the names of the columns with one of these roles, in the order of declaration."""
        return tuple(c.name for c in self.columns if c.role in roles)

    @property
    def person(self) -> str | None:
        """The person column, if there is one."""
        return next(iter(self.names(Role.PERSON)), None)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Columns that are dropped."""
        return self.names(Role.IDENTIFIER)

    @property
    def relation(self) -> str | None:
        """The column that says who belongs together."""
        return next((column.name for column in self.columns if column.relation), None)

    @property
    def quasi(self) -> tuple[str, ...]:
        """Columns that are generalised."""
        return self.names(Role.QUASI)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """Columns that must not be linked to a person."""
        return self.names(Role.SENSITIVE)

    @property
    def plain(self) -> tuple[str, ...]:
        """Columns that are published as they are."""
        return self.names(Role.PLAIN)

    def check_columns(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        """Raise unless the table has exactly the declared columns.

        ``header_line``: the names are the first line of a text file, which may be missing.
        """
        if "" in names:
            raise DataError("a column has no name", file=file, hint="Name every column.")
        made = () if self.input.visits is None else self.input.visits.made
        there = [name for name in made if name in names]
        if there:
            raise DataError(
                f"column {there[0]!r} is in the table, but [input] says that it is counted",
                file=file,
                column=there[0],
                hint="Give the count another name under summarise.",
            )
        extra = undeclared(names, self.columns, file=file, header_line=header_line)
        if extra:
            lines = "".join(f'\n  {toml_key(name)} = "quasi"' for name in extra[:10] if is_shown_whole(name))
            raise DataError(
                f"{_columns(extra)} not declared",
                file=file,
                column=extra[0],
                hint="Give each a role under [columns] (quasi, sensitive, plain, identifier or person)"
                + (f", such as{lines}" if lines else "."),
            )
        missing = [c.name for c in self.columns if c.name not in {*names, *made}]
        if missing:
            raise DataError(
                f"{_columns(missing)} declared but not in the table",
                file=file,
                column=missing[0],
                hint=f"The table has {shown(names)}. Mend the name or take the line out of the config.",
            )


def undeclared(
    names: Sequence[str], columns: Iterable[Column], *, file: str | None, header_line: bool = False
) -> list[str]:
    """Return the names that are not declared, if they may be shown; raise where they could be cells.

    A table without a line of names begins with a person. What stands there is taken for names if at least half of it
    is declared (a header to which a record was glued has fewer) and none of the others goes over several lines (a quote
    in the header swallows records up to the next one, and behind that one stands a record).
    """
    declared = {column.name for column in columns}
    strange = [place for place, name in enumerate(names, 1) if name not in declared]
    lacking = "Does the file lack a header line, or is" if header_line else "Is"
    if len(strange) == len(names):
        raise DataError(
            "none of the declared columns is in this table",
            file=file,
            hint=f"{lacking} it another table than the config is for?",
        )
    if 2 * len(strange) > len(names) or any(has_line_end(names[place - 1]) for place in strange):
        places = ", ".join(map(str, strange[:10])) + (f" and {len(strange) - 10:,} more" if len(strange) > 10 else "")
        raise DataError(
            f"{len(strange):,} of the {len(names):,} columns of this table {'is' if len(strange) == 1 else 'are'} not "
            f"declared: {places}, counted from 1",
            file=file,
            hint=f"{lacking} it another table than the config is for? Else give each of them a role under [columns]. "
            "They are not shown: with so few known names, or names over several lines, they may be cells.",
        )
    return [names[place - 1] for place in strange]


def _written(column: Column, given: Input) -> Column:
    """Return a column with what [input] says of it alone."""
    dates = column.dates or given.dates_of.get(column.name)
    marks = tuple(dict.fromkeys((*column.null_values, *given.nulls_of.get(column.name, ()))))
    return (
        column
        if (dates, marks) == (column.dates, column.null_values)
        else replace(column, dates=dates, null_values=marks)
    )


def _names(given: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _columns(names: Sequence[str]) -> str:
    return f"column {shown(names)} is" if len(names) == 1 else f"columns {shown(names)} are"
