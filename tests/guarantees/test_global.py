"""The global guarantee over series of releases, judged by the enumerator of possible worlds and by the adversary."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import ConfigError, DataError, FileError, InfeasibleError, VerificationError
from reveil.guarantees.lifetime.global_guarantee import GlobalGuarantee
from reveil.guarantees.lifetime.global_release import COHORTS, SURVIVAL, PublishableRecords
from reveil.guarantees.lifetime.strategies import ConstantRatio, EvenSpread, Geometric
from reveil.guarantees.settings import from_settings
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.testing.series import histories, schema
from reveil.testing.worlds import Group, enumerate_worlds
from reveil.verification.arrays import halves, marks_of
from reveil.verification.judges.global_guarantee import LEFT
from reveil.verification.record import Entry
from tests.guarantees.lifetime.plain_book import PlainSeries, groups_of
from tests.judged import Judged
from tests.rarely import mostly_slow

VALUES = "abcdefgh"
slow = settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
STRATEGIES = [
    ConstantRatio(releases=1),
    ConstantRatio(releases=2),
    EvenSpread(releases=1),
    EvenSpread(releases=2),
    Geometric(alpha=1.5),
]
SCHEMA = rv.Schema(person="pid", quasi=["age", "place"], sensitive="disease")


def table(rng, persons, values, weights=None):
    """Return a snapshot of some persons with random quasi values and diseases."""
    size = len(persons)
    return pl.DataFrame(
        {
            "pid": persons,
            "age": rng.integers(18, 90, size),
            "place": rng.integers(0, 50, size),
            "disease": rng.choice(values, size, p=weights),
        }
    )


def run(guarantee, snapshots, own, seed=0):
    """Publish a series without a vault; snapshots that are refused are left out. Return the groups of each."""
    series, found = PlainSeries(guarantee, own), []
    for frame in snapshots:
        try:
            prepared = series.publish(frame, seed)
        except InfeasibleError:
            continue
        found.append(groups_of(prepared, frame, own))
    return found


def highest(found):
    worlds = [[Group(members, values) for members, values in groups] for groups in found]
    return enumerate_worlds(worlds).highest_ever()[0] if worlds else Fraction(0)


@slow
@given(
    histories(values=VALUES, max_persons=8, max_releases=4),
    st.sampled_from(STRATEGIES),
    st.sampled_from(["rest", "withhold"]),
    st.integers(0, 99),
)
def test_nobody_is_told_ever_to_have_had_a_value_with_more_than_one_half(snapshots, strategy, way, seed):
    found = run(GlobalGuarantee(2, strategy, when_exhausted=way), snapshots, schema(), seed)
    assert highest(found) <= Fraction(1, 2)


@slow
@given(histories(values=VALUES, max_persons=8, max_releases=4), st.integers(0, 99))
def test_harmless_values_are_not_bounded_and_the_others_are(snapshots, seed):
    own = schema()
    guarantee = GlobalGuarantee(2, ConstantRatio(releases=2), harmless=("a", "b"))
    found = run(guarantee, snapshots, own, seed)
    beliefs = enumerate_worlds([[Group(members, values) for members, values in groups] for groups in found])
    persons = {who for groups in found for members, _ in groups for who in members}
    for who in persons:
        assert all(beliefs.ever(who, value) <= Fraction(1, 2) for value in (*VALUES[2:], None))


@slow
@given(histories(values=VALUES, max_persons=8, max_releases=4), st.integers(0, 99))
def test_suppressed_values_count_as_rows_and_carry_nothing(snapshots, seed):
    own = schema()
    series = PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=1), when_exhausted="suppress"), own)
    told: dict[tuple[object, object], float] = {}
    for frame in snapshots:
        try:
            prepared = series.publish(frame, seed)
        except InfeasibleError:
            continue
        assert prepared.release.manifest["rows"] == frame.height
        for members, values in groups_of(prepared, frame, own):
            for value in set(values) - {SUPPRESSED_VALUE}:
                for who in members:
                    told[who, value] = told.get((who, value), 1.0) * (1 - values.count(value) / len(values))
    assert all(survival >= 0.5 - 1e-12 for survival in told.values())


def test_resting_depends_on_what_was_told_alone():
    rng = np.random.default_rng(1)
    guarantee = GlobalGuarantee(2, ConstantRatio(releases=2))
    series = PlainSeries(guarantee, SCHEMA)
    frame = table(rng, range(60), list(VALUES))
    for _ in range(2):
        series.publish(frame)
    rested = set()
    for _ in range(5):
        values = rng.choice([*VALUES, "x"], 60)
        memory = series.memory(frame.with_columns(pl.Series("disease", values)))
        rested.add(tuple(PublishableRecords.of(memory, guarantee.terms(memory)).out))
    assert len(rested) == 1
    assert any(rested.pop())
    assert set(np.flatnonzero(next(iter({tuple(PublishableRecords.of(memory, guarantee.terms(memory)).out)})))) == set(
        series.book.of_records(SURVIVAL).filter(pl.col("links") == 2)["record"]
    )


def test_withholding_depends_on_the_value_and_the_manifest_says_so():
    frame = table(np.random.default_rng(1), range(60), list(VALUES))
    guarantee = GlobalGuarantee(2, ConstantRatio(releases=1), when_exhausted="withhold")
    series = PlainSeries(guarantee, SCHEMA)
    series.publish(frame)
    memory = series.memory(frame)
    assert PublishableRecords.of(memory, guarantee.terms(memory)).out.all()  # everybody has the value of before
    other = series.memory(frame.with_columns(pl.lit("new").alias("disease")))
    assert not PublishableRecords.of(other, guarantee.terms(other)).out.any()
    assert any("absence tells it" in line for line in guarantee.promise(SCHEMA, None).assumes)


def test_a_value_that_is_too_frequent_is_refused_with_the_numbers_and_without_the_value():
    # HHFC with a ratio of 3.41.
    frame = pl.DataFrame(
        {"pid": range(4), "age": range(4), "place": range(4), "disease": ["HIV", "HIV", "flu", "cold"]}
    )
    with pytest.raises(InfeasibleError, match=r"2 of 4 rows \(50\.0%\).*29\.3%") as refused:
        PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=2)), SCHEMA).publish(frame)
    assert "HIV" not in str(refused.value)


def test_one_value_for_everybody():
    frame = table(np.random.default_rng(0), range(30), ["flu"])
    with pytest.raises(InfeasibleError, match=r"100\.0%"):
        PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=3)), SCHEMA).publish(frame)
    free = PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=3), harmless=("flu",)), SCHEMA).publish(frame)
    assert free.release.manifest["achieved"]["k"] >= 5
    assert free.draft.remembered.entries[0].rows.is_empty()


def test_too_few_records():
    with pytest.raises(InfeasibleError, match=r"3 records.*at least 5"):
        PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=3)), SCHEMA).publish(
            table(np.random.default_rng(0), range(3), list(VALUES))
        )


@pytest.mark.parametrize("strategy", mostly_slow([ConstantRatio(releases=3), Geometric(alpha=3)]))
def test_one_person_in_all_the_releases(strategy):
    rng = np.random.default_rng(5)
    values = [f"d{i}" for i in range(40)]
    guarantee = GlobalGuarantee(2, strategy, largest=30 if isinstance(strategy, Geometric) else None)
    series, releases, snapshots = PlainSeries(guarantee, SCHEMA), [], []
    there = []
    for t in range(7):
        frame = table(rng, [0, *range(1000 * (t + 1), 1000 * (t + 1) + 99)], values)
        frame = frame.with_columns(disease=pl.when(pl.col("pid") == 0).then(pl.lit("d0")).otherwise("disease"))
        prepared = series.publish(frame)
        releases.append(prepared.release)
        snapshots.append(frame)
        there.append(0 in prepared.placement.tolist())
    most = 3 if isinstance(strategy, ConstantRatio) else 6
    assert there == sorted(there, reverse=True)  # who rests does not come back
    assert 3 <= sum(there) <= most
    audit = rv.audit(releases, SCHEMA, truth=snapshots)
    assert audit.held
    assert audit.summary["bound"] == 0.5


def test_the_adversary_confirms_the_bound_over_twenty_releases():
    rng = np.random.default_rng(3)
    weights = 1 / (np.arange(60) + 4.0)
    values = [f"d{i:02}" for i in range(60)]
    for strategy in (ConstantRatio(releases=3), Geometric(alpha=3)):
        series, releases, snapshots, sizes = PlainSeries(GlobalGuarantee(2, strategy), SCHEMA), [], [], []
        frame, count = table(rng, range(300), values, weights / weights.sum()), 300
        for _ in range(20):
            prepared = series.publish(frame)
            releases.append(prepared.release)
            snapshots.append(frame)
            sizes.append(prepared.draft.remembered.facts["average_group"])
            stay = frame.sample(60, seed=int(rng.integers(99)))
            new = table(rng, range(count, count + 240), values, weights / weights.sum())
            frame, count = pl.concat([stay, new.cast(stay.schema)]), count + 240
            redrawn = pl.Series("disease", rng.choice(values, 300, p=weights / weights.sum()))
            frame = frame.with_columns(frame["disease"].zip_with(pl.Series(rng.random(300) > 0.2), redrawn))
        audit = rv.audit(releases, SCHEMA, truth=snapshots, attacks=["serial", "homogeneity"])
        assert audit.held
        assert 0.3 < audit.summary["highest"] <= 0.5
        assert max(sizes[1:]) < 1.5 * min(sizes[1:])


def test_larger_parameters_make_larger_groups():
    frame = table(np.random.default_rng(3), range(2000), [f"d{i}" for i in range(100)])

    def average(l, strategy):
        return PlainSeries(GlobalGuarantee(l, strategy), SCHEMA).publish(frame).draft.remembered.facts["average_group"]

    for values in (
        [average(l, ConstantRatio(releases=3)) for l in (2, 3, 5)],
        [average(2, ConstantRatio(releases=k)) for k in (1, 2, 3, 6)],
        [average(2, Geometric(alpha=a)) for a in (2, 3, 5)],
    ):
        assert all(one < other for one, other in pairwise(values))
    assert average(2, ConstantRatio(releases=3)) < 5.1  # the minimum is 4.85, rounded up


# Permanent values


def test_a_permanent_value_with_changing_neighbours_adds_up():
    first = [Group((1, 2), tuple("HF"))]
    second = [Group((1, 3), tuple("HF")), Group((2, 4), tuple("HC"))]
    assert enumerate_worlds([first, second]).ever(1, "H") == Fraction(3, 4)


def test_who_shares_a_permanent_value_stays_together():
    rng = np.random.default_rng(7)
    values = [f"d{i:02}" for i in range(40)]
    guarantee = GlobalGuarantee(2, ConstantRatio(releases=6), permanent=("HIV",))
    series = PlainSeries(guarantee, SCHEMA)
    frame = table(rng, range(200), values)
    frame = frame.with_columns(disease=pl.when(pl.col("pid") < 8).then(pl.lit("HIV")).otherwise("disease"))
    releases, snapshots, bands = [], [], []
    for t in range(3):
        if t:
            change = (pl.col("pid") >= 8) & (pl.col("pid") % 5 == 0)
            frame = frame.with_columns(
                disease=pl.when(change).then(pl.Series(rng.choice(values, 200))).otherwise("disease")
            )
        prepared = series.publish(frame)
        found = groups_of(prepared, frame, SCHEMA)
        bands.append({frozenset(members): values.count("HIV") for members, values in found if "HIV" in values})
        releases.append(prepared.release)
        snapshots.append(frame)
    # The same persons with the same count, or nobody.
    for band in bands[1:]:
        assert band.items() <= bands[0].items()
    assert sum(bands[0].values()) == 8
    audit = rv.audit(releases, SCHEMA, truth=snapshots, attacks=["serial"])
    assert audit.held
    # Who acquires the value later is published as they were first told.
    band = sorted(next(iter(bands[2]))) if bands[2] else []
    later = [who for who in band if who >= 8]
    frame = frame.with_columns(disease=pl.when(pl.col("pid").is_in(later)).then(pl.lit("HIV")).otherwise("disease"))
    prepared = series.publish(frame)
    for members, told in groups_of(prepared, frame, SCHEMA):
        if set(members) == set(band):
            assert told.count("HIV") == bands[0][frozenset(band)]
    # Without one of them, none of the others is published.
    gone = frame.filter(pl.col("pid") != 0)
    cohorts = series.book.rows(COHORTS)
    mine = cohorts.filter(pl.col("person") == 0)["cohort"][0]
    others = set(cohorts.filter(pl.col("cohort") == mine)["person"]) - {0}
    prepared = series.publish(gone)
    assert not others & set(gone["pid"].gather(prepared.placement).to_list())


# A registration list


def test_absent_persons_of_a_list_dilute_groups_and_boxes_hold_them():
    rng = np.random.default_rng(11)
    everybody = table(rng, range(1000), [f"d{i}" for i in range(20)])
    frame = everybody.sample(100, seed=1)
    guarantee = GlobalGuarantee(2, ConstantRatio(releases=3), population=everybody.drop("disease"))
    series = PlainSeries(guarantee, SCHEMA)
    prepared = series.publish(frame)
    manifest = prepared.release.manifest
    assert manifest["groups"] > 100 // 5  # fewer records per group
    assert "does not know who is in the table" in manifest["claim"]
    assert manifest["guarantee"]["population"] is True
    survival = prepared.draft.remembered.entries[0].rows["survival"]
    assert (survival >= 0.8 - 1e-12).all()
    # Every box holds at least five persons of the list.
    inside = np.ones((manifest["groups"], 1000), np.bool_)
    group = np.unique(prepared.release.groups, return_index=True)[1]
    for attribute in rv.anonymize(everybody, SCHEMA, rv.KAnonymity(1), seed=0).cells:
        cells = prepared.release.cells[attribute]
        spans = cells.distinct.gather(cells.index[prepared.release.classes[group]]).struct.unnest()
        values = everybody[attribute].to_numpy()
        inside &= (values >= spans["lo"].to_numpy()[:, None]) & (values <= spans["hi"].to_numpy()[:, None])
    assert inside.sum(axis=1).min() >= 5
    # And nobody of the list is in two: boxes that share somebody tell more together than each by itself.
    assert inside.sum(axis=0).max() <= 1
    audit = rv.audit([prepared.release], SCHEMA, population=everybody.drop("disease"), attacks=["serial"])
    assert audit.known == "nothing"
    assert audit.held


# Verification


def test_the_rule_is_judged_from_the_published_values():
    frame = table(np.random.default_rng(1), range(20), list(VALUES))
    prepared = PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=1)), SCHEMA).publish(frame)

    def judge(l, spent=None, **settings):
        judged = Judged(GlobalGuarantee(l, ConstantRatio(releases=1), **settings))
        if spent is not None:
            high, low = halves(marks_of(frame["disease"]))
            judged.apply((Entry(LEFT, LEFT.frame(who=range(20), high=high, low=low, survival=[spent] * 20)),))
        judged.check(judged.shown(prepared, range(20), 2))

    judge(2)
    with pytest.raises(VerificationError, match="more than 1/3"):
        judge(3)
    with pytest.raises(VerificationError, match="20 persons"):
        judge(2, 0.5)
    judge(2, 0.5, harmless=list(VALUES))


# Settings


def test_from_a_config():
    made = from_settings(GlobalGuarantee, {"l": 2, "strategy": "constant-ratio", "releases": 3, "harmless": ["flu", 7]})
    assert made == GlobalGuarantee(2, ConstantRatio(releases=3), harmless=("flu", "7"))
    assert "flu" not in repr(made)
    assert made.traits.settings["harmless"] == ["7", "flu"]
    assert made.promise(SCHEMA, None).bound == 0.5
    other = from_settings(GlobalGuarantee, {"l": 2.5, "strategy": "geometric", "alpha": 3.0, "largest": 40})
    assert (other.strategy, other.most_rows) == (Geometric(alpha=3), 40)
    assert GlobalGuarantee(2, Geometric(alpha=3)).most_rows == 60
    assert other.traits.may_change("largest", 40, 50)
    assert not other.traits.may_change("l", 2, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"l": 2}, "needs a strategy"),
        ({"l": 2, "strategy": "wild"}, "no strategy 'wild'"),
        ({"l": 2, "strategy": "geometric"}, "needs alpha"),
        ({"l": 2, "strategy": "geometric", "alpha": 3, "releases": 3}, "releases does not belong"),
        ({"l": 1, "strategy": "geometric", "alpha": 3}, "l must be above 1"),
        ({"l": 2, "strategy": "geometric", "alpha": 3, "largest": 5}, "more than largest"),
        ({"l": 2, "strategy": "constant-ratio", "releases": 3, "largest": 50}, "belongs to the geometric"),
        ({"l": 2, "strategy": "constant-ratio", "releases": 3, "when_exhausted": "cry"}, "must be one of"),
        ({"l": 2, "strategy": "constant-ratio", "releases": 3, "harmless": "flu"}, "must be a list"),
        ({"l": 2, "strategy": "constant-ratio", "releases": 3, "harmless": ["a"], "permanent": ["a"]}, "both"),
        ({"l": 2, "strategy": "constant-ratio", "releases": 3, "k": 3}, "no setting 'k'"),
    ],
)
def test_settings_that_cannot_be(settings, words):
    with pytest.raises(ConfigError, match=words):
        from_settings(GlobalGuarantee, settings)


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (rv.Schema(quasi="age", sensitive="disease"), "person column"),
        (rv.Schema(person="pid", quasi="age"), "exactly one sensitive"),
        (rv.Schema(person="pid", quasi="age", sensitive="disease", plain="ward"), "plain"),
        (rv.Schema(person="pid", quasi="group", sensitive="disease"), "of its own"),
        (rv.Schema(person="pid", quasi="age", sensitive="pay", bins={"pay": 3}), "bins"),
    ],
)
def test_tables_that_cannot_be(own, words):
    with pytest.raises(ConfigError, match=words):
        GlobalGuarantee(2, ConstantRatio(releases=3)).check(own, None)


def test_a_series_with_a_vault(tmp_path):
    rng = np.random.default_rng(2)
    guarantee = GlobalGuarantee(2, ConstantRatio(releases=2), when_exhausted="suppress")
    series = rv.Series.open(tmp_path / "vault", SCHEMA, guarantee, seed=1)
    frame = table(rng, range(80), list(VALUES))
    releases = []
    for t in range(4):
        series.publish_to(tmp_path / f"{t}.{'csv' if t % 2 else 'parquet'}", frame, again=True)
        releases.append(rv.Release.read(tmp_path / f"{t}.{'csv' if t % 2 else 'parquet'}"))
    stars = [(release.values["disease"] == SUPPRESSED_VALUE).sum() for release in releases]
    assert stars == [0, 0, 80, 80]
    assert "*" in releases[-1].text["disease"]
    assert rv.audit(releases, SCHEMA, truth=[frame] * 4).held
    assert [row["withheld"] for row in series.history()] == [0] * 4


@slow
@given(
    histories(values="abcdef", max_persons=8, max_releases=3, nulls=()),
    st.sampled_from([*(ConstantRatio(releases=n) for n in (1, 2)), EvenSpread(releases=2), Geometric(alpha=1.2)]),
    st.sampled_from([("a",), ("a", "b")]),
    st.integers(0, 99),
)
def test_permanent_values_stay_bounded_for_somebody_who_knows_that_they_last(snapshots, strategy, lasting, seed):
    found = run(GlobalGuarantee(2, strategy, permanent=lasting), snapshots, schema(), seed)
    told: dict[tuple[frozenset[object], str], int] = {}
    for groups in found:
        for members, values in groups:
            for value in set(values) & set(lasting):
                assert told.setdefault((frozenset(members), value), values.count(value)) == values.count(value)

    def lasts(_, own):
        """Whoever has a permanent value has it from then on."""
        values = [own[t] for t in sorted(own)]
        return all(one == other for one, other in pairwise(values) if one in lasting)

    worlds = [[Group(members, values) for members, values in groups] for groups in found]
    if worlds:
        assert enumerate_worlds(worlds, plausible=lasts).highest_ever()[0] <= Fraction(1, 2)


def test_a_registration_list_from_a_file(tmp_path):
    rng = np.random.default_rng(11)
    everybody = table(rng, range(300), list(VALUES))
    everybody.drop("disease").write_csv(tmp_path / "voters.csv")
    frame = everybody.sample(60, seed=1)
    found = [
        PlainSeries(GlobalGuarantee(2, ConstantRatio(releases=3), population=source), SCHEMA).publish(frame).release
        for source in (tmp_path / "voters.csv", str(tmp_path / "voters.csv"), everybody.drop("disease"))
    ]
    assert found[0].text.equals(found[1].text)
    assert found[0].text.equals(found[2].text)
    narrow = GlobalGuarantee(2, ConstantRatio(releases=3), population=everybody.select("pid", "age"))
    with pytest.raises(DataError, match="no column 'place'"):
        PlainSeries(narrow, SCHEMA).publish(frame)
    nowhere = GlobalGuarantee(2, ConstantRatio(releases=3), population=tmp_path / "nobody.csv")
    with pytest.raises(FileError, match="no such registration list"):
        PlainSeries(nowhere, SCHEMA).publish(frame)
