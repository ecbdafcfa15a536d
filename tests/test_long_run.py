"""A long run in small: killed and raced publishers leave what an undisturbed one does, in every kind of vault."""

import polars as pl
import pytest
from benchmarks.long_run import stores, telling
from benchmarks.long_run.child import STEPS
from benchmarks.long_run.commands import Commands
from benchmarks.long_run.outside import LEAST, VALUES, published_elsewhere
from benchmarks.long_run.plans import PLANS
from benchmarks.long_run.running import Found, SeriesRun, Size
from benchmarks.long_run.tables import BACK_AFTER, CLINIC_WARD, months
from benchmarks.papers import evidence

from reveil.testing import hospital
from tests.vault import servers

SMALL = Size(persons=300, releases=6, check=6, audit=6)
SERVER = [pytest.mark.server, pytest.mark.skipif(servers.reason() is not None, reason=str(servers.reason()))]


@pytest.fixture(scope="module")
def commands():
    with Commands() as found:
        yield found


def run(commands, folder, plan, store, size=SMALL):
    with stores.places([store]) as places:
        series = SeriesRun(commands, PLANS[plan], store, folder / store, size, lambda _: None)
        series.begin(places[store])
        return series.run()


@pytest.fixture(scope="module")
def calm(commands, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, run(commands, folder, "tau-safety", stores.CALM)


@pytest.mark.slow
def test_an_undisturbed_series_keeps_its_promise(calm, tmp_path):
    folder, found = calm
    assert found.problems == []
    assert [row["month"] for row in found.releases] == list(range(1, 7))
    assert found.erased == 4
    assert found.done == {"adopted": 1}
    assert [row["adopted"] for row in found.audits] == [False, True]
    assert found.audits[0]["held"]
    assert found.audits[0]["highest"] <= found.audits[0]["bound"] == 0.25
    assert found.audits[1]["added"] == 0, "what the other tool told is its own; nothing is added to it"
    assert [row["code"] for row in found.checks] == [0, 0, 0, 0, 2, 0], "verify --series ends at the adopted release"
    told = telling.write(telling.read([folder]), tmp_path)
    assert {path.name for path in told} >= {"long_run.json", "long_run.md", "long_run.svg", "long_run_width_300.svg"}
    assert "[long_run.md]" in evidence.page(tmp_path)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("store", ["folder", "sealed", pytest.param("server", marks=SERVER)])
def test_a_disturbed_series_publishes_the_same_bytes(calm, commands, store):
    folder, undisturbed = calm
    found = run(commands, folder, "tau-safety", store)
    assert found.problems == []
    assert [{**row, "width": 0} | SAME for row in found.releases] == [
        {**row, "width": 0} | SAME for row in undisturbed.releases
    ]
    assert found.done["two at once"] == 2
    assert sum(many for what, many in found.done.items() if what.startswith("killed")) >= 2
    assert any(f"killed {step}" in found.done for step in STEPS)
    assert Found.of(folder / store) == found


SAME = dict.fromkeys(("cpu", "seconds", "peak"), 0)


def test_nothing_happens_that_a_guarantee_does_not_cover():
    for name, plan in PLANS.items():
        found = list(months(plan, 300, 8))
        assert [month.adopted for month in found] == [plan.adopts and n == 4 for n in range(8)], name
        seen, before = {}, set()
        for month in found:
            here = dict(month.table.select("pid", "diagnosis").iter_rows())
            erased = {person for person, _ in month.erased}
            assert not erased & here.keys()
            if not plan.leave:
                assert before <= here.keys()
            if not plan.come_back:
                assert not (here.keys() & seen.keys()) - before
            if not plan.change:
                assert all(seen[person] == here[person] for person in here.keys() & seen.keys())
            seen |= here
            before = here.keys()


def test_whoever_left_a_tombstone_comes_back_and_others_do_not():
    found = list(months(PLANS["tau-safety"], 300, 12))
    for month in found:
        for person, option in month.erased:
            later = [person in other.table["pid"] for other in found[month.number - 1 :]]
            assert not any(later[:BACK_AFTER])
            if not option:
                assert not any(later)
            elif len(later) > BACK_AFTER:
                assert any(later[BACK_AFTER:]) or month.number > 3


def test_columns_of_their_own_change_now_and_then():
    tables = [month.table.select("pid", "drug", "days") for month in months(PLANS["several columns"], 300, 3)]
    both = tables[0].join(tables[1], on="pid")
    assert 0 < (both["drug"] != both["drug_right"]).mean() < 0.15
    assert 0 < (both["days"] != both["days_right"]).mean() < 0.4
    assert tables[0]["drug"].n_unique() > 8


def test_a_release_from_elsewhere_is_what_other_tools_make():
    people = hospital.month(400, seed=5).with_columns(ward=pl.lit(CLINIC_WARD))
    table = published_elsewhere(people)
    assert table.columns == ["age", "town", "diagnosis"]
    assert table.height == people.height
    classes = table.group_by("age", "town").agg(pl.len(), pl.col("diagnosis").n_unique())
    assert classes["len"].min() >= LEAST
    assert classes["diagnosis"].min() >= VALUES
    assert classes.height > 5
    few = published_elsewhere(people[:30])
    assert few["town"].unique().to_list() == ["*"]
