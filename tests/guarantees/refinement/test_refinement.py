"""The refinement guarantee in a series: repairs, erasures, counterfeits, queries, adoption, config."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.guarantees.refinement.slack import slack_for
from tests.guarantees.plain_book import PlainSeries
from tests.series.cases import CONFIG, command, snapshot
from tests.vault.cases import by_hand

SCHEMA = rv.Schema(person="pid", quasi=("age", "town"), sensitive="disease")


def table(people: range | list[int], **changes: str) -> pl.DataFrame:
    return snapshot(0, 200, **changes).filter(pl.col("pid").is_in(list(people)))


def opened(folder, guarantee: rv.Refinement, **more) -> rv.Series:
    return rv.Series.open(folder / "vault", SCHEMA, guarantee, seed=1, **more)


def test_three_absent_of_fifteen_are_published_too(tmp_path):
    """A cell of 15 with k = 10 from which three are missing is not published as the twelve who remain."""
    series = opened(tmp_path, rv.Refinement(k=10))
    assert series.publish(table(range(15))).manifest["groups"] == 1
    second = series.publish(table(range(3, 15)))
    assert (second.manifest["rows"], second.manifest["dirty"], second.manifest["withheld"]) == (15, 3, 0)
    everybody = series.placements(2, table(range(15)))
    assert sorted(everybody["person"]) == list(range(15))
    assert series.history()[-1]["dirty"] == 3


def test_never_dirty_holds_the_whole_cell_back(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=10, dirty="never"))
    series.publish(table(range(15)))
    with pytest.raises(rv.InfeasibleError, match="nobody can be published"):
        series.publish(table(range(3, 15)))
    second = series.publish(table([*range(3, 15), *range(100, 120)]))
    assert (second.manifest["rows"], second.manifest["withheld"]) == (20, 12)


def test_a_few_of_many_are_joined_by_as_few_as_are_needed(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=10, slack=4))
    series.publish(table(range(35)))
    second = series.publish(table(range(7)))
    assert (second.manifest["rows"], second.manifest["dirty"]) == (10, 3)


def test_enough_absent_are_a_piece_of_their_own(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=10))
    series.publish(table(range(30)))
    second = series.publish(table(range(12)))
    assert (second.manifest["rows"], second.manifest["dirty"]) == (12, 0)


def test_groups_get_finer_with_releases_while_nobody_leaves(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=3, l=2))
    first = series.publish(table(range(150)))
    second = series.publish_to(None, table(range(150)), again=True).release
    assert second.manifest["groups"] > first.manifest["groups"]
    assert second.manifest["rows"] == 150


def test_dirty_records_are_what_was_told_last(tmp_path):
    """Held back while it changed, a record is told again as it was told, not as it is."""
    series = opened(tmp_path, rv.Refinement(k=4, dirty="allow"))
    series.publish(table(range(6)))
    # p0 and p1 changed, and four of six are gone: nobody of the cell is published.
    second = series.publish(table([0, 1, *range(100, 110)], p0="rash", p1="rash"))
    assert second.manifest["withheld"] == 2
    third = series.publish(table([2, 3, 4, 5, *range(100, 110)]))
    assert third.manifest["dirty"] == 2
    placed = series.placements(3, table(range(6)))
    told = dict(zip(placed["person"], third.table["disease"].gather(placed["row"].to_numpy()), strict=True))
    assert [told[0], told[1]] == table([0, 1])["disease"].to_list()


def test_an_erased_member_is_missed(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=5))
    series.publish(table(range(8)))
    assert series.forget(0, tombstone=True)
    with pytest.raises(rv.InfeasibleError):
        series.publish(table(range(1, 8)))


def test_a_counterfeit_stands_in_for_an_erased_member(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=5, counterfeits=True))
    first = series.publish(table(range(8)))
    youngest = table(range(8)).sort("age")["pid"][0]
    assert series.forget(youngest, tombstone=True)
    left = [p for p in range(8) if p != youngest]
    second = series.publish(table(left))
    assert second.manifest["counterfeits"]["total"] == 1
    assert sum(second.manifest["counterfeits"]["per_group"].values()) == 1
    # The box does not shrink with who left, and the group shows what it has shown.
    assert second.table["age"].unique().to_list() == first.table["age"].unique().to_list()
    assert sorted(second.table["disease"]) == sorted(first.table["disease"])
    assert "not bounded" in " ".join(second.manifest["assumes"])


def test_never_dirty_with_counterfeits(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=4, l=2, dirty="never", counterfeits=True))
    first = series.publish(table(range(8)))
    second = series.publish(table(range(2, 8)))
    assert (second.manifest["dirty"], second.manifest["counterfeits"]["total"]) == (0, 2)
    assert sorted(second.table["disease"]) == sorted(first.table["disease"])
    assert second.table["age"].unique().to_list() == first.table["age"].unique().to_list()


def test_whoever_left_a_tombstone_is_not_published_again(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=5, l=2))
    series.publish(table(range(20)))
    assert series.forget(3, tombstone=True)
    second = series.publish(table([*range(20), *range(100, 140)]))
    assert 3 not in series.placements(2, table(range(20)))["person"].to_list()
    assert second.manifest["withheld"] >= 1


def test_several_sensitive_columns(tmp_path):
    schema = rv.Schema(person="pid", quasi=("age",), sensitive=("disease", "ward"))
    dice = np.random.default_rng(0)
    whole = pl.DataFrame(
        {
            "pid": range(120),
            "age": dice.integers(20, 80, 120),
            "disease": dice.choice(list("abcd"), 120),
            "ward": dice.choice(list("xyz"), 120),
        }
    )
    series = rv.Series.open(tmp_path / "vault", schema, rv.Refinement(k=4, l=2), seed=0)
    for people in (range(80), range(10, 90), range(30, 120)):
        release = series.publish(whole[list(people)])
        assert release.manifest["achieved"]["l"] >= 2


def test_closeness_over_releases(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=4, t=0.45, distance="equal"))
    for first in (0, 10, 20):
        release = series.publish(table(range(first, first + 100)))
        assert release.manifest["achieved"]["t"]["disease"] <= 0.45


def test_plain_columns_only_where_nobody_is_published_unasked():
    schema = rv.Schema(person="pid", quasi=("age",), sensitive="disease", plain=("ward",))
    with pytest.raises(rv.ConfigError, match="does not keep it"):
        rv.Refinement(k=2).check(schema, None)
    rv.Refinement(k=2, dirty="never").check(schema, None)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": 2, "dirty": "perhaps"}, "unknown dirty"),
        ({"k": 2, "slack": 0.5}, "slack must be"),
        ({"k": 2, "slack": "wide"}, "unknown slack 'wide'"),
        ({"k": 2, "counterfeits": "yes"}, "true or false"),
        ({}, "asks for nothing"),
        ({"k": 2, "diversity": "frequency"}, "needs l"),
    ],
)
def test_settings_are_judged_when_they_are_given(settings, says):
    with pytest.raises(rv.ConfigError, match=says):
        rv.Refinement(**settings)


def test_new_cells_have_room_for_those_who_leave():
    """Lean cells are at most twice as large as they must be, where dirty records may stand beside who is left."""
    asked, stayed = np.array([100, 100, 100]), np.array([0, 90, 90])
    assert slack_for(asked, stayed, "roomy", dirty=True) == pytest.approx(0.9**-12)
    assert slack_for(asked, stayed, "lean", dirty=True) == 2
    assert slack_for(asked, stayed, "lean", dirty=False) == slack_for(asked, stayed, "roomy", dirty=False)
    assert slack_for(asked, np.array([0, 99, 99]), "lean", dirty=True) == pytest.approx(0.99**-12)


@pytest.mark.parametrize(("size", "lives"), [(19, False), (20, True)])
def test_from_twice_k_on_a_cell_is_not_lost_with_half_its_members(tmp_path, size, lives):
    series = opened(tmp_path, rv.Refinement(k=10, slack=1.9))
    series.publish(table(range(size)))
    second = series.publish(table([*range(9), *range(100, 120)]))  # nine are left, and others come
    assert second.manifest["withheld"] == (0 if lives else 9)
    assert second.manifest["dirty"] == (1 if lives else 0)


def test_a_series_that_began_with_roomy_cells_keeps_them(tmp_path):
    own = opened(tmp_path, rv.Refinement(k=5))
    own.publish(table(range(100)))
    assert own.guarantee.slack == "lean"
    with own._opened() as vault:
        assert vault.releases()[0].facts["slack"] == 2
        before = {**vault.setting("config")}
        del before["guarantee.slack"]
    older = {"config": before, "defaults": {}}  # as an earlier version kept it
    statement = "UPDATE settings SET value = '{}' WHERE key = '{}'"
    by_hand(tmp_path / "vault", *(statement.format(json.dumps(value), key) for key, value in older.items()))
    again = opened(tmp_path, rv.Refinement(k=5))
    assert again.guarantee.slack == "roomy"
    note = again.publish_to(None, table(range(2, 120))).note
    assert 'this series goes on as it began: guarantee.slack = "roomy"' in note
    assert 'series that begin now have guarantee.slack = "lean"' in note
    assert again.history()[-1]["guarantee"]["slack"] == "roomy"
    named = opened(tmp_path, rv.Refinement(k=5, slack="lean"))
    assert named.publish_to(None, table(range(2, 130))).release.manifest.promise.settings["slack"] == "lean"


def test_methods_that_cannot_be_refined():
    with pytest.raises(rv.ConfigError, match="'anatomy' does not"):
        rv.Refinement(k=2).check(SCHEMA, rv.Anatomy())


def test_the_audit_with_ids_counts_cells(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=4, l=3, diversity="frequency"))
    months = [table(range(n, n + 60)) for n in (0, 8, 16)]
    releases = [series.publish(frame) for frame in months]
    placed = [series.placements(n + 1, table(range(200))).select("row", id="person") for n in range(len(months))]
    found = rv.audit(releases, SCHEMA, truth=months, placements=placed)
    assert found.held
    assert found.summary["bound"] == pytest.approx(1 / 3)
    cells = found.attacks["intersection"]["cells"]
    assert cells["smallest"] >= 4
    assert cells["fewest_values"] >= 3
    assert cells["invalid"] == 0


def test_the_audit_finds_what_separate_releases_tell(tmp_path):
    """Each k-anonymous by itself, and called refinement: followed records are in cells of one."""
    series = opened(tmp_path, rv.Static(k=4))
    months = [table(range(n, n + 80)) for n in (0, 8)]
    promise = rv.Refinement(k=4).promise(SCHEMA, None)
    releases = [series.publish(frame) for frame in months]
    releases = [release.under(replace(release.manifest, promise=promise)) for release in releases]
    placed = [series.placements(n + 1, table(range(200))).select("row", id="person") for n in range(2)]
    found = rv.audit(releases, SCHEMA, truth=months, placements=placed)
    assert found.attacks["intersection"]["cells"]["invalid"] > 0
    assert not found.held


def test_the_answer_to_a_query_is_the_next_release(tmp_path):
    (tmp_path / "reveil.toml").write_text(
        CONFIG.format(series="seed = 1", guarantee='kind = "refinement"\nk = 4\nl = 2')
    )
    table(range(120)).write_csv(tmp_path / "jan.csv")
    table(range(10, 130)).write_csv(tmp_path / "feb.csv")
    config = ["-c", str(tmp_path / "reveil.toml")]
    assert command("publish", tmp_path / "jan.csv", *config, "-o", tmp_path / "1.csv").returncode == 0
    where = "town in {Ash, Birk} and age >= 40"
    done = command("publish", tmp_path / "feb.csv", *config, "-o", tmp_path / "2.csv", "--where", where)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "2.manifest.json").read_text())
    assert manifest["selection"] == {"columns": ["age", "town"]}
    assert "Ash" not in json.dumps({key: value for key, value in manifest.items() if key != "columns"})
    asked = table(range(10, 130)).filter(pl.col("town").is_in(["Ash", "Birk"]), pl.col("age") >= 40).height
    assert manifest["rows"] - manifest["dirty"] + manifest["withheld"] == asked
    again = [*config, "--where", where]
    assert command("verify", tmp_path / "2.csv", tmp_path / "feb.csv", *again).returncode == 0
    assert command("verify", tmp_path / "2.csv", tmp_path / "jan.csv", *again).returncode == 1


def test_adopted_groups_are_cells(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=4))
    months = [table(range(80)), table(range(4, 84))]
    elsewhere = rv.anonymize(months[0], SCHEMA, rv.KAnonymity(5), seed=3)
    found = series.adopt(months[0], elsewhere)
    assert found.persons == 80
    second = series.publish(months[1])
    placed = series.placements(2, table(range(200))).select("row", id="person")
    assert "adopted from elsewhere" in second.manifest["claim"]
    # Nobody of two adopted groups shares a group now.
    assert placed.height == second.manifest["rows"]
    assert found.unsafe_groups == 0


def test_unsafe_adopted_groups_are_held_back(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=8))
    elsewhere = rv.anonymize(table(range(80)), SCHEMA, rv.KAnonymity(2), seed=3)
    found = series.adopt(table(range(80)), elsewhere)
    assert found.held_back > 0
    second = series.publish(table(range(120)))
    assert second.manifest["withheld"] >= found.held_back


def test_the_same_input_gives_the_same_bytes(tmp_path):
    def made() -> list[pl.DataFrame]:
        series = PlainSeries(SCHEMA, rv.Refinement(k=3, l=2), seed=4)
        return [series.publish(table(range(n, n + 60))).release.table for n in (0, 6, 12)]

    assert all(one.equals(other) for one, other in zip(made(), made(), strict=True))


def test_blind_and_diverse_is_for_values_that_stay(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=4, l=2, blind=True))
    series.publish(table(range(40)))
    with pytest.raises(rv.RefusedError, match="values that do not change"):
        series.publish(table(range(40), p3="gout"))
    series = rv.Series.open(tmp_path / "other", SCHEMA, rv.Refinement(k=4, blind=True))
    series.publish(table(range(40)))
    assert series.publish(table(range(40), p3="gout")).manifest["withheld"] == 0


def test_newcomers_held_back_for_their_values_stay_held_back():
    """Else with whom they are published later tells why they had to wait."""
    schema = rv.Schema(person="pid", quasi=("age",), sensitive="disease")
    series = PlainSeries(schema, rv.Refinement(k=2, l=2, blind=True, slack=1))
    people = pl.DataFrame({"pid": range(6), "age": [30] * 6, "disease": list("abaabc")})
    series.publish(people[[0, 1]])
    second = series.publish(people[[0, 1, 2, 3]])
    assert second.release.manifest["withheld"] == 2
    third = series.publish(people)
    assert set(series.placed(third, list(range(6)))) == {0, 1, 4, 5}


def test_a_box_without_a_column_that_is_new(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=5, counterfeits=True))
    series.publish(table(range(8)), columns=["age", "disease"])
    assert series.forget(0, tombstone=True)
    second = series.publish(table(range(1, 8)))
    assert second.manifest["counterfeits"]["total"] == 1
    towns = set(table(range(1, 8))["town"])
    assert set("".join(second.table["town"].unique()).strip("{}").split(", ")) == towns


def test_huge_thresholds_refuse(tmp_path):
    series = opened(tmp_path, rv.Refinement(k=10**20))
    with pytest.raises(rv.InfeasibleError):
        series.publish(table(range(8)))


def _far(frame: pl.DataFrame, people: range) -> pl.DataFrame:
    """Let some persons live where nobody else does."""
    return frame.with_columns(
        pl.when(pl.col("pid").is_in(list(people))).then(pl.lit("Far")).otherwise("town").alias("town")
    )


def test_a_release_is_verified_though_dirty_records_bring_values_that_nobody_has_now(tmp_path):
    path = tmp_path / "reveil.toml"
    path.write_text(CONFIG.format(series="seed = 1", guarantee='kind = "refinement"\nk = 10'))
    _far(table(range(15)), range(3)).write_csv(tmp_path / "s1.csv")
    table(range(3, 15)).write_csv(tmp_path / "s2.csv")
    for n in (1, 2):
        assert command("publish", tmp_path / f"s{n}.csv", "-c", path, "-o", tmp_path / f"r{n}.csv").returncode == 0
        done = command("verify", tmp_path / f"r{n}.csv", tmp_path / f"s{n}.csv", "-c", path)
        assert done.returncode == 0, done.stderr
    release = rv.Release.read(tmp_path / "r2.csv")
    assert release.manifest["dirty"] == 3
    assert release.text["town"].str.contains("Far").all()


def test_values_that_the_snapshot_does_not_have_are_refused_without_dirty_records(tmp_path):
    path = tmp_path / "reveil.toml"
    path.write_text(CONFIG.format(series="seed = 1", guarantee='kind = "refinement"\nk = 10'))
    _far(table(range(15)), range(3)).write_csv(tmp_path / "s1.csv")
    table(range(15)).write_csv(tmp_path / "other.csv")
    assert command("publish", tmp_path / "s1.csv", "-c", path, "-o", tmp_path / "r1.csv").returncode == 0
    done = command("verify", tmp_path / "r1.csv", tmp_path / "other.csv", "-c", path)
    assert done.returncode == 1
