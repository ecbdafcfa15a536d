"""The rules by which a person's rows become one record, as a config writes them."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, FileError, excerpt
from reveil.tables.hierarchy import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COUNT, SUM, MEAN, MIN, MAX = "count", "sum", "mean", "min", "max"
FIRST, LAST, SEVERE, FREQUENT = "first", "last", "most severe", "most frequent"
_SIMPLE = (COUNT, SUM, MEAN, MIN, MAX)
_BY = re.compile(r"(first|last|most severe) by (\S.*)")
_OFTEN = re.compile(r"most frequent, ties (\S.*)")
_KNOWN = (
    "Rules: count, sum, mean, min, max, first by COLUMN, last by COLUMN, most severe by FILE, and most frequent, ties "
    "RULE (such as: most frequent, ties last by admitted)."
)


@dataclass(frozen=True)
class VisitRule:
    """How a person's values of one column become one.

    ``by`` is the column that puts the rows in order, ``severity`` how severe each value is (larger is more), ``ties``
    which of the most frequent values is taken where there are several. ``text`` is the rule as it was written.
    """

    kind: str
    text: str
    by: str | None = None
    severity: Mapping[str, float] | None = field(default=None, repr=False)
    ties: VisitRule | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads beside its own."""
        by = () if self.by is None else (self.by,)
        return by if self.ties is None else (*by, *self.ties.columns)

    @classmethod
    def parse(cls, text: object, where: str, folder: Path | None = None) -> VisitRule:
        """Read a rule; ``where`` is what it is for, and paths are relative to a folder."""
        if not isinstance(text, str):
            raise ConfigError(f"[input]: the rule for {where} must be a text", hint=_KNOWN)
        plain = " ".join(text.split())
        if plain in _SIMPLE:
            return cls(plain, plain)
        if (found := _BY.fullmatch(plain)) is not None:
            kind, by = found.groups()
            if kind == SEVERE:
                return cls(SEVERE, SEVERE, severity=_severity((folder or Path()) / by))
            return cls(kind, plain, by=by)
        if (found := _OFTEN.fullmatch(plain)) is not None:
            ties = cls.parse(found[1], where, folder)
            if ties.kind not in (MIN, MAX, FIRST, LAST, SEVERE):
                raise ConfigError(
                    f"[input]: ties of {where} cannot be settled by {excerpt(ties.text)}",
                    hint="Ties are settled by min, max, first by COLUMN, last by COLUMN or most severe by FILE.",
                )
            return cls(FREQUENT, f"{FREQUENT}, ties {ties.text}", ties=ties)
        if plain == FREQUENT:
            raise ConfigError(
                f"[input]: {where} does not say which of several equally frequent values is taken",
                hint='Write "most frequent, ties last by COLUMN", "ties min" or "ties most severe by FILE".',
            )
        raise ConfigError(f"[input]: {where} has the unknown rule {excerpt(text)}", hint=_KNOWN)


@dataclass(frozen=True)
class Visits:
    """How the rows of a person become a record.

    ``keep`` chooses the row from which all columns come that have no rule of their own; without it they must agree in
    all rows of a person.
    """

    keep: VisitRule | None = None
    rules: Mapping[str, VisitRule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.keep is None and not self.rules:
            raise ConfigError(
                '[input]: rows = "visits" needs a rule that makes one record of the rows of a person',
                hint='Write keep = "last by COLUMN", or summarise = { visits = "count", cost = "sum" }.',
            )
        if self.keep is not None and self.keep.kind not in (FIRST, LAST):
            raise ConfigError(
                "[input]: keep must be first by COLUMN or last by COLUMN", hint='keep = "last by admitted"'
            )

    @classmethod
    def of(cls, keep: object | None, summarise: Mapping[str, object] | None, folder: Path | None = None) -> Visits:
        """Read the rules of a config."""
        rules = {name: VisitRule.parse(text, f"column {name!r}", folder) for name, text in (summarise or {}).items()}
        return cls(None if keep is None else VisitRule.parse(keep, "keep", folder), rules)

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that a table of visits does not have: they are counted."""
        return tuple(name for name, rule in self.rules.items() if rule.kind == COUNT)

    @property
    def orders(self) -> tuple[str, ...]:
        """The columns that put rows in order."""
        read = [*(() if self.keep is None else self.keep.columns)]
        read += [name for rule in self.rules.values() for name in rule.columns]
        return tuple(dict.fromkeys(read))

    def check(self, declared: Iterable[str], person: str | None) -> None:
        """Raise unless all the columns are declared and rows can be put together."""
        names = tuple(declared)
        if person is None:
            raise ConfigError(
                '[input]: rows = "visits" needs a person column',
                hint='Declare the column that says whose visit a row is as "person" under [columns].',
            )
        for name in (*self.rules, *self.orders):
            if name not in names:
                made = f', such as {name} = "quasi"' if name in self.made else ""
                raise ConfigError(
                    f"[input]: a rule names the column {name!r}, which is not declared",
                    column=name,
                    hint=f"Mend the name, or give it a role under [columns]{made}.",
                )
        if person in self.rules:
            raise ConfigError(
                f"[input]: the person column {person!r} cannot have a rule", column=person, hint="Take the rule out."
            )

    def described(self) -> dict[str, str]:
        """Return the rules in words, by column; that of all other columns under ``*``."""
        rest = "the same in all rows" if self.keep is None else self.keep.text
        return {**{name: rule.text for name, rule in self.rules.items()}, "*": rest}

    def fixed(self) -> dict[str, str]:
        """Return the rules as a series keeps them, with a digest of what severities say."""
        severe = {
            name: rule.severity or (rule.ties.severity if rule.ties is not None else None)
            for name, rule in self.rules.items()
        }
        digests = {
            name: hashlib.sha256(repr(sorted(ranks.items())).encode()) for name, ranks in severe.items() if ranks
        }
        marks = {name: f" {total.hexdigest()[:16]}" for name, total in digests.items()}
        return {name: text + marks.get(name, "") for name, text in self.described().items()}


def _severity(path: Path) -> dict[str, float]:
    """Read how severe values are: lines of a value and a number, the larger the more severe; a first line of names."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError("this file is not UTF-8", file=path, hint="Save it as UTF-8.") from None
    except (OSError, ValueError):
        raise FileError("cannot read this file of severities", file=path, hint="Check the path in [input].") from None
    first = text.split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text), delimiter=max(",;\t", key=first.count))
    found: dict[str, float] = {}
    try:
        for number, row in enumerate(reader):
            if not row:
                continue
            rank = _number(row[1]) if len(row) == 2 else None
            if rank is None and number == 0 and len(row) == 2:
                continue  # names
            value = value_text(row[0].strip())
            if rank is None or not value or value in found:
                raise ConfigError(
                    "this line is not a value of its own and a number",
                    file=path,
                    line=reader.line_num,
                    hint="Write one line for each value, such as pneumonia,3; the larger number is the more severe.",
                )
            found[value] = rank
    except csv.Error:
        raise ConfigError(
            "this line has a cell that is too long", file=path, line=reader.line_num, hint="Is a quote never closed?"
        ) from None
    if not found:
        raise ConfigError("this file has no values", file=path, hint="Write lines such as pneumonia,3.")
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
