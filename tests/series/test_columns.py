"""A series of several sensitive columns, numbers in bins and plain columns: files, memory, answers, and bad input."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.releases.manifest_files import digest_of
from reveil.reporting.page import render
from tests.cli.run import reveil

ILL = [f"ill{v}" for v in range(12)]
DRUG = [f"drug{v}" for v in range(9)]
CONFIG = """[series]
name = "clinic"
vault = "clinic.vault"
[columns]
pid = "person"
age = "quasi"
zip = "quasi"
"home/ward" = "sensitive"
drug = "sensitive"
income = { role = "sensitive", bins = [200, 400, 600, 800] }
site = "plain"
[guarantee]
kind = "tau-safety"
form = "angelized"
m = { "home/ward" = 3, drug = 2, income = 2 }
"""


def people(seed: int = 1, n: int = 80, first: int = 0) -> pl.DataFrame:
    """Return a table with unrelated columns."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(first, first + n),
            "age": rng.integers(20, 80, n),
            "zip": rng.integers(0, 20, n),
            "home/ward": [ILL[v] for v in rng.integers(0, 12, n)],
            "drug": [DRUG[v] for v in rng.integers(0, 9, n)],
            "income": rng.integers(0, 1000, n),
            "site": [f"s{v}" for v in rng.integers(0, 3, n)],
        }
    )


LATER = pl.concat([people()[10:], people(2, 20, 100)])


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Publish three releases; return the folder."""
    folder = tmp_path_factory.mktemp("clinic")
    (folder / "reveil.toml").write_text(CONFIG)
    back = pl.concat([people()[:60], LATER[-20:]])
    for at, frame in enumerate((people(), LATER, back), start=1):
        frame.write_csv(folder / f"raw{at}.csv")
        done = reveil("publish", f"{folder}/raw{at}.csv", "-c", f"{folder}/reveil.toml", "-o", f"{folder}/r{at}.csv")
        assert done.returncode == 0, done.stderr
    return folder


def test_files_and_manifest(clinic):
    tables = [clinic / f"r1{end}.csv" for end in ("", ".sensitive.home%2Fward", ".sensitive.drug", ".sensitive.income")]
    assert all(path.is_file() for path in tables)
    told = json.loads((clinic / "r1.manifest.json").read_text())
    assert told["digest"] == digest_of(*tables)
    assert told["promise"]["bound"] == {"home/ward": 1 / 3, "drug": 0.5, "income": 0.5}
    first = pl.read_csv(tables[0])
    assert first.columns == ["age", "zip", "site", "group_home/ward", "group_drug", "group_income"]
    assert first.height == told["rows"] == 80
    seconds = [pl.read_csv(path) for path in tables[1:]]
    assert [own.columns[1] for own in seconds] == ["home/ward", "drug", "income"]
    numbers = [set(own["group"]) for own in seconds]
    assert not (numbers[0] & numbers[1] | numbers[0] & numbers[2] | numbers[1] & numbers[2])
    assert set(seconds[2]["income"]) <= {
        "below 200",
        "200 to below 400",
        "400 to below 600",
        "600 to below 800",
        "800 or more",
    }
    many = {str(n): c for own in seconds for n, c in own.group_by("group").agg(pl.col("count").sum()).iter_rows()}
    rows = {str(n): c for name in first.columns[3:] for n, c in first.group_by(name).len().iter_rows()}
    fakes = {number: count - rows[number] for number, count in many.items() if count > rows[number]}
    assert told["counterfeits"] == {"total": sum(fakes.values()), "per_group": fakes}


def test_it_is_verified_again_as_a_series_and_from_parquet(clinic):
    config = f"{clinic}/reveil.toml"
    assert reveil("verify", f"{clinic}/r2.csv", f"{clinic}/raw2.csv", "-c", config).returncode == 0
    truths = [f"{clinic}/raw{at}.csv" for at in (1, 2, 3)]
    assert reveil("verify", "--series", "-c", config, "--truth", *truths).returncode == 0
    rv.Release.read(clinic / "r2.csv").write(clinic / "copy.parquet")
    assert (clinic / "copy.sensitive.home%2Fward.parquet").is_file()
    assert rv.Release.read(clinic / "copy.parquet").table.equals(rv.Release.read(clinic / "r2.csv").table)
    rv.Release.read(clinic / "r2.csv").write(f"{clinic}/folder/")
    assert (clinic / "folder" / "sensitive" / "home%2Fward" / "part-00000.parquet").is_file()
    assert rv.Release.read(clinic / "folder").table.equals(rv.Release.read(clinic / "r2.csv").table)


@pytest.mark.slow
def test_history_report_audit_measure_and_query(clinic):
    config = f"{clinic}/reveil.toml"
    assert reveil("history", "-c", config, "--check", str(clinic)).returncode == 0
    releases, truths = ([f"{clinic}/{kind}{at}.csv" for at in (1, 2, 3)] for kind in ("r", "raw"))
    assert reveil("report", "-c", config, "-o", f"{clinic}/report.html", "--truth", *truths).returncode == 0
    done = reveil("audit", *releases, "-c", config, "--truth", *truths, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["summary"]["held"]
    assert found["summary"]["bounds"] == {"home/ward": 1 / 3, "drug": 0.5, "income": 0.5}
    done = reveil("measure", truths[2], releases[2], "-c", config, "--queries", "20", "--json", "-")
    measured = json.loads(done.stdout)["measures"]
    assert set(measured["query_error_sensitive"]["columns"]) == {"home/ward", "drug", "income"}
    assert measured["counterfeits"] == rv.Release.read(releases[2]).manifest.counterfeits.total
    for question in (
        "count age >= 40 and drug = drug3",
        "mean(income) age < 50",
        "crosstab(age, drug) age in [20, 21]",
    ):
        assert reveil("query", releases[2], question).returncode == 0
    done = reveil("query", releases[2], "crosstab(drug, 'home/ward')")
    assert (done.returncode, "groups of their own" in done.stderr) == (2, True), done.stderr


def test_answers_hold_the_truth(clinic):
    release, frame = rv.Release.read(clinic / "r3.csv"), pl.read_csv(clinic / "raw3.csv")
    for ask, true in (
        ("age >= 45", frame.filter(pl.col("age") >= 45).height),
        ("age >= 45 and drug = drug2", frame.filter((pl.col("age") >= 45) & (pl.col("drug") == "drug2")).height),
        ("site = s1 and 'home/ward' = ill3", frame.filter(site="s1").filter(pl.col("home/ward") == "ill3").height),
    ):
        found = release.count(ask)
        assert found.lower <= true <= found.upper
    inner = frame.filter(pl.col("income").is_between(200, 599))
    found = release.mean("income", "income in {'200 to below 400', '400 to below 600'}")
    assert found.lower <= inner["income"].mean() <= found.upper
    assert release.mean("income").upper is None  # the last bin is open
    cells = release.crosstab("site", "drug").cells
    assert sum(cell.count.estimate for cell in cells) == pytest.approx(frame.height)
    with pytest.raises(rv.InputError, match="told nowhere"):
        release.sample()


def test_one_column_with_a_plain_one(tmp_path):
    schema = rv.Schema(person="pid", quasi=["age", "zip"], sensitive="drug", plain="site")
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(m=2, form="angelized"))
    for at, frame in enumerate((people(), LATER), start=1):
        used = frame.select("pid", "age", "zip", "drug", "site")
        release = series.publish_to(tmp_path / f"r{at}.csv", used).release
        assert release.table.columns == ["age", "zip", "site", "group"]
        assert pl.read_csv(tmp_path / f"r{at}.sensitive.csv").columns == ["group", "drug", "count"]
    assert not series.replayed().broken
    without = series.publish(LATER.select("pid", "age", "zip", "drug", "site"), columns=["age", "zip", "drug"])
    assert without.table.columns == ["age", "zip", "group"]  # and the signatures are those of before: it was judged


def test_columns_together(tmp_path):
    schema = rv.Schema(person="pid", quasi=["age", "zip"], sensitive=["drug", "dose", "ward"])
    rng = np.random.default_rng(3)
    frame = (
        people()
        .select("pid", "age", "zip", "drug")
        .with_columns(
            dose=pl.col("drug").str.replace("drug", "") + "mg",
            ward=pl.Series([f"w{v}" for v in rng.integers(0, 9, 80)]),
        )
    )
    with pytest.raises(rv.RefusedError, match="tells column"):
        rv.Series.open(tmp_path / "no", schema, rv.TauSafety(m=2, form="angelized")).publish(frame)
    assert not (tmp_path / "no" / "drafts").exists()
    guarantee = rv.TauSafety(m={"drug+dose": 2, "ward": 2}, form="angelized", together=[["dose", "drug"]])
    series = rv.Series.open(tmp_path / "vault", schema, guarantee)
    release = series.publish_to(tmp_path / "r.csv", frame).release
    assert pl.read_csv(tmp_path / "r.sensitive.drug%2Bdose.csv").columns == ["group", "drug", "dose", "count"]
    assert any("alone" in word for word in release.manifest.promise.not_covered)
    assert not series.replayed([]).broken
    audit = rv.audit([tmp_path / "r.csv"], schema, truth=[frame])
    assert audit.summary["held"]
    cells = release.crosstab("drug", "dose").cells
    assert {cell.values for cell in cells} <= set(frame.select("drug", "dose").rows())
    with pytest.raises(rv.InputError, match="groups of their own"):
        release.crosstab("dose", "ward")


def test_round_edges_are_those_of_the_first_release(tmp_path):
    schema = rv.Schema(person="pid", quasi=["age", "zip"], sensitive=["drug", "income"], bins={"income": 6})
    columns = ["pid", "age", "zip", "drug", "income"]
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(m=2, form="angelized"))
    series.publish_to(tmp_path / "r1.csv", people().select(columns))
    more = LATER.select(columns).with_columns(income=pl.col("income") * 7 + 1)
    series.publish_to(tmp_path / "r2.csv", more)
    told = [rv.Release.read(tmp_path / f"r{at}.csv").manifest.domains["income"] for at in (1, 2)]
    assert told[0] == told[1]
    assert told[0]["kind"] == "bins"
    audit = rv.audit([tmp_path / "r1.csv", tmp_path / "r2.csv"], schema, truth=[people().select(columns), more])
    assert audit.summary["held"]


def test_a_report_reads_snapshots_with_the_edges_that_the_releases_tell(tmp_path):
    config, raw, out, page = (tmp_path / name for name in ("reveil.toml", "s.csv", "r.parquet", "page.html"))
    config.write_text(_with("bins = [200, 400, 600, 800]", 'type = "number", bins = 5'))
    people().write_csv(raw)
    assert reveil("publish", raw, "-c", config, "-o", out).returncode == 0
    done = reveil("report", "-c", config, "-o", page, "--releases", out, "--truth", raw)
    assert (done.returncode, page.is_file()) == (0, True), done.stderr


@pytest.mark.parametrize(("bins", "domain"), [(5, ["10", "20"]), ([200, 400], ["10"]), ([200, 400], ["below 200"])])
def test_a_domain_of_numbers_is_refused_where_bins_are_published(tmp_path, bins, domain):
    schema = rv.Schema(person="pid", quasi=["age"], sensitive="income", bins={"income": bins})
    guarantee = rv.TauSafety(m=2, domain=domain)
    wrong = domain != ["below 200"]
    with pytest.raises(rv.InputError if wrong else rv.RefusedError, match="published in bins" if wrong else "possible"):
        rv.Series.open(tmp_path / "vault", schema, guarantee).publish(people().select("pid", "age", "income"))


def test_forgetting_goes_through_every_column(tmp_path):
    schema = rv.Schema(person="pid", quasi=["age", "zip"], sensitive=["drug", "home/ward"])
    used = ["pid", "age", "zip", "drug", "home/ward"]
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(m=2, form="angelized"))
    series.publish(people().select(used))
    assert series.forget(3, tombstone=True)
    assert series.forget(4)
    series.publish(people().select(used).filter(pl.col("pid") != 4))


def test_adopting_is_refused(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    people().write_csv(tmp_path / "raw.csv")
    people().drop("pid").write_csv(tmp_path / "old.csv")
    done = reveil("adopt", f"{tmp_path}/raw.csv", f"{tmp_path}/old.csv", "-c", f"{tmp_path}/reveil.toml")
    assert (done.returncode, "cannot be adopted" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "clinic.vault").exists()


def _with(change: str, to: str) -> str:
    assert change in CONFIG
    return CONFIG.replace(change, to)


@pytest.mark.parametrize(
    ("config", "code", "said"),
    [
        (_with('form = "angelized"\n', ""), 2, 'form = "angelized"'),
        (_with("drug = 2, ", ""), 2, "'drug'"),
        (_with("drug = 2", "drug = 4"), 1, "possible values"),
        (_with("drug = 2", "drug = 1"), 2, "from 2 up"),
        (_with("[guarantee]\n", '[guarantee]\ntogether = [["drug", "dose"]]\n'), 2, "'dose'"),
        (_with("[guarantee]\n", '[guarantee]\ntogether = [["drug"]]\n'), 2, "two or more"),
        (_with("bins = [200, 400, 600, 800]", "bins = [200, 200]"), 2, "ascending"),
        (_with("bins = [200, 400, 600, 800]", 'type = "number"'), 2, "bins"),
        (_with("[guarantee]\n", "[guarantee]\nstrict = false\n"), 2, "strict"),
        (_with("age =", "group_drug ="), 2, "group_drug"),
    ],
    ids=["boxes", "no m", "too few values", "m 1", "unknown", "alone", "edges", "numbers", "strict", "name"],
)
def test_bad_settings_are_refused_with_nothing_told(tmp_path, config, code, said):
    (tmp_path / "reveil.toml").write_text(config)
    frame = people().rename({"age": "group_drug"}) if "group_drug" in config else people()
    frame.write_csv(tmp_path / "raw.csv")
    arguments = ["publish", f"{tmp_path}/raw.csv", "-c", f"{tmp_path}/reveil.toml", "-o", f"{tmp_path}/r.csv"]
    done = reveil(*arguments)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not list(tmp_path.glob("r.*"))


def test_a_value_that_too_many_have_is_refused_with_the_m_that_fits(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    crowd = pl.when(pl.col("pid") < 64).then(pl.lit("drug1")).otherwise("drug").alias("drug")
    people().with_columns(crowd).write_csv(tmp_path / "raw.csv")
    arguments = ["publish", f"{tmp_path}/raw.csv", "-c", f"{tmp_path}/reveil.toml", "-o", f"{tmp_path}/r.csv"]
    done = reveil(*arguments)
    said = done.stderr
    assert done.returncode == 1
    assert "more than 1/2" in said
    assert "No m fits" in said
    assert "drug1" not in said
    allowed = CONFIG.replace("[guarantee]\n", "[guarantee]\ncounterfeits = 0.8\n")
    (tmp_path / "reveil.toml").write_text(allowed)
    assert reveil(*arguments).returncode == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bins = [200, 400, 600, 800]", "bins = [200, 500, 600, 800]"),
        ('site = "plain"', 'site = "identifier"'),
        ('drug = "sensitive"', 'drug = "identifier"'),
        ("drug = 2", "drug = 3"),
        ('site = "plain"', 'site = "plain"\nroom = "sensitive"'),
    ],
    ids=["other bins", "plain dropped", "column dropped", "other m", "column added"],
)
def test_what_a_running_series_does_not_change(clinic, tmp_path, before, after):
    config = CONFIG.replace("clinic.vault", f"{clinic}/clinic.vault").replace(before, after)
    if "identifier" in after and "drug" in after:
        config = config.replace("drug = 2, ", "")
    if "room" in after:
        config = config.replace("income = 2 }", "income = 2, room = 2 }")
    (tmp_path / "reveil.toml").write_text(config)
    table = LATER.with_columns(room=pl.format("room{}", pl.col("zip"))) if "room" in after else LATER
    table.write_csv(tmp_path / "raw.csv")
    arguments = ["publish", f"{tmp_path}/raw.csv", "-c", f"{tmp_path}/reveil.toml", "-o", f"{tmp_path}/r.csv"]
    done = reveil(*arguments)
    assert (done.returncode, "settings are not those" in done.stderr) == (1, True), done.stderr
    assert "500" not in after or "+ columns.income.bins = [200, 500, 600, 800]" in done.stderr
    assert not (tmp_path / "r.csv").exists()


def test_counterfeits_are_counted_among_the_values_and_not_among_the_rows(tmp_path):
    """They stand in no row of the first table: 60 of two columns beside 60 rows are not all of the rows."""
    crowd = pl.DataFrame({"pid": range(60), "age": range(60), "site": ["s"] * 60}).with_columns(
        ill=pl.Series(["ill0"] * 30 + [f"ill{1 + v % 11}" for v in range(30)]),
        drug=pl.Series([f"drug{v % 9}" for v in range(60)]),
    )
    schema = rv.Schema(person="pid", quasi="age", sensitive=["ill", "drug"], plain="site")
    guarantee = rv.TauSafety(m={"ill": 3, "drug": 2}, form="angelized", counterfeits=1.0, independent=True)
    strict = rv.Series.open(tmp_path / "v", schema, guarantee, limits={"counterfeits": 0.2})
    with pytest.raises(rv.RefusedError, match=r"30 of 90 values of column 'ill' are counterfeits \(33.3%\), and"):
        strict.publish(crowd)
    series = rv.Series.open(tmp_path / "v", schema, guarantee)
    assert series.publish(crowd).manifest.real_rows == 60
    assert "30 of 90 values of column 'ill' are counterfeits (33.3%): more than 10%" in series.notes
    told = rv.report(series)["releases"][0]
    assert (told["made_up"], told["made_up_in"]) == (1 / 3, "ill")
    assert told["left_out"] == {"suppressed": 0.0, "withheld": 0.0}
    assert "of its values of ill (the most of any column) are counterfeits" in render(rv.report(series))


def test_many_counterfeits_lie_nowhere_among_the_rows(tmp_path, monkeypatch):
    """They stand in the tables of values; the judge, who puts them behind the rows, is not to call that an order."""
    monkeypatch.setenv("REVEIL_KEY", "6b" * 32)
    rng, persons = np.random.default_rng(3), 2400
    frame = pl.DataFrame(
        {
            "pid": np.arange(persons),
            "age": rng.integers(20, 80, persons),
            "a": [f"a{value}" for value in rng.integers(0, 9, persons)],
            "b": [f"b{value}" for value in rng.integers(0, 6, persons)],
        }
    )
    schema = rv.Schema(person="pid", quasi=["age"], sensitive=("a", "b"))
    series = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(m={"a": 3, "b": 2}, form="angelized"), seed=1)
    series.publish(frame)
    assert series.publish(frame.filter(pl.col("pid") % 16 == 0)).manifest["counterfeits"]["total"] > 40
