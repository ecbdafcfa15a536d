"""Values that look alike: one value, one spelling, and nothing said of who wrote which."""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import ConfigError, InfeasibleError, RefusedError, VerificationError
from reveil.releases.respelling import check_spellings, folded_values, with_spellings
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_file
from reveil.tables.alike import alike, fold_distinct, fold_text, folded, one_spelling, spelled_as
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import read_snapshot
from reveil.vault import Vault
from tests.cli.run import reveil

SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="diagnosis")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(TEXTS)
def test_folding_is_idempotent_and_blind_to_case_space_and_forms(text):
    fold = fold_text(text)
    assert fold_text(fold) == fold
    assert fold_text(f"  {text}\t") == fold
    assert fold_text(unicodedata.normalize("NFD", text)) == fold_text(unicodedata.normalize("NFC", text))


def test_folding_is_idempotent_for_every_character():
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    once = [fold_text(text) for text in every]
    assert [fold_text(text) for text in once] == once


@given(st.lists(st.one_of(st.none(), TEXTS), max_size=12))
def test_a_column_is_folded_as_its_cells_are(cells):
    series = pl.Series("s", cells, dtype=pl.String)
    expected = [None if cell is None else fold_text(cell) for cell in cells]
    assert fold_distinct(series).to_list() == expected
    assert folded(series).to_list() == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("flu", "Flu "), ("flu  b", "FLU\u00a0b"), ("ﬂu", "flu"), ("stra\u00dfe", "STRASSE"), ("flu\u200b", "flu")],
)
def test_what_looks_alike(one, other):
    assert fold_text(one) == fold_text(other)
    assert alike([one, other]) == 1


@pytest.mark.parametrize(
    "shows_nothing",
    [
        *("\x00", "\x01", "\x08", "\x0e", "\x1b", "\x7f", "\x80", "\x9f", "\u00ad", "\u115f", "\u1160", "\u2800"),
        *("\u3164", "\ufe0f", "\uffa0", "\ufff9", "\ufffa", "\ufffb", "\U00013430", "\U0001d159", "\U000e0041"),
    ],
)
def test_what_shows_nothing_tells_nothing_apart(shows_nothing):
    texts = ["flu", f"flu{shows_nothing}", f"{shows_nothing}Flu"]
    assert alike(texts) == 2
    assert folded(pl.Series(texts)).to_list() == ["flu"] * 3
    with pytest.raises(InfeasibleError):
        rv.anonymize(_table(*texts), SCHEMA, rv.DistinctDiversity(2))
    assert one_spelling(pl.Series([shows_nothing])).to_list() == [None]


@pytest.mark.parametrize("space", ["\t", "\n", "\x0b", "\r", "\x1c", "\x1f", "\x85", "\u2800"])
def test_what_shows_a_gap_is_white_space(space):
    texts = pl.Series([f"flu{space}b{space}", f"é{space}b"])
    assert fold_distinct(texts).to_list() == [fold_text(text) for text in texts] == ["flu b", "é b"]
    assert one_spelling(texts).to_list() == ["flu b", "é b"]


def _marked(**more):
    return rv.Schema(person="pid", quasi="age", sensitive="diagnosis", null_values=("NA",), **more)


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_what_looks_like_a_missing_mark_is_one(tmp_path, kind):
    source = frame = _table("NA", "NA ", "na", "ＮＡ", "n\u00ada", None)
    if kind == "csv":
        source = tmp_path / "t.csv"
        frame.write_csv(source)
    for more in ({}, {"orders": {"diagnosis": ["na", "flu"]}}):
        assert read_snapshot(source, _marked(**more)).frame["diagnosis"].to_list() == [None] * 6
    with pytest.raises(InfeasibleError):
        rv.Series.open(tmp_path / "v", _marked(), rv.Static(k=2, l=2, diversity="distinct"), seed=1).publish(source)
    exact = read_snapshot(source, _marked(compare={"diagnosis": "exact"})).frame["diagnosis"]
    assert exact.to_list()[:3] == [None, "NA ", "na"]


def test_a_release_with_look_alikes_of_a_missing_mark_is_judged_as_if_they_were_missing(tmp_path):
    frame = _table("NA", "na", "NA ", "flu", ages=(1, 1, 9, 9))
    told = rv.anonymize(frame, _marked(compare={"diagnosis": "exact"}), rv.KAnonymity(2), seed=1)
    found = rv.audit(told, _marked(), truth=frame)
    assert found.summary["certain"] == found.summary["certain_and_right"] == 2


def test_the_mark_of_a_suppressed_cell_is_not_a_star():
    release = rv.anonymize(_table("*", "*", "flu", "flu"), SCHEMA, rv.KAnonymity(2), seed=1)
    hidden = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(SUPPRESSED_VALUE)).otherwise(pl.lit("*"))
    release = replace(release, values=release.values.with_columns(diagnosis=hidden))
    check_spellings(release, SCHEMA)
    for texts in ((), ("*",), ("＊",)):
        cells = with_spellings(release, {"diagnosis": texts}, ("*",) if not texts else ()).values["diagnosis"]
        assert cells.to_list() == [SUPPRESSED_VALUE, *[(texts or (None,))[0]] * 3]
    assert folded_values(release.values["diagnosis"]).to_list() == release.values["diagnosis"].to_list()


def test_the_most_frequent_spelling_is_taken_and_of_equally_frequent_ones_the_smallest():
    cells = pl.Series(["Flu ", "flu", "Flu", "gout", " GOUT", None, "  "])
    assert one_spelling(cells).to_list() == ["Flu", "Flu", "Flu", "GOUT", "GOUT", None, None]
    assert one_spelling(cells, ["FLU"]).to_list()[:4] == ["FLU", "FLU", "FLU", "GOUT"]
    assert spelled_as(cells, ["FLU"]).to_list()[:5] == ["FLU", "FLU", "FLU", "gout", " GOUT"]


VALUES = ("flu", "gout", "Cough")
WAYS = (str.upper, str.title, "  {}".format, "{} ".format, str)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_published_bytes_do_not_depend_on_who_wrote_which_spelling(data):
    size = 12
    values = data.draw(st.lists(st.sampled_from(VALUES), min_size=size, max_size=size))
    written = [data.draw(st.sampled_from(WAYS))(value) for value in values]
    # Hand the spellings of a value round among those who have it.
    other = list(written)
    for value in VALUES:
        places = [i for i, own in enumerate(values) if own == value]
        for place, source in zip(places, data.draw(st.permutations(places)), strict=True):
            other[place] = written[source]
    tables = []
    for texts in (written, other):
        frame = pl.DataFrame({"pid": range(size), "age": [i // 2 for i in range(size)], "diagnosis": texts})
        release = rv.anonymize(frame, SCHEMA, rv.KAnonymity(3), seed=1)
        check_spellings(release, SCHEMA)
        tables.append(release.text)
    assert tables[0].equals(tables[1])


def _table(*diagnoses: str | None, ages: tuple[int, ...] | None = None) -> pl.DataFrame:
    size = len(diagnoses)
    return pl.DataFrame(
        {"pid": range(size), "age": ages or tuple(range(size)), "diagnosis": diagnoses},
        schema_overrides={"diagnosis": pl.String},
    )


def test_a_group_in_which_everybody_has_flu_is_not_diverse():
    frame = _table("flu", "Flu ", "FLU")
    with pytest.raises(InfeasibleError):
        rv.anonymize(frame, SCHEMA, rv.DistinctDiversity(2))
    exact = rv.Schema(person="pid", quasi="age", sensitive="diagnosis", compare={"diagnosis": "exact"})
    assert rv.anonymize(frame, exact, rv.DistinctDiversity(2)).manifest["achieved"] == {"l": 3}


def _config(folder, diagnosis='"sensitive"', guarantee='kind = "static"\nk = 2', *, vault=True):
    text = "[series]\n" + ('vault = "v"\n' if vault else "")
    text += f'[columns]\npid = "person"\nage = "quasi"\ndiagnosis = {diagnosis}\n[guarantee]\n{guarantee}\n'
    (folder / "reveil.toml").write_text(text)
    return folder / "reveil.toml"


def _publish(config, frame: pl.DataFrame, name: str):
    data = config.parent / f"{name}.snapshot.parquet"
    frame.write_parquet(data)
    return publish_file(load_config(config), data, config.parent / f"{name}.csv", again=(config.parent / "v").exists())


def _told(config, name: str) -> set[str | None]:
    return set(rv.Release.read(config.parent / f"{name}.csv").values["diagnosis"])


PEOPLE = (("person", "static"), ("identifier", "static"), ("person", "refinement"))


@pytest.mark.parametrize(
    ("person", "guarantee"),
    [
        ("person", 'kind = "static"\nk = 2'),
        ("identifier", 'kind = "static"\nk = 2'),
        ("person", 'kind = "refinement"\nk = 2'),
    ],
)
def test_the_first_release_fixes_the_spelling(tmp_path, person, guarantee):
    config = _config(tmp_path, guarantee=guarantee)
    config.write_text(config.read_text().replace('pid = "person"', f'pid = "{person}"'))
    _publish(config, _table("Flu ", "gout"), "one")
    _publish(config, _table("flu", "gout"), "two")
    assert _told(config, "one") == _told(config, "two") == {"Flu", "gout"}
    columns = rv.Release.read(tmp_path / "two.csv").manifest["columns"]
    assert {own["name"]: own.get("compare") for own in columns}["diagnosis"] == "folded"
    for name in ("one", "two"):
        verify_file(load_config(config), tmp_path / f"{name}.csv", tmp_path / f"{name}.snapshot.parquet")


def test_a_changed_spelling_is_no_changed_value(tmp_path):
    config = _config(tmp_path, guarantee='kind = "tau-safety"\nm = 2\ndomain = ["FLU", "gout", "a", "b", "c"]')
    _publish(config, _table("Flu ", "Gout"), "one")
    _publish(config, _table("flu", "gOUT"), "two")
    assert {"FLU", "gout"} <= _told(config, "one") <= {"FLU", "gout", "a", "b", "c"}
    lines = rv.Series.load(config).history()
    assert [own["updated"] for own in lines] == [0, 0]


def test_declared_values_are_found_whatever_their_spelling(tmp_path):
    frame = _table(*["Flu ", "a", "b", "c", "d", "e"] * 4)
    strategy = 'strategy = "constant-ratio"\nreleases = 2'
    config = _config(tmp_path, guarantee=f'kind = "global"\nl = 2\n{strategy}\nharmless = ["FLU"]')
    _publish(config, frame, "one")
    assert "FLU" in _told(config, "one")
    found = rv.audit([tmp_path / "one.csv"], load_config(config).schema, truth=[frame])
    assert found.held


def test_spellings_that_look_alike_in_what_is_declared_are_refused(tmp_path):
    tree = {"x": ["flu"], "y": ["FLU"]}
    for settings_ in ({"orders": {"diagnosis": ["flu", "Flu "]}}, {"hierarchies": {"diagnosis": tree}}):
        with pytest.raises(ConfigError, match="column 'diagnosis': 1 value looks like another one in its") as error:
            rv.Schema(quasi="age", sensitive="diagnosis", **settings_)
        assert "flu" not in str(error.value).lower()
        rv.Schema(quasi="age", sensitive="diagnosis", compare={"diagnosis": "exact"}, **settings_)
    config = _config(tmp_path, guarantee='kind = "tau-safety"\nm = 2\ndomain = ["flu", "FLU", "a", "b", "c", "d"]')
    with pytest.raises(ConfigError, match="1 value looks like another one in the values that the guarantee names"):
        rv.Series.load(config)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"compare": {"age": "exact"}}, "is quasi and cannot have compare"),
        ({"compare": {"s": "loose"}}, "compare must be 'folded' or 'exact'"),
        ({"compare": {"s": "exact"}, "types": {"s": "number"}}, "is declared as number and cannot have compare"),
        ({"compare": {"t": "exact"}}, "compare names columns without a role"),
    ],
)
def test_where_compare_has_no_meaning(given, message):
    with pytest.raises(ConfigError, match=message):
        rv.Schema(quasi="age", sensitive="s", **given)


def test_orders_and_hierarchies_give_the_spelling(tmp_path):
    order = rv.Schema(person="pid", quasi="age", sensitive="diagnosis", orders={"diagnosis": ["Mild", "Severe"]})
    assert set(read_snapshot(_table("mild ", "SEVERE"), order).frame["diagnosis"]) == {"Mild", "Severe"}
    csv = tmp_path / "t.csv"
    csv.write_text("pid,age,diagnosis\n1,30,mild \n2,31,SEVERE\n")
    assert set(read_snapshot(csv, order).frame["diagnosis"]) == {"Mild", "Severe"}


def _made_before(vault) -> None:
    """Make a vault look like one from before texts were folded."""
    with Vault.open(vault) as opened:
        before = {k: v for k, v in opened.setting("config").items() if not k.endswith(".compare")}
        opened.keep_setting("config", before)


def test_an_existing_series_keeps_its_spellings_and_says_so(tmp_path):
    config = _config(tmp_path, diagnosis='{ role = "sensitive", compare = "exact" }')
    _publish(config, _table("Flu ", "flu", "gout"), "one")
    _made_before(tmp_path / "v")
    _config(tmp_path)
    published = _publish(config, _table("flu", "Flu ", "gout"), "two")
    assert _told(config, "two") == {"Flu ", "flu", "gout"}
    assert "has compared 'diagnosis' exactly since its first release" in published.note
    _config(tmp_path, diagnosis='{ role = "sensitive", compare = "exact" }')
    assert "look alike" not in (_publish(config, _table("flu", "Flu ", "gout", "a"), "three").note or "")


def test_a_series_does_not_begin_to_fold_on_its_way(tmp_path):
    exact, folds = (f'{{ role = "sensitive", compare = "{how}" }}' for how in ("exact", "folded"))
    config = _config(tmp_path, exact, guarantee='kind = "refinement"\nk = 2')
    _publish(config, _table("Flu ", "flu", "gout"), "one")
    _config(tmp_path, folds, guarantee='kind = "refinement"\nk = 2')
    with pytest.raises(RefusedError, match=r"columns\.diagnosis\.compare"):
        _publish(config, _table("flu", "Flu ", "gout"), "two")


def test_verify_refuses_two_spellings_of_a_value(tmp_path):
    exact = _config(tmp_path, '{ role = "sensitive", compare = "exact" }', vault=False)
    _publish(exact, _table("flu", "Flu ", "gout"), "one")
    config = load_config(_config(tmp_path, vault=False))
    with pytest.raises(VerificationError, match="column 'diagnosis' shows 1 spellings"):
        verify_file(config, tmp_path / "one.csv", tmp_path / "one.snapshot.parquet")
    # Where no value has two, an older release is still what the snapshot says.
    exact = _config(tmp_path, '{ role = "sensitive", compare = "exact" }', vault=False)
    _publish(exact, _table("flu ", "flu ", "gout"), "two")
    config = load_config(_config(tmp_path, vault=False))
    verify_file(config, tmp_path / "two.csv", tmp_path / "two.snapshot.parquet")
    assert rv.measure(tmp_path / "two.snapshot.parquet", tmp_path / "two.csv", config.schema)["gcp"] >= 0


def test_queries_find_a_value_in_any_spelling():
    release = rv.anonymize(_table("Flu", "flu ", "gout", "flu b"), SCHEMA, rv.KAnonymity(2), seed=1)
    for text in ("diagnosis = FLU", "diagnosis in {' flu', x}"):
        assert release.count(text).estimate == 2
        assert release.count(text, SCHEMA).estimate == 2
    assert release.count("diagnosis = 'FLU'*").estimate == 3
    assert release.count("diagnosis != flu").estimate == 2
    order = rv.Schema(person="pid", quasi="age", sensitive="diagnosis", orders={"diagnosis": ["Mild", "Severe"]})
    graded = rv.anonymize(_table("mild", "severe"), order, rv.KAnonymity(2), seed=1)
    assert graded.count("diagnosis >= SEVERE", order).estimate == 1


def test_the_audit_takes_what_looks_alike_as_one_value(tmp_path):
    frame = _table("flu", "Flu ", "gout", "a", ages=(1, 1, 9, 9))
    exact = rv.Schema(person="pid", quasi="age", sensitive="diagnosis", compare={"diagnosis": "exact"})
    release = rv.anonymize(frame, exact, rv.KAnonymity(2) & rv.DistinctDiversity(2), seed=1)
    assert rv.audit(release, exact, truth=frame).summary["certain"] == 0
    found = rv.audit(release, SCHEMA, truth=frame.with_columns(pl.col("diagnosis").str.to_uppercase()))
    assert found.summary["certain"] == found.summary["certain_and_right"] == 2


def test_adopting_finds_people_whatever_the_spelling_and_goes_on_with_it(tmp_path):
    frame = _table("Flu ", "GOUT", "a", "b", ages=(1, 1, 9, 9))
    other = frame.with_columns(pl.col("diagnosis").str.strip_chars().str.to_lowercase())
    exact = rv.Schema(person="pid", quasi="age", sensitive="diagnosis", compare={"diagnosis": "exact"})
    rv.anonymize(other, exact, rv.KAnonymity(2), seed=1).write(tmp_path / "elsewhere.csv")
    config = _config(tmp_path, guarantee='kind = "tau-safety"\nm = 2\ndomain = ["a", "b", "c", "d", "e"]')
    adopted = rv.Series.load(config).adopt(frame, tmp_path / "elsewhere.csv")
    assert (adopted.persons, adopted.unpublished, adopted.strangers) == (4, 0, 0)
    _publish(config, frame, "next")
    assert {"flu", "gout"} <= _told(config, "next")
    assert not {"Flu", "GOUT"} & _told(config, "next")


def test_an_index_goes_on_with_the_spelling_it_has():
    index = rv.BangA(block=4).fit(_table("Flu", "gout", "a", "b"), SCHEMA)
    index.insert(_table("flu ", "GOUT").with_columns(pl.col("pid") + 10))
    assert set(index.cut(2, seed=1).values["diagnosis"]) == {"Flu", "gout", "a", "b"}


def test_init_warns_of_look_alikes_and_shows_no_sensitive_value(tmp_path):
    cities, ills = ("Bonn", "bonn ", "Ulm"), ("Flu", "flu", "gout", "ache")
    rows = [f"{i},{20 + i % 7},{cities[i % 3]},{ills[i % 4]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("patient_id,age,city,diagnosis\n" + "\n".join(rows) + "\n")
    found = reveil("init", str(tmp_path / "t.csv"), "--yes", "-o", str(tmp_path / "reveil.toml"))
    assert found.returncode == 0
    text = " ".join((tmp_path / "reveil.toml").read_text().replace("\n# ", " ").split())
    assert "1 of its values looks like another one ('Bonn', 'bonn ')" in text
    assert "1 of its values looks like another one and is read as the same" in text
    assert "flu" not in text.lower()
    assert "city: 1 of its values looks like another one" in found.stderr
