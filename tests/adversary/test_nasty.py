"""Nasty little series: what an attack calls exact is the share of worlds, and nothing is certain that is not."""

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.adversary import gather
from reveil.core import registry
from tests.adversary.nasty import SCHEMA, Worlds, draw, told
from tests.adversary.test_every_level import SERIES

ATTACKS = ("homogeneity", "skewness", "intersection", "difference", "absence", "correspondence", "tau", "serial")
KINDS = ("", "moving", "drop", "star", "moving drop star")


def check(kind, seed):
    """Compare what attacks say of one series with all its worlds; return how much was compared."""
    months = draw(np.random.default_rng([seed, *kind.encode()]), kind)
    worlds, compared = {}, 0
    for known in ("presence", "events"):
        evidence = gather([m.release for m in months], SCHEMA, truth=[m.truth for m in months], known=known)
        for name in ATTACKS:
            found = registry.find("attacks", name)().run(evidence, np.random.default_rng(0))
            for i in range(len(found.person)):
                person = evidence.persons[int(found.person[i])]
                value = evidence.values[int(found.value[i])] if found.value[i] >= 0 else None
                said = (kind, seed, known, name, person, value)
                certain = found.exact[i] and found.belief[i] >= 1
                if name == "serial":
                    assert not certain or any(m.values.get(person, "") == value for m in months), said
                    continue
                needed = tuple(t for t in range(len(months)) if found.release_mask[i] >> t & 1)
                at = -1 if found.at is None else int(found.at[i])
                at = next((t for t in needed if person in months[t].values), -1) if at < 0 else at
                assert not certain or months[at].values[person] == value, said
                if at not in needed or found.value[i] < 0 or not found.proven[i]:
                    continue
                # What tau is certain of rests on the lives of everybody whom anything connects.
                for numbers in dict.fromkeys((needed, tuple(range(len(months)))) if name == "tau" else (needed,)):
                    if (known, numbers) not in worlds:
                        own = [months[t] for t in numbers]
                        worlds[known, numbers] = Worlds(own, told(own) if known == "events" else {}).share
                    shares = worlds[known, numbers]
                    if shares is None:
                        break
                    share = shares[person, numbers.index(at)].get(value, 0)
                    if found.belief[i] == pytest.approx(share) if found.exact[i] else found.proven[i] <= share + 1e-9:
                        compared += 1
                        break
                else:
                    pytest.fail(f"{said} in release {at + 1}: {found.belief[i]}, but {share}")
    return compared


@pytest.mark.parametrize("kind", KINDS)
def test_nasty_series(kind):
    assert sum(check(kind, seed) for seed in range(6)) > 0


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("kind", KINDS)
def test_many_nasty_series(kind):
    assert sum(check(kind, seed) for seed in range(SERIES)) > SERIES


AGES = rv.Schema(person="pid", quasi="x", sensitive="s", types={"s": "text"})


def people(*rows, names=("pid", "x", "s")):
    return pl.DataFrame(rows, schema=list(names), orient="row")


def test_a_suppressed_value_may_be_any_wherever_somebody_may_be():
    truth = people(("p", 0, "a"), ("q", 1, "a"), ("r", 1, "b"))
    # r fits the group of two and the row with the star: all the values that are told there are a.
    release = people(("{0, 1}", "a"), ("{0, 1}", "a"), ("1", "*"), names=("x", "s"))
    found = rv.audit(release, AGES, truth=truth, known="presence")
    assert {row["person"] for row in found.certain.iter_rows(named=True)} == {"p"}
    assert found.summary["certain_and_right"] == 1
    # Of two rows in one group, one told: the belief is a limit, and no share of the rows.
    pair = people(("[0, 1]", "a"), ("[0, 1]", "*"), names=("x", "s"))
    found = rv.audit(pair, AGES, truth=truth[:2], known="presence", attacks="homogeneity").persons
    assert found.select("belief", "exact", "proven").rows() == [(0.5, False, 0.5)] * 2


def test_who_is_left_of_a_group_may_have_its_suppressed_value():
    first = people(("p", 2, "b"), ("q", 3, "a"), ("r", 0, "a"))
    second = people(("p", 2, "b"), ("q", 3, "a"))
    # r has left; of p and q in April one has b, so r might seem to have what March tells beside it.
    march = people(*[("[0, 3]", value) for value in ("b", "c", "*")], names=("x", "s"))
    april = people(("[2, 3]", "b"), ("[2, 3]", "c"), names=("x", "s"))
    told_by = {"p": "b", "q": "c", "r": "d"}
    truth = [frame.with_columns(s=pl.col("pid").replace(told_by)) for frame in (first, second)]
    found = rv.audit([march, april], AGES, truth=truth, known="events")
    assert found.certain.is_empty()
    told_all = people(*[("[0, 3]", value) for value in ("b", "c", "d")], names=("x", "s"))
    assert rv.audit([told_all, april], AGES, truth=truth, known="events").certain["person"].to_list() == ["r"]


def test_a_star_that_somebody_has_is_a_value():
    truth = people(("p", 0, "*"), ("q", 1, "a"))
    release = people(("0", "*"), ("1", "a"), names=("x", "s"))
    found = rv.audit(release, AGES, truth=truth, known="presence")
    assert dict(found.certain.select("person", "value").rows()) == {"p": "*", "q": "a"}


def test_records_with_a_suppressed_value_are_followed_by_their_groups():
    truth = people(("p", 0, "a"), ("q", 1, "b"))
    march = people(("0", "a"), ("1", "b"), names=("x", "s"))
    april = people(("0", "*"), ("1", "b"), names=("x", "s"))
    who = pl.DataFrame({"row": [0, 1], "id": ["p", "q"]})
    found = rv.audit([march, april], AGES, truth=[truth, truth], known="ids", placements=[who, who])
    assert found.summary["certain"] == found.summary["certain_and_right"] == 2


def test_plain_columns_say_nothing_of_a_suppressed_value():
    schema = rv.Schema(person="pid", quasi="x", sensitive="s", plain="blood", types={"s": "text"})
    truth = people(("p", 0, "A", "a"), ("q", 1, "B", "b"), names=("pid", "x", "blood", "s"))
    march = people(("[0, 1]", "A", "*"), ("[0, 1]", "B", "b"), names=("x", "blood", "s"))
    april = people(("0", "A", "a"), ("1", "B", "b"), names=("x", "blood", "s"))
    found = rv.audit([march, april], schema, truth=[truth, truth], known="presence", attacks="plain")
    assert set(found.persons["value"]) <= {"a", "b"}
    assert found.certain.filter(pl.col("value").is_null()).is_empty()


@pytest.mark.parametrize("months", [2, 3])
def test_values_known_over_releases_of_different_people(months):
    schema = rv.Schema(person="pid", quasi="x", sensitive=["s", "t"], types={"s": "text", "t": "text"})
    columns = ("pid", "x", "s", "t")
    truth = [
        people(("p", 0, "a", "k"), ("q", 1, "b", "l"), ("r", 1, "b", "k"), names=columns),
        people(("p", 0, "a", "k"), ("q", 1, "b", "l"), names=columns),
        people(("q", 1, "b", "l"), ("r", 1, "a", "l"), ("p", 0, "b", "k"), ("z", 1, "c", "k"), names=columns),
    ][:months]
    releases = [frame.select(pl.lit("[0, 1]").alias("x"), "s", "t") for frame in truth]
    found = rv.audit(releases, schema, truth=truth, known="values")
    alone = rv.audit(releases[-1], schema, truth=truth[-1], known="values")
    assert found.summary["baseline"]["s"]["last_release"] == alone.summary["baseline"]["s"]["last_release"]
    assert found.summary["certain"] == found.summary["certain_and_right"]
