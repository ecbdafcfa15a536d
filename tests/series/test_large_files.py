"""Large releases in parts are verified and measured in shards, with the verdicts and figures of one memory."""

import numpy as np
import polars as pl
import pytest

from reveil.core.errors import VerificationError
from reveil.series import large_files
from reveil.series.publishing import publish_file, verify_file
from tests.series.test_large import ASKED, ROWS, config_of, table, tiny, written

__all__ = ["tiny"]
WHOLE = "shard_rows = 1000000\n"


def published(folder, frame, *, engine="shard_rows = 30\n", **more):
    raw = written(folder, frame)
    publish_file(config_of(folder, engine=engine, **more), raw, f"{folder}/out/")
    return raw, config_of(folder, **more), config_of(folder, engine=WHOLE, name="memory.toml", **more)


@pytest.fixture
def searched(monkeypatch):
    """Notes that the search in shards ran."""
    seen = []
    usual = large_files.verify_alone_in_shards
    monkeypatch.setattr(large_files, "verify_alone_in_shards", lambda *a: seen.append(1) or usual(*a))
    return seen


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        '[guarantee]\nkind = "static"\nk = 3\n',
        '[guarantee]\nkind = "static"\nk = 3\nt = 0.4\n',
        '[guarantee]\nkind = "static"\nk = 2\nl = 1.5\ndiversity = "entropy"\n',
        '[guarantee]\nkind = "static"\nk = 3\n[method]\nkind = "mondrian"\ncut = "relaxed"\n',
        '[guarantee]\nkind = "static"\nk = 3\n[method]\nkind = "bang"\n',
        '[guarantee]\nkind = "static"\nk = 3\n[method]\nkind = "rtree"\n',
    ],
)
@pytest.mark.parametrize("engine", ["shard_rows = 30\n", WHOLE])
def test_a_sound_release_is_verified(tiny, tmp_path, searched, asked, engine):
    raw, config, memory = published(tmp_path, table(), asked=asked, engine=engine)
    found = verify_file(config, f"{tmp_path}/out/", raw)
    assert searched, "this is about the search in shards"
    assert found.manifest == verify_file(memory, f"{tmp_path}/out/", raw).manifest


def changed(frame, what):
    """Another table than the one that was published."""
    if what == "value":
        return frame.with_columns(
            pl.when(pl.col("pid") == 7).then(pl.lit("malaria")).otherwise("disease").alias("disease")
        )
    if what == "swapped":
        one = pl.when(pl.col("pid") == 7).then(8).when(pl.col("pid") == 8).then(7).otherwise("pid")
        return frame.with_columns(ward=pl.Series(frame.select(one).to_series().sort().to_list()).cast(pl.String))
    if what == "quasi":
        return frame.with_columns(pl.when(pl.col("pid") < 9).then(39).otherwise("zip").alias("zip"))
    if what == "category":
        return frame.with_columns(pl.when(pl.col("pid") < 9).then(pl.lit("f")).otherwise("sex").alias("sex"))
    if what == "null":
        return frame.with_columns(pl.when(pl.col("pid") < 9).then(None).otherwise("age").alias("age"))
    return frame.head(ROWS - 1).vstack(frame.head(1).with_columns(pid=pl.lit(ROWS, pl.Int64)))


@pytest.mark.parametrize("what", ["value", "swapped", "quasi", "category", "null", "doubled"])
def test_another_table_is_refused_as_in_memory(tiny, tmp_path, searched, what):
    _, config, memory = published(tmp_path, table())
    other = tmp_path / "other"
    other.mkdir()
    raw = written(other, changed(table(), what))
    for asked in (config, memory):
        with pytest.raises(VerificationError):
            verify_file(asked, f"{tmp_path}/out/", raw)
    assert searched


@pytest.mark.parametrize("seed", range(6))
def test_small_changes_have_the_verdict_of_one_memory(tiny, tmp_path, searched, seed):
    """Some changes leave a table of which the rows could be: then both say so."""
    _, config, memory = published(tmp_path, table(60, seed), asked='[guarantee]\nkind = "static"\nk = 9\n')
    rng = np.random.default_rng(seed)
    frame, said = table(60, seed), []
    for n in range(4):
        one, other = rng.choice(60, 2, replace=False)
        column = rng.choice(["age", "zip", "sex", "disease"])
        values = frame[column].to_list()
        values[one], values[other] = values[other], values[one]
        place = tmp_path / f"other{n}"
        place.mkdir()
        raw = written(place, frame.with_columns(pl.Series(column, values, frame[column].dtype)))
        verdicts = []
        for asked in (config, memory):
            try:
                verify_file(asked, f"{tmp_path}/out/", raw)
                verdicts.append(True)
            except VerificationError:
                verdicts.append(False)
        assert verdicts[0] == verdicts[1]
        said.append(verdicts[0])
    assert searched
