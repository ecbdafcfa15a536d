"""Real tables as a new user would publish them: from the file to a verified release of a series, with defaults only."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

from reveil.cli import main
from reveil.testing import hospital

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ROWS = 15_000
FEW = 0.05


def run(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["reveil", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.many
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("adult_uci_full", "refinement"),
        ("census_income_kdd", "refinement"),
        ("diabetes130", "refinement"),
        ("fars_1998_2010", "refinement"),
        ("gov_census", "tau-safety"),
    ],
)
def test_from_a_file_to_a_verified_release_of_a_series(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = DATA / f"{name}.parquet"
    if not source.exists():
        pytest.skip("the real tables are not beside the repository")
    frame = pl.read_parquet(source, n_rows=ROWS)
    people, visits = frame.height, "patient_nbr" in frame.columns
    table, config, out = tmp_path / "table.csv", tmp_path / "reveil.toml", tmp_path / "out.csv"
    if visits:  # the last one of each person is kept, and the promise is about persons
        people = frame["patient_nbr"].n_unique()
    else:
        frame.write_csv(table)
        assert run(monkeypatch, "init", table, "--again", "--yes", "-o", tmp_path / "once.toml") == 0
        assert "Only static is possible: no column says whom a row is about" in capsys.readouterr().err
        assert 'kind = "static"' in (tmp_path / "once.toml").read_text()
        frame = frame.with_row_index("person_id")
    frame.write_csv(table)
    assert run(monkeypatch, "init", table, "--yes", "-q", "-o", config) == 0
    assert ('rows = "visits"' in config.read_text()) == visits
    assert run(monkeypatch, "init", table, "--yes", "--again", "--changing", "-q", "-o", tmp_path / "said.toml") == 0
    taken, said = (tomllib.loads((tmp_path / name).read_text()) for name in ("reveil.toml", "said.toml"))
    assert taken == said  # what --yes takes for granted
    assert run(monkeypatch, "publish", table, "-c", config, "-o", out, "-q") == 0
    assert run(monkeypatch, "verify", out, table, "-c", config, "-q") == 0
    assert run(monkeypatch, "report", "-c", config, "-o", tmp_path / "report.html", "--truth", table, "-q") == 0
    risk = json.loads((tmp_path / "report.json").read_text())["risk"]
    assert risk["held"]
    assert not risk["broken"]
    manifest = json.loads(out.with_suffix(".manifest.json").read_text())
    assert manifest["guarantee"]["kind"] == kind
    assert manifest["counterfeits"]["total"] <= FEW * manifest["rows"]
    assert manifest["rows"] >= people * (1 - FEW)


@pytest.mark.slow
def test_a_german_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = next(iter(hospital.year(4_000, months=1, seed=3)))
    frame = frame.select("pid", "age", "sex", "town", "income", "admitted", "diagnosis")
    german = frame.with_columns(
        pl.col("admitted").dt.strftime("%d.%m.%Y"),
        (pl.col("income") / 100).round(2).cast(pl.String).str.replace(".", ",", literal=True),
        pl.col("town").cast(pl.String).str.replace("^", "Gro\u00df "),
    )
    table, config, out = tmp_path / "tabelle.csv", tmp_path / "reveil.toml", tmp_path / "out.csv"
    table.write_bytes(german.write_csv(separator=";").encode("latin-1"))
    assert run(monkeypatch, "init", table, "--yes", "-q", "-o", config) == 0
    written = config.read_text()
    for line in ('separator = ";"', 'encoding = "latin-1"', 'decimal = ","', 'dates = "%d.%m.%Y"'):
        assert line in written
    assert run(monkeypatch, "publish", table, "-c", config, "-o", out, "-q") == 0
    assert run(monkeypatch, "verify", out, table, "-c", config, "-q") == 0
    assert run(monkeypatch, "report", "-c", config, "-o", tmp_path / "report.html", "--truth", table, "-q") == 0
    manifest = json.loads(out.with_suffix(".manifest.json").read_text())
    assert manifest["counterfeits"]["total"] <= FEW * manifest["rows"]
    assert manifest["rows"] >= frame.height * (1 - FEW)
