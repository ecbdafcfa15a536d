"""Tables of any tool become releases."""

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import reveil as rv
from reveil.models.encoding import encode
from reveil.releases.admitted import admitted_codes
from reveil.releases.files import batch_path
from reveil.releases.foreign import read_release
from reveil.releases.manifest_files import digest_of, manifest_path
from reveil.tables.notation import Form
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital

SCHEMA = rv.Schema(person="pid", identifiers="name", quasi=["age", "zip"], sensitive="disease")
ROWS = [("[20, 29]", "441**", "flu"), ("[20, 29]", "441**", "cold"), ("30-39", "{44203, 50000}", "flu")]


def csv(path, header, rows, delimiter=","):
    def cell(text):
        return f'"{text}"' if any(c in text for c in ",;\t") else text

    lines = [delimiter.join(map(cell, row)) for row in (header, *rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def file(tmp_path):
    return csv(tmp_path / "out.csv", ("age", "zip", "disease"), ROWS)


def test_a_release_is_returned_as_it_is(file):
    release = read_release(file, SCHEMA)
    assert read_release(release, SCHEMA) is release


def test_the_manifest_promises_nothing(file):
    release = read_release(file, SCHEMA)
    told = release.manifest
    assert told["guarantee"] == {"kind": "unknown"}
    assert (told["format"], told["claim"], told["rows"], told["groups"], told["suppressed"]) == (2, "", 3, 2, None)
    assert (told["withheld"], told["dirty"], told["counterfeits"]) == (0, 0, {"total": 0, "per_group": {}})
    assert (told["achieved"], told["digest"]) == ({}, digest_of(file))
    assert [column["form"] for column in told["columns"]] == ["foreign", "foreign", "value"]
    assert release.groups is None
    assert release.classes.tolist()[0] == release.classes.tolist()[1] != release.classes.tolist()[2]
    assert {cells.form for cells in release.cells.values()} == {Form.FOREIGN}
    assert release.table.rows() == ROWS


def test_delimiters_orders_of_columns_and_frames_make_no_difference(file, tmp_path):
    wanted = read_release(file, SCHEMA).text
    backwards = [row[::-1] for row in ROWS]
    for delimiter in ",;\t":
        path = csv(tmp_path / "other.csv", ("disease", "zip", "age"), backwards, delimiter)
        assert read_release(path, SCHEMA).text.select(wanted.columns).equals(wanted)
    wanted.write_parquet(tmp_path / "out2.parquet")
    frames = [wanted, wanted.lazy(), wanted.to_pandas(), wanted.to_arrow(), tmp_path / "out2.parquet"]
    for source in frames:
        assert read_release(source, SCHEMA).text.equals(wanted)
    assert isinstance(read_release(wanted.to_pandas(), SCHEMA).table, pd.DataFrame)
    assert isinstance(read_release(wanted.to_arrow(), SCHEMA).table, pa.Table)
    assert read_release(wanted, SCHEMA).manifest["digest"] is None


def test_typed_cells_are_read_as_text(tmp_path):
    frame = pl.DataFrame(
        {
            "age": [{"lo": 20, "hi": 29, "null": False}, {"lo": 30, "hi": 39, "null": True}],
            "zip": [["44101", "44203"], ["50000", None]],
            "disease": ["flu", "cold"],
        }
    )
    release = read_release(frame, SCHEMA)
    assert release.text["age"].to_list() == ["[20, 29]", "[30, 39] | null"]
    assert release.text["zip"].to_list() == ["{44101, 44203}", "50000 | null"]
    with pytest.raises(rv.DataError, match="neither text nor values"):
        read_release(frame.with_columns(zip=pl.col("age").struct.rename_fields(["a", "b", "c"])), SCHEMA)
    numbers = read_release(frame.with_columns(age=pl.Series([20.0, float("nan")])), SCHEMA)
    assert numbers.text["age"].to_list() == ["20", None]


def test_a_release_of_reveil_is_read_with_its_manifest(tmp_path):
    frame, schema = hospital.month(60, seed=1), hospital.schema()
    path = rv.anonymize(frame, schema, rv.KAnonymity(5), seed=1).write(tmp_path / "r.csv")
    assert read_release(path, schema).manifest["guarantee"]["kind"] == "static"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(rv.VerificationError):
        read_release(path, schema)
    manifest_path(path).write_text(json.dumps({"made by": "another tool"}))
    assert read_release(path, schema).manifest["guarantee"] == {"kind": "unknown"}
    manifest_path(path).write_text("{")
    with pytest.raises(rv.FileError, match="manifest"):
        read_release(path, schema)


def test_what_was_read_can_be_written_and_read_again(file, tmp_path):
    release = read_release(file, SCHEMA)
    for name in ("again.csv", "again.parquet"):
        again = read_release(release.write(tmp_path / name), SCHEMA)
        assert again.text.equals(release.text)
        assert {cells.form for cells in again.cells.values()} == {Form.FOREIGN}


def test_generalised_columns_may_be_missing(tmp_path):
    release = read_release(pl.DataFrame({"zip": ["44*"], "disease": ["flu"]}), SCHEMA)
    assert (release.columns, list(release.cells)) == (("zip", "disease"), ["zip"])
    bare = read_release(pl.DataFrame({"disease": ["flu", "cold"]}), SCHEMA)
    assert (bare.manifest["groups"], dict(bare.cells)) == (1, {})


def test_missing_and_unknown_columns_are_named(tmp_path):
    for header, rows, message in [
        (("age", "zip"), [("1", "2")], "the sensitive column 'disease' is not in this release"),
        (("age", "disease", "salary"), [("1", "2", "3")], "column 'salary' is not declared"),
        (("age", "disease", "pid"), [("1", "2", "3")], "'pid' tells who is who"),
        (("age", "disease", "name"), [("1", "2", "Ann")], "'name' tells who is who"),
    ]:
        path = csv(tmp_path / "bad.csv", header, rows)
        with pytest.raises(rv.DataError, match=message) as caught:
            read_release(path, SCHEMA)
        assert caught.value.file == str(path)
        assert caught.value.hint
        assert "Ann" not in str(caught.value)
        with pytest.raises(rv.DataError, match=message):
            read_release(pl.DataFrame(rows, schema=header, orient="row"), SCHEMA)


def test_a_missing_header_shows_nothing(tmp_path):
    path = csv(tmp_path / "bare.csv", ROWS[0], ROWS[1:])
    with pytest.raises(rv.DataError, match="none of the declared columns") as caught:
        read_release(path, SCHEMA)
    assert "441" not in str(caught.value)
    for source in (tmp_path / "none.csv", tmp_path, csv(tmp_path / "x.txt", ROWS[0], ROWS)):
        with pytest.raises(rv.FileError):
            read_release(source, SCHEMA)


def test_identifiers_that_a_tool_starred_out_are_no_columns(tmp_path):
    path = csv(tmp_path / "arx.csv", ("pid", "name", "age", "disease"), [("*", "*", "1", "flu"), ("*", "", "2", "flu")])
    assert read_release(path, SCHEMA).columns == ("age", "disease")


def test_groups_are_numbers_or_names(tmp_path):
    def groups(*names):
        rows = [("1", "flu", name) for name in names]
        return read_release(csv(tmp_path / "g.csv", ("age", "disease", "group"), rows), SCHEMA).groups.tolist()

    assert groups("7", "3", "7") == [7, 3, 7]
    assert groups("east", "west", "east") == [0, 1, 0]
    assert groups("999999999", "1", "1") == [0, 1, 1]
    with pytest.raises(rv.DataError, match="names no group") as caught:
        groups("1", "", "2")
    assert caught.value.line == 3
    described = read_release(tmp_path / "g.csv", rv.Schema(quasi=["age", "group"], sensitive="disease"))
    assert (described.groups, list(described.cells)) == (None, ["age", "group"])


def test_a_pair_of_tables(tmp_path):
    path = csv(tmp_path / "a.csv", ("group", "age", "zip"), [("x", "1", "44101"), ("x", "2", "44102"), ("y", "3", "9")])
    with pytest.raises(rv.DataError, match="'disease' is not in this release"):
        read_release(path, SCHEMA)
    second = csv(
        batch_path(path), ("disease", "count", "group"), [("flu", "1", "x"), ("flu", "1", "x"), ("cold", "1", "y")]
    )
    release = read_release(path, SCHEMA)
    assert release.groups.tolist() == [0, 0, 1]
    assert release.batch.rows() == [(0, "flu", 2), (1, "cold", 1)]
    assert release.manifest["digest"] == digest_of(path, second)
    assert release.manifest["columns"][-1]["table"] == "sensitive"
    assert release.group_values()[1]["disease"].to_list() == ["flu", "flu", "cold"]
    again = read_release(release.write(tmp_path / "b.csv"), SCHEMA)
    assert again.batch.equals(release.batch)
    csv(second, ("disease", "group"), [("flu", "x"), ("flu", "x"), ("cold", "y")])
    assert read_release(path, SCHEMA).batch.equals(release.batch)
    for header, rows, message in [
        (("disease",), [("flu",)], "no column 'group'"),
        (("group", "count"), [("x", "1")], "'disease' is not in this release"),
        (("group", "disease", "age"), [("x", "flu", "1")], "'age' is in the wrong table"),
        (("group", "disease", "count"), [("x", "flu", "0")], "no number from 1 up"),
    ]:
        csv(second, header, rows)
        with pytest.raises(rv.DataError, match=message) as caught:
            read_release(path, SCHEMA)
        assert caught.value.file == str(second)


def test_a_counted_row_stands_for_several(tmp_path):
    rows = [("1", "flu", "2"), ("2", "cold", "1")]
    release = read_release(csv(tmp_path / "c.csv", ("age", "disease", "count"), rows), SCHEMA)
    assert release.text.rows() == [("1", "flu"), ("1", "flu"), ("2", "cold")]
    assert release.manifest["rows"] == 3


def test_values_have_the_types_of_the_snapshot():
    frame = pl.DataFrame({"age": ["1", "2"], "disease": ["1", "2"]})
    assert read_release(frame, SCHEMA).values["disease"].dtype == pl.Int64
    for dtype in (pl.Int32(), pl.Float64(), pl.String(), pl.Decimal(10, 2)):
        assert read_release(frame, SCHEMA, types={"disease": dtype}).values["disease"].dtype == dtype
    floats = frame.with_columns(disease=pl.Series([1.0, None]))  # what pandas makes of whole numbers with gaps
    assert read_release(floats, SCHEMA, types={"disease": pl.Int64()}).values["disease"].to_list() == [1, None]
    for bad in (pl.Series([1.0, 2.5]), pl.Series(["1", "secret"]), pl.Series(["1", "*"])):
        with pytest.raises(rv.DataError, match=r"'disease' has a cell that is no value.*row 2") as caught:
            read_release(frame.with_columns(disease=bad), SCHEMA, types={"disease": pl.Int64()})
        assert "secret" not in str(caught.value)
        assert "2.5" not in str(caught.value)
    declared = rv.Schema(quasi="age", sensitive="disease", types={"disease": "number"})
    assert read_release(pl.DataFrame({"age": ["1"], "disease": ["007"]}), declared).values["disease"].to_list() == [7]


def test_quoted_texts_are_texts():
    frame = pl.DataFrame({"age": ["1"] * 4, "disease": ['"-3"', "5", '"broken', None]})
    assert read_release(frame, SCHEMA).values["disease"].to_list() == ["-3", "5", '"broken', None]


def test_marks_for_missing_cells():
    schema = rv.Schema(quasi="age", sensitive="disease", null_values=["NA"])
    release = read_release(pl.DataFrame({"age": ["1", "NA"], "disease": ["NA", "2"]}), schema)
    assert release.text.rows() == [("1", None), (None, "2")]
    assert release.values["disease"].dtype == pl.Int64


def test_garbage_is_named_with_file_and_line(tmp_path):
    rows = [ROWS[0], ("sometime", "441**", "secret"), ("sometime", "441**", "flu"), ("3o", "441**", "flu")]
    path = csv(tmp_path / "bad.csv", ("age", "zip", "disease"), rows)
    release = read_release(path, SCHEMA)
    frame = pl.DataFrame({"pid": [1], "name": ["x"], "age": [20], "zip": ["44101"], "disease": ["flu"]})
    age = encode(read_snapshot(frame, SCHEMA)).quasi[0]
    with pytest.raises(rv.DataError, match="'sometime', '3o'") as caught:
        admitted_codes(release.cells["age"], age)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(path), 3, "age")
    assert "[21, 23]" in caught.value.hint
    assert "secret" not in str(caught.value)
    with pytest.raises(rv.DataError, match=r"first in row 2"):
        admitted_codes(read_release(release.text, SCHEMA).cells["age"], age)


def test_an_empty_table_is_a_release_of_nobody():
    release = read_release(pl.DataFrame(schema={"age": pl.String, "zip": pl.String, "disease": pl.String}), SCHEMA)
    assert (release.manifest["rows"], release.manifest["groups"]) == (0, 0)


@pytest.mark.parametrize("name", ["age", "disease", "group"])
@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("ms")])
def test_dates_that_no_calendar_has_are_refused_in_any_column(tmp_path, name, kind):
    far = pl.Series(name, [2**31 - 1, 2**31 - 2] if kind == pl.Date else [2**63 - 1, 2**63 - 2]).cast(kind)
    frame = pl.DataFrame({"age": ["20", "30"], "zip": ["44100", "44101"], "disease": ["flu", "cold"], "group": [0, 1]})
    frame.with_columns(far).write_parquet(tmp_path / "out.parquet")
    with pytest.raises(rv.DataError, match=f"column '{name}' has dates or times that no calendar has"):
        read_release(tmp_path / "out.parquet", SCHEMA)
