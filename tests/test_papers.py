"""The experiments of the sources run, and the page of evidence is what the stored results say."""

import importlib
import json
import pkgutil

import pytest
from benchmarks import papers
from benchmarks.papers import common, evidence

NAMES = sorted(module.name for module in pkgutil.iter_modules(papers.__path__))
EXPERIMENTS = [
    name for name in NAMES if hasattr(importlib.import_module(f"benchmarks.papers.{name}"), "run") and name != "common"
]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_on_a_small_table(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(common, "EVIDENCE", tmp_path / "never")
    experiment = importlib.import_module(f"benchmarks.papers.{name}")
    assert common.main(experiment.run, ["--fast", "--out", str(tmp_path)]) == 0
    stored = common.read(tmp_path / f"{name}.json")
    assert isinstance(stored, common.Experiment)
    assert stored.name == name
    assert stored.findings
    assert stored.tables
    assert (tmp_path / f"{name}.svg").read_text().startswith("<svg xmlns=")
    assert stored.markdown() in capsys.readouterr().out
    assert f"## {stored.title}" in evidence.page(tmp_path)
    assert not (tmp_path / "never").exists()


def test_without_the_real_tables_a_generated_one_stands_in_or_nothing(tmp_path, monkeypatch, capsys):
    from benchmarks.papers import global_series, refinement, tau_series

    for module in (global_series, refinement, tau_series):
        monkeypatch.setattr(module, "SHARED", tmp_path)
    table, words = tau_series.people(100)
    assert table.height == 100
    assert "not at hand" in words
    made = global_series.data(2, 20_000)
    assert len(made.snapshots) == 2
    assert "not at hand" in made.words
    assert refinement.measured(refinement.FAST[1]) is None
    assert "left out" in capsys.readouterr().out


def test_a_fast_run_stores_nothing_by_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(common, "EVIDENCE", tmp_path)
    result = common.Experiment("a", "A", "B", ["C."], [common.Finding("x", "1", "2", "no", "z|y")], [])
    assert common.finish(result, True) == []
    assert not list(tmp_path.iterdir())
    assert [path.name for path in common.finish(result, False)] == ["a.json"]
    assert common.read(tmp_path / "a.json") == result
    assert "| x | 1 | 2 | no | z\\|y |" in capsys.readouterr().out
    with pytest.raises(ValueError, match="agrees is one of"):
        common.Finding("x", "1", "2", "perhaps")


def test_another_layout_is_shown_as_it_is(tmp_path):
    told = {"queries": 5, "adult": {"records": 3, "quasi": ["a", "b"], "k": {"2": {"m": {"loss": 0.5, "none": None}}}}}
    (tmp_path / "other_thing.json").write_text(json.dumps(told))
    page = evidence.page(tmp_path)
    assert "Shown as it is stored in [other_thing.json]" in page
    assert "| queries |\n|---:|\n| 5 |" in page
    assert "### adult\n\n| records | quasi |\n|---:|:---|\n| 3 | a, b |" in page
    assert "|  |  |  | loss | none |\n|:---|:---|:---|---:|---:|\n| k | 2 | m | 0.5 |  |" in page


def test_the_page_of_evidence_is_what_the_stored_results_say():
    written = evidence.PAGE.read_text(encoding="utf-8")
    assert written == evidence.page(), "run python -m benchmarks.papers.evidence"


def test_the_pictures_are_what_the_stored_results_say():
    for path in common.EVIDENCE.glob("*.json"):
        stored = common.read(path)
        if isinstance(stored, common.Experiment) and stored.plot is not None:
            assert path.with_suffix(".svg").read_text(encoding="utf-8") == stored.plot.svg() + "\n"
