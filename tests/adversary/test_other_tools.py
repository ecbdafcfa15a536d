"""Files of five other tools, read as they come: what three months of each tell together, and what they are worth."""

import re
from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import DataError
from tests.cli.run import reveil
from tests.docs.pages import page, rows

OTHERS = Path(__file__).parents[3] / "shared" / "data" / "other_tools"
real = pytest.mark.skipif(not OTHERS.is_dir(), reason="the releases of other tools are not here")
MANY = [pytest.mark.slow, pytest.mark.many]
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
TRUTH = [OTHERS / f"raw{n}.csv" for n in (1, 2, 3)]


def schema(*, hierarchies):
    names = {n: str(OTHERS / "hierarchies" / f"adult_hierarchy_{n}.csv") for n in QUASI} if hierarchies else {}
    return rv.Schema(person="pid", quasi=QUASI, sensitive="occupation", hierarchies=names)


@real
@pytest.mark.parametrize(
    ("family", "hierarchies", "certain"),
    [
        pytest.param("arx_global", True, 21, marks=pytest.mark.slow),
        pytest.param("arx_global", False, 21, marks=MANY),
        pytest.param("arx_local", True, 569, marks=MANY),
        pytest.param("arx_local", False, 569, marks=MANY),
        pytest.param("anonypy", False, 407, marks=MANY),
        pytest.param("anonypy", True, 407, marks=MANY),  # 20-39 is a range there, and a label of ARX's
        pytest.param("anjana", True, 12, marks=MANY),
        pytest.param("anjana", False, 12, marks=MANY),
    ],
)
def test_what_three_months_tell_together(family, hierarchies, certain):
    releases = [OTHERS / f"{family}_{n}.csv" for n in (1, 2, 3)]
    learn = not hierarchies and family != "anonypy"  # which has no labels
    found = rv.audit(releases, schema(hierarchies=hierarchies), truth=TRUTH, known="events", learn_labels=learn)
    assert (found.summary["certain"], found.summary["certain_and_right"]) == (certain, certain)
    assert found.unread == []
    numbered = [note for note in found.notes if "column 'index'" in note]
    assert [note.split("(")[1] for note in numbered] == (
        [f"{rows} records can be found so)" for rows in ("7,865", "7,865", "8,051")] if family == "anjana" else []
    )


@real
@pytest.mark.parametrize(
    ("family", "hierarchies", "gcp", "suppressed"),
    [("arx_global", True, 0.43804, 0), ("arx_local", True, 0.08132, 0), ("anonypy", False, 0.06233, 0),
     ("anjana", True, 0.48934, 135)],
)  # fmt: skip
def test_they_are_measured_like_releases_of_our_own(family, hierarchies, gcp, suppressed):
    found = rv.measure(TRUTH[0], OTHERS / f"{family}_1.csv", schema(hierarchies=hierarchies))
    assert found["gcp"] == pytest.approx(gcp, abs=1e-5)
    assert found["suppressed"] == suppressed


def shown(name):
    """Return the line of the page's table that begins so."""
    (line,) = (line for line in rows(page("other-tools.md")) if name in line[0])
    return line


@real
def test_the_page_says_what_was_read_off():
    told = {"ARX, global": 21, "ARX, local": 569, "anonypy": 407, "ANJANA": 12}
    assert {name: int(shown(name)[1].split()[0].rstrip(",")) for name in told} == told
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert "569 of 9,600 occupations" in readme


@real
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "guarantee", "key"),
    [("tau-safety", rv.TauSafety(m=3), "counterfeits"), ("refinement", rv.Refinement(k=10, l=3), "withheld")],
)
def test_what_the_same_months_cost_with_reveil(tmp_path, monkeypatch, name, guarantee, key):
    monkeypatch.setenv("REVEIL_KEY", "17" * 32)
    own = schema(hierarchies=True)
    series = rv.Series.open(tmp_path / "v", own, guarantee, seed=1)
    files = [tmp_path / f"r{n}.csv" for n in (1, 2, 3)]
    price, stale = [], []
    for file, raw in zip(files, TRUTH, strict=True):
        manifest = series.publish_to(file, raw).release.manifest
        price.append(manifest.counterfeits.total if key == "counterfeits" else manifest.withheld)
        stale.append(manifest.dirty)
    widths = [rv.measure(raw, file, own)["gcp"] for raw, file in zip(TRUTH, files, strict=True)]
    line = shown(f"Reveil, {name}")
    assert [float(f"0{number}") for number in line[2].split(", ")] == pytest.approx(widths, abs=6e-4)
    told = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?=[, ])", line[3].replace(", ", " "))]
    assert told == price + (stale if key == "withheld" else [])
    promised = rv.audit(files, own, truth=TRUTH)
    assert promised.summary["held"]
    assert promised.summary["certain"] == 0
    found = rv.audit(files, own, truth=TRUTH, known="events")
    shown_as = "**nobody**" if not found.summary["certain"] else f"{found.summary['certain']}, right"
    assert line[1].startswith(shown_as)
    assert found.summary["certain"] == found.summary["certain_and_right"]
    if name == "tau-safety":
        assert found.summary["highest_proven"] <= 1 / 3 + 1e-9


# Eight people; in the second month p4 has left, p9 has come, and p5 has another job.
RAW = pl.DataFrame(
    {
        "pid": [f"p{n}" for n in range(1, 9)],
        "age": [21, 25, 29, 30, 33, 36, 38, 40],
        "zip": ["4410", "4411", "4412", "4413", "4520", "4521", "4522", "4523"],
        "job": ["cook", "clerk", "nurse", "smith", "cook", "clerk", "nurse", "smith"],
    }
)
NEXT = pl.concat([RAW[:3], RAW[4:], pl.DataFrame({"pid": ["p9"], "age": [27], "zip": ["4415"], "job": ["baker"]})])
NEXT = NEXT.with_columns(job=pl.when(pl.col("pid") == "p5").then(pl.lit("judge")).otherwise("job"))
SMALL = rv.Schema(person="pid", quasi=["age", "zip"], sensitive="job", types={"zip": "text"})


def sdcmicro(frame):
    """Recode as globalRecode does (cut's half-open ranges), with a cell of local suppression (NA) in the first row."""
    age = pl.when(pl.col("age") <= 30).then(pl.lit("(20,30]")).otherwise(pl.lit("(30,40]"))
    zips = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("*")).otherwise(pl.col("zip").str.head(2) + "**")
    return frame.select(age.alias("age"), zips.alias("zip"), "job")


def amnesia(frame):
    """Recode as Amnesia does: ranges with a dash, masked digits, a label of a hierarchy."""
    age = pl.when(pl.col("age") <= 30).then(pl.lit("21-30")).otherwise(pl.lit("31-40"))
    zips = pl.when(pl.col("zip").str.starts_with("44")).then(pl.lit("Westside")).otherwise(pl.lit("Eastside"))
    return frame.select(age.alias("age"), zips.alias("zip"), "job")


@pytest.mark.parametrize(("recode", "learn"), [(sdcmicro, False), (sdcmicro, True), (amnesia, True)])
def test_two_months_of_recodings_tell_who_changed(recode, learn):
    releases, truth = [recode(RAW), recode(NEXT)], [RAW, NEXT]
    found = rv.audit(releases, SMALL, truth=truth, known="events", learn_labels=learn)
    told = {(row["person"], row["release"]): row["value"] for row in found.certain.iter_rows(named=True)}
    # Smith left the young with p4, baker came with p9; of the others only p5 changed, from cook to judge.
    assert told == {("p4", 1): "smith", ("p9", 2): "baker", ("p5", 1): "cook", ("p5", 2): "judge"}
    assert found.certain["right"].all()


TOWNS = {"all": {"Westside": ["4410", "4411", "4412", "4413", "4415"], "Eastside": ["4520", "4521", "4522", "4523"]}}
KNOWN_LABELS = rv.Schema(
    person="pid", quasi=["age", "zip"], sensitive="job", types={"zip": "text"}, hierarchies={"zip": TOWNS}
)
AGES = (4 * (30 - 21) + 4 * (40 - 33)) / 19  # of 21 to 40: what (20,30] and (30,40] have of the ages that there are


@pytest.mark.parametrize(
    ("recode", "own", "zips"),
    [
        (sdcmicro, SMALL, 1 + 7 * 3 / 7),  # a star, and beginnings that four of eight numbers have
        (amnesia, SMALL, 8),  # labels that nobody explains
        (amnesia, KNOWN_LABELS, 4 * 4 / 8 + 4 * 3 / 8),  # five of nine leaves, and four
    ],
)
def test_recodings_are_measured_by_hand(recode, own, zips):
    found = rv.measure(RAW, recode(RAW), own)
    assert found["gcp"] == pytest.approx((AGES + zips) / 16)
    assert (found["suppressed"], found["counterfeits"]) == (0, 0)


def test_labels_that_are_not_learnt_stand_for_anything():
    found = rv.audit([amnesia(RAW), amnesia(NEXT)], SMALL, truth=[RAW, NEXT], known="events")
    assert found.unread == ["zip"]


def test_labels_are_learnt_from_rows_that_are_in_order():
    mixed = amnesia(RAW).reverse()
    with pytest.raises(DataError, match="labels cannot be learnt"):
        rv.audit(mixed, SMALL, truth=RAW, learn_labels=True)
    # Row numbers put them in order again, and are a leak that is named.
    numbered = mixed.with_columns(index=pl.Series(range(7, -1, -1)))
    found = rv.audit(numbered, SMALL, truth=RAW, learn_labels=True)
    assert found.unread == []
    assert "8 records can be found so" in found.notes[0]
    # A column that only has the name is not taken for row numbers.
    with pytest.raises(DataError, match="'index' is not declared"):
        rv.audit(mixed.with_columns(index=pl.lit(100)), SMALL, truth=RAW)


def test_from_the_command_line(tmp_path):
    (tmp_path / "reveil.toml").write_text(
        '[columns]\npid = "person"\nage = "quasi"\nzip = { role = "quasi", type = "text" }\njob = "sensitive"\n'
        '[guarantee]\nkind = "static"\nk = 2\n'
    )
    for n, frame in enumerate((RAW, NEXT), start=1):
        frame.write_csv(tmp_path / f"s{n}.csv")
        amnesia(frame).write_csv(tmp_path / f"r{n}.csv")
    paths = [tmp_path / name for name in ("r1.csv", "r2.csv")]
    truth = ("--truth", tmp_path / "s1.csv", tmp_path / "s2.csv")
    done = reveil("audit", *paths, "-c", tmp_path / "reveil.toml", *truth, "--known", "events", "--learn-labels")
    assert done.returncode == 0, done.stderr
    assert "3 persons' job can be read off" in done.stderr
    wrong = reveil("audit", *paths, "-c", tmp_path / "reveil.toml", "--population", truth[1], "--learn-labels")
    assert (wrong.returncode, "--learn-labels needs --truth" in wrong.stderr) == (2, True)
    measured = reveil("measure", truth[1], paths[0], "-c", tmp_path / "reveil.toml")
    assert measured.returncode == 0, measured.stderr
