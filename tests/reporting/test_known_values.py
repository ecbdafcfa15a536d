"""The chapter on what a known sensitive value gives."""

import polars as pl

from reveil.reporting import report
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from tests.reporting.test_report import numbers_agree

CONFIG = """
[series]
vault = "v"
[columns]
pid = "person"
age = "quasi"
a = "sensitive"
b = { role = "sensitive", type = "text" }
[guarantee]
kind = "static"
k = 4
l = 2
"""


def test_the_report_shows_what_a_known_value_gives(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    rows = {"pid": range(8), "age": [1] * 4 + [9] * 4, "a": list("uvwu") * 2, "b": list("12345678")}
    pl.DataFrame(rows).write_csv(tmp_path / "raw.csv")
    publish_file(load_config(tmp_path / "reveil.toml"), tmp_path / "raw.csv", tmp_path / "r.csv")
    content = report(tmp_path / "reveil.toml", truth=[tmp_path / "raw.csv"], out=tmp_path / "report.html")
    assert content["knowing"] == {
        "release": 1,
        "values_known": 1,
        "persons": 8,
        "certain": 8,
        "columns": [
            {"name": "a", "rows_found": 8, "certain": 8, "mean": 1.0, "mean_without": 0.5},
            {"name": "b", "rows_found": 4, "certain": 4, "mean": 0.75, "mean_without": 0.25},
        ],
    }
    page = (tmp_path / "report.html").read_text()
    assert "If one sensitive value is known" in page
    assert {"knowing.certain", "knowing.columns.1.mean"} <= numbers_agree(page, content)


def test_one_sensitive_column_has_no_such_chapter(ward):
    _, _, _, content, page = ward
    assert content["knowing"] is None
    assert "If one sensitive value is known" not in page
