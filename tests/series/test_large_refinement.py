"""Refinement of tables in shards: the groups of memory, the rule of the series, and what the judge refuses."""

from __future__ import annotations

import subprocess
from collections import Counter

import polars as pl
import pytest

import reveil as rv
from reveil.engines import settings as engine_settings
from reveil.series.config import load_config
from reveil.series.in_shards import cell_pages, recalled
from reveil.series.publishing import publish_file, verify_series
from tests.series.test_large_series import config_of, months, written

ASKED = 'kind = "refinement"\nk = 4\nl = 2\n'
QUICK = '[method]\nkind = "mondrian"\neffort = "quick"\n'
MEMORY = "shard_rows = 100000\n"


@pytest.fixture
def tiny(monkeypatch):
    """Shards of a hundred rows, pages of few people and cells, and one key for all vaults."""
    monkeypatch.setenv("REVEIL_KEY", "6b" * 32)
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    monkeypatch.setattr(recalled, "_PAGE", 64)
    monkeypatch.setattr(cell_pages, "_PAGE", 16)


def groups_in(folder):
    """Return the groups of a release, each as a multiset of its rows, whatever their numbers."""
    rows = pl.concat(pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet")))
    found = {}
    for row in rows.iter_rows(named=True):
        found.setdefault(row.pop("group"), []).append(repr(sorted(row.items())))
    return Counter(tuple(sorted(group)) for group in found.values())


def published(folder, frames, engines, asked=ASKED + QUICK):
    folder.mkdir(exist_ok=True)
    config, made, tables = None, [], []
    for n, (frame, engine) in enumerate(zip(frames, engines, strict=True), start=1):
        config = config_of(folder, asked=asked, engine=engine)
        tables.append(written(folder, frame, f"table-{n}"))
        made.append(publish_file(config, tables[-1], f"{folder}/out-{n}/").release.manifest)
    return config, made, tables


def test_first(tiny, tmp_path):
    frames = list(months(many=4, seed=1))
    shards, made, tables = published(tmp_path / "shards", frames, ["shard_rows = 100\n"] * 4)
    memory, others, _ = published(tmp_path / "memory", frames, [MEMORY] * 4)
    for n, (one, other) in enumerate(zip(made, others, strict=True), start=1):
        print(one.rows, one.groups, one.dirty, one.stale, one.withheld, one.achieved)
        print(other.rows, other.groups, other.dirty, other.stale, other.withheld, other.achieved)
        assert groups_in(tmp_path / "shards" / f"out-{n}") == groups_in(tmp_path / "memory" / f"out-{n}")
    assert verify_series(shards, tables).broken == []
