"""What a series promises stays true whatever the owner does with it."""

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError, RefusedError
from reveil.guarantees.comparing import check_promise
from reveil.vault import Vault
from tests.rarely import mostly_slow

SCHEMA = rv.Schema(person="pid", quasi=["age"], sensitive="disease")


def table(*rows):
    return pl.DataFrame(rows, schema={"pid": pl.Int64, "age": pl.Int64, "disease": pl.String}, orient="row")


def people(count, values, start=0):
    return table(*((start + i, 20 + 3 * i, values[i % len(values)]) for i in range(count)))


@pytest.mark.parametrize("blind", [False, True])
@pytest.mark.parametrize("tombstone", mostly_slow([False, True]))
def test_an_erasure_takes_no_value_from_the_domain(tmp_path, blind, tombstone):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2, domain=tuple("abcdefgh"), blind=blind), seed=1)
    series.publish(people(12, "ab"))
    assert series.forget(0, tombstone=tombstone)
    second = series.publish(people(11, "ba", start=1))
    assert second.manifest["withheld"] == 0
    third = series.publish(pl.concat([people(11, "ba", start=1), people(6, "cdefgh", start=50)]))
    assert set("cdefgh") <= set(third.table["disease"])


def test_an_undeclared_domain_does_not_shrink_with_an_erasure(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2), seed=1)
    series.publish(people(10, "abcde"))
    for person in range(4, 10, 5):
        series.forget(person)  # all who had e
    assert series.publish(people(4, "abcd")).manifest["withheld"] == 0


def test_the_same_number_has_other_dice_for_another_table(tmp_path):
    """A vault restored from a backup rolls anew: rows and groups of the two releases do not align."""
    import shutil

    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2, domain=tuple("abcdefgh")), seed=1)
    series.publish(people(40, "abcd"))
    shutil.copytree(tmp_path / "v", tmp_path / "old")
    one = series.publish(people(40, "abcd").with_columns(age=pl.col("age") + 1))
    restored = rv.Series.open(tmp_path / "old", SCHEMA, rv.TauSafety(m=2, domain=tuple("abcdefgh")), seed=1)
    other = restored.publish(people(40, "abcd").with_columns(age=pl.col("age") + 2))
    assert one.manifest["release"] == other.manifest["release"] == 2
    assert one.groups.tolist() != other.groups.tolist()


def test_who_could_be_in_two_adopted_groups_rests(tmp_path):
    snapshot = table((1, 27, "a"), (2, 26, "a"), (3, 22, "b"), (4, 33, "c"))
    published = pl.DataFrame({"age": ["[20, 30]"] * 2 + ["[25, 35]"] * 2, "disease": ["a", "b", "a", "c"]})
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2, domain=tuple("abcdefgh")))
    found = series.adopt(snapshot, published)
    assert found.ambiguous == 2
    assert any("held back" in sentence for sentence in found.sentences())
    release = series.publish(snapshot)
    assert release.manifest["withheld"] == 2
    assert set(series.placements(2, snapshot)["person"]) == {3, 4}


@pytest.mark.parametrize("blind", [False, True])
def test_a_manifest_says_what_was_adopted(tmp_path, blind):
    snapshot = table((1, 20, "a"), (2, 21, "a"), (3, 22, "a"), (4, 23, "b"))
    published = pl.DataFrame({"age": ["[20, 23]"] * 4, "disease": ["a", "a", "a", "b"]})
    guarantee = rv.TauSafety(m=2, domain=tuple("abcdefgh"), blind=blind)
    series = rv.Series.open(tmp_path / "v", SCHEMA, guarantee)
    found = series.adopt(snapshot, published)
    assert (found.unsafe_groups, found.kept) == (1, 4)
    manifest = series.publish(snapshot).manifest
    assert manifest["adopted"] == [1]
    assert manifest["guarantee"]["grade"] == "counted"
    assert "What release 1 told, adopted from elsewhere, is not covered." in manifest["claim"]
    check_promise(guarantee, manifest, SCHEMA, None)


def test_fixed_values_hold_after_a_tombstone(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2, fixed=True, domain=tuple("abc")))
    series.publish(table((1, 20, "a"), (2, 21, "b")))
    series.forget(1, tombstone=True)
    with pytest.raises(RefusedError, match="cannot have had before"):
        series.publish(table((1, 20, "c"), (2, 21, "b")))


@pytest.mark.parametrize("domain", [("1.0", "1", "2", "3", "4"), ("flu", "1", "2", "3", "4")])
def test_a_domain_is_of_the_type_of_its_column(tmp_path, domain):
    schema = rv.Schema(person="pid", quasi=["age"], sensitive="disease")
    frame = people(6, "ab").with_columns(disease=pl.Series([1.0, 2.0, 3.0, 4.0, 1.0, 2.0]))
    with pytest.raises(ConfigError, match="not 5 different values of its type") as caught:
        rv.Series.open(tmp_path / "v", schema, rv.TauSafety(m=2, domain=domain)).publish(frame)
    assert "flu" not in str(caught.value)


def test_nothing_that_is_printed_shows_the_domain(tmp_path):
    guarantee = rv.TauSafety(m=2, domain=tuple("abcdefgh"))
    assert "domain" not in repr(guarantee)
    assert "domain" not in repr(rv.Series.open(tmp_path / "v", SCHEMA, guarantee))


def test_ids_that_match_nobody_are_remarked_on(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2, domain=tuple("abcdefgh")))
    assert "new vault" in series.publish_to(None, people(6, "abc")).note
    assert "none of the 6 persons" in series.publish_to(None, people(6, "abc", start=100)).note
    with Vault.open(tmp_path / "v") as vault:
        assert vault.head() == 2
