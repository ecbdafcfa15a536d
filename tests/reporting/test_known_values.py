"""The chapter on what a known sensitive value gives."""

import polars as pl
import pytest

from reveil.core.errors import ConfigError
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
        "attacker": "somebody who knows who is in which release and 1 other sensitive value of their target, and "
        "everybody's quasi values",
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
    assert "If sensitive values are known" in page
    assert {"knowing.certain", "knowing.columns.1.mean"} <= numbers_agree(page, content)


@pytest.mark.slow
def test_more_values_may_be_known(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG.replace("b = {", 'c = "sensitive"\nb = {'))
    rows = {
        "pid": range(8),
        "age": [1] * 4 + [9] * 4,
        "a": list("uvwu") * 2,
        "b": list("1122") * 2,
        "c": list("xyxy") * 2,
    }
    pl.DataFrame(rows).write_csv(tmp_path / "raw.csv")
    publish_file(load_config(tmp_path / "reveil.toml"), tmp_path / "raw.csv", tmp_path / "r.csv")
    one, two = (
        report(tmp_path / "reveil.toml", truth=[tmp_path / "raw.csv"], values_known=many)["knowing"] for many in (1, 2)
    )
    assert (one["values_known"], two["values_known"]) == (1, 2)
    assert "2 other sensitive values of their target" in two["attacker"]
    assert [column["certain"] for column in two["columns"]] >= [column["certain"] for column in one["columns"]]
    with pytest.raises(ConfigError, match="values_known must be a whole number from 1 to 2"):
        report(tmp_path / "reveil.toml", truth=[tmp_path / "raw.csv"], values_known=3)


def test_one_sensitive_column_has_no_such_chapter(ward):
    _, _, _, content, page = ward
    assert content["knowing"] is None
    assert "If sensitive values are known" not in page
