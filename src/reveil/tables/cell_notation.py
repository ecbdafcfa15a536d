"""Numbers and dates as people write them: 1.234,5 and 31.12.2024.

A column is read in one notation. Where some cells have one and some another, the table is refused with the line: which
of them is wrong only its owner knows.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import ConfigError, excerpt

if TYPE_CHECKING:
    from reveil.tables.formats.place import Place

DECIMALS = (".", ",")
THOUSANDS = (".", ",", " ", "'", "\u00a0", "\u202f")
ISO = "%Y-%m-%d"
_PLAIN = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"
# How dates are written, for somebody who has declared nothing.
DATE_SHAPES = (
    r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$",
    r"^[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}$",
    r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$",
    r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$",
    r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}$",
)
_EXAMPLE = dt.datetime(2024, 12, 31, 23, 59, 0)


@dataclass(frozen=True)
class CellNotation:
    """How numbers and dates are written; None is as a program writes them: 1234.5 and 2024-12-31."""

    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise ConfigError('[input]: decimal must be "." or ","', hint='decimal = "," is for 1234,5.')
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise ConfigError(
                "[input]: thousands must be a point, a comma, a space or an apostrophe", hint='thousands = "."'
            )
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise ConfigError(
                "[input]: decimal and thousands are the same sign",
                hint='Write decimal = "," beside thousands = ".", or the other way round.',
            )
        if self.dates is not None:
            check_date_format(self.dates, "[input]")

    @property
    def local_numbers(self) -> bool:
        """Whether numbers are written in another way than a program does."""
        return self.thousands is not None or self.decimal == ","

    @property
    def number(self) -> str:
        """The pattern of a number."""
        point = re.escape(self.decimal or ".")
        grouped = "" if self.thousands is None else f"[0-9]{{1,3}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|"
        return rf"^[+-]?(?:(?:{grouped}[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$"

    def plain_numbers(self, cells: pl.Series) -> pl.Series:
        """Return numbers as a program writes them; what is none becomes null."""
        text = cells.str.strip_chars(" \t")
        text = _where(text, text.str.contains(self.number))
        if self.thousands is not None:
            text = text.str.replace_all(self.thousands, "", literal=True)
        return text.str.replace(",", ".", literal=True) if self.decimal == "," else text

    def check_one_way(self, cells: pl.Series, place: Place, name: str) -> None:
        """Refuse a column in which some numbers are written as declared and others as a program writes them."""
        text = cells.str.strip_chars(" \t")
        is_number = text.str.contains(self.number).fill_null(value=False)
        plain = text.str.contains(_PLAIN).fill_null(value=False)
        if not (is_number | plain | text.is_null()).all() or not (is_number & ~plain).any():
            return
        odd = plain & ~is_number
        if odd.any():
            raise place.error(
                f"column {name!r} writes numbers in two ways",
                column=name,
                row=odd.arg_max(),
                hint=f"[input] says decimal = {self.decimal or '.'!r}; write all so, or declare it as text.",
            )


def check_date_format(form: object, where: str) -> str:
    """Return a format; raise unless a date written in it reads as the same date."""
    good = False
    if isinstance(form, str):
        try:
            read = parse_dates(pl.Series([_EXAMPLE.strftime(form)]), form)
            told = read[0]
            good = told is not None and (told == _EXAMPLE or told == _EXAMPLE.date())
        except (pl.exceptions.PolarsError, ValueError):
            good = False
    if not isinstance(form, str) or not good:
        raise ConfigError(
            f"{where}: dates must be a format such as %d.%m.%Y"
            + (f", which {excerpt(form)} is not" if isinstance(form, str) else ""),
            hint="%d is the day, %m the month, %Y the year, %H:%M the time.",
        )
    return form


def parse_dates(cells: pl.Series, form: str) -> pl.Series:
    """Read dates, or moments where the format has a time; what is none becomes null."""
    text = cells.str.strip_chars(" \t")
    if any(sign in form for sign in ("%H", "%I", "%T", "%R", "%M")):
        return text.str.to_datetime(form, time_unit="us", strict=False)
    return text.str.to_date(form, strict=False)


def check_one_shape(cells: pl.Series, place: Place, name: str) -> None:
    """Refuse a column whose cells are all dates, in two formats."""
    text = cells.drop_nulls().str.strip_chars(" \t")
    if text.is_empty() or not text.head(64).str.contains("|".join(DATE_SHAPES)).all():
        return
    found = [text.str.contains(shape) for shape in DATE_SHAPES]
    if not pl.select(pl.any_horizontal(found)).to_series().all():
        return
    shapes = [shape for shape in found if shape.any()]
    if len(shapes) == 1 and not _turned_round(text):
        return
    if len(shapes) > 1:
        other = ~next(shape for shape in shapes if shape[0])
    else:
        turned = _month_first(text)
        other = (turned != turned.drop_nulls()[0]).fill_null(value=False)
    rows = cells.is_not_null().arg_true()
    raise place.error(
        f"column {name!r} has dates in two formats",
        column=name,
        row=int(rows[int(other.arg_max() or 0)]),
        hint='Write all of them in one, and name it under [input]: dates = "%d.%m.%Y", say. Or declare it as text.',
    )


def _turned_round(text: pl.Series) -> bool:
    """Return whether some of these dates have the month first and others the day."""
    known = _month_first(text).drop_nulls()
    return bool(known.any() and not known.all())


def _month_first(text: pl.Series) -> pl.Series:
    """Return whether the month comes first, null where that cannot be told."""
    parts = text.str.extract_groups(r"^(\d{1,2})[./-](\d{1,2})[./-]\d{4}$").struct
    one, two = parts.field("1").cast(pl.Int64), parts.field("2").cast(pl.Int64)
    x = pl.when(one > 12).then(False).when(two > 12).then(True)
    return pl.select(x).to_series()


def _where(cells: pl.Series, wanted: pl.Series) -> pl.Series:
    return pl.select(pl.when(wanted).then(cells)).to_series().rename(cells.name)
