"""A series does not change its promise on the way; what no promise rests on may change. And keys and vaults."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import RefusedError, VaultError
from tests.series.cases import (
    SCHEMA,
    STATIC,
    TAU,
    command,
    config,
    contents,
    private,
    series,
    snapshot,
    tables,
    written,
)
from tests.vault.cases import by_hand


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture
def folder(tmp_path):
    config(tmp_path, more="seed = 7\n")
    rv.Series.load(tmp_path / "reveil.toml").publish(snapshot())
    return tmp_path


CHANGES = {
    "m": (("m = 2", "m = 3"), "guarantee.m"),
    "kind": (('"tau-safety"', '"m-invariance"'), "guarantee.kind"),
    "strict": (("m = 2", "m = 2\nstrict = false"), "guarantee.strict"),
    "domain": (("m = 2", 'm = 2\ndomain = ["asthma", "flu", "gout", "mumps", "secretpox"]'), "guarantee.domain"),
    "sensitive": (('disease = "sensitive"', 'disease = "quasi"'), "columns.disease.role"),
    "order": (
        ('disease = "sensitive"', 'disease = { role = "sensitive", order = ["flu", "secretpox", "a", "b", "c"] }'),
        "columns.disease.order",
    ),
    "person": (('pid = "person"', 'pid = "quasi"\nother = "person"'), "columns.pid.role"),
    "name": (('name = "ward"', 'name = "hall"'), "series.name"),
    "seed": (("seed = 7", "seed = 8"), "series.seed"),
    "nulls": (("seed = 7", 'seed = 7\nnull_values = ["?"]'), "series.null_values"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_promise_is_refused_with_the_difference(folder, case):
    (old, new), key = CHANGES[case]
    path = folder / "reveil.toml"
    text = path.read_text().replace(old, new)
    assert text != path.read_text()
    if case == "sensitive":
        text = text.replace('town = "quasi"', 'town = "sensitive"')
    path.write_text(text)
    before = contents(folder / "ward.vault")
    own = rv.Series.load(path)
    for call in (lambda: own.publish(snapshot(0, 50)), own.history, lambda: own.forget(3)):
        with pytest.raises(RefusedError) as caught:
            call()
        assert key in str(caught.value)
        assert "secretpox" not in str(caught.value)
        assert caught.value.exit_code == 1
    assert contents(folder / "ward.vault") == before


def test_the_difference_is_shown_on_the_command_line(folder):
    path = folder / "reveil.toml"
    path.write_text(path.read_text().replace("m = 2", "m = 3"))
    done = command("publish", written(folder, "raw.csv", 0, 50), "-c", path, "-o", folder / "o.csv")
    assert done.returncode == 1
    assert "- guarantee.m = 2" in done.stderr
    assert "+ guarantee.m = 3" in done.stderr


def test_quasi_columns_come_and_go(tmp_path):
    own = series(tmp_path)
    own.publish(snapshot())
    wider = rv.Schema(person="pid", identifiers=("name",), quasi=("age", "town", "job"), sensitive="disease")

    def grown(first, last, job):
        return snapshot(first, last).with_columns(job=pl.lit(job), name=pl.lit("x"))

    more = series(tmp_path, schema=wider)
    assert "job" in more.publish(grown(0, 41, "smith")).columns
    assert more.history()[-1]["updated"] == 0, "nothing is known of a new column"
    more.publish(grown(0, 41, "nurse"))
    assert more.history()[-1]["updated"] == 41
    less = series(tmp_path, schema=rv.Schema(person="pid", identifiers=("town",), quasi=("age",), sensitive="disease"))
    released = less.publish(snapshot(0, 42).with_columns(town=pl.Series(["x"] + ["7"] * 41)))
    assert released.columns == ("age", "disease")
    assert series(tmp_path).publish(snapshot(0, 43)).columns == ("age", "town", "disease")
    assert own.history()[-1]["updated"] == 0


def test_what_may_change(tmp_path):
    series(tmp_path, seed=5).publish(snapshot())
    undeclared = series(tmp_path)  # the seed is kept in the vault
    undeclared.publish(snapshot(0, 44))
    series(tmp_path, rv.TauSafety(m=2, angelize=True), archive=False).publish(snapshot(0, 45))
    with pytest.raises(RefusedError, match=r"series\.seed"):
        series(tmp_path, seed=6)
    with pytest.raises(RefusedError, match=r"guarantee\.m"):
        series(tmp_path, rv.TauSafety(m=3))


def test_a_seed_taken_out_of_the_config_stays_in_use(tmp_path, monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "0" * 64)
    texts = []
    for name, later in (("one", 5), ("two", None)):
        (tmp_path / name).mkdir()
        series(tmp_path / name, seed=5).publish(snapshot())
        texts.append(series(tmp_path / name, seed=later).publish(snapshot(0, 50)).text)
    assert texts[0].equals(texts[1])


def test_a_static_series_may_promise_more_and_says_so(tmp_path):
    series(tmp_path, rv.Static(k=3)).publish(snapshot())
    stricter = series(tmp_path, rv.Static(k=8)).publish(snapshot())
    assert (stricter.manifest["release"], stricter.manifest["guarantee"]["k"]) == (2, 8), "not the old one again"
    relaxed = series(tmp_path, rv.Static(k=8), method=rv.Mondrian(cut="relaxed"))
    assert relaxed.publish(snapshot()).manifest["release"] == 3
    assert relaxed.publish(snapshot()).manifest["release"] == 3
    with pytest.raises(RefusedError, match=r"guarantee\.kind"):
        series(tmp_path)


def test_a_vault_is_private_after_everything(tmp_path):
    own = series(tmp_path)
    for call in (
        lambda: own.publish(snapshot()),
        lambda: own.publish_to(tmp_path / "r.parquet", snapshot(0, 50)),
        lambda: own.publish(snapshot(0, 55), dry_run=True),
        own.history,
        lambda: own.placements(1, snapshot()),
        lambda: own.check(tmp_path),
        lambda: own.forget(3, tombstone=True),
        lambda: own.forget(4),
        lambda: own.adopt(snapshot(), snapshot().drop("pid")),
    ):
        call()
        assert private(own.vault)
    assert (tmp_path / "r.parquet").stat().st_mode & 0o044, "what is published is for others"


def test_keys_that_are_lost_or_foreign(tmp_path, monkeypatch):
    path = config(tmp_path)
    raw = written(tmp_path, "raw.csv")
    own = rv.Series.load(path)
    own.publish(raw)
    key = own.vault / "key"
    text = key.read_text()
    before = tables(own.vault)

    def refused():
        done = command("publish", written(tmp_path, "next.csv", 0, 50), "-c", path, "-o", tmp_path / "o.csv")
        assert done.returncode == 2
        assert "REVEIL_KEY" in done.stderr
        assert text.strip() not in done.stderr
        return done.stderr

    key.unlink()
    assert "missing" in refused()
    assert not key.exists(), "no new key in the place of the lost one"
    monkeypatch.setenv("REVEIL_KEY", "1" * 64)
    assert "does not belong" in refused()
    monkeypatch.setenv("REVEIL_KEY", text.strip())
    assert tables(own.vault) == before
    own.publish(snapshot(0, 50))
    assert not key.exists()
    assert [row["inserted"] for row in own.history()] == [40, 10]


def test_a_vault_of_a_newer_format_and_a_folder_that_is_none(tmp_path):
    path = config(tmp_path)
    own = rv.Series.load(path)
    own.publish(snapshot())
    by_hand(own.vault, "INSERT INTO migrations VALUES (99, 'later', '9.9')")
    done = command("history", "-c", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "format 99" in done.stderr
    assert "newer version" in done.stderr
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    for vault in (tmp_path / "full", tmp_path / "full" / "letter.txt"):
        with pytest.raises(VaultError):
            rv.Series.open(vault, SCHEMA, rv.TauSafety(m=2))
    assert {p.name for p in (tmp_path / "full").iterdir()} == {"letter.txt"}


def test_a_vault_needs_no_declaration_where_the_guarantee_needs_it(tmp_path):
    for guarantee, made in ((TAU, True), (STATIC, False)):
        folder = tmp_path / str(made)
        folder.mkdir()
        path = config(folder, guarantee)
        path.write_text(path.read_text().replace('vault = "ward.vault"', ""))
        done = command("publish", written(folder, "raw.csv"), "-c", path, "-o", folder / "o.csv")
        assert done.returncode == 0, done.stderr
        assert (folder / "ward.vault").is_dir() is made
