"""``reveil audit --engine`` as a user runs it."""

import json

import pytest

from tests.adversary.in_shards.series import DISEASES, laid_down, snapshots
from tests.cli.run import reveil

CONFIG = """
[columns]
pid = "person"
age = "quasi"
zip = "quasi"
sex = "quasi"
disease = "sensitive"
[guarantee]
kind = "static"
k = 5
l = 2
[engine]
shard_rows = 1000
"""
SERIES = f"""
[series]
name = "clinic"
vault = "clinic.vault"
seed = 1
{CONFIG.partition("[guarantee]")[0]}
[guarantee]
kind = "tau-safety"
m = 2
domain = {json.dumps(DISEASES)}
[engine]
shard_rows = 1000
"""


def published(folder, config, frames):
    (folder / "reveil.toml").write_text(config)
    truth = laid_down(folder, frames)
    paths = [f"{folder}/release-{t}/" for t in range(len(frames))]
    for path, table in zip(paths, truth, strict=True):
        done = reveil("publish", table, "-c", folder / "reveil.toml", "-o", path)
        assert done.returncode == 0, done.stderr
    return paths, truth


@pytest.mark.slow
def test_what_spark_cannot_do_is_refused_with_thing_reason_and_remedy(tmp_path):
    frames = snapshots(60, 1)
    paths, truth = published(tmp_path, CONFIG, frames)
    frames[0].write_csv(tmp_path / "truth.csv")
    asked = ("audit", *paths, "-c", tmp_path / "reveil.toml", "--engine", "spark")
    for more, said in (
        (("--truth", tmp_path / "truth.csv"), "one in Parquet is read in pieces"),
        (("--truth", *truth, "--attack", "prior", "--prior", "uniform"), "--prior needs everybody at once"),
        (("--population", *truth), "who is meant is told by the snapshots"),
    ):
        done = reveil(*asked, *more)
        assert done.returncode == 2
        assert said in done.stderr
        assert "--engine local" in done.stderr
    done = reveil(*asked, "--truth", *truth)
    assert done.returncode == 2
    assert "master" in done.stderr or "pip install" in done.stderr


@pytest.mark.slow
def test_a_tau_safe_series_is_audited_on_disk(tmp_path):
    paths, truth = published(tmp_path, SERIES, snapshots(1_200, 2))
    audit = ("audit", *paths, "-c", tmp_path / "reveil.toml", "--truth", *truth)
    done = reveil(*audit, "--json", tmp_path / "audit.json")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "audit.json").read_text())
    assert found["engine"] == {"kind": "disk", "shard_rows": 1000}
    assert found["known"] == "events"
    assert found["summary"]["held"]
    assert found["summary"]["highest_proven"] == 0.5
    assert {"tau", "intersection", "difference", "serial", "homogeneity"} <= set(found["ran"])
    assert "worked on in shards: disk, 1,000 rows at a time" in done.stderr
    assert "not tried in shards" not in done.stderr.lower()
    broken = reveil(*audit, "--threshold", "0.4")
    assert broken.returncode == 1


@pytest.mark.slow
def test_what_was_not_tried_is_in_sentence_and_verdict(tmp_path):
    paths, truth = published(tmp_path, CONFIG, snapshots(1_200, 1))
    done = reveil("audit", *paths, "-c", tmp_path / "reveil.toml", "--truth", *truth)
    assert done.returncode == 0, done.stderr
    assert "Not tried in shards: tau" in done.stderr
    assert "held, as far as it was tried (not tried in shards: tau" in done.stderr
