"""The tables of a plan, month by month: the hospital, without what the guarantee does not cover, without the erased."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.long_run.plans import Plan

CLINIC_WARD = "rehabilitation"
CLINIC_FROM = 5_000_000  # its numbers of people begin here
CLINIC_SHARE, CLINIC_LEAST = 0.01, 30
DRUGS, DAYS = 12, 31
BACK_AFTER = 4  # months after which whoever was erased with a tombstone comes back


@dataclass
class Month:
    """One table, and what happens before it is published.

    ``erased`` are the people who ask to be erased, each with the option; ``adopted`` is the table of the clinic that
    joins.
    """

    number: int
    table: pl.DataFrame
    erased: list[tuple[int, str]] = field(default_factory=list)
    adopted: bool = False


def months(plan: Plan, persons: int, releases: int, *, seed: int = 0, every: int = 3) -> Iterator[Month]:
    """Yield the months of a plan; every so many months somebody is erased, and in the middle a clinic joins."""
    story, dice = _Story(plan), np.random.default_rng(seed + 1)
    middle = releases // 2 + 1
    clinic = hospital.year(max(CLINIC_LEAST, int(persons * CLINIC_SHARE)), months=releases, seed=seed + 1)
    turn, gone_until, last = 0, dict[int, int](), pl.DataFrame()
    for number, whole in enumerate(hospital.year(persons, months=releases, seed=seed), start=1):
        arrived = next(clinic)
        table = whole
        if plan.adopts and number >= middle:
            table = pl.concat([whole, arrived.with_columns(pid=pl.col("pid") + CLINIC_FROM, ward=pl.lit(CLINIC_WARD))])
        erased = []
        if plan.forget and last.height and number % every == 0:
            for person in dice.choice(last["pid"].to_numpy(), size=2, replace=False):
                option = plan.erasure(turn)
                erased.append((int(person), option))
                gone_until[int(person)] = number + BACK_AFTER if option and plan.come_back else releases + 1
                turn += 1
        absent = [person for person, until in gone_until.items() if number < until]
        last = story.told(table.filter(~pl.col("pid").is_in(absent)), number)
        yield Month(number, last, erased, plan.adopts and number == middle)


class _Story:
    """What happens to people in a plan's tables: everything that the hospital invents, or less."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._seen: pl.DataFrame | None = None  # everybody's first record
        self._left: set[int] = set()
        self._before: set[int] = set()

    def told(self, table: pl.DataFrame, month: int) -> pl.DataFrame:
        """Return a month's table as the plan has it."""
        if self.plan.several:
            table = with_more(table, month)
        first = table if self._seen is None else self._seen
        if self._seen is not None:
            first = pl.concat([first, table.filter(~pl.col("pid").is_in(first["pid"].implode()))])
        self._seen = first
        if not self.plan.leave:
            return first
        if not self.plan.come_back:
            here = set(table["pid"].to_list())
            self._left |= self._before - here
            self._before = here
            table = table.filter(~pl.col("pid").is_in(list(self._left)))
        if not self.plan.change:
            table = table.drop("diagnosis").join(first.select("pid", "diagnosis"), on="pid", maintain_order="left")
        return table


def with_more(table: pl.DataFrame, month: int) -> pl.DataFrame:
    """Return a table with a drug and days of treatment, which follow from nothing but the person and the time.

    A drug is another one every two years, days are counted anew every half year; each month it is others' turn.
    """
    pid = table["pid"].to_numpy().astype(np.uint64)
    drug, days = (
        _mixed(pid, salt, (pid + np.uint64(month)) // np.uint64(often)) % np.uint64(many)
        for salt, often, many in ((1, 24, DRUGS), (2, 6, DAYS))
    )
    return table.with_columns(drug=pl.Series([f"drug {n:02}" for n in drug]), days=pl.Series(days.astype(np.int64)))


def _mixed(values: np.ndarray, salt: int, more: np.ndarray) -> np.ndarray:
    """Return numbers that look random, the same on every machine."""
    found = (
        (values * np.uint64(0x9E3779B97F4A7C15)) ^ (more * np.uint64(0xBF58476D1CE4E5B9)) ^ np.uint64(salt * 0x94D049BB)
    )
    found ^= found >> np.uint64(31)
    found *= np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = found ^ (found >> np.uint64(29))
    return mixed >> np.uint64(7)
