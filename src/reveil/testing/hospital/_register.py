"""Everybody the hospital has ever known, and what a month does to them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.testing.hospital import _tables as tables
from reveil.testing.hospital._dice import AnyInts, Ints, MonthDice, RandomBits, Wheel, log_normal

OPENED = np.datetime64("2023-01", "M")
FIRST_PID = 1_000_001

# What happens in a month, per mille.
LEAVE = 90
OTHER_DIAGNOSIS = 50
OTHER_WARD = OTHER_TOWN = OTHER_INCOME = 8
RETURNING = 300  # of those who come, as far as there are people to return
RETURN_ILL_OTHERWISE = 400
INCOME_UNKNOWN = 30


@dataclass(frozen=True)
class _Wheels:
    age: Wheel
    sex: Wheel
    town: Wheel
    stay: Wheel
    ward: Wheel
    diagnosis: Wheel


@cache
def wheels() -> _Wheels:
    """All distributions, made once."""
    return _Wheels(
        Wheel(tables.age_weights()),
        Wheel(np.array(tables.SEX_SHARE, dtype=np.int64)),
        Wheel(tables.town_weights()),
        Wheel(tables.stay_weights()),
        Wheel(tables.ward_weights()),
        Wheel(tables.diagnosis_weights()),
    )


@dataclass
class People:
    """One entry per person and field, as small codes; the person's number is the position."""

    born: npt.NDArray[np.int32]  # days since 1970; never published, but it makes ages agree
    sex: AnyInts
    name: npt.NDArray[np.uint16]
    town: AnyInts
    income: npt.NDArray[np.int32]  # 0: unknown
    admitted: npt.NDArray[np.int32]
    ward: AnyInts
    diagnosis: AnyInts

    def age(self, today: int, who: AnyInts | slice = slice(None)) -> Ints:
        """Return full years on a day."""
        return 4 * (today - self.born[who].astype(np.int64)) // 1461

    def take(self, who: AnyInts) -> People:
        """Return some of them."""
        return People(*(getattr(self, f.name)[who] for f in fields(self)))

    def and_also(self, more: People) -> People:
        """Return these and those."""
        return People(*(np.concatenate([getattr(self, f.name), getattr(more, f.name)]) for f in fields(self)))


def month_end(month: int) -> tuple[int, int]:
    """Return the day of the month's extract (its last) and the length of the month."""
    first, after = ((OPENED + m).astype("datetime64[D]").astype(np.int64) for m in (month - 1, month))
    return int(after) - 1, int(after - first)


def newcomers(dice: MonthDice, count: int, today: int, days: int | None) -> People:
    """Invent people who came within the last ``days``, or within the usual length of a stay."""
    wheel = wheels()
    age = wheel.age.draw(dice.random_bits("age", count)).astype(np.int64)
    born = (today - (1461 * age + dice.below("birthday", count, 1458) + 3) // 4).astype(np.int32)
    sex = wheel.sex.draw(dice.random_bits("sex", count))
    # The first half of the names is for f, the second for m; x takes either.
    half = len(tables.names()) // 2
    name = dice.below("name", count, half)
    name += np.where(sex == 2, dice.below("either name", count, 2), sex) * half
    town = wheel.town.draw(dice.random_bits("town", count))
    since = (
        wheel.stay.draw(dice.random_bits("stay", count)).astype(np.int32)
        if days is None
        else dice.below("day", count, days)
    )
    ward = wheel.ward.draw(dice.random_bits("ward", count), _ward_cell(age, sex))
    return People(
        born=born,
        sex=sex,
        name=name.astype(np.uint16),
        town=town,
        income=_income(dice.random_bits("income", count), dice.random_bits("income unknown", count), age, town),
        admitted=np.maximum((today - since).astype(np.int32), born),
        ward=ward,
        diagnosis=wheel.diagnosis.draw(dice.random_bits("diagnosis", count), diagnosis_cell(age, sex, ward)),
    )


class Register:
    """The people known, who of them is here, and the passing of months."""

    def __init__(self, persons: int, seed: int) -> None:
        self.persons = persons
        self.seed = seed
        self.month = 1
        self.people = newcomers(MonthDice(seed, 1), persons, month_end(1)[0], None)
        self.here: AnyInts = np.arange(persons, dtype=np.int32)
        self.away: AnyInts = np.zeros(0, dtype=np.int32)

    def next_month(self) -> None:
        """Let a month pass: some leave, some change, some come back, others come for the first time."""
        self.month += 1
        dice = MonthDice(self.seed, self.month)
        today, days = month_end(self.month)
        leave = dice.chance("leave", len(self.here), LEAVE)
        stay, left = self.here[~leave], self.here[leave]
        self._change(dice, stay, today)
        # Back to the nominal size give or take half a per cent: sizes vary and never drift away.
        slack = self.persons // 200
        wanted = self.persons - slack + int(dice.below("size", 1, 2 * slack + 1)[0])
        coming = max(0, wanted - len(stay))
        away = dice.shuffled("return", self.away)
        back, away = np.split(away, [min(len(away), coming * RETURNING // 1000)])
        self._readmit(dice, back, today, days)
        known = len(self.people.born)
        first = np.arange(known, known + coming - len(back), dtype=np.int32)
        self.people = self.people.and_also(newcomers(dice, len(first), today, days))
        self.here = np.concatenate([stay, back, first])
        self.away = np.concatenate([away, left])

    def extract(self) -> pl.DataFrame:
        """Return the month's table, its rows in random order."""
        today, _ = month_end(self.month)
        who = MonthDice(self.seed, self.month).shuffled("rows", self.here)
        people = self.people.take(who)
        frame = pl.DataFrame(
            {
                "pid": who.astype(np.int64) + FIRST_PID,
                "name": _text(tables.names(), people.name),
                "age": people.age(today).astype(np.int32),
                "sex": _text(tables.SEXES, people.sex),
                "town": _text(tables.TOWNS, people.town),
                "income": people.income,
                "admitted": pl.Series(people.admitted).cast(pl.Date),
                "ward": _text(list(tables.WARDS), people.ward),
                "diagnosis": _text([*tables.DIAGNOSES, None], people.diagnosis),
            }
        )
        return frame.with_columns(pl.when(pl.col("income") > 0).then(pl.col("income")))

    def _change(self, dice: MonthDice, stay: AnyInts, today: int) -> None:
        people, wheel = self.people, wheels()
        who = stay[dice.chance("changes ward", len(stay), OTHER_WARD)]
        cell = _ward_cell(people.age(today, who), people.sex[who])
        people.ward[who] = wheel.ward.draw_other(dice.random_bits("new ward", len(who)), people.ward[who], cell)
        who = stay[dice.chance("changes town", len(stay), OTHER_TOWN)]
        people.town[who] = wheel.town.draw_other(dice.random_bits("new town", len(who)), people.town[who])
        who = stay[dice.chance("changes income", len(stay), OTHER_INCOME)]
        words = dice.random_bits("new income", len(who)), dice.random_bits("new income unknown", len(who))
        people.income[who] = _income(*words, people.age(today, who), people.town[who])
        who = stay[dice.chance("changes diagnosis", len(stay), OTHER_DIAGNOSIS)]
        self._diagnose(dice.random_bits("new diagnosis", len(who)), who, today)

    def _readmit(self, dice: MonthDice, back: AnyInts, today: int, days: int) -> None:
        people = self.people
        people.admitted[back] = today - dice.below("day of return", len(back), days)
        who = back[dice.chance("returns ill otherwise", len(back), RETURN_ILL_OTHERWISE)]
        cell = _ward_cell(people.age(today, who), people.sex[who])
        people.ward[who] = wheels().ward.draw(dice.random_bits("ward of return", len(who)), cell)
        self._diagnose(dice.random_bits("diagnosis of return", len(who)), who, today)

    def _diagnose(self, words: RandomBits, who: AnyInts, today: int) -> None:
        people = self.people
        cell = diagnosis_cell(people.age(today, who), people.sex[who], people.ward[who])
        people.diagnosis[who] = wheels().diagnosis.draw_other(words, people.diagnosis[who], cell)


def _band(age: Ints) -> Ints:
    return tables.band_of_age()[np.minimum(age, tables.MAX_AGE)]


def _ward_cell(age: Ints, sex: AnyInts) -> Ints:
    return _band(age) * len(tables.SEXES) + sex


def diagnosis_cell(age: Ints, sex: AnyInts, ward: AnyInts) -> Ints:
    """Return the row of the diagnosis wheel for age, sex and ward."""
    return _ward_cell(age, sex) * len(tables.WARDS) + ward


def _income(words: RandomBits, unknown: RandomBits, age: Ints, town: AnyInts) -> npt.NDArray[np.int32]:
    usual = tables.income_base()[np.minimum(age, tables.MAX_AGE), town // tables.TOWNS_PER_REGION]
    income = usual * log_normal(words) // 100_000 * 100
    income[unknown < np.uint64((INCOME_UNKNOWN << 64) // 1000)] = 0
    return income.astype(np.int32)


def _text(values: list[str] | list[str | None], codes: AnyInts) -> pl.Series:
    return pl.Series(values, dtype=pl.String).gather(pl.Series(codes))
