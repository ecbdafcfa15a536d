"""Worked examples of the sources: what an audit must find, and what it must not."""

import polars as pl
import pytest

import reveil as rv
from tests.adversary.tables import SCHEMA, beliefs, certain, intervals, publish, snapshot

MINE = ["linkage", "homogeneity", "skewness", "similarity", "intersection", "difference", "serial", "plain"]
MINE += ["absence", "correspondence"]


@pytest.fixture
def tables_4():
    """Source 000, tables 4.1 to 4.3: three snapshots and their groups."""
    schema = rv.Schema(person="pid", quasi=["age", "salary"], sensitive="disease")
    names = ["pid", "age", "salary", "disease"]
    p1, p3 = ("p1", 21, 12, "cataract"), ("p3", 24, 18, "flu")
    p4, p5 = ("p4", 23, 25, "glaucoma"), ("p5", 41, 20, "flu")
    first = [p1, ("p2", 22, 14, "pneumonia"), p3, p4, p5, ("p6", 42, 34, "gastritis")]
    second = [p1, ("p2", 23, 40, "diarrhea"), p3, ("p7", 26, 34, "gastritis"), p5, ("p6", 42, 35, "gastritis")]
    frames = [pl.DataFrame(rows, schema=names, orient="row") for rows in (first, second, [*second, p4])]
    rest = [("p3", "p7"), ("p5", "p6")]
    groups = [[("p1", "p2"), ("p3", "p4"), ("p5", "p6")], [("p1", "p2"), *rest], [("p1", "p2", "p4"), *rest]]
    releases = [intervals(f, g, ["age", "salary"], ["disease"]) for f, g in zip(frames, groups, strict=True)]
    return schema, frames, releases


def test_tables_4_1_to_4_3_betray_people(tables_4):
    schema, frames, releases = tables_4
    found = rv.audit(releases, schema, truth=frames, known="events", attacks=MINE)
    told = certain(found)
    assert told["p1", 1] == told["p1", 2] == "cataract"
    assert (told["p2", 1], told["p2", 2]) == ("pneumonia", "diarrhea")
    assert told["p4", 1] == told["p4", 3] == "glaucoma"
    assert ("p5", 1) not in told
    assert found.summary["certain_and_right"] == found.summary["certain"] == 5
    assert found.held  # nobody promised anything
    assert not rv.audit(releases, schema, truth=frames, known="events", attacks=MINE, threshold=0.5).held
    assert "can be read off by comparing the releases 1 and 2" in found.sentence


def test_each_of_these_tables_alone_tells_one_half(tables_4):
    schema, frames, releases = tables_4
    for release, frame in zip(releases[:2], frames[:2], strict=True):
        found = rv.audit(release, schema, truth=frame, attacks=MINE)
        assert found.summary["highest"] == 0.5
        assert found.summary["baseline"]["last_release"]["highest"] == 0.5
        assert rv.audit(release, schema, truth=frame, attacks=MINE, threshold=0.5).held


def test_who_knows_only_attendance_cannot_intersect(tables_4):
    schema, frames, releases = tables_4
    found = rv.audit(releases, schema, truth=frames, attacks=MINE)
    assert found.known == "presence"
    assert found.certain.is_empty()


def test_adopted_tables_go_on_safely(tables_4, tmp_path):
    schema, frames, releases = tables_4
    domain = ("cataract", "pneumonia", "flu", "glaucoma", "gastritis", "diarrhea", "gout", "angina")
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(2, domain=domain))
    adopted = series.adopt(frames[0], releases[0])
    told = [releases[0], series.publish(frames[1]), series.publish(frames[2])]
    assert adopted is not None
    found = rv.audit(told, schema, truth=frames, attacks=MINE)
    assert (found.known, found.summary["bound"], found.held) == ("events", 0.5, True)
    assert found.summary["highest"] == 0.5


def test_refinement_table_1():
    first = {"Alice": "flu", "Bob": "pneumonia", "Charlotte": "migraine", "Dave": "HIV"}
    second = {"Alice": "flu", "Dave": "HIV", "Fran": "flu", "George": "cancer"}
    third = {"Fran": "flu", "George": "cancer", "Ellis": "HIV", "Helen": "HIV"}
    frames = [snapshot(own) for own in (first, second, third)]
    releases = [publish(own, [tuple(own)]) for own in (first, second, third)]
    two = rv.audit(releases[:2], SCHEMA, truth=frames[:2], known="events", attacks=MINE)
    found = beliefs(two)
    # Alice and Dave were there twice and have flu and HIV; what is left of the second release is flu and cancer.
    assert found["George"][1:] == found["Fran"][1:] == (0.5, True)
    assert {found["George"][0], found["Fran"][0]} <= {"flu", "cancer"}
    assert two.certain.is_empty()
    ids = [pl.DataFrame({"row": range(len(own)), "id": list(own)}) for own in (first, second, third)]
    followed = rv.audit(releases, SCHEMA, truth=frames, placements=ids, attacks="intersection")
    told = certain(followed)
    assert told["Ellis", 3] == told["Helen", 3] == "HIV"
    assert ("Fran", 2) not in told


def test_refinement_table_3_with_record_ids():
    one = {"3": "flu", "4": "HIV", "5": "cancer", "6": "flu"}
    two = {"1": "cancer", "2": "flu", "3": "tuberculosis", "4": "flu", "5": "HIV", "6": "cancer", "7": "HIV"}
    groups = [[("3", "4", "5", "6")], [("1", "2", "3"), ("4", "5"), ("6", "7")]]
    ids = [
        pl.DataFrame({"row": range(len(own)), "id": [p for g in gs for p in g]})
        for own, gs in zip((one, two), groups, strict=True)
    ]
    frames, releases = [snapshot(one), snapshot(two)], [publish(one, groups[0]), publish(two, groups[1])]
    population = [frame.select("pid", "place") for frame in frames]
    found = rv.audit(releases, SCHEMA, population, placements=ids, attacks=["intersection"])
    assert found.known == "ids"
    told = certain(found)
    assert (told["3", 1], told["3", 2]) == ("flu", "tuberculosis")
    assert beliefs(found)["1"][1:] == (0.5, True)
    assert beliefs(found)["1"][0] in ("cancer", "flu")


@pytest.mark.parametrize(("size", "expected"), [(2, 3 / 4), (4, 7 / 16)])
def test_figures_2_and_4_of_the_global_guarantee(size, expected):
    persons = [f"o{n}" for n in range(size)]
    values = dict(zip(persons, ["chlamydia", "flu", "gout", "angina"], strict=False))
    others = dict(zip(persons, ["cough", "chlamydia", "rash", "fever"], strict=False))
    frames, releases = [snapshot(values), snapshot(others)], [publish(values, [persons]), publish(others, [persons])]
    found = rv.audit(releases, SCHEMA, truth=frames, attacks="serial")
    assert beliefs(found)["o1"] == ("chlamydia", pytest.approx(expected), True)
    # It is about "ever", which a series of another kind does not bound; by name and threshold it is judged.
    assert not rv.audit(releases, SCHEMA, truth=frames, attacks="serial", threshold=0.4).held
    assert rv.audit(releases, SCHEMA, truth=frames).attacks["serial"]["judged"] is False


def test_example_5_1_the_blood_type_attack():
    schema = rv.Schema(person="pid", quasi=["age", "zip"], sensitive="disease", plain="blood")
    names = ["pid", "age", "zip", "blood", "disease"]
    rest = [("David", 44, 12, "B-", "flu"), ("Helen", 48, 23, "A+", "angina")]
    bob = ("Bob", 21, 65, "O+", "measles")
    rows = [[bob, ("Alice", 23, 58, "A+", "hepatitis"), *rest], [bob, ("Janet", 30, 61, "B+", "hepatitis"), *rest]]
    frames = [pl.DataFrame(own, schema=names, orient="row") for own in rows]
    groups = [[("Bob", second), ("David", "Helen")] for second in ("Alice", "Janet")]
    releases = [intervals(f, g, ["age", "zip"], ["blood", "disease"]) for f, g in zip(frames, groups, strict=True)]
    found = rv.audit(releases, schema, truth=frames, attacks=MINE)
    assert certain(found) == {("Bob", 1): "measles", ("Bob", 2): "measles"}
    assert found.attacks["plain"]["columns"] == ["blood"]
    # Somebody whose blood type changes shows that it is not a person's for good.
    other = frames[1].with_columns(pl.Series("blood", ["O+", "B+", "A+", "B-"]))
    second = intervals(other, groups[1], ["age", "zip"], ["blood", "disease"])
    assert rv.audit([releases[0], second], schema, truth=[frames[0], other], attacks="plain").persons.is_empty()


def test_who_may_not_be_in_the_table_may_have_any_value():
    """A thousand people fit a group of three rows, all b: nobody's value is certain, and none is told."""

    schema = rv.Schema(person="pid", quasi=["x"], sensitive="d")
    release = pl.DataFrame({"x": ["[0, 3]"] * 3, "d": ["b"] * 3})
    population = pl.DataFrame({"pid": range(1000), "x": [1] * 1000})
    for known in ("nothing", None):
        found = rv.audit([release], schema, population=population, known=known)
        assert found.summary["certain"] == 0
        assert found.summary["highest_proven"] < 0.01
    present = pl.DataFrame({"pid": range(4), "x": [1] * 4, "d": ["b"] * 4})
    assert rv.audit([release], schema, truth=[present]).summary["certain"] == 0  # one of the four is not in it


def test_placements_that_leave_records_out_are_refused():

    schema = rv.Schema(person="pid", quasi=["x"], sensitive="d")
    release = pl.DataFrame({"x": ["[0, 3]"] * 3, "d": ["a", "b", "c"]})
    truth = pl.DataFrame({"pid": ["p", "q", "r"], "x": [1, 1, 1], "d": ["a", "b", "c"]})
    with pytest.raises(rv.DataError, match="name 2 of its 3 records"):
        rv.audit([release], schema, truth=[truth], placements=[pl.DataFrame({"row": [1, 2], "id": ["q", "r"]})])


def test_releases_and_snapshots_in_the_wrong_order_are_noticed(tmp_path):

    schema = rv.Schema(person="pid", quasi=["x"], sensitive="d")
    series = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(m=2, domain=tuple("abcdefgh")), seed=1)
    tables = [
        pl.DataFrame({"pid": range(40), "x": [i + 50 * t for i in range(40)], "d": list("abcd") * 10}) for t in (0, 1)
    ]
    first, second = (series.publish(table) for table in tables)
    with pytest.raises(rv.ConfigError, match="release 1 comes after release 2"):
        rv.audit([second, first], schema, truth=tables[::-1])
    with pytest.raises(rv.DataError, match="fit no group of release 1"):
        rv.audit([first, second], schema, truth=tables[::-1])
    with pytest.raises(rv.DataError, match="no release tells the sensitive column"):
        rv.audit([first], rv.Schema(person="pid", quasi=["x"], sensitive="e"), population=tables[0].select("pid", "x"))


def test_everybody_is_listed_when_asked_for():
    schema = rv.Schema(person="pid", quasi=["x"], sensitive="d")
    release = pl.DataFrame({"x": ["[0, 3]"] * 2, "d": ["a", "b"]})
    truth = pl.DataFrame({"pid": ["p", "q", "r"], "x": [1, 2, 9], "d": ["a", "b", "c"]})
    told = rv.audit([release], schema, truth=[truth]).to_json(everybody=True)
    assert sorted(person["person"] for person in told["persons"]) == ["p", "q", "r"]
    away = next(person for person in told["persons"] if person["person"] == "r")
    assert (away["belief"], away["value"], away["releases"], away["exact"]) == (None, None, [], False)
