"""``reveil report`` on the command line: files, words and exit codes."""

import json

import pytest

from tests.series.cases import STATIC, command, config, written


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def test_a_report_needs_the_config_alone(tmp_path):
    path = config(tmp_path)
    for number, last in ((1, 40), (2, 50)):
        raw = written(tmp_path, f"raw{number}.csv", 0, last)
        assert command("publish", raw, "-c", path, "-o", tmp_path / f"r{number}.csv").returncode == 0
    page = tmp_path / "report.html"
    done = command("report", "-c", path, "-o", page)
    assert (done.returncode, done.stdout) == (0, "")
    assert "2 releases" in done.stderr
    assert page.read_text().startswith("<!doctype html>")
    assert json.loads(page.with_suffix(".json").read_text())["format"] == 1
    raws = [tmp_path / "raw1.csv", tmp_path / "raw2.csv"]
    done = command("report", "-c", path, "-o", page, "--truth", *raws)
    assert done.returncode == 0, done.stderr
    assert "within the bound of 0.5" in done.stderr
    (tmp_path / "r1.csv").unlink()
    done = command("report", "-c", path, "-o", page, "--truth", *raws)
    assert done.returncode == 0
    assert "missing: release 1 (r1.csv)" in done.stderr
    assert "r1.csv" in page.read_text()
    assert command("report", "-c", path, "-o", page, "--truth", raws[0], raws[0], raws[1]).returncode == 2


def test_a_broken_bound_ends_with_1(tmp_path):
    """Three persons of one release leave, and the static releases that follow tell who they were."""
    path = config(tmp_path, 'kind = "tau-safety"\nm = 2')
    raw = written(tmp_path, "raw1.csv", 0, 40)
    command("publish", raw, "-c", path, "-o", tmp_path / "r1.csv")
    naive = tmp_path / "naive"
    naive.mkdir()
    other = config(naive, STATIC)
    for number, last in ((1, 40), (2, 41)):
        own = written(naive, f"raw{number}.csv", 0, last)
        command("publish", own, "-c", other, "-o", naive / f"r{number}.csv")
    # The naive releases of the same people, judged by what the series of tau-safety promises.
    releases = [tmp_path / "r1.csv", naive / "r1.csv", naive / "r2.csv"]
    truth = [raw, naive / "raw1.csv", naive / "raw2.csv"]
    done = command("report", "-c", path, "-o", tmp_path / "report.html", "--releases", *releases, "--truth", *truth)
    assert done.returncode == 1, done.stderr
    assert "BROKEN" in done.stderr
    assert "Broken: the attacks found more" in (tmp_path / "report.html").read_text()


def test_without_a_vault_the_releases_are_named(tmp_path):
    path = config(tmp_path, STATIC)
    path.write_text(path.read_text().replace('vault = "ward.vault"\n', ""))
    raw = written(tmp_path, "raw.csv", 0, 30)
    command("publish", raw, "-c", path, "-o", tmp_path / "r.csv")
    done = command("report", "-c", path, "-o", tmp_path / "report.html")
    assert done.returncode == 2
    assert "--releases" in done.stderr
    done = command("report", "-c", path, "-o", tmp_path / "report.html", "--releases", tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    done = command("report", "-c", path, "-o", tmp_path / "report.html", "--releases", tmp_path / "none.csv")
    assert done.returncode == 2
