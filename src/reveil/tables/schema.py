"""What each column of a table is.

Every column is named and has one role. There is no default role: a column that nobody declared is an error,
because a column that silently becomes harmless is how people are found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from reveil.core.errors import ConfigError, DataError, has_line_end, is_shown_whole, shown
from reveil.tables.alike import alike
from reveil.tables.hierarchy import Taxonomy, value_text


class Role(StrEnum):
    """What a column is, and therefore what happens to it."""

    PERSON = "person"  # the stable identity: never published
    IDENTIFIER = "identifier"  # dropped
    QUASI = "quasi"  # published in generalised form
    SENSITIVE = "sensitive"  # published; what must not be linked to a person
    PLAIN = "plain"  # published as it is


class Type(StrEnum):
    """How the cells of a column are read. Without one, the type is inferred (files) or kept (frames)."""

    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    TIME = "time"
    TEXT = "text"
    BOOLEAN = "boolean"


FOLDED, EXACT = "folded", "exact"
HierarchySource = str | Path | Mapping[str, Any] | Taxonomy


@dataclass(frozen=True)
class Column:
    """One column: its role and how its values are handled.

    ``steady``: how a cell is read and stored depends on the declared type and on the cell alone, on no other cell.
    ``compare``: whether texts of a sensitive column that look alike are one value (``folded``, also where nothing is
    said) or not (``exact``); ``spellings`` are those that were fixed before, the first of which wins.
    """

    name: str
    role: Role
    type: Type | None = None
    taxonomy: Taxonomy | None = None
    order: tuple[str, ...] | None = None
    bins: int | None = None
    steady: bool = False
    compare: str | None = None
    spellings: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check_compare()
        handled = [key for key, value in (("hierarchy", self.taxonomy), ("order", self.order)) if value is not None]
        if handled and self.role not in (Role.QUASI, Role.SENSITIVE):
            raise ConfigError(
                f"column {self.name!r} is {self.role.value} and cannot have {' and '.join(handled)}",
                column=self.name,
                hint="Hierarchies and orders belong to quasi and sensitive columns.",
            )
        if len(handled) == 2:
            raise ConfigError(
                f"column {self.name!r} has both a hierarchy and an order", column=self.name, hint="Keep one of the two."
            )
        if self.order is not None and len(set(self.order)) != len(self.order):
            raise ConfigError(f"the order of column {self.name!r} names a value twice", column=self.name)
        if self.bins is not None:
            if self.role is not Role.SENSITIVE:
                raise ConfigError(
                    f"column {self.name!r} is {self.role.value} and cannot have bins",
                    column=self.name,
                    hint="Bins are for sensitive numbers; quasi numbers are generalised by the method.",
                )
            if isinstance(self.bins, bool) or not isinstance(self.bins, int) or self.bins < 2:
                raise ConfigError(f"column {self.name!r}: bins must be a whole number from 2 up", column=self.name)
            if handled:
                raise ConfigError(
                    f"column {self.name!r} has bins and {handled[0]}",
                    column=self.name,
                    hint="Bins are for plain numbers.",
                )

    def _check_compare(self) -> None:
        if self.compare is not None:
            if self.compare not in (FOLDED, EXACT):
                raise ConfigError(
                    f"column {self.name!r}: compare must be {FOLDED!r} or {EXACT!r}",
                    column=self.name,
                    hint="folded: texts that look alike are one value (the default). exact: every spelling is one.",
                )
            if self.role is not Role.SENSITIVE:
                raise ConfigError(
                    f"column {self.name!r} is {self.role.value} and cannot have compare",
                    column=self.name,
                    hint="It is for sensitive texts; all others are compared exactly.",
                )
        if self.folds and self.labels is not None and (many := alike(self.labels)):
            raise looks_alike(self.name, f"its {'hierarchy' if self.order is None else 'order'}", many)

    @property
    def folds(self) -> bool:
        """Whether texts that look alike are one value."""
        return self.role is Role.SENSITIVE and self.compare != EXACT

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The values that its hierarchy or order lists; None where it has neither."""
        return self.order if self.taxonomy is None else tuple(self.taxonomy.leaves)

    @property
    def typed(self) -> bool:
        """Whether nothing about its type is left to the table: it is declared, or an order or a hierarchy is."""
        return self.type is not None or self.order is not None or self.taxonomy is not None


@dataclass(frozen=True, init=False)
class Schema:
    """The roles of all the columns of a table.

    >>> Schema(quasi=["age", "zip"], sensitive="disease").quasi
    ('age', 'zip')
    """

    columns: tuple[Column, ...]
    null_values: tuple[str, ...] = field(default=())

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
        bins: Mapping[str, int] | None = None,
        *,
        null_values: Iterable[str] = (),
        compare: Mapping[str, str] | None = None,
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
        settings = {"hierarchies": hierarchies, "orders": orders, "types": types, "bins": bins, "compare": compare}
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
            )
            for name, role in named
        ]
        self._set(columns, null_values)

    @classmethod
    def of(cls, columns: Iterable[Column], null_values: Iterable[str] = ()) -> Schema:
        """Build a schema from ready columns, as a config file gives them."""
        schema = cls.__new__(cls)
        schema._set(list(columns), null_values)
        return schema

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
        return Schema.of(columns, self.null_values)

    def _set(self, columns: list[Column], null_values: Iterable[str]) -> None:
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
        if not any(c.role is Role.QUASI for c in columns):
            raise ConfigError(
                "no quasi column is declared",
                hint='Columns that others may know of a person (age, place, dates) are "quasi".',
            )
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "null_values", tuple(null_values))

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
        missing = [c.name for c in self.columns if c.name not in set(names)]
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


def make_column(
    name: str,
    role: Role,
    *,
    type: str | None = None,  # noqa: A002  (the config's own word)
    hierarchy: HierarchySource | None = None,
    order: Sequence[object] | None = None,
    bins: int | None = None,
    compare: str | None = None,
) -> Column:
    """Build a column from what a user wrote, with errors that name the column."""
    kind: Type | None = None
    if type is not None:
        try:
            kind = Type(type)
        except ValueError:
            raise ConfigError(
                f"column {name!r} has the unknown type {type!r}", column=name, hint=f"Known types: {', '.join(Type)}."
            ) from None
    if compare is not None and kind not in (None, Type.TEXT):
        raise ConfigError(
            f"column {name!r} is declared as {type} and cannot have compare",
            column=name,
            hint="It is for texts; numbers, dates and truth values are compared by what they are.",
        )
    if order is not None and (isinstance(order, str) or not isinstance(order, Sequence)):
        raise ConfigError(f"the order of column {name!r} must be a list of values", column=name)
    return Column(
        name,
        role,
        kind,
        None if hierarchy is None else Taxonomy.load(hierarchy, show=role is not Role.SENSITIVE),
        None if order is None else tuple(value_text(v) for v in order),
        bins,
        compare=compare,
    )


def looks_alike(name: str, where: str, many: int) -> ConfigError:
    """Return the refusal of declared values that are one value when texts are folded."""
    some = "1 value looks like another one" if many == 1 else f"{many:,} values look like others"
    return ConfigError(
        f"column {name!r}: {some} in {where}",
        column=name,
        hint="Case, white space and forms of letters do not count in sensitive texts: keep one spelling of each value, "
        'or tell them apart with compare = "exact".',
    )


def toml_key(name: str) -> str:
    """Return a column name as a TOML key."""
    bare = name and all(ch.isascii() and (ch.isalnum() or ch in "_-") for ch in name)
    return name if bare else toml_text(name)


def toml_text(value: str) -> str:
    """Return a TOML string. JSON's escapes are TOML's, except that TOML has one for DEL too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _names(given: str | Iterable[str] | None) -> tuple[str, ...]:
    return () if given is None else (given,) if isinstance(given, str) else tuple(given)


def _columns(names: Sequence[str]) -> str:
    return f"column {shown(names)} is" if len(names) == 1 else f"columns {shown(names)} are"
