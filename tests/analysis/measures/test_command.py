"""``reveil measure``."""

import json

import pytest

from reveil.testing import hospital
from tests.cli.run import reveil


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measure")
    hospital.month(400, seed=1).write_csv(folder / "raw.csv")
    hospital.month(300, seed=1).write_csv(folder / "other.csv")
    (folder / "reveil.toml").write_text(hospital.config())
    assert reveil("publish", folder / "raw.csv", "-c", folder / "reveil.toml", "-o", folder / "out.csv").returncode == 0
    return folder


def run(folder, *more, raw="raw.csv"):
    return reveil("measure", folder / raw, folder / "out.csv", "-c", folder / "reveil.toml", *more)


def test_a_table_for_people(folder):
    done = run(folder, "--queries", 20, "--json", folder / "m.json")
    assert done.returncode == 0
    lines = {line.split("  ")[0].strip(): line for line in done.stdout.splitlines()}
    assert "smaller is better" in lines["gcp"]
    assert "larger is better" in lines["vem"]
    assert {"privacy_loss diagnosis", "query_error mean", "suppressed"} < set(lines)
    written = json.loads((folder / "m.json").read_text())
    assert written["format"] == 1
    assert written["measures"]["query_error"]["skipped"] >= 0


def test_json_alone(folder):
    done = run(folder, "--json", "-", "--quiet")
    assert done.returncode == 0
    measures = json.loads(done.stdout)["measures"]
    assert measures["query_error"] is None
    assert measures["privacy_loss"].keys() == {"diagnosis"}


def test_mistakes_end_with_2(folder):
    assert run(folder, raw="other.csv").returncode == 2
    assert run(folder, "--queries", "-3").returncode == 2
    done = run(folder, "--json", folder / "no" / "where.json")
    assert (done.returncode, "cannot write here" in done.stderr) == (2, True)
