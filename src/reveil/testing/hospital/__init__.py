"""A hospital that does not exist: tables that behave like real ones and belong to nobody.

The demo, the tests and the benchmarks need the one thing public data sets lack: the *same* people in one
extract after another, who come, go, change, and return with another illness. It is there that releases which are safe
one by one betray people together. :func:`year` gives such a series, :func:`month` its first table, :func:`schema` and
:func:`config` say what the columns are, and :func:`coded` is the integer table by which speed is measured.

Everything follows from the seed, on every machine.

>>> month(1_000, seed=7).columns
['pid', 'name', 'age', 'sex', 'town', 'income', 'admitted', 'ward', 'diagnosis']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError
from reveil.tables.schema import Schema, toml_key, toml_text
from reveil.testing.hospital import _tables as tables
from reveil.testing.hospital._dice import AnyInts, MonthDice
from reveil.testing.hospital._register import Register, diagnosis_cell, month_end, newcomers, wheels

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["coded", "config", "month", "schema", "year"]

STATIC = 'kind = "static"\nk = 10\nl = 3'


def year(persons: int, *, months: int = 12, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the monthly extracts, each made when it is asked for.

    ``persons`` is the size of the first extract and, give or take half a per cent, of the later ones. From one
    to the next about nine per cent leave and as many come, three in ten of these for another time (from the
    third month on); five per cent of those who stay change their diagnosis, 2.4 per cent ward, town or income,
    and some have a birthday.
    """
    _at_least_one("persons", persons)
    _at_least_one("months", months)
    _check_seed(seed)
    return _extracts(persons, months, seed)


def month(persons: int, *, seed: int = 0) -> pl.DataFrame:
    """Return the first extract alone."""
    return next(year(persons, months=1, seed=seed))


def schema() -> Schema:
    """Say what the columns of an extract are, with the regions as the hierarchy of the towns.

    The ward is a quasi-identifier: a visitor sees it, and plain columns are more than some guarantees allow.
    """
    return Schema(
        person="pid",
        identifiers="name",
        quasi=("age", "sex", "town", "income", "admitted", "ward"),
        sensitive="diagnosis",
        hierarchies={"town": tables.REGIONS},
        types={"town": "text", "admitted": "date"},
    )


def config(guarantee: str = STATIC, *, vault: str | None = None) -> str:
    """Return the text of a reveil.toml for the extracts; ``guarantee`` is what stands under ``[guarantee]``.

    With a ``vault`` the releases of a series remember each other. The guarantee comes last, so that a caller may add
    ``[method]`` behind it. The hierarchy stands in the text itself: a demo then needs one file beside its data, not
    two.
    """
    towns = [
        f"town.hierarchy.{toml_key(part)}.{toml_key(region)} = [" + ", ".join(f'"{town}"' for town in names) + "]"
        for part, regions in tables.REGIONS.items()
        for region, names in regions.items()
    ]
    lines = [
        "[series]",
        'name = "hospital"',
        *([] if vault is None else [f"vault = {toml_text(vault)}"]),
        "",
        "[columns]",
        'pid = "person"',
        'name = "identifier"',
        'age = "quasi"',
        'sex = "quasi"',
        'town.role = "quasi"',
        'town.type = "text"',
        *towns,
        'income = "quasi"',
        'admitted = { role = "quasi", type = "date" }',
        'ward = "quasi"',
        'diagnosis = "sensitive"',
        "",
        "[guarantee]",
        guarantee.strip(),
        "",
    ]
    return "\n".join(lines)


def coded(rows: int, *, columns: int = 4, seed: int = 0) -> pl.DataFrame:
    """Return a table of codes for benchmarks: ``q1``, ``q2`` ... and ``disease``, all int32, without nulls.

    The columns are age, income in hundreds, town, days since admission, ward and sex, with the skew and the
    dependences of the extracts, and from the seventh on readings that rise with age. A table with fewer columns is the
    left part of a wider one, so that timings over the number of columns compare the same rows.
    """
    _at_least_one("rows", rows)
    _at_least_one("columns", columns)
    _check_seed(seed)
    dice = MonthDice(seed, 1)
    today, _ = month_end(1)
    people = newcomers(dice, rows, today, None)
    age = people.age(today)
    quasi: list[AnyInts] = [age, people.income // 100, people.town, today - people.admitted, people.ward, people.sex]
    quasi += [age + dice.below(f"reading {n}", rows, 8 << n % 5) for n in range(len(quasi), columns)]
    # No nulls here: an unknown income is 0, and everybody gets a diagnosis after all.
    who = np.flatnonzero(people.diagnosis == tables.UNCODED)
    cell = diagnosis_cell(age[who], people.sex[who], people.ward[who])
    words = dice.random_bits("coded after all", len(who))
    people.diagnosis[who] = wheels().diagnosis.draw_other(words, people.diagnosis[who], cell)
    named = {f"q{n}": values.astype(np.int32) for n, values in enumerate(quasi[:columns], start=1)}
    return pl.DataFrame({**named, "disease": people.diagnosis.astype(np.int32)})


def _extracts(persons: int, months: int, seed: int) -> Iterator[pl.DataFrame]:
    register = Register(persons, seed)
    yield register.extract()
    for _ in range(1, months):
        register.next_month()
        yield register.extract()


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ConfigError(f"{name} must be at least 1, not {value}")


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise ConfigError("seed must not be negative", hint="Take a whole number from 0 up.")
