"""What runs in the one session of this process."""

import json
import os
import resource

import polars as pl
import pytest

from reveil.core.errors import FileError
from reveil.engines.spark.failures import EngineError, WorkError
from reveil.testing import check_shards, engines
from tests.cli.run import reveil
from tests.engines.spark import tables, works
from tests.engines.spark.clusters import below, contents

pytestmark = pytest.mark.spark


@pytest.fixture
def engine(session):
    from reveil.engines.spark.shards import SparkEngine

    with SparkEngine(50) as opened:
        yield opened


def test_spark_gives_the_same_rows_as_memory(session):
    from reveil.engines.spark.shards import SparkEngine

    check_shards(SparkEngine)
    assert session.range(3).count() == 3, "a session of the caller's is left as it is"


def test_an_error_that_is_not_ours_says_where_and_not_what(engine):
    table = pl.DataFrame({"name": [tables.PLANTED]})
    shards = engine.scatter([table], table.schema).map(works.quoting, table.schema)
    for do in (shards.collect, lambda: shards.each("name", works.same, table.schema)):
        with pytest.raises(WorkError, match=r"^ValueError on a worker, in works\.py:\d+$"):
            do()


def test_what_meets_in_a_shuffle_is_not_readable_on_the_disk(engine):
    from reveil.engines.spark.session import local_folder

    table = pl.DataFrame({"place": [n % 7 for n in range(500)], "name": [tables.PLANTED] * 500})
    shards = engine.scatter([table[:200], table[200:]], table.schema)
    assert shards.each("place", works.same, table.schema).collect().height == 500
    shuffled = [(path, held) for path, held in contents(local_folder().folder) if path.suffix == ".data"]
    assert shuffled, "there was a shuffle"
    # A piece begins with t and the marks of an Arrow stream.
    assert not [path for path, held in shuffled if tables.PLANTED.encode() in held or b"t\xff\xff\xff\xff" in held]


def test_no_room_for_a_worker_or_for_a_shuffle(engine):
    some = pl.DataFrame({"place": [1], "value": [1]}, schema=works.HELD)
    shards = engine.scatter([some], works.HELD)
    shards.count(_counted)  # the worker is there
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    processes = below(os.getpid())[1:]
    try:
        for pid in processes:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        for do in (lambda: shards.map(works.many, works.HELD).kept(), lambda: _met(shards)):
            with pytest.raises(FileError, match="a temporary file could not be written here") as refused:
                do()
            assert "TMPDIR" in refused.value.hint
    finally:
        for pid in set(below(os.getpid())[1:]) & set(processes):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def _counted(table):
    return table.select(pl.len().cast(pl.Int64).alias("n"))


def _met(shards):
    return shards.map(works.many, works.HELD).each("place", works.same, works.HELD)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("table")
    tables.make(made)
    tables.with_engine(made)
    return made


def test_the_bytes_are_those_of_the_disk_engine(session, folder):
    for config, out, *option in (
        ("reveil.toml", "disk"),
        ("spark.toml", "spark"),
        ("reveil.toml", "option", "--engine", "spark"),
    ):
        done = reveil("publish", folder / "table.parquet", "-c", folder / config, "-o", f"{folder / out}/", *option)
        assert done.returncode == 0, done.stderr
        assert len(tables.parts(folder / out)) == 3
        assert tables.parts(folder / out) == tables.parts(folder / "disk")


def test_bang_verify_and_measure_on_spark(session, folder, tmp_path):
    """What else is done in shards gives on Spark what it gives on the disk."""
    said = {}
    for kind in ("reveil", "spark"):
        config = folder / f"bang_{kind}.toml"
        config.write_text((folder / f"{kind}.toml").read_text() + '\n[method]\nkind = "bang"\n')
        out = f"{folder / kind}.bang/"
        done = reveil("publish", folder / "table.parquet", "-c", config, "-o", out)
        assert done.returncode == 0, done.stderr
        done = reveil("verify", out, folder / "table.parquet", "-c", config)
        assert done.returncode == 0, done.stderr
        asked = ("--queries", "20", "--json", tmp_path / f"{kind}.json")
        done = reveil("measure", folder / "table.parquet", out, "-c", config, *asked)
        assert done.returncode == 0, done.stderr
        said[kind] = json.loads((tmp_path / f"{kind}.json").read_text())
    assert tables.parts(folder / "reveil.bang") == tables.parts(folder / "spark.bang")
    assert said["reveil"] == said["spark"]


def test_values_that_the_driver_cannot_hold_are_refused(session, folder, monkeypatch):
    monkeypatch.setattr("reveil.engines.settings.LEAST_MEMORY", 1)
    config = tables.with_engine(folder, 'memory = "1KB"')
    done = reveil("publish", folder / "table.parquet", "-c", config, "-o", f"{folder / 'large'}/")
    assert done.returncode == 2
    assert "memory" in done.stderr
    assert not (folder / "large").exists()


def test_another_master_than_that_of_the_session_is_refused(session, folder):
    config = tables.with_engine(folder, 'master = "local[7]"')
    done = reveil("publish", folder / "table.parquet", "-c", config, "-o", f"{folder / 'other'}/")
    assert done.returncode == 2
    assert "there is a Spark session already" in done.stderr


def test_a_job_that_nobody_takes_up_is_given_up(engine):
    shards = engine.scatter([pl.DataFrame({"place": [1], "value": [1]}, schema=works.HELD)], works.HELD)
    engine.jobs.patience = -1.0
    with pytest.raises(EngineError, match=r"no worker of local\[2\] took the work") as refused:
        shards.map(works.slow, works.HELD).kept()
    assert "start" in refused.value.hint.lower()


def test_no_tables_give_no_rows(engine):
    shards = engine.scatter([], engines.SCHEMA)
    assert shards.map(works.same, engines.SCHEMA).collect().height == 0
