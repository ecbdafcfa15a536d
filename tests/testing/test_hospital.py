"""The invented hospital: the same everywhere, and lifelike where the guarantees are put to the test."""

from __future__ import annotations

import hashlib
import tomllib
from datetime import date
from itertools import islice, pairwise
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from reveil.core.errors import ConfigError
from reveil.tables.hierarchy import Taxonomy
from reveil.testing import hospital
from reveil.testing.hospital import _dice, _tables

PERSONS = 20_000
COLUMNS = ["pid", "name", "age", "sex", "town", "income", "admitted", "ward", "diagnosis"]


@pytest.fixture(scope="module")
def months() -> list[pl.DataFrame]:
    return list(hospital.year(PERSONS, months=6, seed=1))


@pytest.fixture(scope="module")
def steps(months: list[pl.DataFrame]) -> list[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]]:
    """Each month with the next, and the persons who are in both."""
    return [(old, new, old.join(new, on="pid", suffix="_new")) for old, new in pairwise(months)]


PINNED_MONTHS = ["f4af77bb12b45c4b", "c96b80ccde1d88ba", "09bae8dd2584ec98"]
PINNED_CODED = "a17cc40b8072723d"


def digest(frame: pl.DataFrame) -> str:
    return hashlib.sha256(frame.write_csv().encode()).hexdigest()[:16]


# Deterministic


def test_a_seed_means_the_same_bytes_on_every_machine() -> None:
    """Pinned: benchmarks and documented figures of different machines and years speak of the same tables."""
    assert [digest(frame) for frame in hospital.year(1_000, months=3, seed=7)] == PINNED_MONTHS
    assert digest(hospital.coded(1_000, columns=8, seed=7)) == PINNED_CODED


def test_a_month_does_not_depend_on_how_the_others_are_read() -> None:
    whole = list(hospital.year(500, months=4, seed=3))
    one, two = hospital.year(500, months=9, seed=3), hospital.year(500, months=4, seed=3)
    mixed = [frame for pair in zip(islice(one, 4), two, strict=True) for frame in pair]
    assert [digest(f) for f in mixed] == [digest(f) for f in whole for _ in range(2)]
    assert digest(hospital.month(500, seed=3)) == digest(whole[0])


def test_seeds_differ() -> None:
    assert digest(hospital.month(500, seed=1)) != digest(hospital.month(500, seed=2))
    assert not hospital.coded(500, seed=1).equals(hospital.coded(500, seed=2))


def test_the_table_of_incomes_hangs_on_no_last_bit() -> None:
    """The one place with exp and log: every entry is far from where rounding would tip."""
    exact = [1000 * np.exp(NormalDist().inv_cdf(i / _dice.OUTCOMES) / 2) for i in range(1, _dice.OUTCOMES)]
    assert min(abs(value % 1 - 0.5) for value in exact) > 1e-6


# Sizes and arguments


@pytest.mark.parametrize("persons", [1, 2, 37, 1_000])
def test_sizes_are_as_asked(persons: int) -> None:
    heights = [frame.height for frame in hospital.year(persons, months=8)]
    assert len(heights) == 8
    assert heights[0] == persons == hospital.month(persons).height
    assert all(height >= 1 for height in heights)


def test_sizes_vary_but_do_not_drift(months: list[pl.DataFrame]) -> None:
    heights = [frame.height for frame in months]
    assert all(abs(height - PERSONS) <= PERSONS // 200 for height in heights)
    assert len(set(heights)) > 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: hospital.year(0),
        lambda: hospital.year(10, months=0),
        lambda: hospital.year(10, seed=-1),
        lambda: hospital.month(-3),
        lambda: hospital.coded(0),
        lambda: hospital.coded(10, columns=0),
        lambda: hospital.coded(10, seed=-1),
    ],
)
def test_what_cannot_be_is_refused_before_the_first_extract(call: object) -> None:
    assert callable(call)
    with pytest.raises(ConfigError, match=r"at least 1|negative"):
        call()


# One extract


def test_columns_and_types(months: list[pl.DataFrame]) -> None:
    for frame in months:
        assert frame.columns == COLUMNS
        assert frame.dtypes[COLUMNS.index("admitted")] == pl.Date
        assert all(frame[c].dtype.is_integer() for c in ("pid", "age", "income"))
        assert all(frame[c].dtype == pl.String for c in ("name", "sex", "town", "ward", "diagnosis"))


def test_persons_are_unique_and_nulls_only_where_announced(months: list[pl.DataFrame]) -> None:
    for frame in months:
        assert frame["pid"].is_unique().all()
        nulls = {c: frame[c].null_count() / frame.height for c in frame.columns if frame[c].null_count()}
        assert set(nulls) == {"income", "diagnosis"}
        assert 0.02 < nulls["income"] < 0.04
        assert 0.004 < nulls["diagnosis"] < 0.015


def test_values_make_sense(months: list[pl.DataFrame]) -> None:
    for number, frame in enumerate(months, start=1):
        today = date(2023, number + 1, 1)
        assert set(frame["sex"]) == {"f", "m", "x"}
        assert set(frame["ward"]) == set(_tables.WARDS)
        assert set(frame["diagnosis"].drop_nulls()) == set(_tables.DIAGNOSES)
        assert frame["age"].is_between(0, 101).all()
        assert (frame["income"].drop_nulls() % 100 == 0).all()
        assert (frame["income"].drop_nulls() > 0).all()
        assert (frame["admitted"] < today).all()
        lived = (today - frame["admitted"]).dt.total_days()
        assert (lived <= (frame["age"] + 1) * 366).all(), "nobody is admitted before birth"
        assert frame.filter(pl.col("ward") == "obstetrics", pl.col("sex") == "m").is_empty()
        assert frame.filter(pl.col("diagnosis") == "delivery", pl.col("sex") == "m").is_empty()


def test_text_needs_no_care(months: list[pl.DataFrame]) -> None:
    """Plain ASCII that no reader takes for a number, a null or notation."""
    texts = {*_tables.TOWNS, *_tables.WARDS, *_tables.DIAGNOSES, *_tables.names()}
    assert all(text.isascii() and text[0].isalpha() and text.replace(" ", "").isalpha() for text in texts)
    assert len(_tables.names()) == len(set(_tables.names())) == 2 * (1 << 14)


def test_rows_are_in_no_order(months: list[pl.DataFrame]) -> None:
    for frame in months:
        place = pl.Series(np.arange(frame.height))
        for column in ("pid", "age", "income", "admitted"):
            value = frame[column].fill_null(0).cast(pl.Float64, strict=False) if column != "admitted" else frame[column]
            assert abs(pl.DataFrame({"v": value.to_physical(), "p": place}).select(pl.corr("v", "p")).item()) < 0.05


# How things hang together


def test_distributions_are_skewed(months: list[pl.DataFrame]) -> None:
    frame = months[0]
    shares = frame["diagnosis"].drop_nulls().value_counts(sort=True, normalize=True)["proportion"]
    assert shares[:5].sum() > 0.4
    assert shares[0] > 20 * shares[-1]
    assert shares[0] < 0.2, "or no m-invariant release with m = 5 exists"
    towns = frame["town"].value_counts(sort=True)["count"]
    assert len(towns) == 40
    assert towns[0] > 20 * towns[-1]
    income = frame["income"].drop_nulls().cast(pl.Float64)
    skew, skew_of_logarithm = income.skew(), income.log().skew()
    assert skew is not None
    assert skew_of_logarithm is not None
    assert skew > 1.5
    assert abs(skew_of_logarithm) < 0.3


def test_diagnosis_depends_on_age_sex_and_ward(months: list[pl.DataFrame]) -> None:
    frame = months[-1]
    age = dict(frame.group_by("diagnosis").agg(pl.col("age").mean()).iter_rows())
    assert age["dementia"] > 70 > age["hypertension"] > 50 > age["asthma"]
    female = dict(frame.group_by("diagnosis").agg((pl.col("sex") == "f").mean()).iter_rows())
    assert female["delivery"] > 0.9
    assert female["migraine"] > 0.6
    assert female["hernia"] < 0.4
    assert female["prostatitis"] < 0.05
    home = frame.filter(pl.col("diagnosis") == "arthrosis")["ward"].value_counts(normalize=True, sort=True)
    assert home["ward"][0] == "orthopedics"
    assert 0.5 < home["proportion"][0] < 1.0, "a ward tells much about the diagnosis, not all"


def test_income_depends_on_age_and_region(months: list[pl.DataFrame]) -> None:
    region = {town: region for part in _tables.REGIONS.values() for region, towns in part.items() for town in towns}
    frame = months[0].with_columns(pl.col("town").replace_strict(region).alias("region"))
    by_age = frame.group_by(pl.col("age") // 10).agg(pl.col("income").median()).sort("age")["income"]
    assert by_age[2] * 1.4 < by_age[5]
    assert by_age[8] * 1.4 < by_age[5]
    by_region = dict(frame.group_by("region").agg(pl.col("income").median()).iter_rows())
    assert by_region["Highmoor"] * 1.4 < by_region["Harbours"]


# Over the months


def test_about_nine_per_cent_leave_and_as_many_come(
    steps: list[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]],
) -> None:
    for old, new, both in steps:
        assert 0.08 < 1 - both.height / old.height < 0.10
        assert 0.075 < 1 - both.height / new.height < 0.105


def test_shares_of_changes(steps: list[tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]]) -> None:
    for _, _, both in steps:
        stayed = both.filter(pl.col("admitted") == pl.col("admitted_new"))
        assert stayed.height == both.height, "who stays keeps the day of admission"
        changed = {c: both[c].ne_missing(both[f"{c}_new"]).mean() for c in COLUMNS[1:]}
        assert 0.04 < changed["diagnosis"] < 0.06
        assert all(0.004 < changed[c] < 0.012 for c in ("ward", "town", "income"))
        others = pl.any_horizontal(pl.col(c).ne_missing(pl.col(f"{c}_new")) for c in ("ward", "town", "income"))
        assert 0.018 < both.select(others.mean()).item() < 0.031
        assert 0.06 < changed["age"] < 0.11, "birthdays"


def test_a_person_stays_the_same_person(months: list[pl.DataFrame]) -> None:
    told = pl.concat(frame.with_columns(pl.lit(n).alias("month")) for n, frame in enumerate(months))
    person = told.sort("month").group_by("pid", maintain_order=True)
    same = person.agg(
        pl.col("sex", "name").n_unique(),
        pl.col("age").diff().min().alias("step"),
        (pl.col("age").last() - pl.col("age").first()).alias("older"),
    )
    assert same["sex"].max() == same["name"].max() == 1
    assert (same["step"].drop_nulls() >= 0).all()
    assert same["older"].max() == 1, "six extracts span less than a year"


def test_some_return_with_the_same_and_some_with_another_diagnosis(months: list[pl.DataFrame]) -> None:
    last_seen = pl.DataFrame(schema={"pid": pl.Int64, "month": pl.Int32, "diagnosis": pl.String, "sex": pl.String})
    for number, frame in enumerate(months):
        back = frame.join(last_seen.filter(pl.col("month") < number - 1), on="pid", suffix="_then")
        if number < 2:
            assert back.is_empty()
        else:
            assert 0.02 < back.height / frame.height < 0.035
            assert (back["sex"] == back["sex_then"]).all()
            assert 0.3 < back["diagnosis"].ne_missing(back["diagnosis_then"]).mean() < 0.5
            first_day = date(2023, number + 1, 1)
            assert (back["admitted"] >= first_day).all(), "a return is a new admission"
        now = frame.select("pid", pl.lit(number, dtype=pl.Int32).alias("month"), "diagnosis", "sex")
        last_seen = pl.concat([last_seen.join(now, on="pid", how="anti"), now])


# Roles and config


def test_schema_fits_the_extracts(months: list[pl.DataFrame]) -> None:
    schema = hospital.schema()
    schema.check_columns(months[0].columns)
    assert schema.person == "pid"
    assert schema.identifiers == ("name",)
    assert schema.quasi == ("age", "sex", "town", "income", "admitted", "ward")
    assert schema.sensitive == ("diagnosis",)
    taxonomy = schema["town"].taxonomy
    assert taxonomy is not None
    for frame in months:
        assert set(frame["town"]) <= set(taxonomy.leaves)
    assert taxonomy.leaves == tuple(_tables.TOWNS), "codes of towns are leaf numbers"
    assert taxonomy.depth == 3


def test_config_says_what_the_schema_says() -> None:
    table = tomllib.loads(hospital.config(vault="hospital.vault"))
    assert table["series"] == {"name": "hospital", "vault": "hospital.vault"}
    assert table["guarantee"] == {"kind": "static", "k": 10, "l": 3}
    assert list(table["columns"]) == COLUMNS
    schema = hospital.schema()
    for name, given in table["columns"].items():
        column = given if isinstance(given, dict) else {"role": given}
        assert column["role"] == schema[name].role
        assert column.get("type") == schema[name].type
    written = Taxonomy.load(table["columns"]["town"]["hierarchy"])
    taxonomy = schema["town"].taxonomy
    assert taxonomy is not None
    assert (written.leaves, written.labels) == (taxonomy.leaves, taxonomy.labels)


def test_config_takes_another_guarantee_and_a_method() -> None:
    table = tomllib.loads(hospital.config('kind = "tau-safety"\nm = 4') + '[method]\nkind = "anatomy"\n')
    assert table["guarantee"] == {"kind": "tau-safety", "m": 4}
    assert table["method"] == {"kind": "anatomy"}


# The coded table


@pytest.mark.parametrize("columns", [1, 4, 6, 11])
def test_coded_is_small_integers_without_nulls(columns: int) -> None:
    frame = hospital.coded(3_000, columns=columns, seed=5)
    assert frame.columns == [*(f"q{n}" for n in range(1, columns + 1)), "disease"]
    assert frame.shape == (3_000, columns + 1)
    assert set(frame.dtypes) == {pl.Int32}
    assert sum(frame.null_count().row(0)) == 0
    assert frame["disease"].is_between(0, len(_tables.DIAGNOSES) - 1).all()
    assert all((frame[c] >= 0).all() for c in frame.columns)


def test_fewer_coded_columns_are_the_left_part() -> None:
    wide = hospital.coded(1_000, columns=9)
    assert hospital.coded(1_000, columns=3).equals(wide.select("q1", "q2", "q3", "disease"))


def test_coded_is_skewed_and_correlated() -> None:
    frame = hospital.coded(20_000, columns=7)
    assert frame["disease"].value_counts(sort=True)["count"][0] > 20_000 / 10
    assert frame.select(pl.corr("q1", "q7")).item() > 0.5
    spread = frame.group_by("disease").agg(pl.col("q1").mean())["q1"]
    assert spread.max() - spread.min() > 30
    by_town = frame.group_by("q3").agg(pl.col("q2").median())["q2"]
    assert by_town.max() > 1.4 * by_town.min()
    assert frame.select("q1", "q2", "q3", "q4").n_unique() > 15_000
