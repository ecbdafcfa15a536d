"""The other estimate of counts in a second table: what groups together tell about who has which value."""

import math

import numpy as np
import polars as pl
import pytest

import reveil as rv
from tests.cli.run import reveil

SCHEMA = rv.Schema(person="pid", quasi=["age", "job"], sensitive="ill")


def people(n=2000, seed=1):
    """Return a table in which a job goes with some of twelve values, and an age with others."""
    rng = np.random.default_rng(seed)
    job, age = rng.integers(0, 4, n), rng.integers(20, 80, n)
    ill = np.where(rng.random(n) < 0.6, 3 * job + rng.integers(0, 3, n), rng.integers(0, 12, n))
    return pl.DataFrame({"pid": range(n), "age": age, "job": [f"j{v}" for v in job], "ill": [f"i{v}" for v in ill]})


@pytest.fixture(scope="module", params=["angelized", "exact"])
def release(request, tmp_path_factory):
    series = rv.Series.open(tmp_path_factory.mktemp("v") / "vault", SCHEMA, rv.TauSafety(m=3, form=request.param))
    return series.publish(people())


def errors(release, frame, kind):
    found = []
    for job in range(4):
        for value in range(12):
            truth = frame.filter((pl.col("job") == f"j{job}") & (pl.col("ill") == f"i{value}")).height
            count = release.count(f"job = j{job} and ill = i{value}")
            assert count.lower <= count.fitted <= count.upper
            assert count.low <= min(count.estimate, count.fitted)
            assert max(count.estimate, count.fitted) <= count.high
            found.append(abs(getattr(count, kind) - truth))
    return float(np.mean(found))


def test_it_is_nearer_to_the_truth(release):
    assert errors(release, people(), "fitted") < errors(release, people(), "estimate")


def test_counts_of_all_values_add_up(release):
    for job in range(4):
        parts = [release.count(f"job = j{job} and ill = i{value}").fitted for value in range(12)]
        assert math.isclose(sum(parts), release.count(f"job = j{job}").estimate, rel_tol=0.02)
    for value in range(12):
        told = release.count(f"ill = i{value}")
        parts = [release.count(f"job = j{job} and ill = i{value}").fitted for job in range(4)]
        assert math.isclose(sum(parts), told.fitted, rel_tol=0.02)


def test_without_sensitive_values_or_in_one_table_there_is_none(release):
    assert release.count("job = j1").fitted is None
    assert rv.anonymize(people(400), SCHEMA, rv.KAnonymity(4), seed=1).count("ill = i1").fitted is None


def test_it_is_printed_and_written(release, tmp_path):
    release.write(tmp_path / "r.parquet")
    done = reveil("query", tmp_path / "r.parquet", "job = j1 and ill = i3", "--json", "-")
    assert '"fitted"' in done.stdout
    assert "fitted" in reveil("query", tmp_path / "r.parquet", "job = j1 and ill = i3").stdout
    assert "fitted" not in reveil("query", tmp_path / "r.parquet", "job = j1").stdout
