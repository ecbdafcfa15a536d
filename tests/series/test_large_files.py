"""Large releases in parts are verified and measured in shards, with the verdicts and figures of one memory."""

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.analysis import measures
from reveil.analysis.measures.base import Meaning, Measure
from reveil.core.errors import DataError, ReveilError, VerificationError
from reveil.core.json_values import FrozenObject
from reveil.releases.folders import digest_over
from reveil.releases.manifest_files import manifest_bytes
from reveil.series import large_files
from reveil.series.measuring import measure_file
from reveil.series.publishing import publish_file, verify_file
from reveil.tables.formats.folder import digest_of_file
from reveil.tables.formats.parquet_file import ParquetFile
from reveil.verification import search_in_shards
from tests.series.test_large import ASKED, COLUMNS, ROWS, config_of, table, tiny, written

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
def test_a_sound_release_is_verified(tiny, tmp_path, searched, asked):
    """However it was made: half of them are made in one memory."""
    engine = WHOLE if "method" in asked else "shard_rows = 30\n"
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


@pytest.mark.parametrize(
    "what",
    [
        "value",
        *(pytest.param(other, marks=pytest.mark.slow) for other in ("swapped", "quasi", "category", "null", "doubled")),
    ],
)
def test_another_table_is_refused_as_in_memory(tiny, tmp_path, searched, what):
    _, config, memory = published(tmp_path, table())
    other = tmp_path / "other"
    other.mkdir()
    raw = written(other, changed(table(), what))
    for asked in (config, memory):
        with pytest.raises(VerificationError):
            verify_file(asked, f"{tmp_path}/out/", raw)
    assert searched


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
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


@pytest.mark.slow
def test_who_fits_several_rows_is_a_flow(tiny, tmp_path, monkeypatch):
    """Where boxes overlap, records fit several rows; more of them than one memory takes are refused."""
    asked = '[guarantee]\nkind = "static"\nk = 9\n[method]\nkind = "bang"\n'
    raw, config, _ = published(tmp_path, table(), asked=asked)
    left = []
    usual = search_in_shards.fillable
    monkeypatch.setattr(search_in_shards, "fillable", lambda fits, *a: left.append(fits.height) or usual(fits, *a))
    verify_file(config, f"{tmp_path}/out/", raw)
    assert left
    assert left[0] > 10
    monkeypatch.setattr(search_in_shards, "_MOST_PAIRS", 10)
    with pytest.raises(ReveilError, match="fit several rows") as refused:
        verify_file(config, f"{tmp_path}/out/", raw)
    assert refused.value.exit_code == 2
    assert "shard_rows" in refused.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("what", ["part", "numbers", "claim", "together", "columns", "rows", "types"])
def test_forged_parts_are_refused(tiny, tmp_path, what):
    """A forger who writes digests anew is found by what is counted."""
    raw, config, memory = published(tmp_path, table())
    folder = tmp_path / "out"
    read = rv.Release.read(f"{folder}/")
    parts = [pl.read_parquet(folder / part.name) for part in read.manifest.parts]
    manifest = read.manifest
    if what == "part":
        parts[0] = parts[0].with_columns(pl.lit("gout").alias("disease"))
    elif what == "numbers":
        manifest = replace(manifest, groups=manifest.groups + 1)
    elif what == "claim":
        manifest = replace(manifest, achieved=FrozenObject({**manifest.achieved, "k": 40}))
    elif what == "columns":
        parts = [part.rename({"zip": "age", "age": "zip"}) for part in parts]
    elif what == "types":
        parts[0] = parts[0].with_columns(pl.lit(1).alias("zip"))
    elif what == "rows":
        parts[0] = parts[0].head(3)
    else:
        whole = pl.concat(parts).sort(pl.col("age").struct.field("lo"), "zip", "sex")
        sizes = np.cumsum([0, *(part.height for part in parts)])
        parts = [whole[first:last] for first, last in pairwise(sizes)]
    for part, own in zip(manifest.parts, parts, strict=True):
        ParquetFile().write(own, folder / part.name)
    told = tuple(replace(part, digest=digest_of_file(folder / part.name)) for part in manifest.parts)
    digest = digest_over(told)
    manifest = replace(manifest, parts=told, digest=digest, digests={"parts": digest})
    (folder / "manifest.json").write_bytes(manifest_bytes(manifest))
    if what in ("columns", "rows", "types"):
        for asked in (config, memory):
            with pytest.raises(ReveilError) as refused:
                verify_file(asked, f"{folder}/", raw)
            assert refused.value.exit_code in (1, 2)
            with pytest.raises(ReveilError):
                measure_file(asked, raw, f"{folder}/")
        return
    with pytest.raises(VerificationError):
        verify_file(config, f"{folder}/", raw)
    if what != "together":  # with no more rows than these, only the judge of shards looks at where groups lie
        with pytest.raises(VerificationError):
            verify_file(memory, f"{folder}/", raw)


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["tightest", "label"])
def test_hierarchies_are_verified_and_measured(tiny, tmp_path, searched, cells):
    leaves = [f"{n:02};{n // 5}x;*" for n in range(30)]
    (tmp_path / "zip.csv").write_text("\n".join(leaves) + "\n")
    frame = table().with_columns(zip=pl.col("zip").cast(pl.String).str.zfill(2))
    wanted = f'zip = {{ role = "quasi", type = "text", hierarchy = "zip.csv", cells = "{cells}" }}'
    columns = COLUMNS.replace('zip = "quasi"', wanted)
    raw, config, memory = published(tmp_path, frame, columns=columns)
    verify_file(config, f"{tmp_path}/out/", raw)
    verify_file(memory, f"{tmp_path}/out/", raw)
    assert len(searched) == 1
    one, other = (figures(asked, tmp_path, raw, queries=20) for asked in (config, memory))
    assert all(same(one[key], other[key]) for key in one)
    swapped = frame.with_columns(zip=pl.col("zip").shift(1, fill_value="29"))
    place = tmp_path / "other"
    place.mkdir()
    raw = written(place, swapped)
    for asked in (config, memory):
        with pytest.raises(VerificationError):
            verify_file(asked, f"{tmp_path}/out/", raw)


def figures(config, folder, raw, **more):
    return measure_file(config, raw, f"{folder}/out/", **more)


def same(one, other):
    """Whether two measures agree, up to the order in which numbers were added up."""
    if isinstance(one, dict) and "from" in one:  # at the edge of a histogram the last digit decides
        return sum(one["queries"]) == sum(other["queries"])
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float):
        return one == pytest.approx(other, rel=1e-9, abs=1e-12)
    return one == other


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        (ASKED, COLUMNS),
        ('[guarantee]\nkind = "static"\nk = 3\n[method]\nkind = "bang"\n', COLUMNS),
        (
            ASKED,
            COLUMNS.replace('zip = "quasi"', 'zip = { role = "quasi", weight = 3 }').replace(
                'sex = "quasi"', 'sex = { role = "quasi", order = ["x", "f", "m"] }'
            ),
        ),
        ('[guarantee]\nkind = "static"\nk = 4\n', COLUMNS.replace('zip = "quasi"', 'zip = "sensitive"')),
    ],
)
def test_measures_are_those_of_one_memory(tiny, tmp_path, monkeypatch, asked, columns):
    engine = WHOLE if "method" in asked else "shard_rows = 30\n"
    raw, config, memory = published(tmp_path, table(), asked=asked, columns=columns, engine=engine)
    seen = []
    usual = large_files.measure_in_shards
    monkeypatch.setattr(large_files, "measure_in_shards", lambda *a: seen.append(1) or usual(*a))
    (tmp_path / "asked.txt").write_text("age in [3, 20]\nzip > 4 and sex = f\nage < 9 and disease = gout\n")
    for queries in (40, str(tmp_path / "asked.txt")):
        one, other = (figures(own, tmp_path, raw, queries=queries) for own in (config, memory))
        assert {key for key in one if not same(one[key], other[key])} == set()
        assert (list(one), one.records, one.rows, one.shares) == (list(other), other.records, other.rows, other.shares)
        assert one.not_measured == other.not_measured == {}
        assert one["query_error"]["mean"] > 0
    assert len(seen) == 2


@pytest.mark.slow
def test_with_records_left_out_the_search_is_in_one_memory(tiny, tmp_path, searched):
    far = [pl.when(pl.col("pid") < 2).then(900).otherwise(name).alias(name) for name in ("age", "zip")]
    asked = '[guarantee]\nkind = "static"\nk = 5\nsuppress = 0.1\n[method]\nkind = "bang"\n'
    raw, config, memory = published(tmp_path, table().with_columns(far), asked=asked)
    assert verify_file(config, f"{tmp_path}/out/", raw).manifest.suppressed > 0
    assert not searched
    one, other = (figures(asked, tmp_path, raw, queries=20) for asked in (config, memory))
    assert one["suppressed"] > 0
    assert {key for key in one if not same(one[key], other[key])} == set()


def test_what_does_not_add_up_is_said(tiny, tmp_path):
    frame = table().with_columns(age=pl.col("age") / 4, zip=pl.col("zip") * 3)
    columns = COLUMNS.replace('zip = "quasi"', 'zip = { role = "sensitive", bins = 3 }')
    raw, config, memory = published(tmp_path, frame, asked='[guarantee]\nkind = "static"\nk = 4\n', columns=columns)
    one, other = (figures(own, tmp_path, raw, queries=10) for own in (config, memory))
    assert one.not_measured.keys() == {"privacy_loss", "query_error", "query_error_sensitive"}
    assert all(one[key] is None and other[key] is not None for key in one.not_measured)
    assert one.to_dict()["not_measured"] == one.not_measured
    assert all(same(one[key], other[key]) for key in one if key not in one.not_measured)
    assert "all published ends" in one.not_measured["query_error"]


def test_a_folder_that_is_no_release_is_refused_as_ever(tiny, tmp_path):
    raw, config, _ = published(tmp_path, table())
    (tmp_path / "out" / "manifest.json").write_text("{}")
    for path in (f"{tmp_path}/out/", f"{tmp_path}/nowhere/"):
        with pytest.raises(ReveilError) as refused:
            verify_file(config, path, raw)
        assert refused.value.exit_code in (1, 2)
        assert refused.value.hint


class Widest(Measure):
    """A measure of another package, which says nothing of what adds up."""

    meanings: ClassVar = {"widest": Meaning("rows of the largest class")}

    def of(self, subject):
        return {"widest": int(subject.class_rows.max())}


@pytest.mark.slow
def test_a_measure_that_does_not_add_up_is_none(tiny, tmp_path, monkeypatch):
    raw, config, memory = published(tmp_path, table())
    usual = measures._measures
    monkeypatch.setattr(measures, "_measures", lambda: [*usual(), Widest()])
    one, other = (figures(asked, tmp_path, raw) for asked in (config, memory))
    assert one["widest"] is None
    assert "at once" in one.not_measured["widest"]
    assert other["widest"] >= 4
    assert one["dcp"] == other["dcp"]


@pytest.mark.slow
def test_measures_of_another_table_are_refused(tiny, tmp_path):
    _, config, memory = published(tmp_path, table())
    other = tmp_path / "other"
    other.mkdir()
    raw = written(other, table(ROWS + 30))
    for asked in (config, memory):
        with pytest.raises(DataError, match="accounts for 150 records"):
            figures(asked, tmp_path, raw)
