"""Registration lists: who dilutes a group is who may be meant by somebody who holds the list."""

import json
from fractions import Fraction

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import DataError, RefusedError, VerificationError
from reveil.tables.snapshot import canonical_text, read_snapshot
from reveil.verification.population import _listed
from tests.series.cases import command

SCHEMA = rv.Schema(person="pid", quasi=("x", "y"), sensitive="s")
CONFIG = """
[series]
vault = "v"
seed = 1
[columns]
pid = "person"
x = "quasi"
y = "quasi"
s = "sensitive"
[guarantee]
kind = "global"
l = 2
strategy = "constant-ratio"
releases = 1
population = "list.csv"
"""


def people(ids="p{}"):
    """Twelve people: at each x one of y = A and one of y = B, all with another value."""
    return pl.DataFrame(
        {
            "pid": [ids.format(n) for n in range(12)],
            "x": [n // 2 for n in range(12)],
            "y": ["A", "B"] * 6,
            "s": [f"s{n}" for n in range(12)],
        }
    )


def opened(folder, population):
    guarantee = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=1), population=population)
    return rv.Series.open(folder / "v", SCHEMA, guarantee, seed=1)


def believed(release, candidates):
    """Return how strongly somebody believes a value who knows that the rows are of these people."""
    highest = Fraction(0)
    for _, rows in release.text.group_by("group"):
        lo, hi = min(ends(rows)), max(ends(rows))
        possible = candidates.filter(pl.col("x").is_between(lo, hi)).height
        assert possible >= rows.height
        most = int(rows["s"].value_counts()["count"].max())
        highest = max(highest, Fraction(most, possible))
    return highest


def ends(rows):
    return [int(end) for cell in rows["x"].unique() for end in str(cell).strip("[]").split(",")]


def test_a_part_is_diluted_by_the_same_part_of_the_list(tmp_path):
    """Six exact groups of one row before: whoever knows that it is the extract of y = A believed 1."""
    everybody = people()
    part = opened(tmp_path, everybody.drop("s")).publish(everybody, where="y = A", columns=["x", "s"])
    assert (part.manifest["rows"], part.manifest["groups"]) == (6, 2)
    assert believed(part, everybody.filter(pl.col("y") == "A")) == Fraction(1, 3)


def test_the_whole_is_diluted_by_the_whole_list(tmp_path):
    everybody = people()
    here = everybody.filter(pl.col("y") == "A")
    release = opened(tmp_path, everybody.drop("s")).publish(here, columns=["x", "s"])
    assert (release.manifest["rows"], release.manifest["groups"]) == (6, 6)
    assert believed(release, everybody) == Fraction(1, 2)


def test_a_list_without_the_columns_of_the_expression(tmp_path):
    own = opened(tmp_path, people().select("pid", "x"))
    with pytest.raises(DataError, match="no column 'y'") as caught:
        own.publish(people(), where="y = A", columns=["x", "s"])
    assert "--where" in caught.value.hint
    assert own.history() == []
    assert own.publish(people(), columns=["x", "s"]).manifest["rows"] == 12


def test_everybody_must_be_on_the_list(tmp_path):
    """Ids written otherwise: everybody was diluted by themselves, and believed with 1."""
    capitals = people("P{}").drop("s")
    with pytest.raises(RefusedError, match=r"12 of the 12 persons .* are not on the registration list") as caught:
        opened(tmp_path, capitals).publish(people())
    assert "two persons" in caught.value.hint
    with pytest.raises(RefusedError, match=r"1 of the 12 persons .* are not on"):
        opened(tmp_path, people().drop("s")[1:]).publish(people())
    moved = people().drop("s").with_columns(y=pl.when(pl.col("x") > 3).then(pl.lit("B")).otherwise("y"))
    own = opened(tmp_path, moved)
    with pytest.raises(RefusedError, match=r"2 of the 6 persons .* the same part was taken"):
        own.publish(people(), where="y = A", columns=["x", "s"])


def test_the_list_must_say_what_the_table_says(tmp_path):
    moved = people().drop("s").with_columns(x=pl.when(pl.col("pid") == "p3").then(5).otherwise("x"))
    with pytest.raises(RefusedError, match=r"1 of the 12 persons .* other quasi values"):
        opened(tmp_path, moved).publish(people())
    # Of columns that are neither published nor asked for, nobody looks for anybody in.
    assert opened(tmp_path, moved).publish(people(), columns=["y", "s"]).manifest["rows"] == 12


@pytest.mark.parametrize("ids", ["p{}", "{}", "0{}"])
def test_ids_are_read_alike_in_files_and_frames(tmp_path, ids):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    everybody = people(ids)
    more = pl.DataFrame({"pid": ["A7"], "x": [3], "y": ["B"]})
    listed = pl.concat([everybody.select("pid", "x", "y"), more]).with_columns(note=pl.lit("what nobody reads"))
    listed.write_csv(tmp_path / "list.csv")
    everybody[::2].write_csv(tmp_path / "t.csv")
    done = command("publish", tmp_path / "t.csv", "-c", tmp_path / "reveil.toml", "-o", tmp_path / "o.csv")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "o.manifest.json").read_text())["rows"] == 6


def test_on_the_command_line(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    people().write_csv(tmp_path / "t.csv")

    def publish(listed, *more):
        (tmp_path / "list.csv").write_text(listed)
        return command("publish", tmp_path / "t.csv", "-c", tmp_path / "reveil.toml", "-o", tmp_path / "o.csv", *more)

    good = people().drop("s").write_csv()
    done = publish(good.replace("p0", "P0"))
    assert done.returncode == 1
    assert "1 of the 12 persons" in done.stderr
    done = publish(people().select("pid", "x").write_csv(), "--where", "y = A", "--columns", "x,s")
    assert done.returncode == 2
    assert "no column 'y'" in done.stderr
    # Read as strictly as a table: what is wrong is named with file, line and column.
    for wrong, words in (
        (good.replace("p3,1,B", "p3,one,B"), ("list.csv:5", "'x'")),
        (good + "p3,1,B\n", ("list.csv", "'pid'")),
        (good.replace("p3,1,B", "p3,1,B,C"), ("list.csv:5",)),
        (good.replace("p3,1,B", ",1,B"), ("list.csv:5", "'pid'")),
    ):
        done = publish(wrong)
        assert done.returncode == 2
        assert all(word in done.stderr for word in words), done.stderr
    assert publish(good).returncode == 0


def test_a_quote_that_swallows_persons(tmp_path):
    """The name of a column that nobody looks at took persons of the list with it, and the rest was read as a list."""
    (tmp_path / "reveil.toml").write_text(CONFIG)
    people()[4:].write_csv(tmp_path / "t.csv")
    good = people().select("pid", "x", "y").with_columns(note=pl.lit("")).write_csv()

    def publish(listed):
        (tmp_path / "list.csv").write_text(listed)
        return command("publish", tmp_path / "t.csv", "-c", tmp_path / "reveil.toml", "-o", tmp_path / "o.csv")

    swallowing = good.replace("note\n", '"note\n').replace('p1,0,B,""', 'p1,0,B,"').replace('""', "")
    assert swallowing.startswith('pid,x,y,"note\np0,0,A,\np1,0,B,"\np2,')
    done = publish(swallowing)
    assert done.returncode == 2
    assert "list.csv:1" in done.stderr
    assert "column 4" in done.stderr
    assert "p0" not in done.stderr
    assert publish(good).returncode == 0


def test_frames_are_read_as_strictly_as_files(tmp_path):
    pandas = pytest.importorskip("pandas")
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    listed = people().drop("s").to_pandas()
    odd = listed.assign(mixed=[1, "a", object()] * 4)  # a column that nobody looks at
    assert opened(tmp_path / "one", odd).publish(people()).manifest["rows"] == 12
    twice = pandas.concat([listed, listed[["x"]]], axis=1)
    with pytest.raises(DataError, match="one name stands more than once"):
        opened(tmp_path / "two", twice).publish(people())
    unnamed = people().drop("s").with_columns(pl.lit(1).alias(""))
    with pytest.raises(DataError, match="has no name"):
        opened(tmp_path / "three", unnamed).publish(people())


def test_the_judge_reads_the_list_as_the_publisher_does(tmp_path):
    """It took any file for a CSV, and the ids of a file for texts as they stand, whatever the table makes of them."""
    everybody = people("{}.0")
    everybody.write_csv(tmp_path / "t.csv")
    everybody.drop("s").write_csv(tmp_path / "list.csv")
    release = opened(tmp_path, tmp_path / "list.csv").publish(tmp_path / "t.csv")
    table = read_snapshot(tmp_path / "t.csv", SCHEMA)
    assert _listed(tmp_path / "list.csv", table, release, None)["pid"].equals(canonical_text(table.frame["pid"]))
    (tmp_path / "list.txt").write_bytes((tmp_path / "list.csv").read_bytes())
    with pytest.raises(VerificationError, match="registration list cannot be read"):
        _listed(tmp_path / "list.txt", table, release, None)
