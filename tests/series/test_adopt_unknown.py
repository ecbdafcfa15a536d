"""Adopting a release of which nobody can know who is in which group, or who was left out."""

from __future__ import annotations

import random
import shutil
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest

import reveil as rv
from reveil.models.encoding import encode
from reveil.releases.foreign import read_release
from reveil.releases.membership import membership
from reveil.tables.snapshot import read_snapshot
from reveil.testing import Group, enumerate_members, enumerate_worlds
from tests.rarely import mostly_slow
from tests.series.adopted import SCHEMA, published, random_case, table
from tests.series.cases import command

TWO_BOXES = table(("q1", 1, "a"), ("q2", 2, "b"), ("p", 3, "c"), ("r1", 4, "c"), ("r2", 9, "d"), ("r3", 8, "e"))
TWO_RELEASE = published((1, 4, "abc"), (3, 9, "cde"))
LEFT_OUT = table(("p1", 1, "a"), ("p2", 1, "a"), ("p3", 1, "b"), ("p4", 9, "c"), ("p5", 9, "d"), ("p6", 9, "e"))
LEFT_RELEASE = published((1, 1, "ab"), (9, 9, "cde"))


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def opened(folder, guarantee, seed=1):
    return rv.Series.open(folder / "vault", SCHEMA, guarantee, seed=seed)


def groups_of(own, number, release, frame):
    """Return who is in which group of a release, and its values."""
    placed = own.placements(number, frame)
    of_row, values = release.group_values()
    return [
        Group(
            tuple(placed.filter(pl.col("group") == group)["person"]),
            tuple(values["s"].filter(pl.Series(of_row == group))),
        )
        for group in sorted(set(of_row.tolist()))
    ]


def members_of(frame, release_groups):
    where = dict(frame.select("pid", "x").iter_rows())
    rows = [len(values) for _, _, values in release_groups]
    return list(
        enumerate_members(list(where), lambda p, g: release_groups[g][0] <= where[p] <= release_groups[g][1], rows)
    )


def test_groups_that_cannot_be_told_apart_are_one_cell(tmp_path):
    own = opened(tmp_path, rv.Refinement(k=2, l=2, slack=1))
    found = own.adopt(TWO_BOXES, TWO_RELEASE)
    assert (found.ambiguous, found.merged, found.cells) == (2, 6, 1)
    assert (found.unsafe_groups, found.held_back) == (0, 0)
    assert any("6 persons" in line and "stay together" in line for line in found.sentences())
    second = own.publish(TWO_BOXES)
    assert (second.manifest["rows"], second.manifest["groups"], second.manifest["withheld"]) == (6, 1, 0)
    # Without one of them it is published with a dirty record, or not at all.
    third = own.publish(TWO_BOXES.filter(pl.col("pid") != "q1"))
    assert (third.manifest["rows"], third.manifest["groups"], third.manifest["dirty"]) == (6, 1, 1)
    with pytest.raises(rv.InfeasibleError, match="nobody can be published"):
        own.publish(TWO_BOXES.filter(pl.col("pid").is_in(["q1", "q2"])))
    newcomers = table(("n1", 5, "a"), ("n2", 6, "b"))
    fourth = own.publish(pl.concat([TWO_BOXES.filter(pl.col("pid").is_in(["q1", "q2"])), newcomers]))
    assert (fourth.manifest["rows"], fourth.manifest["withheld"]) == (2, 2)


def test_never_without_dirty_records(tmp_path):
    own = opened(tmp_path, rv.Refinement(k=2, l=2, slack=1, dirty="never"))
    own.adopt(TWO_BOXES, TWO_RELEASE)
    with pytest.raises(rv.InfeasibleError, match="nobody can be published"):
        own.publish(TWO_BOXES.filter(pl.col("pid") != "q1"))


def mixed(four: str):
    """Publish p0 to p3, adopt a group of three of them and of p4 and p5 who are new."""
    first = table(*zip(("p0", "p1", "p2", "p3"), (1,) * 4, four, strict=True))
    second = pl.concat([first.filter(pl.col("pid") != "p2"), table(("p4", 1, "c"), ("p5", 1, "c"))])
    return first, second, published((1, 1, "".join(sorted(second["s"]))))


@pytest.mark.parametrize(("diversity", "k"), [("distinct", 2), ("frequency", 3)])
def test_a_group_of_a_part_of_a_cell_and_of_newcomers_closes_all_of_them(tmp_path, diversity, k):
    """Of e, b, c, b and then b, b, c, c, e, publishing p0, p1, p3 with e, b, b would tell that p2 has c.

    The four are one cell: with k = 2 and no value in more than half of a group they would be two.
    """
    first, second, release = mixed("ebcb")
    own = opened(tmp_path, rv.Refinement(k=k, l=2, diversity=diversity, slack=1, dirty="never"))
    assert own.publish(first).manifest["groups"] == 1
    assert own.adopt(second, release).held_back == 6
    for frame in (first, second, first.filter(pl.col("pid") != "p2"), second.filter(pl.col("pid") > "p3")):
        with pytest.raises(rv.InfeasibleError, match="nobody can be published"):
            own.publish(frame)


def test_a_piece_whose_values_were_told_goes_on(tmp_path):
    """A group of three of a cell shows their values, and so those of the other two: nothing is tied any more."""
    frame = table(("p0", 1, "a"), ("p1", 1, "b"), ("p2", 1, "c"), ("p3", 1, "a"), ("p4", 1, "b"))
    own = opened(tmp_path, rv.Refinement(k=2, l=2, slack=1))
    own.publish(frame)
    part = frame.head(3)
    assert own.adopt(part, published((1, 1, "abc"))).held_back == 0
    assert own.publish(frame).manifest["groups"] == 2


def test_whoever_has_which_value_the_same_people_are_closed(tmp_path):
    found = set()
    for n, four in enumerate(("ebcb", "bbce", "becb")):
        first, second, release = mixed(four)
        own = rv.Series.open(tmp_path / f"v{n}", SCHEMA, rv.Refinement(k=2, l=2, slack=1), seed=1)
        own.publish(first)
        told = own.adopt(second, release)
        found.add((told.held_back, told.unsafe_groups, told.merged))
    assert found == {(6, 0, 0)}


def test_why_the_cell_is_not_cut():
    """Publish q1 and q2 alone, and p has c in two worlds of three."""
    hits = worlds = Fraction(0)
    for members in members_of(TWO_BOXES, [(1, 4, "abc"), (3, 9, "cde")]):
        adopted = [Group(own, values) for own, values in zip(members, (("a", "b", "c"), ("c", "d", "e")), strict=True)]
        same = {"q1": {1: False}, "q2": {1: False}}
        found = enumerate_worlds([adopted, [Group(("q1", "q2"), ("a", "b"))]], same)
        worlds += found.worlds
        hits += found.worlds * found.share("p", 0).get("c", Fraction(0))
    assert hits / worlds == Fraction(2, 3)


def test_a_persons_own_value_does_not_make_them_ambiguous(tmp_path):
    """p at 3 and r at 4 fit [1, 4] and [3, 9], whichever values they have."""
    for n, values in enumerate(("abbc", "abcb", "bacb", "babc")):
        frame = table(*zip(("u", "p", "r", "v"), (1, 3, 4, 9), values, strict=True))
        own = rv.Series.open(tmp_path / f"v{n}", SCHEMA, rv.Refinement(k=2, l=2, slack=1))
        found = own.adopt(frame, published((1, 4, "ab"), (3, 9, "bc")))
        assert (found.ambiguous, found.merged, found.held_back, found.unsafe_groups) == (2, 4, 0, 0)
        assert own.publish(frame).manifest["groups"] == 1


def test_who_may_have_been_left_out_is_told_and_untold_at_once(tmp_path):
    own = opened(tmp_path, rv.TauSafety(m=2))
    found = own.adopt(LEFT_OUT, LEFT_RELEASE)
    assert (found.persons, found.unpublished, found.ambiguous) == (5, 1, 3)
    assert (found.unsafe_groups, found.held_back, found.kept) == (0, 0, 0)
    frame = pl.concat([LEFT_OUT, table(("n1", 1, "a"), ("n2", 1, "b"))])
    second = own.publish(frame)
    later = groups_of(own, 2, second, frame)
    told = {person: set(group.values) for group in later for person in group.members}
    assert all(told[person] == {"a", "b"} for person in ("p1", "p2", "p3"))
    possible = members_of(LEFT_OUT, [(1, 1, "ab"), (9, 9, "cde")])
    assert len(possible) == 3
    for members in possible:
        adopted = [Group(own_, values) for own_, values in zip(members, (("a", "b"), ("c", "d", "e")), strict=True)]
        known = {person: {1: False} for group in adopted for person in group.members}
        assert enumerate_worlds([adopted, later], known).highest()[0] <= Fraction(1, 2)


@pytest.mark.parametrize(
    ("guarantee", "held_back"),
    [(rv.Refinement(k=2, l=2), 3), (rv.GlobalGuarantee(2, rv.ConstantRatio(releases=2)), 6), (rv.MInvariance(2), 0)],
    ids=["refinement", "global", "m-invariance"],
)
def test_left_out_under_other_guarantees(tmp_path, guarantee, held_back):
    found = opened(tmp_path, guarantee).adopt(LEFT_OUT, LEFT_RELEASE)
    assert (found.ambiguous, found.held_back) == (3, held_back)
    assert bool(held_back) == any(f"{held_back} persons are held back" in line for line in found.sentences())


def test_a_part_is_adopted_as_a_part(tmp_path):
    """Of x = 1 only, everybody is in it: nothing is ambiguous. Of the whole table, nobody could know."""
    frame = table(("p1", 1, "a"), ("p2", 1, "b"), ("p3", 2, "c"), ("p4", 2, "d"), ("p5", 2, "e"))
    release = published((1, 2, "ab"))
    whole = rv.Series.open(tmp_path / "whole", SCHEMA, rv.TauSafety(m=2)).adopt(frame, release)
    assert (whole.ambiguous, whole.unpublished) == (5, 3)
    own = rv.Series.open(tmp_path / "part", SCHEMA, rv.TauSafety(m=2, domain=tuple("abcde")))
    found = own.adopt(frame, release, where="x = 1")
    assert (found.persons, found.unpublished, found.ambiguous) == (2, 0, 0)
    second = own.publish(frame)
    told = {p: set(g.values) for g in groups_of(own, 2, second, frame) for p in g.members}
    assert told["p1"] == told["p2"] == {"a", "b"}
    assert second.manifest["withheld"] == 0


def test_a_part_of_the_columns(tmp_path):
    schema = rv.Schema(person="pid", quasi=("x", "y"), sensitive="s")
    frame = LEFT_OUT.filter(pl.col("pid") != "p2").with_columns(y=pl.lit("Ash"))
    own = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(m=2))
    found = own.adopt(frame, LEFT_RELEASE, columns=["x", "s"])
    assert (found.persons, found.ambiguous) == (5, 0)
    assert own.publish(frame).manifest["release"] == 2
    with pytest.raises(rv.DataError, match="y"):
        own.adopt(frame, LEFT_RELEASE.with_columns(y=pl.lit("Ash")), columns=["x", "s"])


def test_on_the_command_line(tmp_path):
    (tmp_path / "reveil.toml").write_text(
        '[series]\nname = "s"\nvault = "vault"\n[columns]\npid = "person"\nx = "quasi"\ns = "sensitive"\n'
        '[guarantee]\nkind = "refinement"\nk = 2\nl = 2\n'
    )
    TWO_BOXES.write_csv(tmp_path / "s1.csv")
    TWO_RELEASE.write_csv(tmp_path / "r1.csv")
    config = ("-c", tmp_path / "reveil.toml")
    done = command("adopt", tmp_path / "s1.csv", tmp_path / "r1.csv", *config)
    assert done.returncode == 0
    assert "6 persons of groups that cannot be told apart stay together" in done.stderr
    assert "not safe" not in done.stderr
    part = TWO_BOXES.filter(pl.col("x") > 7)
    published((8, 9, "de")).write_csv(tmp_path / "r2.csv")
    done = command("adopt", tmp_path / "s1.csv", tmp_path / "r2.csv", *config, "--where", "x > 7", "--columns", "x,s")
    assert done.returncode == 0
    assert f"{part.height} persons recognised in 1 groups" in done.stderr
    # Two of the cell were told apart from the others: now it is not published any more.
    assert "6 persons are held back" in done.stderr
    done = command("publish", tmp_path / "s1.csv", *config, "-o", tmp_path / "r3.csv")
    assert done.returncode == 1
    assert "nobody can be published" in done.stderr
    done = command("adopt", tmp_path / "s1.csv", tmp_path / "r2.csv", *config, "--where", "s = 'a'")
    assert done.returncode == 2


@pytest.mark.parametrize("guarantee", [rv.TauSafety(m=2), rv.Refinement(k=2, l=2)], ids=["tau-safety", "refinement"])
def test_a_release_of_this_very_series_is_exact(tmp_path, guarantee):
    """Nothing is guessed where the series makes the same release again, ambiguous as it may look."""
    second = TWO_BOXES.with_columns(pid=pl.col("pid") + "x")
    opened(tmp_path, guarantee).publish(LEFT_OUT)
    shutil.copytree(tmp_path / "vault", tmp_path / "backup")
    opened(tmp_path, guarantee).publish_to(tmp_path / "r2.csv", second)
    shutil.rmtree(tmp_path / "vault")
    (tmp_path / "backup").rename(tmp_path / "vault")
    found = opened(tmp_path, guarantee).adopt(second, tmp_path / "r2.csv")
    assert (found.exact, found.ambiguous, found.held_back) == (True, 0, 0)


def test_memberships_are_those_of_all_maximum_assignments():
    """Against brute force: every pair that some membership has, and whoever some of them leaves out."""
    exact = 0
    for seed in range(150):
        case = random_case(seed, "abcd", changes=False, returns=False)
        frame = case.first
        release = read_release(case.release(), SCHEMA, types={"s": pl.String})
        found = membership(release, encode(read_snapshot(frame, SCHEMA)))
        order = [(low, high) for low, high, _ in case.groups]
        cells = release.cells["x"].text.to_list()
        box = [cells[release.cells["x"].index[release.classes[release.classes == g][0]]] for g in found.numbers]
        of_group = {
            number: order.index(
                tuple(map(int, text.strip("[]").split(", "))) if "," in text else (int(text), int(text))
            )
            for number, text in enumerate(box)
        }
        possible = members_of(frame, case.groups)
        for record, person in enumerate(frame["pid"]):
            mine = {of_group[int(g)] for g in found.group[found.type_ == found.kind[record]]}
            true = {g for members in possible for g, own in enumerate(members) if person in own}
            left = any(all(person not in own for own in members) for members in possible)
            assert true <= mine
            assert not true or not left or found.untold[record]
            exact += true == mine and (bool(true) and left) == bool(found.untold[record])
            assert found.inside[record] == bool(true)
    assert exact == sum(random_case(seed, "abcd", changes=False, returns=False).first.height for seed in range(150))


def agreeing(case, rng):
    """Return a table that agrees with the release of a case: other members, values dealt anew."""
    frame = case.first
    members = rng.choice(members_of(frame, case.groups))
    values = {person: rng.choice("abcdef") for person in frame["pid"]}
    for own, (_, _, shown) in zip(members, case.groups, strict=True):
        values |= dict(zip(own, rng.choice(list(permutations(shown))), strict=False))
    return frame.with_columns(s=pl.Series([values[person] for person in frame["pid"]]))


@pytest.mark.parametrize("kind", mostly_slow(["tau-safety", "refinement", "m-invariance", "global"], 2))
def test_who_rests_or_merges_is_the_same_for_every_table_that_agrees(kind):
    from tests.guarantees.plain_book import PlainSeries

    guarantee = {
        "tau-safety": rv.TauSafety(2, domain=tuple("abcdefghijkl")),
        "m-invariance": rv.MInvariance(2),
        "refinement": rv.Refinement(k=2, l=2, slack=1),
        "global": rv.GlobalGuarantee(2, rv.ConstantRatio(releases=2)),
    }[kind]
    rng = random.Random(5)  # noqa: S311 -- for tests
    for seed in range(25):
        case = random_case(seed, "abcdef", changes=False, returns=False)
        outcomes = set()
        for frame in (agreeing(case, rng) for _ in range(3)):
            own = PlainSeries(SCHEMA, guarantee)
            found = own.adopt(frame, case.release())
            names = {number: person for person, number in own.persons.items()}
            words = own.words["s"]
            told = {
                (names[number], tuple(sorted(words[int(code)] for code in text.split(","))))
                for number, texts in own.told.items()
                for text in texts
                if len(text.split(",")) > 1
            }
            rests = {names[number] for number, texts in own.told.items() if any("," not in text for text in texts)}
            survival = own.ledgers.get("survival")
            left = (
                set()
                if survival is None
                else {(names[p], words[value], round(share, 9)) for p, value, _, share in survival.iter_rows()}
            )
            cells = own.ledgers.get("cells")
            sealed = dict(own.ledgers["sealed_cells"].iter_rows()) if "sealed_cells" in own.ledgers else {}
            cut = set() if cells is None else {(names[p], cell, sealed.get(cell, 0)) for p, cell in cells.iter_rows()}
            counts = (found.unsafe_groups, found.held_back, found.kept, found.merged, found.cells)
            outcomes.add((frozenset(told), frozenset(rests), frozenset(left), frozenset(cut), counts))
        assert len(outcomes) == 1, (case, outcomes)
