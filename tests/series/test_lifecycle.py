"""From the first release to the next: what is written, what is remembered, and what is the same again."""

import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import reveil as rv
from reveil.core.errors import ConfigError, DataError, FileError, RefusedError
from reveil.testing.series import histories
from reveil.testing.series import schema as history_schema
from tests.series.cases import (
    SCHEMA,
    chain_is_sound,
    config,
    contents,
    copied,
    private,
    series,
    signatures,
    snapshot,
    tables,
    written,
)

KEYS = ["release", "created", "state", "persons", "inserted", "deleted", "updated", "returned"]
KEYS += ["counterfeits", "withheld", "guarantee", "digest"]
GUARANTEES = {
    "tau-safety": rv.TauSafety(m=2),
    "angelize": rv.TauSafety(m=2, angelize=True),
    "m-invariance": rv.MInvariance(m=2),
    "static": rv.Static(k=3),
}


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("tau-safety", "csv"), ("angelize", "parquet"), ("m-invariance", "csv"), ("static", "parquet")],
)
def test_releases_follow_each_other(tmp_path, kind, suffix):
    own = series(tmp_path, GUARANTEES[kind])
    for number, (first, last) in enumerate([(0, 40), (5, 50), (10, 60)], start=1):
        done = own.publish_to(tmp_path / f"r{number}.{suffix}", snapshot(first, last))
        assert (done.how, done.release.manifest["release"]) == ("published", number)
        assert private(own.vault)
        read = rv.Release.read(tmp_path / f"r{number}.{suffix}")
        assert read.manifest == done.release.manifest
        assert read.text.equals(done.release.text)
    assert chain_is_sound(tmp_path, "r1", "r2", "r3")
    history = own.history()
    assert all(set(KEYS) <= set(row) for row in history)
    assert [row["state"] for row in history] == ["confirmed"] * 3
    assert [row["digest"] for row in history] == [
        json.loads((tmp_path / f"r{n}.manifest.json").read_text())["digest"] for n in (1, 2, 3)
    ]
    assert own.check(tmp_path) == []
    assert sorted(p.name for p in (own.vault / "releases").iterdir()) == sorted(
        ["000003.manifest.json", f"000003.{suffix}"] + ([f"000003.sensitive.{suffix}"] if kind == "angelize" else [])
    )


def test_the_history_counts_what_happened(tmp_path):
    own = series(tmp_path)
    own.publish(snapshot(0, 40))
    own.publish(snapshot(4, 44, p7="gout", p9="rash").with_columns(age=pl.col("age") + (pl.col("pid") == 20)))
    own.publish(snapshot(2, 44, p7="gout", p9="rash"))
    counts = [{k: row[k] for k in ("persons", "inserted", "deleted", "updated", "returned")} for row in own.history()]
    assert snapshot(7, 10)["disease"].to_list() == ["asthma", "flu", "gout"]  # p7 and p9 change
    assert counts == [
        {"persons": 40, "inserted": 40, "deleted": 0, "updated": 0, "returned": 0},
        {"persons": 40, "inserted": 4, "deleted": 4, "updated": 3, "returned": 0},
        {"persons": 42, "inserted": 0, "deleted": 0, "updated": 1, "returned": 2},
    ]
    released = [rv.Release.read(own.vault / "releases" / "000003.csv")]
    assert own.history()[2]["counterfeits"] == released[0].manifest["counterfeits"]["total"]
    assert own.history()[2]["guarantee"]["kind"] == "tau-safety"


@pytest.mark.parametrize("kind", ["angelize", "static"])
def test_the_same_snapshot_is_the_same_release(tmp_path, kind):
    own = series(tmp_path, GUARANTEES[kind])
    own.publish_to(tmp_path / "first.csv", snapshot())
    before = tables(own.vault)
    shuffled = snapshot().sample(fraction=1.0, shuffle=True, seed=3)
    shuffled.write_csv(tmp_path / "raw.csv")
    shuffled.write_parquet(tmp_path / "raw.parquet")
    sources = [snapshot(), shuffled, tmp_path / "raw.csv", tmp_path / "raw.parquet"]
    sources += [snapshot().with_columns(pl.col("pid").cast(pl.UInt16), pl.col("age").cast(pl.Int16))]
    sources += [snapshot().with_columns(pl.col("pid").cast(pl.String)), snapshot().lazy()]
    for source in sources:
        done = own.publish_to(tmp_path / "again.csv", source)
        assert (done.how, done.release.manifest["release"]) == ("already", 1)
        for first in tmp_path.glob("first.*"):
            assert (tmp_path / first.name.replace("first", "again")).read_bytes() == first.read_bytes()
    assert tables(own.vault) == before
    assert own.publish(snapshot(), again=True).manifest["release"] == 2
    assert own.publish(snapshot()).manifest["release"] == 2
    assert own.publish(snapshot(0, 47)).manifest["release"] == 3
    assert own.publish(snapshot()).manifest["release"] == 4, "only the last release counts"


def test_a_table_without_persons_is_known_again_in_any_order(tmp_path):
    schema = rv.Schema(quasi=("age", "town"), sensitive="disease")
    own = rv.Series.open(tmp_path / "v", schema, rv.Static(k=3))
    table = snapshot().drop("pid")
    first = own.publish(table)
    assert own.publish(table.sample(fraction=1.0, shuffle=True, seed=1)).text.equals(first.text)
    assert [row["persons"] for row in own.history()] == [None]
    assert own.publish(table, again=True).manifest["previous"] is not None
    assert [row["state"] for row in own.history()] == ["confirmed", "confirmed"]
    for call in (lambda: own.forget("7"), lambda: own.placements(1, snapshot())):
        with pytest.raises(ConfigError, match="no persons"):
            call()


@pytest.mark.parametrize(("kind", "suffix"), [("tau-safety", "parquet"), ("m-invariance", "csv"), ("static", "csv")])
def test_the_same_vault_gives_the_same_bytes(tmp_path, kind, suffix):
    (tmp_path / "one").mkdir()
    series(tmp_path / "one", GUARANTEES[kind]).publish(snapshot())
    copied(tmp_path / "one", tmp_path / "two")
    for name, source in (("one", snapshot(3, 50)), ("two", snapshot(3, 50).reverse())):
        own = series(tmp_path / name, GUARANTEES[kind])
        own.publish_to(tmp_path / name / f"r.{suffix}", source)
    for path in (tmp_path / "one").glob(f"r.*{suffix}"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert tables(tmp_path / "one" / "ward.vault") == tables(tmp_path / "two" / "ward.vault")


@pytest.mark.parametrize(("kind", "suffix"), [("tau-safety", "csv"), ("angelize", "parquet")])
def test_a_release_writes_what_publish_would_have_written(tmp_path, kind, suffix):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    rv.Series.open(tmp_path / "one" / "v", SCHEMA, GUARANTEES[kind]).publish(snapshot())
    copied(tmp_path / "one" / "v", tmp_path / "two" / "v")
    own, other = (rv.Series.open(tmp_path / name / "v", SCHEMA, GUARANTEES[kind]) for name in ("one", "two"))
    own.publish(snapshot(2, 50)).write(tmp_path / "one" / f"r.{suffix}")
    other.publish_to(tmp_path / "two" / f"r.{suffix}", snapshot(2, 50))
    for path in (tmp_path / "two").glob("r.*"):
        mine = tmp_path / "one" / path.name
        if path.name.endswith(".json"):
            one, two = (json.loads(p.read_text()) for p in (mine, path))
            assert {**one, "created": 0} == {**two, "created": 0}
        else:
            assert mine.read_bytes() == path.read_bytes()
    assert own.check(tmp_path / "one") == []
    # Asked for once more, the release is the one in the vault, and writes the same files.
    before = contents(tmp_path / "one")
    own.publish(snapshot(2, 50)).write(tmp_path / "one" / f"r.{suffix}")
    assert contents(tmp_path / "one") == before


def test_another_release_is_not_written_over(tmp_path):
    own = series(tmp_path, rv.TauSafety(m=2, angelize=True))
    own.publish_to(tmp_path / "out.csv", snapshot())
    before = {path.name: path.read_bytes() for path in tmp_path.glob("out.*")}
    plain = series(tmp_path, rv.TauSafety(m=2))
    for name in ("out.csv", "out.parquet", "out.sensitive.csv"):
        with pytest.raises(FileError, match=r"another release: number 1 of the series 'ward'"):
            plain.publish_to(tmp_path / name, snapshot(0, 45))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("out.*")} == before
    plain.publish_to(tmp_path / "next.csv", snapshot(0, 45))
    assert plain.check(tmp_path) == []
    # The vault knows where it wrote, even where the manifest is gone; what was moved away makes room.
    (tmp_path / "next.manifest.json").unlink()
    with pytest.raises(FileError, match="release 2 was written here"):
        plain.publish_to(tmp_path / "next.csv", snapshot(0, 50))
    (tmp_path / "next.csv").unlink()
    assert plain.publish_to(tmp_path / "next.csv", snapshot(0, 50)).release.manifest["release"] == 3
    # Neither by a release of another series, nor by one of none.
    other = rv.Series.open(tmp_path / "other.vault", SCHEMA, rv.TauSafety(m=2), name="other")
    with pytest.raises(FileError, match="another release"):
        other.publish_to(tmp_path / "next.csv", snapshot())
    with pytest.raises(FileError, match="another release"):
        rv.anonymize(snapshot(), SCHEMA, rv.KAnonymity(3)).write(tmp_path / "next.csv")
    assert json.loads((tmp_path / "next.manifest.json").read_text())["release"] == 3


@pytest.mark.parametrize("native", ["polars", "pandas", "pyarrow"])
def test_frames_come_back_in_the_callers_type(tmp_path, native):
    pytest.importorskip(native)
    convert = {"polars": lambda f: f, "pandas": lambda f: f.to_pandas(), "pyarrow": lambda f: f.to_arrow()}[native]
    own = series(tmp_path)
    given = convert(snapshot())
    for release in (own.publish(given), own.publish(given)):
        assert type(release.table) is type(given)
    for frame in (convert(snapshot().select("pid")), convert(snapshot().with_columns(more=pl.lit("x")))):
        placed = own.placements(1, frame)
        assert type(placed) is type(given)
        assert list(placed.columns if native != "pyarrow" else placed.column_names) == ["person", "group", "row"]


@pytest.mark.parametrize("kind", ["tau-safety", "angelize", "static"])
def test_placements_point_at_rows(tmp_path, kind):
    own = series(tmp_path, GUARANTEES[kind])
    own.publish(snapshot())
    released = own.publish(snapshot(5, 50))
    placed = own.placements(2, snapshot(30, 60))
    assert sorted(placed["person"].to_list()) == list(range(30, 50)), "who was not there is nowhere"
    table = released.table.with_row_index("row").with_columns(pl.col("row").cast(pl.Int32))
    met = placed.join(table, on="row", suffix="_published").join(snapshot(0, 60), left_on="person", right_on="pid")
    assert met.height == 20
    if kind != "angelize":
        assert met["disease"].to_list() == met["disease_right"].to_list()
    if kind != "static":
        assert met["group"].to_list() == met["group_published"].to_list()
    for published, town in met.select("town", "town_right").iter_rows():
        assert town in published
    assert placed["row"].is_unique().all()


def test_without_an_archive_no_placements_are_kept(tmp_path):
    own = series(tmp_path, archive=False)
    own.publish(snapshot())
    with pytest.raises(RefusedError, match="no placements") as caught:
        own.placements(1, snapshot())
    assert "archive names" in caught.value.hint
    assert tables(own.vault)["placements"] == []
    kept = series(tmp_path)
    kept.publish(snapshot(0, 50))
    assert len(kept.placements(2, snapshot())) == 40
    with pytest.raises(RefusedError, match="there is no release 9"):
        kept.placements(9, snapshot())
    with pytest.raises(DataError, match="pid"):
        kept.placements(2, snapshot().drop("pid"))


def test_a_dry_run_changes_nothing(tmp_path):
    path = config(tmp_path)
    raw = written(tmp_path, "raw.csv")
    before = contents(tmp_path)
    own = rv.Series.load(path)
    assert own.publish(raw, dry_run=True).manifest["release"] == 1
    opened = series(tmp_path)
    opened.publish(snapshot(), dry_run=True)
    assert contents(tmp_path) == before
    assert not own.vault.exists()
    assert own.history() == []
    own.vault.mkdir()
    own.publish(raw, dry_run=True)
    assert list(own.vault.iterdir()) == []
    own.publish_to(tmp_path / "r1.csv", raw)
    before = contents(tmp_path)
    for source, where in ((raw, None), (snapshot(3, 60), None), (snapshot(3, 60), "age < 50")):
        own.publish_to(tmp_path / "r2.csv", source, where=where, dry_run=True)
        assert contents(tmp_path) == before


def test_what_is_read_and_what_is_secret_is_not_written_over(tmp_path):
    path = config(tmp_path)
    raw = written(tmp_path, "raw.csv")
    own = rv.Series.load(path)
    (tmp_path / "x.csv").hardlink_to(raw)
    for out in ("raw.csv", "x.csv", "ward.vault/out.csv", "ward.vault/releases/000001.csv", "nowhere/out.csv"):
        with pytest.raises(FileError) as caught:
            own.publish_to(tmp_path / out, raw)
        assert caught.value.exit_code == 2
    assert not own.vault.exists()
    own.publish_to(tmp_path / "out.csv", raw)
    before = contents(tmp_path)
    for out in ("ward.vault/out.csv", "ward.vault/releases/out.csv", "raw.csv"):
        with pytest.raises(FileError):
            own.publish_to(tmp_path / out, snapshot(0, 60) if "raw" not in out else raw)
    assert contents(tmp_path) == before


def test_a_first_release_that_fails_binds_nobody(tmp_path):
    own = series(tmp_path, rv.TauSafety(m=4))
    with pytest.raises(RefusedError, match="possible values"):
        own.publish(snapshot())
    assert own.history() == []
    schema = rv.Schema(person="pid", quasi=("age", "disease"), sensitive="town")
    with pytest.raises(RefusedError, match="possible values"):
        series(tmp_path, rv.TauSafety(m=2), schema, name="other", seed=5).publish(snapshot())
    assert series(tmp_path, rv.TauSafety(m=2), seed=4).publish(snapshot()).manifest["release"] == 1
    assert contents(tmp_path).keys() == {
        "ward.anchor",
        *(
            f"ward.vault/{name}"
            for name in ("key", "vault.duckdb", "releases/000001.csv", "releases/000001.manifest.json")
        ),
    }


def test_types_are_settled_by_the_first_release(tmp_path):
    path = config(tmp_path)
    own = rv.Series.load(path)
    first = snapshot().with_columns(town=pl.Series([f"0{n % 4}" for n in range(40)]))
    first.write_csv(tmp_path / "raw.csv")
    own.publish(tmp_path / "raw.csv")
    # Text stays text, and whole numbers may come as fractions that are whole.
    later = first.with_columns(town=pl.Series([str(10 + n % 4) for n in range(40)]), age=pl.col("age").cast(pl.Float64))
    later.write_csv(tmp_path / "later.csv")
    released = own.publish(tmp_path / "later.csv")
    assert {c["name"]: c["type"] for c in released.manifest["columns"]}["town"] == "String"
    assert {c["name"]: c["type"] for c in released.manifest["columns"]}["age"] == "Int64"
    assert own.history()[1]["updated"] == 40
    before = contents(tmp_path)
    wrong = first.with_columns(age=pl.lit("old"))
    wrong.write_csv(tmp_path / "wrong.csv")
    for source in (tmp_path / "wrong.csv", wrong, first.with_columns(age=pl.date(2020, 1, 1))):
        with pytest.raises(DataError, match="age"):
            own.publish(source)
    (tmp_path / "wrong.csv").unlink()
    assert contents(tmp_path) == before


def test_a_sensitive_column_keeps_its_type(tmp_path):
    own = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2))
    first = snapshot().with_columns(disease=pl.col("pid") % 7)
    own.publish(first)
    own.publish(first.with_columns(pl.col("disease").cast(pl.Float32)))
    assert own.history()[-1]["release"] == 1, "the same values"
    with pytest.raises(DataError, match="disease") as caught:
        own.publish(first.with_columns(disease=pl.col("disease") + 0.5))
    assert ".5" not in str(caught.value)


def numbered(names):
    return snapshot(0, len(names)).with_columns(pid=pl.Series(names))


def test_persons_are_who_they_were(tmp_path):
    own = series(tmp_path)
    own.publish(numbered(range(1, 31)))
    told = signatures(own.publish(numbered(range(1, 31)), again=True), own.placements(2, numbered(range(1, 31))))
    padded = [f"{n:03d}" for n in range(1, 32)]
    numbered(padded).write_csv(tmp_path / "raw.csv")
    for source in (tmp_path / "raw.csv", numbered([str(n) for n in range(1, 32)]), numbered(padded)):
        released = own.publish(source, again=True)
        row = own.history()[-1]
        assert (row["inserted"], row["deleted"]) == (1 if released.manifest["release"] == 3 else 0, 0)
        placed = own.placements(row["release"], numbered(range(1, 31)))
        assert signatures(released, placed) == told
    assert len(own.placements(3, numbered(padded))) == 31
    mixed = numbered(["007", "7", *range(100, 120)][:1] + ["7"] + [str(n) for n in range(100, 120)])
    for wrong in (mixed, numbered(["A1", *padded])):
        with pytest.raises(DataError, match="pid"):
            own.publish(wrong)
    assert own.forget("007"), "the same person, however written"
    assert not own.forget(7)
    assert own.publish(numbered(["A1", *(str(n) for n in range(1, 32))])).manifest["release"] == 6


def test_leading_zeros_that_got_lost_are_noticed(tmp_path):
    own = series(tmp_path)
    padded = [f"{n:03d}" for n in range(1, 32)]
    numbered(padded).write_csv(tmp_path / "raw.csv")
    own.publish(tmp_path / "raw.csv")
    numbered(range(1, 32)).write_csv(tmp_path / "lost.csv")
    with pytest.raises(DataError, match="pid") as caught:
        own.publish(tmp_path / "lost.csv")
    assert "zeros" in str(caught.value)
    assert own.publish(numbered([*padded, "032"])).manifest["release"] == 2
    assert own.history()[-1]["inserted"] == 1


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(snapshots=histories(max_persons=5, max_releases=3, min_releases=2))
def test_any_life_is_counted_as_it_was(tmp_path, snapshots):
    """Compared with a dictionary of each person's last row."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        own = rv.Series.open(Path(folder) / "v", history_schema(), rv.Static(k=1))
        last, here = {}, set()
        for number, table in enumerate(snapshots, start=1):
            own.publish_to(Path(folder) / f"r{number}.csv", table, again=True)
            rows = {row[0]: row[1:] for row in table.iter_rows()}
            known = {person for person in rows if person in last}
            assert [own.history()[-1][key] for key in ("persons", "inserted", "deleted", "updated", "returned")] == [
                len(rows),
                len(rows) - len(known),
                len(here - rows.keys()),
                sum(rows[person] != last[person] for person in known & here),
                len(known - here),
            ]
            last.update(rows)
            here = set(rows)
        assert chain_is_sound(Path(folder), *(f"r{n}" for n in range(1, len(snapshots) + 1)))
