"""Parts of a table: some columns, some records. Who is not in the part counts as gone."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError, DataError, ExpressionError
from tests.series.cases import command, config, series, signatures, snapshot, tables, written


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def test_some_columns(tmp_path):
    own = series(tmp_path)
    first = own.publish(snapshot())
    told = signatures(first, own.placements(1, snapshot()))
    part = own.publish(snapshot(), columns=["age", "disease"])
    assert part.table.columns == ["age", "disease", "group"]
    assert part.manifest["release"] == 2, "another part is another release"
    assert signatures(part, own.placements(2, snapshot())) == told
    assert own.publish(snapshot(), columns=["disease", "age"]).manifest["release"] == 2
    assert own.publish(snapshot()).manifest["release"] == 3
    row = own.history()[2]
    assert [row[key] for key in ("inserted", "deleted", "updated", "returned")] == [0, 0, 0, 0]
    moved = snapshot().with_columns(town=pl.lit("Elm"))
    own.publish(moved, columns=("age", "disease"))
    assert own.history()[3]["updated"] == 0, "nothing is compared that is not looked at"
    own.publish(moved)
    assert own.history()[4]["updated"] == 40


@pytest.mark.parametrize(
    ("columns", "word"),
    [
        (["age"], "disease"),
        (["age", "town"], "disease"),
        (["disease"], "quasi"),
        (["age", "disease", "pid"], "pid"),
        (["age", "disease", "nothing"], "nothing"),
        ([], "no column is named"),
    ],
)
def test_columns_that_cannot_be(tmp_path, columns, word):
    own = series(tmp_path)
    with pytest.raises(ConfigError, match=word):
        own.publish(snapshot(), columns=columns)
    assert own.history() == []


def test_some_records(tmp_path):
    own = series(tmp_path)
    first = own.publish(snapshot())
    told = signatures(first, own.placements(1, snapshot()))
    young = snapshot().filter(pl.col("age") < 50)
    part = own.publish(snapshot(), where="age < 50")
    assert part.manifest["release"] == 2
    row = own.history()[1]
    assert (row["persons"], row["deleted"]) == (young.height, 40 - young.height)
    placed = own.placements(2, snapshot())
    assert set(placed["person"]) == set(young["pid"])
    assert signatures(part, placed) == {person: told[person] for person in young["pid"]}
    assert own.publish(snapshot(), where="age < 50").manifest["release"] == 2
    assert own.publish(snapshot(), where="age < 50", columns=["town", "disease"]).manifest["release"] == 3
    # The others come back with the signature that they had.
    back = own.publish(snapshot())
    assert own.history()[3]["returned"] == 40 - young.height
    assert signatures(back, own.placements(4, snapshot())) == told


def test_who_is_published_does_not_depend_on_a_value(tmp_path):
    own = series(tmp_path)
    for where in ("disease = flu", "age < 50 and not disease in {flu, gout}", "disease is null or age > 3"):
        with pytest.raises(ConfigError, match="disease") as caught:
            own.publish(snapshot(), where=where)
        assert "flu" not in str(caught.value)
    with pytest.raises(DataError, match="no record"):
        own.publish(snapshot(), where="age > 500")
    for wrong in ("age <", "nothing = 3", "age ! 3"):
        with pytest.raises(ExpressionError):
            own.publish(snapshot(), where=wrong)
    assert own.history() == []


def test_on_the_command_line(tmp_path):
    path = config(tmp_path)
    raw = written(tmp_path, "raw.csv")

    def publish(*more):
        return command("publish", raw, "-c", path, "-o", tmp_path / "part.csv", *more)

    for more, word in (
        (("--where", "disease = flu"), "disease"),
        (("--columns", "age,town"), "disease"),
        (("--where", "age <"), "age <"),
    ):
        done = publish(*more)
        assert done.returncode == 2
        assert word in done.stderr
    assert not (tmp_path / "part.csv").exists()
    done = publish("--columns", "town, disease", "--where", "age >= 30 and town in {Ash, Birk}")
    assert done.returncode == 0, done.stderr
    part = pl.read_csv(tmp_path / "part.csv")
    assert part.columns == ["town", "disease", "group"]
    frame = snapshot().filter((pl.col("age") >= 30) & pl.col("town").is_in(["Ash", "Birk"]))
    assert rv.Release.read(tmp_path / "part.csv").manifest["rows"] >= frame.height
    assert len(tables(tmp_path / "ward.vault")["persons"]) == frame.height


def test_without_a_series_there_are_no_parts(tmp_path):
    path = config(tmp_path, 'kind = "static"\nk = 3')
    path.write_text(path.read_text().replace('vault = "ward.vault"', ""))
    raw = written(tmp_path, "raw.csv")
    done = command("publish", raw, "-c", path, "-o", tmp_path / "o.csv", "--where", "age < 50")
    assert done.returncode == 2
    assert "vault" in done.stderr


@pytest.mark.parametrize("part", [[], ["--columns", "age,disease"], ["--where", "age >= 30"]])
def test_verify_knows_which_part_was_asked_for(tmp_path, part):
    frame = pl.DataFrame(
        {"pid": range(40), "age": range(20, 60), "town": ["Ash", "Elm"] * 20, "disease": list("abcdefgh") * 5}
    )
    frame.write_csv(tmp_path / "raw.csv")
    (tmp_path / "reveil.toml").write_text(
        '[series]\nvault = "v"\n[columns]\npid = "person"\nage = "quasi"\ntown = "quasi"\ndisease = "sensitive"\n'
        '[guarantee]\nkind = "tau-safety"\nm = 2\n'
    )
    config = ["-c", tmp_path / "reveil.toml"]
    assert command("publish", tmp_path / "raw.csv", *config, "-o", tmp_path / "out.csv", *part).returncode == 0
    where = part if "--where" in part else []
    assert command("verify", tmp_path / "out.csv", tmp_path / "raw.csv", *config, *where).returncode == 0
