"""Nested regions: their published form, counts, who may be in which, and what measures make of them."""

import itertools
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.adversary.candidates import find_candidates
from reveil.core.errors import ExpressionError
from reveil.models.encoding import encode
from reveil.releases.foreign import read_release
from reveil.releases.groups import groups_of
from reveil.releases.linking import place
from reveil.releases.nesting import nesting_of
from reveil.tables.expressions import matches
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital
from reveil.testing.strategies import tables
from reveil.verification import verify
from tests.analysis.test_queries import REGIONS as TREE
from tests.analysis.test_queries import _is_small as is_small
from tests.analysis.test_queries import (
    admitted,
    has_star,
    holds,
    leaves_of,
    meanings,
    questions,
    raw_rows,
    small_questions,
    spelt,
)
from tests.grouping.bang.nested import Nest, grid, prepared, published

quick = settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 10**6)

# Figure 3.6: seven regions of the source, as halves of an 8 x 8 square.
FIGURE = {
    "A": ((0, 0), (7, 7), 0),
    "B": ((4, 0), (7, 7), 1),
    "C": ((4, 0), (5, 3), 3),
    "D": ((0, 4), (3, 7), 2),
    "E": ((2, 6), (3, 7), 4),
    "F": ((0, 4), (1, 5), 4),
    "G": ((2, 2), (3, 3), 4),
}


def figure():
    square = grid()
    inside = [
        [n for n, (lo, hi, _) in FIGURE.items() if lo[0] <= x <= hi[0] and lo[1] <= y <= hi[1]]
        for x, y in zip(square["x"], square["y"], strict=True)
    ]
    frame = pl.DataFrame({**square, "block": [max(names, key=lambda n: FIGURE[n][2]) for names in inside]})
    schema = rv.Schema(quasi=["x", "y"], sensitive="block")
    return rv.anonymize(frame, schema, rv.KAnonymity(4), Nest(tuple(FIGURE.values())), seed=1), frame


def blocks_of(release, window):
    counts = {name: release.count(f"({window}) and block = {name}") for name in FIGURE}
    return {name: (found.lower, found.upper) for name, found in counts.items() if found.upper}


def test_figure_3_6_a_point_query_keeps_the_innermost_region():
    release, _ = figure()
    rows = release.typed.unique(["x", "y", "level"])
    around = [
        (row["block"], row["level"])
        for row in rows.sort("level").to_dicts()
        if all(row[n]["lo"] <= at <= row[n]["hi"] for n, at in (("x", 3), ("y", 6)))
    ]
    assert around == [("A", 0), ("D", 2), ("E", 4)]
    assert blocks_of(release, "x = 3 and y = 6") == {"E": (0, 4)}


def test_figure_3_8_a_range_query_touches_blocks_not_boxes():
    release, frame = figure()
    window = "x in [2, 3] and y >= 2"
    assert blocks_of(release, window) == {"D": (0, 8), "E": (4, 4), "G": (4, 4)}
    assert release.count(window).estimate == pytest.approx(12)
    assert blocks_of(release, "x >= 4") == {"B": (24, 24), "C": (8, 8)}, "all of them, though A has a part there"
    assert nesting_of(release).parent.tolist().count(-1) == 1
    assert frame.height == release.count("x >= 0").lower == 64


def test_table_3_1_point_and_window_return_their_groups():
    frame = pl.DataFrame(
        {
            "age": [48, 55, 62, 59, 70, 77],
            "zip": [44100, 44120, 44199, 44420, 44450, 44499],
            "gender": ["F", "M", "F", "M", "F", "M"],
            "disease": ["Flu", "Flu", "HIV", "Flu", "Gastritis", "HIV"],
        }
    )
    schema = rv.Schema(quasi=["age", "zip", "gender"], sensitive="disease")
    regions = (((0, 0, 0), (3, 2, 2), 1), ((2, 3, 0), (5, 5, 2), 1))
    release = rv.anonymize(frame, schema, rv.KAnonymity(3), Nest(regions), seed=1)
    assert release.manifest["groups"] == 2
    assert release.manifest["achieved"] == {"k": 3}
    assert set(release.text["age"]) == {"[48, 62]", "[59, 77]"}
    upper = {
        query: [release.count(f"{query} and disease = {d}").upper for d in ("Flu", "HIV", "Gastritis")]
        for query in ("age = 62 and zip = 44120 and gender = F", "zip in [44420, 44470] and age >= 50")
    }
    assert list(upper.values()) == [[2, 1, 0], [1, 1, 1]], "ids 1, 2, 3 and ids 4, 5, 6"


# -- counts, point by point


def block_points(release, table):
    """Return for each row the points of its block: those of its box that no box of a higher level holds."""
    quasi, labels = table.schema.quasi, leaves_of(TREE)
    rows = release.typed.to_dicts()
    boxes = [[admitted(row[n], table.schema[n], labels) for n in quasi] for row in rows]
    known = {tuple(map(tuple, box)): (row["level"], [set(cell) for cell in box]) for row, box in zip(rows, boxes)}  # noqa: B905
    return [
        [
            point
            for point in itertools.product(*box)
            if not any(
                level > row["level"] and all(v in cell for v, cell in zip(point, cells, strict=True))
                for level, cells in known.values()
            )
        ]
        for row, box in zip(rows, boxes, strict=True)
    ]


@quick
@given(small_questions(), seeds)
def test_counts_are_those_of_the_plain_definition(question, seed):
    table, tree = question
    if has_star(table):
        return
    release = published(table, Nest(seed=seed))
    meaning, quasi = meanings(table.schema), table.schema.quasi
    truths = {n: {"true": True, "false": False} for n in quasi if table.frame.schema[n] == pl.Boolean}
    estimate, lower, upper = Fraction(0), 0, 0
    values = release.values.to_dicts() or [{}] * release.manifest["rows"]
    for points, own in zip(block_points(release, table), values, strict=True):
        read = [{n: truths.get(n, {}).get(v, v) for n, v in zip(quasi, point, strict=True)} for point in points]
        found = [holds(tree, {**own, **point}, meaning) for point in read]
        estimate += Fraction(sum(found), len(found))
        lower += all(found)
        upper += any(found)
    count = release.count(spelt(tree), table.schema)
    assert (count.lower, count.upper) == (lower, upper)
    assert count.estimate == pytest.approx(float(estimate), abs=1e-9)


@quick
@given(questions(max_rows=30), seeds, st.integers(0, 4), st.sampled_from(["csv", "parquet", None]))
def test_bounds_contain_the_truth(tmp_path_factory, question, seed, out, suffix):
    table, tree = question
    truth = sum(holds(tree, row, meanings(table.schema)) for row in raw_rows(table))
    release = published(table, Nest(seed=seed, out=out), suppress=0.99)
    counts = [release.count(spelt(tree), table.schema)]
    if suffix is not None and table.frame.width > 2:
        path = release.write(tmp_path_factory.mktemp("release") / f"r.{suffix}")
        again = rv.Release.read(path)
        assert again.text.equals(release.text)
        counts.append(again.count(spelt(tree), table.schema))
        assert counts[0].estimate == pytest.approx(counts[1].estimate, abs=1e-9)
    if not any(table.schema[name].taxonomy for name in table.schema.sensitive):
        with suppress(ExpressionError):  # orders and labels need the schema
            counts.append(release.count(spelt(tree)))
    for found in counts:
        assert found.lower <= truth <= found.upper
        assert found.lower <= found.estimate <= found.upper


# -- the published form


def test_taxonomies_are_sets_of_leaves_and_what_is_left_out_is_not_told(tmp_path):
    places = rv.Taxonomy.load({"N": ["n1", "n2"], "S": ["s1"]})
    schema = rv.Schema(quasi=["zip", "age", "job"], sensitive="ill", hierarchies={"zip": places})
    frame = pl.DataFrame(
        {
            "zip": ["n1", "n1", "n2", "n1", None],
            "age": [99, 20, 30, 31, 40],
            "job": ["spy", "nurse", "nurse", "cook", "cook"],
            "ill": ["a", "b", "a", "b", "a"],
        }
    )
    # Codes: zip n1 n2 s1 null; age 20 30 31 40 99; job cook nurse spy.
    method = Nest((((0, 0, 0), (3, 5, 3), 0), ((0, 0, 0), (1, 1, 3), 2)), out=1)
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), method, suppress=0.2, seed=1)
    assert sorted(release.text.drop("ill").unique().rows()) == [
        ("{n1, n2, s1} | null", "[20, 40]", "{cook, nurse}", 0),
        ("{n1, n2}", "[20, 30]", "{cook, nurse}", 2),
    ]
    kind = {"name": "zip", "role": "quasi", "form": "set", "type": "String", "hierarchy": "leaves"}
    assert release.manifest["columns"][0] == kind
    assert release.manifest["columns"][-1] == {"name": "level", "role": "level", "form": "value", "type": "Int32"}
    assert any("higher level" in sentence for sentence in release.manifest["assumes"])
    assert release.count("zip = N and age <= 30", schema) == rv.Count(2, 2, 3)
    assert release.count("zip = n2").upper == 5
    # The manifest tells the hierarchy: without a schema the answer is the same.
    assert release.count("zip = N") == release.count("zip = N", schema)
    assert release.count("zip = N").lower == 2
    with pytest.raises(ExpressionError, match="has no label 'Q'"):
        release.count("zip = Q")
    again = rv.Release.read(release.write(tmp_path / "r.csv"))
    assert again.levels[again.classes].tolist() == release.levels[release.classes].tolist()
    assert pl.read_csv(tmp_path / "r.csv").columns == ["zip", "age", "job", "ill", "level"]


def test_what_cannot_be_nested_is_refused():
    with pytest.raises(rv.ConfigError, match=r"'mondrian' makes no nested regions(.|\n)*bang"):
        rv.Mondrian(recode="nested")
    frame = pl.DataFrame({"level": [1, 2], "s": ["a", "b"]})
    with pytest.raises(rv.ConfigError, match=r"'level' of its own(.|\n)*Rename"):
        rv.anonymize(frame, rv.Schema(quasi="level", sensitive="s"), rv.KAnonymity(1), Nest())


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ((((0, 2), (7, 3), 1), ((2, 0), (3, 7), 2)), "neither is inside"),  # a cross
        ((((0, 0), (7, 7), 3), ((2, 2), (3, 3), 2)), "no higher level"),
        ((((0, 0), (7, 7), 3), ((2, 2), (3, 3), 3)), "no higher level"),
    ],
)
def test_boxes_that_are_no_nesting_are_refused(regions, message):
    schema = rv.Schema(quasi=["x", "y"])
    release, *_ = prepared_release(pl.DataFrame(grid()), schema, regions)
    with pytest.raises(rv.VerificationError, match=message):
        release.count("x = 1")
    with pytest.raises(rv.VerificationError, match=message):
        rv.measure(pl.DataFrame(grid()), release, schema)


def prepared_release(frame, schema, regions):
    """Publish boxes as they are, whatever record is in them; each is given to somebody."""
    made = prepared(frame, schema, Nest(tuple(FIGURE.values())[: len(regions)]))
    boxes = {
        name: replace(
            own,
            distinct=pl.DataFrame(
                {"lo": [r[0][a] for r in regions], "hi": [r[1][a] for r in regions], "null": False}
            ).to_struct(name),
            index=np.arange(len(regions), dtype=np.int32),
        )
        for a, (name, own) in enumerate(made.release.cells.items())
    }
    levels = np.array([r[2] for r in regions], np.int32)
    return replace(made.release, cells=boxes, levels=levels), made


def test_groups_with_the_same_region_are_one_and_one_record_is_a_group():
    frame, schema = pl.DataFrame({"x": [1, 1, 5]}), rv.Schema(quasi="x")
    same = (((0,), (2,), 0), ((0,), (2,), 0))
    assert rv.anonymize(frame, schema, rv.KAnonymity(3), Nest(same)).manifest["groups"] == 1
    alone = rv.anonymize(frame[:1], schema, rv.KAnonymity(1), Nest((((0,), (1,), 0),)))
    assert alone.text.rows() == [("1", 0)]
    # Code 1 is 5, code 2 is null, of which there is none: the parent's box holds what its child's does.
    alike = (((0,), (2,), 0), ((0,), (1,), 1))
    assert rv.anonymize(frame, schema, rv.KAnonymity(3), Nest(alike)).text["level"].unique().to_list() == [1]


# -- whom a reader finds where


@quick
@given(tables(max_rows=10, max_quasi=3), seeds, st.integers(1, 3))
def test_a_person_may_only_be_where_something_is_left(table, seed, known):
    made = prepared(table.frame, table.schema, Nest(seed=seed))
    release, codes = made.release, made.draft.codes
    groups = groups_of(release)
    attributes = codes.quasi[:known]
    found = find_candidates(release, groups, attributes, codes.n)
    listed = [set(own.tolist()) for own in found.groups]
    row = np.argsort(made.placement)  # the row of each record
    own = groups.index[row]
    assert all(own[record] in listed[record] for record in range(codes.n)), "everybody may be where they are"
    if known >= len(codes.quasi):
        assert all(len(places) == 1 for places in listed), "a point is in one block"
    elif is_small(table.frame):
        blocks = block_points(release, table)
        values = [release_values(table, codes, a) for a in attributes]
        for record in range(codes.n):
            asked = tuple(own_values[record] for own_values in values)
            assert listed[record] == {
                int(group)
                for group, points in zip(groups.index, blocks, strict=True)
                if any(point[: len(asked)] == asked for point in points)
            }


def release_values(table, codes, attribute):
    """Return the values of an attribute as a release spells them."""
    domain = [*attribute.domain.to_list(), None]
    return [domain[code] for code in attribute.codes]


@quick
@given(tables(max_rows=12, max_sensitive=1), seeds)
def test_the_owner_finds_records_in_their_block(table, seed):
    made = prepared(table.frame, table.schema, Nest(seed=seed))
    values = read_snapshot(table.frame, table.schema).frame.select(table.schema.sensitive)
    placed = place(made.release, made.draft.codes, values)
    assert placed.groups.tolist() == made.release.classes[np.argsort(made.placement)].tolist()
    assert not placed.ambiguous


def test_the_audit_knows_the_innermost_region():
    """Somebody more could be in either box, so that counting excludes nothing: only levels say who is inside."""
    frame = pl.DataFrame({"id": range(6), "x": [1, 2, 3, 4, 5, 6], "s": ["a", "b", "c", "c", "b", "a"]})
    schema = rv.Schema(person="id", quasi="x", sensitive="s")
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), Nest((((0,), (6,), 0), ((2,), (3,), 1))), seed=1)
    people = pl.DataFrame({"id": range(8), "x": [1, 2, 3, 4, 5, 6, 4, 1]})
    found = rv.audit([release], schema, population=people)
    belief = {p["person"]: p["belief"] for p in found.to_json(everybody=True)["persons"]}
    assert [belief[person] for person in "236"] == pytest.approx([2 / 3] * 3), "three for two rows that share a value"


@quick
@given(seeds)
def test_measures_spread_records_over_blocks(seed):
    """One record on every point: whatever the regions, every block is evenly filled, and nothing is lost."""
    frame, schema = pl.DataFrame(grid(6)), rv.Schema(quasi=["x", "y"])
    release = rv.anonymize(frame, schema, rv.KAnonymity(1), Nest(seed=seed))
    found = rv.measure(frame, release, schema, queries=20).to_dict()["measures"]
    assert found["kl"] == pytest.approx(0, abs=1e-9)
    assert found["query_error"]["mean"] == pytest.approx(0, abs=1e-9)
    assert 0 <= found["gcp"] <= 1


def test_codes_that_a_region_does_not_have_change_nothing():
    frame = pl.DataFrame({"x": [1, 2, 3, 4]})
    schema = rv.Schema(quasi="x")
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), Nest((((0,), (4,), 0), ((2,), (4,), 1))), seed=1)
    assert sorted(set(release.text.rows())) == [("[1, 4]", 0), ("[3, 4]", 1)]
    assert encode(read_snapshot(frame, schema)).quasi[0].null_code == 4
    assert release.count("x <= 2") == rv.Count(2, 2, 2)


def test_without_its_manifest_a_nested_table_is_refused():
    release, _ = figure()
    schema = rv.Schema(quasi=["x", "y"], sensitive="block")
    with pytest.raises(rv.DataError, match=r"boxes are nested(.|\n)*manifest"):
        read_release(release.text, schema)


def test_bang_publishes_what_reads_back(tmp_path):
    frame, schema = hospital.month(300, seed=5), hospital.schema()
    model = rv.KAnonymity(5) & rv.DistinctDiversity(2)
    release = rv.anonymize(frame, schema, model, rv.BangA(form="nested"), seed=1)
    again = rv.Release.read(release.write(tmp_path / "r.csv"))
    verify(again, read_snapshot(frame, schema), model)
    raw = read_snapshot(frame, schema).frame
    for query in ("age in [30, 40]", "town = Aldwick and not sex = f", "income > 20000 or ward = surgery"):
        found = again.count(query, schema)
        assert found.lower <= matches(query, raw, schema).sum() <= found.upper
