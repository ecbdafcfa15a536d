"""A series whose releases are worked on by Spark: the parts have the bytes that the disk gives."""

import polars as pl
import pytest

import reveil as rv
from reveil.engines import settings as engine_settings
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_series
from tests.engines.spark import tables
from tests.series.test_large_series import config_of, months, written

pytestmark = pytest.mark.spark


@pytest.fixture
def one_key(monkeypatch):
    """Vaults of one key: pseudonyms and dice are the same in all of them."""
    monkeypatch.setenv("REVEIL_KEY", "6b" * 32)
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_a_series_has_the_same_bytes_on_disk_and_on_spark(session, one_key, tmp_path, effort):
    asked = f'kind = "tau-safety"\nm = 3\neffort = "{effort}"\n'
    frames = list(months(rows=600, many=2, seed=8))
    raw = [written(tmp_path, frame, f"table-{n}") for n, frame in enumerate(frames)]
    bytes_of, counts = {}, {}
    for kind in ("local", "spark"):
        folder = tmp_path / kind
        folder.mkdir()
        config = config_of(folder, asked=asked, engine=f'kind = "{kind}"\nshard_rows = 200\n')
        for n, table in enumerate(raw):
            made = publish_file(config, table, f"{folder}/out-{n}/").release.manifest
            assert made.engine == {"kind": "spark" if kind == "spark" else "disk", "shard_rows": 200}
        bytes_of[kind] = [tables.parts(folder / f"out-{n}") for n in range(len(raw))]
        counts[kind] = [row.facts for row, _ in rv.Series.of(config).releases()]
        assert verify_series(config, raw).broken == []
    assert bytes_of["local"] == bytes_of["spark"]
    assert counts["local"] == counts["spark"]


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
