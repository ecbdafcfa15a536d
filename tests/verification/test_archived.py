"""An archived placement spares a search and decides nothing: with any of them the verdict is that of the search."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil import verification
from reveil.series.config import load_config
from reveil.series.publishing import verify_file
from reveil.testing import hospital
from reveil.verification import verify
from tests.rarely import in_part, mostly_slow
from tests.verification.counterfeits import Published, model_of, published

SEARCHES = ("check_assignment", "check_two_tables")


def verdict(case: Published, archived: np.ndarray | None) -> str | None:
    try:
        verify(case.release, case.snapshot, model_of(case), archived=archived)
    except rv.VerificationError as error:
        return error.message
    return None


@st.composite
def altered(draw: st.DrawFn) -> tuple[Published, np.ndarray]:
    """Draw a release, whole or with something wrong, and a placement, right or with something wrong."""
    case = draw(published())
    placed = case.placement.astype(np.int64)
    rows, records = len(placed), case.frame.height
    if draw(st.booleans()):
        classes, values = case.release.classes.copy(), case.release.values
        one, two = (draw(st.integers(0, rows - 1)) for _ in range(2))
        if draw(st.booleans()):
            classes[one] = classes[two]
        elif values.columns:
            order = np.arange(rows)
            order[[one, two]] = order[[two, one]]
            values = values[order]
        case = replace(case, release=replace(case.release, classes=classes, values=values))
    match draw(st.integers(0, 4)):
        case 0:
            placed[draw(st.integers(0, rows - 1))] = draw(st.integers(-2, records))
        case 1:
            placed = draw(st.permutations(placed.tolist()))
        case 2:
            placed = placed[:-1]
    return case, np.array(placed, np.int64)


@settings(deadline=None, max_examples=in_part(90), suppress_health_check=list(HealthCheck))
@given(altered())
def test_the_verdict_is_that_of_the_search(given_):
    case, placed = given_
    assert verdict(case, placed) == verdict(case, None)


@settings(deadline=None, max_examples=in_part(60), suppress_health_check=list(HealthCheck))
@given(published())
def test_a_right_one_spares_the_search(case):
    with pytest.MonkeyPatch.context() as patch:
        for name in SEARCHES:
            patch.setattr(verification, name, None)
        assert verdict(case, case.placement) is None


@pytest.fixture
def searched(monkeypatch):
    """Both searches, which say how often they were asked."""
    found = [mock.Mock(side_effect=getattr(verification, name)) for name in SEARCHES]
    for name, search in zip(SEARCHES, found, strict=True):
        monkeypatch.setattr(verification, name, search)
    return found


SERIES = {
    "refinement": 'kind = "refinement"\nk = 3\nl = 2',
    "tau-safety": 'kind = "tau-safety"\nm = 2',
    "m-invariance": 'kind = "m-invariance"\nm = 2',
    "two tables": 'kind = "tau-safety"\nm = 2\nangelize = true',
    "global": 'kind = "global"\nl = 1.5\nstrategy = "constant-ratio"\nreleases = 3',
}


@pytest.mark.parametrize("kind", mostly_slow(SERIES, 2))
def test_files_of_a_series_are_verified_by_its_archive(tmp_path, monkeypatch, searched, kind):
    """The second release of refinement has rows of people who left."""
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    config = tmp_path / "reveil.toml"
    config.write_text(hospital.config(SERIES[kind], vault="v"))
    loaded = load_config(config)
    for n, month in enumerate(hospital.year(80, months=2, seed=1)):
        month.write_csv(tmp_path / "t.csv")
        out = tmp_path / f"r{n}.csv"
        written = rv.Series.load(config).publish_to(out, tmp_path / "t.csv").release
        verify_file(loaded, out, tmp_path / "t.csv")
    assert kind != "refinement" or written.manifest.dirty
    assert sum(search.call_count for search in searched) == 0
    others = month.with_columns(age=pl.col("age").reverse())  # who is in the archive is not believed
    others.write_csv(tmp_path / "o.csv")
    with pytest.raises(rv.ReveilError):
        verify_file(loaded, out, tmp_path / "o.csv")


def test_without_an_archive_it_is_searched(tmp_path, monkeypatch, searched):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    config = tmp_path / "reveil.toml"
    text = hospital.config('kind = "tau-safety"\nm = 2', vault="v")
    config.write_text(text.replace("[series]\n", "[series]\narchive = false\n"))
    next(hospital.year(80, months=1, seed=1)).write_csv(tmp_path / "t.csv")
    rv.Series.load(config).publish_to(tmp_path / "r.csv", tmp_path / "t.csv")
    verify_file(load_config(config), tmp_path / "r.csv", tmp_path / "t.csv")
    assert sum(search.call_count for search in searched) == 1
