"""What was published before, by any tool, is taken as told; the next release goes on from it."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import DataError, RefusedError
from tests.rarely import mostly_slow
from tests.series.cases import command, config, private, series, signatures, snapshot

SCHEMA = rv.Schema(person="pid", quasi=("age", "income"), sensitive="disease")


def table(*rows):
    return pl.DataFrame(
        [(person, age, income * 1000, disease) for person, age, income, disease in rows],
        schema=["pid", "age", "income", "disease"],
        orient="row",
    )


S1 = table(
    ("p1", 21, 12, "cataract"),
    ("p2", 22, 14, "pneumonia"),
    ("p3", 24, 18, "flu"),
    ("p4", 23, 25, "glaucoma"),
    ("p5", 41, 20, "flu"),
    ("p6", 42, 34, "gastritis"),
)
S2 = table(
    ("p1", 21, 12, "cataract"),
    ("p2", 23, 40, "diarrhea"),
    ("p3", 24, 18, "flu"),
    ("p7", 26, 34, "gastritis"),
    ("p5", 41, 20, "flu"),
    ("p6", 42, 35, "gastritis"),
)
S3 = pl.concat([S2, table(("p4", 23, 25, "glaucoma"))])
# Three notations of one grouping: intervals, a spreadsheet's ranges, and two tables of Anatomy.
R1 = pl.DataFrame(
    {
        "age": ["[21, 22]", "[21, 22]", "[23, 24]", "[23, 24]", "[41, 42]", "[41, 42]"],
        "income": ["[12000, 14000]"] * 2 + ["[18000, 25000]"] * 2 + ["[20000, 34000]"] * 2,
        "disease": ["pneumonia", "cataract", "flu", "glaucoma", "gastritis", "flu"],
    }
)
SPREAD = R1.with_columns(pl.col("age", "income").str.replace_all(r"[\[\]]", "").str.replace(", ", "-"))
GROUPS = pl.Series("group", [7, 7, 3, 3, 5, 5])
ANATOMY = (
    S1.select(pl.col("age", "income").cast(pl.String)).with_columns(GROUPS),
    R1.select(GROUPS, "disease").with_columns(count=1),
)


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def sets(*values):
    return frozenset(values)


def fakes(release, placements):
    """Return the values of the counterfeits of each group."""
    rows = release.text.with_row_index("row").filter(~pl.col("row").is_in(placements["row"].to_list()))
    return sorted(rows["disease"])


@pytest.mark.parametrize("notation", mostly_slow(["intervals", "spreadsheet", "anatomy", "parquet", "frame"], 3))
def test_the_tables_of_the_source(tmp_path, notation):
    own = series(tmp_path, schema=SCHEMA)
    release = tmp_path / "before.csv"
    if notation == "anatomy":
        ANATOMY[0].write_csv(release)
        ANATOMY[1].write_csv(tmp_path / "before.sensitive.csv")
    elif notation == "parquet":
        release = tmp_path / "before.parquet"
        R1.write_parquet(release)
    else:
        (SPREAD if notation == "spreadsheet" else R1).sample(fraction=1.0, shuffle=True, seed=1).write_csv(release)
    found = own.adopt(S1, R1 if notation == "frame" else release)
    assert (found.release, found.persons, found.groups) == (1, 6, 3)
    assert (found.unpublished, found.ambiguous, found.unsafe_groups, found.kept, found.held_back) == (0,) * 5
    assert own.history()[0]["state"] == "adopted"
    assert private(own.vault)

    second = own.publish_to(tmp_path / "r2.csv", S2).release
    placed = own.placements(2, S2)
    told = signatures(second, placed)
    assert told["p1"] == sets("cataract", "pneumonia")
    assert told["p3"] == sets("flu", "glaucoma")
    assert told["p5"] == told["p6"] == sets("flu", "gastritis")
    assert told["p2"].isdisjoint(sets("cataract", "pneumonia"))
    made_up = fakes(second, placed)
    assert {"pneumonia", "glaucoma"} <= set(made_up)
    assert second.manifest["counterfeits"]["total"] == len(made_up)
    row = own.history()[1]
    assert [row[key] for key in ("persons", "inserted", "deleted", "updated", "returned")] == [6, 1, 1, 2, 0]

    third = own.publish_to(tmp_path / "r3.csv", S3).release
    placed = own.placements(3, S3)
    told = signatures(third, placed)
    assert told["p4"] == told["p3"] == sets("flu", "glaucoma")
    groups = dict(placed.select("person", "group").iter_rows())
    assert groups["p4"] == groups["p3"]
    assert told["p1"] == sets("cataract", "pneumonia")
    assert own.history()[2]["returned"] == 1
    assert "glaucoma" not in fakes(third, placed)
    assert fakes(third, placed).count("pneumonia") == 1


def test_one_counterfeit_remains_where_the_new_ones_make_a_pair(tmp_path):
    """p2 and p7 share a group at time 2 (diarrhea, gastritis): then only p1 and p3 need somebody made up."""
    own = series(tmp_path, schema=SCHEMA)
    own.adopt(S1, R1)
    second = own.publish(S2)
    assert fakes(second, own.placements(2, S2)) == ["glaucoma", "pneumonia"]
    third = own.publish(S3)
    assert fakes(third, own.placements(3, S3)) == ["pneumonia"]


def test_groups_that_were_not_safe(tmp_path):
    """{flu, flu, gout} has two values, and each person goes on alone with them; {rash, rash} tells one: they rest."""
    frame = snapshot(0, 9).with_columns(
        age=pl.Series([20, 20, 20, 30, 30, 40, 40, 40, 50]),
        town=pl.lit("Ash"),
        disease=pl.Series(["flu", "flu", "gout", "rash", "rash", "asthma", "ulcer", "mumps", "zoster"]),
    )
    published = frame.drop("pid", "town")[:8]
    own = series(tmp_path)
    found = own.adopt(frame, published)
    assert (found.persons, found.unpublished, found.groups) == (8, 1, 3)
    assert (found.unsafe_groups, found.kept, found.held_back) == (2, 3, 2)
    assert any("held back" in line for line in found.sentences())
    assert any("alone among made-up records" in line for line in found.sentences())
    release = own.publish(frame, again=True)
    placed = own.placements(2, frame)
    told = signatures(release, placed)
    # Two of them in one group would make the third one's value certain.
    groups = dict(placed.select("person", "group").iter_rows())
    assert [list(groups.values()).count(groups[person]) for person in (0, 1, 2)] == [1, 1, 1]
    assert release.manifest["withheld"] == 2
    assert sorted(told) == [0, 1, 2, 5, 6, 7, 8]
    assert told[0] == told[1] == told[2] == sets("flu", "gout")
    assert told[5] == told[6] == told[7] == sets("asthma", "ulcer", "mumps")


def test_two_releases_that_cross(tmp_path):
    """A tool that knows no series told p1 {cataract, pneumonia}, then {cataract, diarrhea}: now they rest, and p2."""
    own = series(tmp_path, schema=SCHEMA)
    own.adopt(S1, R1)
    crossing = pl.DataFrame(
        {
            "age": ["[21, 23]"] * 2 + ["[24, 26]"] * 2 + ["[41, 42]"] * 2,
            "disease": ["cataract", "diarrhea", "flu", "gastritis", "flu", "gastritis"],
        }
    )
    found = own.adopt(S2, crossing)
    assert found.crossed == 3, "p1, p2 and p3"
    assert any("no longer safe" in line for line in found.sentences())
    released = own.publish(S3)
    assert released.manifest["withheld"] == 3
    told = signatures(released, own.placements(3, S3))
    assert sorted(told) == ["p4", "p5", "p6", "p7"]
    assert told["p4"] == sets("flu", "glaucoma")


def test_where_nothing_is_promised_who_was_told_too_little_gets_another_signature(tmp_path):
    own = series(tmp_path, rv.TauSafety(m=2, strict=False), SCHEMA)
    found = own.adopt(S1, R1.with_columns(age=pl.Series(["[21, 22]", "[21, 22]", "24", "23", "[41, 42]", "[41, 42]"])))
    assert (found.unsafe_groups, found.kept, found.held_back, found.renewed) == (2, 0, 0, 2)
    assert any("get others" in line for line in found.sentences())
    released = own.publish(S1)
    told = signatures(released, own.placements(2, S1))
    assert len(told) == 6
    assert told["p1"] == sets("cataract", "pneumonia")
    assert min(map(len, told.values())) >= 2
    own.adopt(S1, R1)
    assert len(own.publish(S1, again=True).groups) >= 6, "the last signature is the only one"


def test_who_was_told_too_little_rests_under_m_invariance(tmp_path):
    """p3 and p4 were alone in their groups: with another signature their values would be as certain as before."""
    own = series(tmp_path, rv.MInvariance(m=2), SCHEMA)
    found = own.adopt(S1, R1.with_columns(age=pl.Series(["[21, 22]", "[21, 22]", "24", "23", "[41, 42]", "[41, 42]"])))
    assert (found.unsafe_groups, found.kept, found.held_back, found.renewed) == (2, 0, 2, 0)
    told = signatures(own.publish(S1), own.placements(2, S1))
    assert sorted(told) == ["p1", "p2", "p5", "p6"]
    assert told["p1"] == sets("cataract", "pneumonia")
    own.adopt(S1, R1)
    assert sorted(signatures(own.publish(S1, again=True), own.placements(4, S1))) == sorted(told), "they rest for good"


def test_a_part_is_adopted_under_m_invariance_only_before_anything_else(tmp_path):
    own = series(tmp_path, rv.MInvariance(m=2), SCHEMA)
    own.adopt(S1, R1.head(2), where="age < 23")
    with pytest.raises(RefusedError, match="would return"):
        own.adopt(S1, R1.tail(4), where="age >= 23")
    assert len(own.history()) == 1


def test_what_does_not_fit(tmp_path):
    own = series(tmp_path, schema=SCHEMA)
    for given, word in (
        (R1.with_columns(age=pl.lit("[90, 95]")), "nobody"),
        (R1.with_columns(disease=pl.lit("gout")), "nobody"),
        (R1.drop("disease"), "disease"),
        (R1.with_columns(pid=pl.lit("p1")), "pid"),
        (R1.with_columns(extra=pl.lit("x")), "extra"),
    ):
        with pytest.raises(DataError, match=word) as caught:
            own.adopt(S1, given)
        assert caught.value.exit_code == 2
        assert own.history() == []
    assert own.adopt(S1, R1).persons == 6
    with pytest.raises(RefusedError, match="settings"):
        series(tmp_path, rv.TauSafety(m=3), SCHEMA)


def test_a_release_of_another_series_of_ours(tmp_path):
    other = rv.Series.open(tmp_path / "other", SCHEMA, rv.TauSafety(m=2))
    first = other.publish_to(tmp_path / "r1.csv", S1).release
    told = signatures(first, other.placements(1, S1))
    own = series(tmp_path, schema=SCHEMA)
    own.adopt(S1, tmp_path / "r1.csv")
    own.publish_to(tmp_path / "own.csv", S1)
    placed = own.placements(2, S1)
    released = rv.Release.read(tmp_path / "own.csv")
    assert signatures(released, placed) == told
    assert own.check(tmp_path) == other.check(tmp_path) == []
    with pytest.raises(RefusedError, match="no placements"):
        own.placements(1, S1)


def test_published_values_that_nobody_has(tmp_path):
    """A counterfeit of another tool's: its value is in the signature, though no record has it."""
    own = series(tmp_path, schema=SCHEMA)
    extended = pl.concat([R1, R1[:1].with_columns(disease=pl.lit("mumps"))])
    own.adopt(S1, extended)
    released = own.publish(S1)
    told = signatures(released, own.placements(2, S1))
    assert told["p1"] == told["p2"] == sets("cataract", "pneumonia", "mumps")


def test_a_series_of_static_releases_adopts_as_well(tmp_path):
    own = series(tmp_path, rv.Static(k=2), SCHEMA)
    assert own.adopt(S1, R1).persons == 6
    assert own.publish(S2).manifest["release"] == 2
    assert own.history()[1]["updated"] == 2


def test_on_the_command_line(tmp_path):
    path = config(tmp_path)
    path.write_text(path.read_text().replace("town =", "income ="))
    S1.write_csv(tmp_path / "s1.csv")
    R1.write_csv(tmp_path / "r1.csv")
    S2.with_columns(pl.col("age") + 50).write_csv(tmp_path / "other.csv")
    done = command("adopt", tmp_path / "other.csv", tmp_path / "r1.csv", "-c", path)
    assert done.returncode == 2
    assert "nobody" in done.stderr
    assert not any(value in done.stderr for value in S1["disease"])
    done = command("adopt", tmp_path / "s1.csv", tmp_path / "r1.csv", "-c", path)
    assert done.returncode == 0
    assert "6 persons recognised in 3 groups" in done.stderr
    done = command("adopt", tmp_path / "s1.csv", tmp_path / "none.csv", "-c", path)
    assert done.returncode == 2
    S2.write_csv(tmp_path / "s2.csv")
    done = command("publish", tmp_path / "s2.csv", "-c", path, "-o", tmp_path / "r2.csv")
    assert done.returncode == 0
    assert "release 2" in done.stderr


def test_a_file_is_adopted_once_and_rows_of_others_are_counted(tmp_path):
    schema = rv.Schema(person="pid", quasi=["age"], sensitive="disease")
    frame = pl.DataFrame({"pid": range(8), "age": range(20, 28), "disease": list("abcdefgh")})
    pl.DataFrame({"age": ["20-23"] * 4 + ["24-27"] * 4, "disease": list("abcdefgh")}).write_csv(tmp_path / "r.csv")
    own = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(m=2))
    found = own.adopt(frame.head(6), tmp_path / "r.csv")
    assert found.strangers == 2
    assert any("2 published rows fit nobody" in sentence for sentence in found.sentences())
    with pytest.raises(rv.RefusedError, match="release 1 of the series already"):
        own.adopt(frame.head(6), tmp_path / "r.csv")


@pytest.mark.parametrize(
    "guarantee", [rv.PossibleWorlds(l=2), rv.TauSafety(m=2)], ids=["a guarantee that cannot adopt", "a wrong table"]
)
def test_a_refused_adoption_leaves_no_vault_behind(tmp_path, guarantee):
    own = series(tmp_path, guarantee, SCHEMA)
    right = isinstance(guarantee, rv.PossibleWorlds)
    for _ in range(2):
        with pytest.raises((RefusedError, DataError)):
            own.adopt(S1 if right else S1.with_columns(age=pl.lit(99)), R1)
        assert list(tmp_path.iterdir()) == []
    if not right:
        own.adopt(S1, R1)
        with pytest.raises(DataError):
            own.adopt(S1.with_columns(age=pl.lit(99)), R1)
        assert len(own.history()) == 1, "a vault that was there stays"
