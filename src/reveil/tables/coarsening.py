"""Values made coarser before anything else sees them: numbers and dates beyond an end become that end, and are rounded.

The rarest values single people out most, and a group that holds one is wide for everybody in it. Numbers are rounded to
the nearest multiple (halves up), dates to the first day of their month, quarter or year. What comes out stays as it is
when it is made coarser again.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

PERIODS = {"month": "1mo", "quarter": "1q", "year": "1y"}
End = int | float | dt.date


@dataclass(frozen=True)
class Coarsening:
    """What a column's values become: at most ``top``, at least ``bottom``, rounded to ``round``."""

    top: End | None = None
    bottom: End | None = None
    round: float | str | None = None

    @classmethod
    def of(cls, name: str, top: object, bottom: object, to: object) -> Coarsening | None:
        """Read the settings of a column; None where there are none."""
        if top is None and bottom is None and to is None:
            return None
        ends = [_end(name, key, value) for key, value in (("top", top), ("bottom", bottom))]
        dates = [isinstance(end, dt.date) for end in ends if end is not None]
        period = isinstance(to, str)
        if (period and to not in PERIODS) or not (to is None or period or _is_positive(to)):
            raise ConfigError(
                f"column {name!r}: round must be a number above 0, or for dates {', '.join(PERIODS)}",
                column=name,
                hint='round = 5, or round = "month".',
            )
        if len({*dates, *([] if to is None else [period])}) > 1:
            raise ConfigError(
                f"column {name!r}: top, bottom and round are for numbers, or all for dates",
                column=name,
                hint="Mend it.",
            )
        made = cls(ends[0], ends[1], to)  # type: ignore[arg-type]
        made._check(name)
        return made

    def _check(self, name: str) -> None:
        low, high = self.bottom, self.top
        if low is not None and high is not None and not low < high:  # type: ignore[operator]
            raise ConfigError(f"column {name!r}: bottom must be below top", column=name, hint="Mend one of them.")
        for key, end in (("top", high), ("bottom", low)):
            if end is not None and self.round is not None and self._rounded(end) != end:
                raise ConfigError(
                    f"column {name!r}: {key} is not one of the values that round leaves",
                    column=name,
                    hint=f"Choose a {key} that is rounded already, such as {self._rounded(end)}.",
                )

    def _rounded(self, end: End) -> End:
        value: End = self.apply(pl.Series([end]), clipped=False)[0]
        return value

    @property
    def dates(self) -> bool:
        """Whether it is for dates; else for numbers."""
        return isinstance(self.round, str) or isinstance(self.top or self.bottom, dt.date)

    def apply(self, series: pl.Series, *, clipped: bool = True) -> pl.Series:
        """Return the coarser values, of the same type where these are whole numbers or dates."""
        if isinstance(self.round, str):
            series = series.dt.truncate(PERIODS[self.round])
        elif self.round is not None:
            series = _rounded(series, self.round)
        if not clipped:
            return series
        ends = [end for end in (self.top, self.bottom) if isinstance(end, float) and not end.is_integer()]
        if ends and series.dtype.is_integer():
            series = series.cast(pl.Float64)
        if self.top is not None:
            series = series.clip(upper_bound=pl.lit(self.top).cast(series.dtype))
        if self.bottom is not None:
            series = series.clip(lower_bound=pl.lit(self.bottom).cast(series.dtype))
        return series

    def allows(self, value: object) -> bool:
        """Return whether a value can be left after it: within the ends and rounded."""
        return bool(self.apply(pl.Series([value]))[0] == value)

    def to_json(self) -> dict[str, JSON]:
        """Return what a manifest says of it: declared numbers, nothing of the table."""
        said = {"top": self.top, "bottom": self.bottom, "round": self.round}
        return {
            key: str(value) if isinstance(value, dt.date) else value for key, value in said.items() if value is not None
        }


def _end(name: str, key: str, value: object) -> End | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = dt.date.fromisoformat(value)
        except ValueError:
            value = None
    if isinstance(value, dt.datetime | bool) or not isinstance(value, int | float | dt.date):
        raise ConfigError(
            f"column {name!r}: {key} must be a number or a date",
            column=name,
            hint=f"{key} = 90, or {key} = 2010-01-01.",
        )
    return value


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _rounded(series: pl.Series, to: float) -> pl.Series:
    x = pl.col("x")
    if series.dtype.is_integer() and float(to).is_integer():
        step = int(to)
        wide = pl.Int128 if series.dtype in (pl.UInt64, pl.Int128) else pl.Int64
        rounded = ((2 * x + step) // (2 * step)) * step
        return pl.select(x=series.cast(wide)).select(rounded).to_series().rename(series.name)
    steps = np.floor(series.cast(pl.Float64).to_numpy() / to + 0.5)
    whole = round(1 / to)
    # 0.3 and not 0.30000000000000004: a tenth is no number that a computer has, ten is.
    values = steps / whole if whole and abs(whole * to - 1) < 1e-12 else steps * to
    return pl.Series(series.name, values).fill_nan(None)
