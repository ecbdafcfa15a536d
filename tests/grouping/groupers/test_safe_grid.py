"""SafeGrid: the delta of the theorem, the fixed grid, and differential privacy counted exactly on tiny tables."""

import itertools
import json
import math
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.randomness import Dice
from reveil.grouping.grid import checked_scales, grid_column
from reveil.grouping.recoders.grid import GridRecoder
from reveil.grouping.sampling import Sampling, delta_of, least_epsilon
from reveil.models.encoding import encode, encode_quasi
from reveil.releases.manifest_files import digest_of, manifest_bytes, manifest_path, read_manifest
from reveil.tables.notation import to_text
from reveil.tables.snapshot import read_snapshot
from reveil.verification import verify
from tests.cli.run import reveil
from tests.made import made_alone
from tests.manifests import altered, promising

quick = settings(deadline=None, max_examples=30)


def tail(n, beta, more_than):
    """P[Bin(n, beta) > x], summed exactly."""
    b = Fraction(beta)
    return sum(
        (math.comb(n, j) * b**j * (1 - b) ** (n - j) for j in range(math.floor(more_than) + 1, n + 1)), Fraction(0)
    )


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (2, 0.5, math.log(2)),
        (5, 0.1, 0.2),
        (5, 0.1, 1.0),
        (10, 0.25, 0.5),
        (1, 0.3, 1.0),
        (3, 0.05, 0.06),
        (20, 0.2, 0.25),
    ],
)
def test_delta_is_the_largest_tail_of_the_theorem(k, beta, epsilon):
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    first = max(math.ceil(k / gamma - 1), 1)
    tails = [float(tail(n, beta, gamma * n)) for n in range(first, first + 40)]
    assert delta_of(k, beta, epsilon) == pytest.approx(max(tails), rel=1e-9)
    assert delta_of(k, beta, epsilon) >= max(tails), "rounded up"


def test_the_largest_tail_may_lie_above_the_first():
    found = [(k, b, e) for k in (2, 3, 4, 5) for b in (0.1, 0.3, 0.5) for e in (0.4, 0.7, 0.9, 1.5) if above(k, b, e)]
    assert found, "the first n is not always the worst"


def above(k, beta, epsilon):
    if epsilon < least_epsilon(beta):
        return False
    gamma = (math.exp(epsilon) - 1 + beta) / math.exp(epsilon)
    first = max(math.ceil(k / gamma - 1), 1)
    return delta_of(k, beta, epsilon) > float(tail(first, beta, gamma * first)) * 1.001


def test_delta_of_extremes():
    assert delta_of(1, 0.3, 1.0) == pytest.approx(0.3), "k = 1 publishes every record that is taken"
    assert delta_of(5, 0.001, 5.0) == pytest.approx(0.001**5)
    assert 0 < delta_of(100_000, 0.1, 0.2) <= 1e-300, "never nothing"
    assert delta_of(4, 0.5, 800.0) == pytest.approx(0.5**4), "gamma is 1 but for rounding"
    assert delta_of(4, 1 - 2**-53, 40.0) <= 1
    assert "adds nothing" in Sampling(1, 0.3, 1.0).assumes()[-1]
    assert len(Sampling(20, 0.3, 1.0).assumes()) == 2


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9, 1e-6])
def test_epsilon_below_the_theorem_is_refused_with_the_smallest(beta):
    with pytest.raises(rv.ConfigError, match="too small") as refused:
        rv.SafeGrid(beta=beta, epsilon=least_epsilon(beta) * 0.999)
    smallest = float(refused.value.hint.split("epsilon is ")[1].split(";")[0])
    assert rv.SafeGrid(beta=beta, epsilon=smallest).epsilon == smallest
    rv.SafeGrid(beta=beta, epsilon=-math.log(1 - beta))


@pytest.mark.parametrize("beta", [0, 1, "0.1", True])
def test_a_beta_that_cannot_be_is_refused(beta):
    with pytest.raises(rv.ConfigError, match="beta must"):
        rv.SafeGrid(beta=beta, epsilon=9)


# Differential privacy, exactly: all samples of all neighbouring tiny tables.


class Chosen:
    """Says which records are taken."""

    def __init__(self, taken):
        self.taken = np.array(taken, dtype=bool)

    def child(self, purpose):
        assert purpose == "sample"
        return self

    def random(self, n):
        assert n == len(self.taken)
        return np.where(self.taken, 0.0, 1.0)


SCHEMA = rv.Schema(quasi=["a", "w"], sensitive="s", types={"a": "number", "w": "text", "s": "text"})
SCALES = {"a": [0, 5, 10]}


@cache
def samples(records, k):
    """Return each published table, rows as a multiset, with the sizes of the samples that lead to it."""
    found = Counter()
    if not records:
        return Counter({((), 0): 1})
    frame = pl.DataFrame(records, schema={"a": pl.Int64, "w": pl.String, "s": pl.String}, orient="row")
    method = rv.SafeGrid(beta=0.5, epsilon=1.0, scales=SCALES)
    codes = encode(read_snapshot(frame, method.reading(SCHEMA)))
    everybody = method.group(codes, rv.KAnonymity(1), Chosen([True] * len(records)))
    recoded = GridRecoder(SCALES).recode(codes, everybody)
    written = [recoded.cells[name].text.gather(recoded.cells[name].index).to_list() for name in ("a", "w")]
    rows = [(written[0][c], written[1][c], s) for c, (_, _, s) in zip(recoded.classes, records, strict=True)]
    for taken in itertools.product((False, True), repeat=len(records)):
        partition = method.group(codes, rv.KAnonymity(k), Chosen(taken))
        found[tuple(sorted(map(str, (rows[r] for r in partition.order)))), sum(taken)] += 1
    return found


def outcomes(records, beta, k):
    """Return the exact chance of each published table."""
    chances, beta = Counter(), Fraction(beta)
    for (table, taken), many in samples(tuple(records), k).items():
        chances[table] += many * beta**taken * (1 - beta) ** (len(records) - taken)
    return chances


def excess(one, other, epsilon):
    """Return the least delta for which one's chances are within e^epsilon of the other's, over all sets of tables."""
    factor = math.exp(epsilon)
    return sum(max(float(p) - factor * float(other[table]), 0.0) for table, p in one.items())


A, B, C, OUTSIDE, GAP = (1, "x", "flu"), (2, "x", "flu"), (2, "x", "hiv"), (99, "x", "flu"), (None, "y", "hiv")
TABLES = [[A] * n for n in range(1, 7)] + [[A, B, C], [A, B, C, C, GAP], [A, B, OUTSIDE, C, C], [B, B, GAP, GAP, GAP]]


@pytest.mark.parametrize(
    ("beta", "epsilon", "k"), [(0.5, math.log(2), 2), (0.5, 1.0, 3), (0.25, 0.4, 2), (0.1, 1.0, 2)]
)
def test_neighbouring_tables_are_within_epsilon_and_delta(beta, epsilon, k):
    delta, worst = delta_of(k, beta, epsilon), 0.0
    for table in TABLES:
        whole = outcomes(table, beta, k)
        for gone in {record: i for i, record in enumerate(table)}.values():
            less = outcomes(table[:gone] + table[gone + 1 :], beta, k)
            worst = max(worst, excess(whole, less, epsilon), excess(less, whole, epsilon))
    assert worst <= delta
    assert worst > delta / 5, "delta is not far from what is needed"


def test_delta_is_needed():
    pair = excess(outcomes([A, B], 0.5, 2), outcomes([A], 0.5, 2), math.log(2))
    assert pair == pytest.approx(delta_of(2, 0.5, math.log(2))), "here it is tight"


def test_exact_values_beside_a_coarser_cell_would_cost_beta():
    # What a grid over the quasi columns alone would publish: the value of a person whom nobody is like.
    beta, epsilon, k = 0.5, 1.0, 3

    def chances(values):
        found = Counter()
        for taken in itertools.product((False, True), repeat=len(values)):
            own = tuple(sorted(v for v, t in zip(values, taken, strict=True) if t))
            found[own if len(own) >= k else ()] += Fraction(beta) ** len(values)
        return found

    crowd = ["flu"] * 9
    assert excess(chances([*crowd, "hiv"]), chances(crowd), epsilon) > 0.9 * beta > delta_of(k, beta, epsilon)


# The grid.


def cells(values, scale, column="age", **declared):
    schema = rv.Schema(quasi=column, **declared)
    if isinstance(values[0], int | float):
        schema = GRID.reading(rv.Schema(quasi=column, types={column: "number"}))
    attribute = encode_quasi(read_snapshot(pl.DataFrame({column: values}), schema).frame[column], schema[column])
    grid = grid_column(attribute, None if scale is None else checked_scales({column: scale})[column])
    found = grid.of_code[attribute.codes]
    text = to_text(grid.cells(np.maximum(found, 0)), grid.form)
    return ["(none)" if cell < 0 else own for cell, own in zip(found, text, strict=True)]


def test_cells_are_written_as_the_scales_say():
    assert cells([17, 18, 29, 30, 65, 66, None], [18, 30, 65]) == [
        "(none)", "[18, 30]", "[18, 30]", "[30, 65]", "[30, 65]", "(none)", None,
    ]  # fmt: skip
    assert cells([18, 30, 31], [17.5, 30.5, 40]) == ["[17.5, 30.5]", "[17.5, 30.5]", "[30.5, 40]"]
    assert cells([0.5, 1.0, 2.0, float("nan")], [0, 1, 2]) == ["[0, 1]", "[1, 2]", "[1, 2]", None]
    days = [date(1949, 12, 31), date(1950, 1, 1), date(1959, 12, 31), date(1960, 1, 1)]
    assert cells(days, [date(1950, 1, 1), "1960-01-01", "1970-01-01"]) == [
        "(none)", "[1950-01-01, 1959-12-31]", "[1950-01-01, 1959-12-31]", "[1960-01-01, 1970-01-01]",
    ]  # fmt: skip
    moments = cells([datetime(2020, 1, 1, 12)], [date(2020, 1, 1), datetime(2020, 1, 2)])
    assert moments == ["[2020-01-01T00:00:00, 2020-01-02T00:00:00]"]
    places = {"North": {"Fells": ["f1", "f2"], "Coast": ["c1"]}, "South": {"Plain": ["p1"]}}
    for scale, expected in {None: "f2", 0: "f2", 1: "Fells", 2: "North", 3: "*"}.items():
        assert cells(["f2", None], scale, hierarchies={"age": places}) == [expected, None]
    grades = {"orders": {"age": ["none", "primary", "secondary"]}}
    assert cells(["none", "secondary"], [["secondary", "none"], ["primary"]], **grades) == ["{none, secondary}"] * 2
    assert cells(["none", None], None, **grades) == ["none", None]
    assert cells(["*", "a, b", None], None) == ['"*"', "a, b", None]


@quick
@given(st.lists(st.integers(-5, 40), min_size=1, max_size=12), st.lists(st.integers(-5, 40), max_size=12))
def test_a_cell_depends_on_the_value_and_the_scale_alone(values, others):
    assert cells(values + others, [0, 7, 20, 30])[: len(values)] == cells(values, [0, 7, 20, 30])
    words = [str(v) + "w" for v in values + others]
    assert cells(words, None)[: len(values)] == cells(words[: len(values)], None)


@pytest.mark.parametrize(
    ("values", "scale", "declared", "message"),
    [
        ([1, 2], None, {}, "needs cut points"),
        ([1, 2], 3, {}, "needs cut points"),
        ([1, 2], [1], {}, "is none"),
        ([1, 2], "1,2", {}, "is none"),
        ([1, 2], [1, [2]], {}, "is none"),
        ([1, 2], [2, 1], {}, "must ascend"),
        ([1, 2], [1, 1.2, 1.2, 5], {}, "must ascend"),
        ([1, 2], [1, "2"], {}, "not a value of its type"),
        ([1, 2], [0, float("inf")], {}, "finite"),
        ([1, 2], [0, True], {}, "neither a number"),
        ([date(2020, 1, 1)], [2019, 2021], {}, "not a value of its type"),
        ([date(2020, 1, 1)], ["2020-01-01", "soon"], {}, "not a value of its type"),
        (["a"], [["a"]], {}, "neither numbers nor dates"),
        (["a"], [["a"]], {"orders": {"age": ["a", "b"]}}, "into one list"),
        (["a"], 3, {"hierarchies": {"age": {"x": ["a"]}}}, "level of its hierarchy"),
    ],
)
def test_a_scale_that_does_not_fit_is_refused_in_words(values, scale, declared, message):
    with pytest.raises(rv.ConfigError, match=message):
        cells(values, scale, **declared)


# Releases.

FRAME = pl.DataFrame(
    {
        "age": [20 + i % 50 for i in range(600)],
        "sex": ["f" if i % 3 else "m" for i in range(600)],
        "disease": ["flu" if i % 20 else "hiv" for i in range(600)],
    }
)
TYPES = {"age": "number", "sex": "text", "disease": "text"}
HOSPITAL = rv.Schema(quasi=["age", "sex"], sensitive="disease", types=TYPES)
GRID = rv.SafeGrid(beta=0.5, epsilon=1.0, scales={"age": [0, 30, 60, 120]})
READ = GRID.reading(HOSPITAL)


def test_a_release_tells_delta_and_not_how_many_are_left_out():
    release = rv.anonymize(FRAME, HOSPITAL, rv.KAnonymity(20), GRID, seed=3)
    manifest = release.manifest
    assert manifest["suppressed"] is None
    assert manifest["achieved"]["delta"] == manifest["guarantee"]["delta"] == delta_of(20, 0.5, 1.0)
    assert manifest["guarantee"]["grade"] == "blind"
    assert {"beta", "epsilon"} <= manifest["guarantee"].keys()
    assert "differential privacy" in manifest["claim"]
    assert any("this release alone" in sentence for sentence in manifest["assumes"])
    assert str(FRAME.height) not in json.dumps({k: v for k, v in manifest.to_json().items() if k != "created"})
    rows = release.table.group_by(pl.all()).len()
    assert rows["len"].min() >= 20
    assert set(rows["age"]) <= {"[0, 30]", "[30, 60]", "[60, 120]"}
    assert "hiv" not in set(rows["disease"]), "thirty records of one kind in six cells, half of them taken"
    assert 200 < release.table.height < 400
    assert release.count("age <= 29").upper is None
    assert rv.measure(FRAME, release, HOSPITAL)["suppressed"] == FRAME.height - release.table.height
    assert release.cells["sex"].distinct.to_list() == [["f"], ["m"]]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_nothing_left_is_an_empty_table(tmp_path, suffix):
    release = rv.anonymize(FRAME.head(5), HOSPITAL, rv.KAnonymity(20), GRID, seed=3)
    assert (release.table.height, release.manifest["groups"], release.manifest["achieved"]["k"]) == (0, 0, 0)
    again = rv.Release.read(release.write(tmp_path / f"out.{suffix}"))
    verify(again, read_snapshot(FRAME.head(5), READ), rv.KAnonymity(20))


def test_what_the_theorem_does_not_cover_is_refused():
    def refused(message, schema=HOSPITAL, model=None, frame=FRAME, method=GRID, **options):
        with pytest.raises(rv.ConfigError, match=message):
            rv.anonymize(frame, schema, model or rv.KAnonymity(5), method, **options)

    refused("k alone", model=rv.KAnonymity(5) & rv.DistinctDiversity(2))
    refused("k alone", model=rv.TCloseness(0.5))
    refused("does not tell how many", suppress=0.1)
    refused("is plain", rv.Schema(quasi=["age", "sex"], plain="disease"))
    for name, role, line in (("age", "quasi", "number"), ("sex", "quasi", "text"), ("disease", "sensitive", "text")):
        some = {own: kind for own, kind in TYPES.items() if own != name}
        with pytest.raises(rv.ConfigError, match=f"{name!r} needs a type") as undeclared:
            rv.anonymize(
                FRAME, rv.Schema(quasi=["age", "sex"], sensitive="disease", types=some), rv.KAnonymity(5), GRID
            )
        assert undeclared.value.hint.startswith(f'{name} = {{ role = "{role}", type = "{line}" }}')
    with pytest.raises(rv.ConfigError, match="not read as the method 'safe-grid' needs"):
        made_alone(read_snapshot(FRAME, HOSPITAL), rv.KAnonymity(5), GRID, Dice.of_seed(1))
    numbers = FRAME.with_columns(disease=pl.col("age"))
    refused("has bins", rv.Schema(quasi=["age", "sex"], sensitive="disease", bins={"disease": 3}), frame=numbers)
    refused("not a quasi column", method=rv.SafeGrid(beta=0.5, epsilon=1, scales={"disease": [1, 2]}))
    refused("needs cut points", method=rv.SafeGrid(beta=0.5, epsilon=1))
    refused("belongs to the method 'safe-grid'", method=rv.Mondrian(recode="grid"))


# Nothing that is told of a column depends on a record.

OPEN = rv.Schema(
    quasi=["age", "sex", "born", "seen"], sensitive=["cost", "grade"],
    types={"age": "number", "sex": "text", "born": "date", "seen": "datetime", "cost": "number"},
    orders={"grade": ["1", "2", "none"]},
)  # fmt: skip
CUTS = {"age": [0, 30, 120], "born": ["1900-01-01", "1990-01-01", "2100-01-01"], "seen": ["2000-01-01", "2100-01-01"]}
EACH = rv.SafeGrid(beta=0.5, epsilon=1.0, scales=CUTS)
USUAL = {"age": "31", "sex": "1", "born": "1980-05-01", "seen": "", "cost": "7", "grade": "1"}
ODD = (
    {"age": "30.5"},
    {"age": "9" * 30, "cost": "9" * 60},
    {"age": "", "cost": ""},
    {"sex": "x", "grade": "none"},
    {"sex": "2020-01-01", "cost": "0.5"},
    {"born": "1980-05-01T10:00:00", "seen": "2020-01-01"},
    {"seen": "2020-01-01T10:00:00+02:00"},
)


def told(rows, suffix, folder):
    """Publish; return the columns as the manifest has them, the header, all cells of the grid, and the usual rows."""
    path = folder / "raw.csv"
    frame = pl.DataFrame(rows, schema=list(USUAL), orient="row")
    frame.write_csv(path)
    release = rv.anonymize(path, OPEN, rv.KAnonymity(2), EACH, seed=1)
    written = release.write(folder / f"out.{suffix}")
    header = written.read_text().splitlines()[0] if suffix == "csv" else pl.read_parquet_schema(written)
    codes = encode(read_snapshot(path, EACH.reading(OPEN)))
    grid = [grid_column(a, EACH.scales.get(a.name)) for a in codes.quasi if a.name in CUTS]
    possible = [to_text(column.cells(np.arange(column.null_cell + 1)), column.form).to_list() for column in grid]
    usual = {row for row in release.table.rows() if row[4] == "7"}
    return release.manifest["columns"], header, possible, usual


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_no_record_changes_how_columns_are_described_or_cells_written(tmp_path, suffix):
    usual = [list(USUAL.values())] * 20
    columns, header, possible, rows = told(usual, suffix, tmp_path)
    assert [column["type"].partition("(")[0] for column in columns] == [
        "Float64", "String", "Date", "Datetime", "Float64", "String",
    ]  # fmt: skip
    assert possible[0] == ["[0, 30]", "[30, 120]", None]
    assert rows == {("[30, 120]", "1", "[1900-01-01, 1989-12-31]", None, "7", "1")}
    for odd in ODD:
        assert told([*usual, list((USUAL | odd).values())], suffix, tmp_path) == (columns, header, possible, rows), odd


def rewritten(release, path, rows, **guarantee):
    """Write a table of other rows under the manifest of a release, numbers and digest mended."""
    release.write(path)
    rows.write_csv(path)
    manifest = promising(read_manifest(path), **guarantee)
    manifest = altered(
        manifest,
        rows=rows.height,
        digest=digest_of(path),
        groups=rows.select("age", "sex").n_unique(),
        achieved={**manifest.achieved, "k": rows.group_by("age", "sex").len()["len"].min()},
    )
    manifest_path(path).write_bytes(manifest_bytes(manifest))
    return rv.Release.read(path)


def test_verification_finds_rare_rows_other_cells_and_another_delta(tmp_path):
    release = rv.anonymize(FRAME, HOSPITAL, rv.KAnonymity(20), GRID, seed=3)
    raw, path = read_snapshot(FRAME, READ), tmp_path / "out.csv"
    verify(rewritten(release, path, release.table), raw, rv.KAnonymity(20))
    rare = pl.concat([release.table, release.table.head(1).with_columns(disease=pl.lit("hiv"))])
    narrow = release.table.with_columns(pl.col("age").replace({"[30, 60]": "[31, 60]"}))
    for rows, told, message in [
        (rare, {}, "occur less than 20 times"),
        (narrow, {}, "not of the declared grid"),
        (release.table, {"delta": 1e-9}, "another delta"),
        (release.table, {"beta": None}, "describes no sample"),
        (release.table, {"epsilon": 0.1}, "describes no sample"),
    ]:
        with pytest.raises(rv.VerificationError, match=message):
            verify(rewritten(release, path, rows, **told), raw, rv.KAnonymity(20))


CONFIG = """
[series]
name = "ward"
seed = 5
{vault}
[columns]
age = {{ role = "quasi", type = "number" }}
sex = {{ role = "quasi", type = "text" }}
disease = {{ role = "sensitive", type = "text" }}
{person}
[guarantee]
kind = "static"
k = 20
[method]
kind = "safe-grid"
beta = 0.5
epsilon = 1.0
scales = {{ age = [0, 30, 60, 120] }}
"""


def test_the_command_line_publishes_and_verifies(tmp_path):
    FRAME.write_csv(tmp_path / "raw.csv")
    config, out = tmp_path / "reveil.toml", tmp_path / "out.csv"
    config.write_text(CONFIG.format(vault="", person=""))
    done = reveil("publish", tmp_path / "raw.csv", "-c", config, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "suppressed" not in done.stderr
    assert "none is altered" in done.stderr
    checked = reveil("verify", out, tmp_path / "raw.csv", "-c", config)
    assert (checked.returncode, "is sound" in checked.stderr) == (0, True), checked.stderr
    before = config.read_text()
    for wrong in (
        before.replace("epsilon = 1.0", "epsilon = 2.0"),
        before.replace("30, 60", "30, 50"),
        before[: before.index("[method]")],
        before.replace("k = 20", "k = 10"),
    ):
        config.write_text(wrong)
        refused = reveil("verify", out, tmp_path / "raw.csv", "-c", config)
        assert (refused.returncode, "promises something else" in refused.stderr) == (1, True), refused.stderr
    for line, message in (("epsilon = 1.0", "needs epsilon"), ("epsilon = 0.2", "smallest epsilon is 0.693148")):
        config.write_text(before.replace("epsilon = 1.0", "" if "needs" in message else line))
        refused = reveil("publish", tmp_path / "raw.csv", "-c", config, "-o", out)
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr


def test_a_mondrian_release_is_not_taken_for_a_sample(tmp_path):
    FRAME.write_csv(tmp_path / "raw.csv")
    config, out = tmp_path / "reveil.toml", tmp_path / "out.csv"
    text = CONFIG.format(vault="", person="")
    config.write_text(text[: text.index("[method]")])
    assert reveil("publish", tmp_path / "raw.csv", "-c", config, "-o", out).returncode == 0
    config.write_text(text)
    assert reveil("verify", out, tmp_path / "raw.csv", "-c", config).returncode == 1
    # Nor is it one because its manifest says so.
    config.write_text(text[: text.index("[method]")])
    manifest = read_manifest(out)
    sampling = Sampling(20, 0.5, 1.0)
    manifest = promising(manifest, **sampling.parameters())
    manifest = altered(manifest, claim=f"{manifest.promise.claim} {sampling.sentence()}")
    for secret in (0, None):
        manifest_path(out).write_bytes(manifest_bytes(altered(manifest, suppressed=secret)))
        assert reveil("verify", out, tmp_path / "raw.csv", "-c", config).returncode == 1


def test_in_a_series_the_same_snapshot_gives_the_same_sample(tmp_path):
    FRAME.with_row_index("pid").write_csv(tmp_path / "raw.csv")
    config = tmp_path / "reveil.toml"
    config.write_text(CONFIG.format(vault='vault = "v"', person='pid = "person"'))
    for out in ("one.csv", "two.csv"):
        done = reveil("publish", tmp_path / "raw.csv", "-c", config, "-o", tmp_path / out)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    checked = reveil("verify", tmp_path / "one.csv", tmp_path / "raw.csv", "-c", config)
    assert checked.returncode == 0, checked.stderr
    FRAME.with_row_index("pid").head(590).write_csv(tmp_path / "next.csv")
    done = reveil("publish", tmp_path / "next.csv", "-c", config, "-o", tmp_path / "next_out.csv")
    assert done.returncode == 0, done.stderr
    assert "were published before" in done.stderr
    out = tmp_path / "part.csv"
    done = reveil("publish", tmp_path / "next.csv", "-c", config, "-o", out, "--columns", "sex,disease")
    assert done.returncode == 0, done.stderr
    checked = reveil("verify", out, tmp_path / "next.csv", "-c", config)
    assert checked.returncode == 0, checked.stderr


def test_types_stay_steady_in_a_series_that_began_with_another_method(tmp_path):
    schema = rv.Schema(person="pid", quasi=["age", "sex"], sensitive="disease", types=TYPES)
    people = FRAME.with_row_index("pid")
    rv.Series.open(tmp_path / "v", schema, rv.Static(k=20)).publish(people)
    series = rv.Series.open(tmp_path / "v", schema, rv.Static(k=20), GRID)
    odd = people.with_columns(pl.col("age") + pl.when(pl.col("pid") == 7).then(0.5).otherwise(0))
    for frame in (people, odd):
        release = series.publish(frame)
        assert [column["type"] for column in release.manifest["columns"]] == ["Float64", "String", "String"]
        verify(release, series.part_of(frame, release.manifest, known=True), rv.KAnonymity(20))


def test_a_method_says_why_it_lacks_a_setting(tmp_path, monkeypatch):
    monkeypatch.setattr(rv.Mondrian, "refuses", {"beta": "The grid must not be learnt: use 'safe-grid'."})
    config = tmp_path / "reveil.toml"
    config.write_text(CONFIG.format(vault="", person="").replace("safe-grid", "mondrian"))
    with pytest.raises(rv.ConfigError, match="has no setting 'beta'\n  The grid must not be learnt"):
        rv.Series.load(config)
