"""Risk as the field counts it: every figure of a table of twelve rows, computed by hand, and those of a real table."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.adversary.field_risk.population import expected_chance, population_uniques
from reveil.adversary.field_risk.special_uniques import special_uniques
from tests.cli.run import reveil

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
# Three are alike, twice two are, and five are unique: eight classes.
ROWS = [*["f 30 A"] * 3, *["m 30 A"] * 2, *["f 40 A"] * 2, "m 40 A", "m 40 B", "f 50 A", "m 30 B", "f 60 B"]
PEOPLE = {"f 30 A": 10, "m 30 A": 4, "f 40 A": 2, "m 40 A": 5, "m 40 B": 1, "f 50 A": 2, "m 30 B": 4, "f 60 B": 2}
SCHEMA = rv.Schema(person="pid", quasi=("sex", "age", "town"), sensitive="disease", types={"age": "number"})
LN2 = float(np.log(2))


def frame_of(rows):
    cells = [row.split() for row in rows]
    return pl.DataFrame(
        {
            "pid": [f"p{n}" for n in range(1, len(rows) + 1)],
            **{name: [row[place] for row in cells] for place, name in enumerate(("sex", "age", "town"))},
            "disease": [("flu", "gout", "cough")[n % 3] for n in range(len(rows))],
        }
    ).with_columns(pl.col("age").cast(pl.Int64))


TWELVE = frame_of(ROWS)
POPULATION = frame_of([row for row, many in PEOPLE.items() for _ in range(many)]).drop("disease", "pid")


def audited(**more):
    return rv.audit(TWELVE.drop("pid"), SCHEMA, truth=TWELVE, attacks="linkage", **more)


def test_the_table_is_the_population():
    found = audited().to_json()
    assert found["risks"] == {"prosecutor": 1.0, "journalist": 1.0, "marketer": pytest.approx(8 / 12)}
    (own,) = found["table_risks"]
    assert own["after"] == own["before"]  # nothing was generalised
    figures = own["after"]
    assert (figures["rows"], figures["classes"], figures["smallest"], figures["uniques"]) == (12, 8, 1, 5)
    assert figures["prosecutor"] == {
        "highest": 1.0,
        "rows_at_highest": 5,
        "mean": pytest.approx(8 / 12),
        "above": {"0.5": 5, "0.2": 12, "0.05": 12},
        "above_fifth": 12,
    }
    assert figures["journalist"] == {**figures["prosecutor"], "from": "release"}
    assert figures["population_uniques"] is None


def test_a_population_that_is_listed():
    everybody = rv.Schema(quasi=("sex", "age", "town"), sensitive="disease", types={"age": "number"})
    found = rv.audit(TWELVE.drop("pid"), everybody, population=POPULATION, attacks="linkage").to_json()
    mean = (3 / 10 + 2 / 4 + 2 / 2 + 1 / 5 + 1 / 1 + 1 / 2 + 1 / 4 + 1 / 2) / 12
    assert found["risks"] == {"prosecutor": 1.0, "journalist": 1.0, "marketer": pytest.approx(mean)}
    figures = found["table_risks"][0]["after"]
    assert figures["journalist"] == {
        "highest": 1.0,
        "rows_at_highest": 1,
        "mean": pytest.approx(mean),  # more than 8 classes over 30 people
        "above": {"0.5": 1, "0.2": 8, "0.05": 12},
        "above_fifth": 8,
        "from": "population",
    }
    assert (figures["population"], found["table_risks"][0]["before"]) == (30, None)


def test_a_population_of_which_the_size_is_known():
    figures = audited(population_size=24).to_json()["table_risks"][0]["after"]
    # Half of the people are in the table: r(1) = ln 2, and r(f) = 1/(f-1) - r(f-1).
    one, two, three = LN2, 1 - LN2, 1 / 2 - (1 - LN2)
    assert figures["journalist"]["highest"] == pytest.approx(one)
    assert figures["marketer"] == pytest.approx((5 * one + 4 * two + 3 * three) / 12)
    assert figures["journalist"]["from"] == "estimate"
    # Who is unique among the twelve is so among 24 with 5 (1/2) over 5 (1/2) + 2 (12/23) + 4752/12144.
    chance = 2.5 / (2.5 + 2 * 12 / 23 + 4752 / 12144)
    assert figures["population_uniques"]["zayatz"] == pytest.approx(5 * chance / 0.5)
    assert figures["population_uniques"]["by"] == "zayatz"


def test_special_uniques():
    # Rows 10 and 12 are unique by age; 12 also by sex and town; 9 and 11 by age and town; 8 only by all three.
    found = audited().to_json()
    assert found["table_risks"][0]["after"]["special_uniques"] == {
        "columns": 3,
        "largest_set": 2,
        "rows": 4,
        "by_size": {"1": 2, "2": 2},
        "highest_score": 3.0,
    }
    riskiest = found["riskiest"][0]["before"]
    assert [(own["row"], own["score"]) for own in riskiest[:5]] == [(12, 3.0), (10, 2.0), (9, 1.0), (11, 1.0), (8, 0.0)]
    assert [own["alike"] for own in riskiest] == [1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]


def test_generalised_cells_are_what_is_counted():
    broad = TWELVE.drop("pid").with_columns(pl.lit("[30, 60]").alias("age"), pl.lit("{A, B}").alias("town"))
    found = rv.audit(broad, SCHEMA, truth=TWELVE, attacks="linkage").to_json()
    assert found["risks"] == {"prosecutor": 0.2, "journalist": 0.2, "marketer": pytest.approx(2 / 12)}
    assert found["table_risks"][0]["after"]["special_uniques"]["rows"] == 0


def test_large_classes_and_small_fractions_lose_no_digits():
    sizes = np.array([1, 2, 3, 10, 1000, 10**6])
    for fraction in (0.9, 0.1, 0.001):
        chance = expected_chance(sizes, fraction)
        assert (np.diff(chance) < 0).all()
        # Between the chance of as many people as rows stand for, and that of as many as there are rows.
        assert (chance >= fraction / sizes * (1 - 1e-12)).all()
        assert (chance <= 1 / sizes).all()
        back = fraction / (1 - fraction) * (1 / (sizes[1:3] - 1) - chance[:2])
        assert back == pytest.approx(chance[1:3])


def test_population_uniques_of_a_drawn_sample():
    rng = np.random.default_rng(5)
    people = np.minimum(rng.zipf(1.3, 200_000), 10**7)
    _, size = np.unique(people, return_counts=True)
    true = int((size == 1).sum())
    for part, by in ((0.2, "zayatz"), (0.05, "pitman")):
        drawn = people[rng.random(len(people)) < part]
        _, alike = np.unique(drawn, return_counts=True)
        found = population_uniques(np.bincount(alike), len(people)).to_json()
        assert found["by"] == by
        assert 0.6 * true < found["expected"] < 1.6 * true


def test_nothing_at_all():
    assert special_uniques([], 0).to_json()["rows"] == 0
    assert population_uniques(np.array([0]), 10).expected == 0.0


def test_a_population_that_is_too_small_is_refused():
    with pytest.raises(rv.ConfigError, match="a population of 5 is smaller than release 1"):
        audited(population_size=5)


def test_the_command_prints_and_writes_them(tmp_path):
    TWELVE.write_csv(tmp_path / "raw.csv")
    TWELVE.drop("pid").write_csv(tmp_path / "out.csv")
    (tmp_path / "reveil.toml").write_text(
        '[columns]\npid = "person"\nsex = "quasi"\nage = "quasi"\ntown = "quasi"\ndisease = "sensitive"\n'
        '[guarantee]\nkind = "static"\nk = 1\n'
    )
    files = ("-c", tmp_path / "reveil.toml", "--truth", tmp_path / "raw.csv", "--json", tmp_path / "a.json")
    done = reveil("audit", tmp_path / "out.csv", *files, "--population-size", "24")
    assert "prosecutor risk 1, journalist risk 0.6931 and marketer risk" in done.stderr
    assert "special uniques: 4 rows of a release are unique by at most 2 columns" in done.stderr
    assert json.loads((tmp_path / "a.json").read_text())["risks"]["prosecutor"] == 1.0


@pytest.mark.shared
@pytest.mark.parametrize("columns", [("sex", "age", "race", "marital-status"), None])
def test_a_real_table(columns):
    source = DATA / "adult_arx.parquet"
    if not source.exists():
        pytest.skip("the real tables are not beside the repository")
    frame = pl.read_parquet(source)
    sensitive = frame.columns[-1]
    quasi = columns or tuple(frame.columns[:-1])
    schema = rv.Schema(quasi=quasi, sensitive=sensitive)
    own = frame.select(*quasi, sensitive)
    found = rv.audit(own, schema, truth=own, attacks="linkage").to_json()
    sizes = own.group_by(*quasi).len("f")["f"].to_numpy()  # the definitions, said once more
    figures = found["table_risks"][0]["after"]
    assert (figures["rows"], figures["classes"]) == (own.height, len(sizes))
    assert found["risks"]["prosecutor"] == 1 / sizes.min()
    assert found["risks"]["marketer"] == pytest.approx(len(sizes) / own.height)
    assert figures["prosecutor"]["above"]["0.2"] == sizes[1 / sizes > 0.2].sum()
    assert figures["uniques"] == (sizes == 1).sum()
