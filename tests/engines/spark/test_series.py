"""A series whose releases are worked on by Spark: the parts have the bytes that the disk gives."""

import os
import resource
from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil.engines import settings as engine_settings
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_series
from tests.cli.run import reveil
from tests.engines.spark import series, tables
from tests.engines.spark.clusters import below
from tests.series.test_large_series import config_of, months, written

pytestmark = pytest.mark.spark


@pytest.fixture
def one_key(monkeypatch):
    """Vaults of one key: pseudonyms and dice are the same in all of them."""
    monkeypatch.setenv("REVEIL_KEY", "6b" * 32)
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)


@pytest.mark.parametrize(("kind", "effort"), [("tau-safety", "normal"), ("m-invariance", "quick")])
def test_a_series_has_the_same_bytes_on_disk_and_on_spark(session, one_key, tmp_path, kind, effort):
    asked = f'kind = "{kind}"\nm = 3\neffort = "{effort}"\n'
    frames = list(months(rows=600, many=2, seed=8))
    raw = [written(tmp_path, frame, f"table-{n}") for n, frame in enumerate(frames)]
    bytes_of, counts = {}, {}
    for engine in ("local", "spark"):
        folder = tmp_path / engine
        folder.mkdir()
        config = config_of(folder, asked=asked, engine=f'kind = "{engine}"\nshard_rows = 200\n')
        for n, table in enumerate(raw):
            made = publish_file(config, table, f"{folder}/out-{n}/").release.manifest
            assert made.engine == {"kind": "spark" if engine == "spark" else "disk", "shard_rows": 200}
        bytes_of[engine] = [tables.parts(folder / f"out-{n}") for n in range(len(raw))]
        counts[engine] = [row.facts for row, _ in rv.Series.of(config).releases()]
        assert verify_series(config, raw).broken == []
    assert bytes_of["local"] == bytes_of["spark"]
    assert counts["local"] == counts["spark"]


def test_no_room_or_too_many_values_leave_a_series_as_it_was(session, one_key, tmp_path, monkeypatch):
    raw = series.make(tmp_path)
    done = reveil("publish", raw[0], "-c", series.config(tmp_path), "-o", f"{tmp_path / '1'}/")
    assert done.returncode == 0, done.stderr

    def refused(*lines):
        config = series.config(tmp_path, 'kind = "spark"', *lines)
        done = reveil("publish", raw[1], "-c", config, "-o", f"{tmp_path / '2'}/")
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert tables.PLANTED not in done.stderr
        assert series.states(config) == ["confirmed"]
        assert not (tmp_path / "2").exists()
        return done.stderr

    with monkeypatch.context() as patch:
        patch.setattr(engine_settings, "LEAST_MEMORY", 1)
        assert "memory" in refused('memory = "1KB"')
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    workers = [pid for pid in below(os.getpid())[1:] if "python" in Path(f"/proc/{pid}/comm").read_text()]
    assert workers
    try:
        for pid in workers:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 12, before[1]))
        assert "a temporary file could not be written here" in refused()
    finally:
        for pid in set(below(os.getpid())[1:]):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def test_refinement_has_the_same_bytes_on_disk_and_on_spark(session, one_key, tmp_path):
    """Of the second release some rows are dirty, and some stale; people, cells and newcomers are several units."""
    asked = 'kind = "refinement"\nk = 4\nl = 2\n'
    frames = list(months(rows=500, many=2, seed=1))
    raw = [written(tmp_path, frame, f"table-{n}") for n, frame in enumerate(frames)]
    bytes_of, counts = {}, {}
    for kind in ("local", "spark"):
        folder = tmp_path / kind
        folder.mkdir()
        config = config_of(folder, asked=asked, engine=f'kind = "{kind}"\nshard_rows = 200\n')
        for n, table in enumerate(raw):
            made = publish_file(config, table, f"{folder}/out-{n}/").release.manifest
            assert made.engine == {"kind": "spark" if kind == "spark" else "disk", "shard_rows": 200}
        assert made.dirty
        assert made.stale
        bytes_of[kind] = [tables.parts(folder / f"out-{n}") for n in range(len(raw))]
        counts[kind] = [row.facts for row, _ in rv.Series.of(config).releases()]
        assert verify_series(config, raw).broken == []
    assert bytes_of["local"] == bytes_of["spark"]
    assert counts["local"] == counts["spark"]


def test_a_series_goes_on_with_another_engine(session, one_key, tmp_path):
    raw = [written(tmp_path, frame, f"table-{n}") for n, frame in enumerate(months(rows=600, many=2))]
    for n, (table, kind) in enumerate(zip(raw, ("spark", "local"), strict=True)):
        config = config_of(tmp_path, engine=f'kind = "{kind}"\nshard_rows = 200\n')
        publish_file(config, table, f"{tmp_path}/out-{n}/")
    assert verify_series(load_config(tmp_path / "reveil.toml"), raw).broken == []
    released = pl.concat(pl.read_parquet(path) for path in sorted((tmp_path / "out-1").glob("part-*.parquet")))
    assert not {"pid", "high", "low"} & set(released.columns)
