"""Every model against its plain definition, its worked examples and its own contract."""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import reveil.models
from reveil.core.errors import ConfigError
from reveil.models import entropy_diversity
from reveil.models._exact import at_most, extreme, quotient
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity, entropy_reaches
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.models.t_closeness import TCloseness, earth_movers_distance
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.schema import Schema
from tests.models.cases import CASES, HUGE, Case, histogram_of, stats_of

if TYPE_CHECKING:
    from reveil.models.base import Model

EXAMPLES = settings(max_examples=60, deadline=None)
ONE_OF_EACH: list[Model] = [
    KAnonymity(3),
    DistinctDiversity(2),
    FrequencyDiversity(2.5),
    EntropyDiversity(2.5),
    RecursiveDiversity(c=2, l=2),
    TCloseness(0.2),
    MUniqueness(2),
]
OF_VALUES = ONE_OF_EACH[1:]


def model_name(model: Any) -> str:
    return type(model).__name__


# ---------------------------------------------------------------- worked examples


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{model_name(case.model)}: {case.name}")
def test_worked_example(case: Case) -> None:
    assert case.model.verdict(case.stats).tolist() == list(case.valid)
    assert case.model.measure(case.stats) == pytest.approx([float(level) for level in case.levels], rel=1e-6)
    assert case.model.achieved(case.stats) == case.achieved


def test_every_model_has_cases() -> None:
    tools = ("base", "counting", "domains", "encoding", "limits", "statistics")
    files = {
        name for _, name, _ in pkgutil.iter_modules(reveil.models.__path__) if name not in tools and name[0] != "_"
    }
    assert {type(case.model).__module__.rsplit(".", 1)[1] for case in CASES} == files


# ---------------------------------------------------------------- plain definitions


def plain_level(model: Model, counts: list[int], table: list[int]) -> Fraction | float:
    """The definition, for one group that is not empty."""
    size = sum(counts)
    falling = sorted(counts, reverse=True)
    match model:
        case KAnonymity():
            return Fraction(size)
        case DistinctDiversity():
            return Fraction(sum(c > 0 for c in counts))
        case MUniqueness():
            return Fraction(size if falling[0] == 1 else 0)
        case FrequencyDiversity():
            return Fraction(size, falling[0])
        case EntropyDiversity():
            return math.exp(-math.fsum(c / size * math.log(c / size) for c in counts if c))
        case RecursiveDiversity():
            rest = sum(falling[model.l - 1 :])
            return Fraction(falling[0], rest) if rest else math.inf
        case TCloseness():
            seen = [i for i, count in enumerate(table) if count]
            p = [Fraction(counts[i], size) for i in seen]
            q = [Fraction(table[i], sum(table)) for i in seen]
            if model.distance == "equal":
                return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2
            moved = [abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(len(seen))]
            return sum(moved, Fraction(0)) / max(len(seen) - 1, 1)
    raise AssertionError(model)


def plain_verdict(model: Model, counts: list[int], table: list[int]) -> bool:
    size = sum(counts)
    if size == 0:
        return True
    level = plain_level(model, counts, table)
    match model:
        case KAnonymity():
            return level >= model.k
        case MUniqueness():
            return level >= model.m
        case EntropyDiversity():
            bound = Fraction(str(model.l))
            return Fraction(size) ** size >= bound**size * math.prod(c**c for c in counts)
        case DistinctDiversity() | FrequencyDiversity():
            return level >= Fraction(str(model.l))
        case RecursiveDiversity():
            return level < Fraction(str(model.c))
        case TCloseness():
            return level <= Fraction(str(model.t))
    raise AssertionError(model)


@st.composite
def tables(draw: st.DrawFn, largest: int = 12) -> list[list[int]]:
    """Groups as counts per value: empty groups, absent values and single-value columns among them."""
    values = draw(st.integers(1, 6))
    count = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, largest))
    return draw(st.lists(st.lists(count, min_size=values, max_size=values), min_size=1, max_size=8))


wholes = st.integers(1, 5)
reals = st.one_of(wholes, st.sampled_from([1.5, 2.5, 10 / 3, 2.8284271247461903, 4.000000001, 3.9999999999]))
models: st.SearchStrategy[Model] = st.one_of(
    st.builds(KAnonymity, wholes),
    st.builds(DistinctDiversity, wholes),
    st.builds(MUniqueness, wholes),
    st.builds(FrequencyDiversity, reals),
    st.builds(EntropyDiversity, reals),
    st.builds(RecursiveDiversity, c=st.sampled_from([0.25, 0.5, 1, 1.5, 2, 3.3333333333333335]), l=wholes),
    st.builds(
        TCloseness,
        st.sampled_from([0, 0.05, 0.1, 0.25, 0.3333333333333333, 0.5, 1]),
        distance=st.sampled_from(["ordered", "equal"]),
    ),
)


@settings(max_examples=200, deadline=None)
@given(tables(), models)
def test_model_is_its_plain_definition(groups: list[list[int]], model: Model) -> None:
    check_against_definition(groups, model)


@settings(max_examples=75, deadline=None)
@given(tables(), st.integers(HUGE - 1, HUGE + 1), models.filter(lambda model: not isinstance(model, EntropyDiversity)))
def test_huge_counts(groups: list[list[int]], factor: int, model: Model) -> None:
    check_against_definition([[factor * c + (c == 3) for c in row] for row in groups], model)


def check_against_definition(groups: list[list[int]], model: Model) -> None:
    stats = stats_of({"a": groups})
    table = stats.table["a"].counts.tolist()
    assert model.verdict(stats).tolist() == [plain_verdict(model, row, table) for row in groups]
    levels = model.measure(stats)
    best = 0 if isinstance(model, RecursiveDiversity | TCloseness) else math.inf
    plain = [plain_level(model, row, table) if sum(row) else best for row in groups]
    assert levels == pytest.approx([float(level) for level in plain], rel=1e-12)
    if isinstance(model, TCloseness | RecursiveDiversity):
        assert all(
            Fraction(a) * (1 + Fraction(1, 2**53)) >= b for a, b in zip(levels, plain, strict=True) if b < math.inf
        )


@EXAMPLES
@given(tables(), models)
def test_achieved_is_the_worst_level_rounded_against_us(groups: list[list[int]], model: Model) -> None:
    stats = stats_of({"a": groups})
    table = stats.table["a"].counts.tolist()
    plain = [plain_level(model, row, table) for row in groups if sum(row)]
    achieved = model.achieved(stats)
    json.dumps(achieved, allow_nan=False)
    if not plain:
        assert list(achieved.values())[-1] in (0, {"a": 0})
        return
    step = Fraction(1, 10**6)
    match model:
        case KAnonymity():
            assert achieved == {"k": min(plain)}
        case DistinctDiversity():
            assert achieved == {"l": min(plain)}
        case MUniqueness():
            assert achieved == {"m": min(plain)}
        case FrequencyDiversity():
            assert min(plain) - step < Fraction(str(achieved["l"])) <= min(plain)
        case EntropyDiversity():
            reached = Fraction(str(achieved["l"]))
            assert EntropyDiversity(reached).verdict(stats).all()
            assert not EntropyDiversity(reached + step).verdict(stats).all()
        case RecursiveDiversity() if max(plain) == math.inf:
            assert achieved == {"l": model.l, "c": None}
        case RecursiveDiversity():
            assert max(plain) <= Fraction(str(achieved["c"])) < max(plain) + step
        case TCloseness():
            assert max(plain) <= Fraction(str(achieved["t"]["a"])) < max(plain) + step


@EXAMPLES
@given(tables(), models)
def test_nothing_smaller_than_the_minimum_size_is_valid(groups: list[list[int]], model: Model) -> None:
    stats = stats_of({"a": groups})
    small = (stats.sizes > 0) & (stats.sizes < model.minimum_size)
    assert not model.verdict(stats)[small].any()


def test_minimum_sizes() -> None:
    sizes = [model.minimum_size for model in ONE_OF_EACH]
    assert sizes == [3, 2, 3, 3, 2, 1, 2]


# ---------------------------------------------------------------- empties, suppressed values, no groups


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=model_name)
def test_no_groups(model: Model) -> None:
    stats = stats_of({"a": np.zeros((0, 3), np.int64)})
    assert model.verdict(stats).shape == (0,)
    assert model.measure(stats).shape == (0,)
    json.dumps(model.achieved(stats), allow_nan=False)


@pytest.mark.parametrize("model", OF_VALUES, ids=model_name)
def test_records_without_values_are_not_an_empty_group(model: Model) -> None:
    stats = GroupStats(np.array([5]), {"a": Histogram.empty(1, 2)}, {"a": Reference(np.array([3, 2]), True)})
    assert not model.verdict(stats).any()


@pytest.mark.parametrize("model", OF_VALUES, ids=model_name)
def test_a_missing_value_is_a_value(model: Model) -> None:
    """The last code stands for null; nothing drops it."""
    with_null = stats_of({"a": [[2, 2, 2]]})
    without = stats_of({"a": [[2, 2, 0]]})
    if isinstance(model, MUniqueness):
        with_null, without = stats_of({"a": [[1, 1, 1]]}), stats_of({"a": [[1, 1, 0]]})
    if not isinstance(model, TCloseness):
        assert model.measure(with_null) != model.measure(without)
    assert TCloseness(0).measure(stats_of({"a": [[2, 0, 2]]}, {"a": [4, 0, 2]})) == pytest.approx(1 / 6)


# ---------------------------------------------------------------- several attributes


def test_all_attributes_must_hold_and_the_level_is_the_worst() -> None:
    stats = stats_of({"a": [[2, 2], [4, 0]], "b": [[4, 0], [2, 2]]})
    for model in (DistinctDiversity(2), FrequencyDiversity(2), EntropyDiversity(2), RecursiveDiversity(c=2, l=2)):
        assert model.verdict(stats).tolist() == [False, False]
    assert DistinctDiversity(2).measure(stats).tolist() == [1, 1]
    assert DistinctDiversity(2, attribute="a").measure(stats).tolist() == [2, 1]
    assert FrequencyDiversity(2, attribute="b").verdict(stats).tolist() == [False, True]
    assert TCloseness(0.25).measure(stats).tolist() == [0.25, 0.25]
    assert TCloseness(0.25).achieved(stats) == {"t": {"a": 0.25, "b": 0.25}}
    assert TCloseness(0.25, attribute="b").achieved(stats) == {"t": {"b": 0.25}}


@pytest.mark.parametrize("model", OF_VALUES, ids=model_name)
def test_an_attribute_that_is_not_there(model: Model) -> None:
    with pytest.raises(ConfigError, match="needs a sensitive column"):
        model.verdict(GroupStats(np.array([3])))
    with pytest.raises(ConfigError, match="needs a sensitive column"):
        model.check(Schema(quasi="age"))
    named = type(model)(**{**vars(model), "attribute": "age"})
    with pytest.raises(ConfigError, match="'age' is not a sensitive column"):
        named.check(Schema(quasi="age", sensitive="disease"))
    with pytest.raises(ConfigError, match="'age' is not a sensitive column"):
        named.measure(stats_of({"a": [[1, 1]]}))
    model.check(Schema(quasi="age", sensitive="disease"))


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: KAnonymity(0), "k"),
        (lambda: KAnonymity(2.0), "k"),
        (lambda: KAnonymity(True), "k"),
        (lambda: DistinctDiversity(0), "l"),
        (lambda: DistinctDiversity(2.5), "l"),
        (lambda: FrequencyDiversity(0.99), "l"),
        (lambda: MUniqueness(0), "m"),
        (lambda: MUniqueness(2.0), "m"),
        (lambda: FrequencyDiversity(math.nan), "l"),
        (lambda: EntropyDiversity(0), "l"),
        (lambda: EntropyDiversity("3"), "l"),
        (lambda: EntropyDiversity(math.inf), "l"),
        (lambda: RecursiveDiversity(c=0, l=2), "c"),
        (lambda: RecursiveDiversity(c=2, l=0), "l"),
        (lambda: TCloseness(-0.1), "t"),
        (lambda: TCloseness(1.1), "t"),
        (lambda: TCloseness(0.1, distance="euclid"), "distance"),
    ],
)
def test_a_bad_parameter_is_named(make: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=rf"\b{named}\b"):
        make()


def test_keyword_only() -> None:
    for call in (
        lambda: DistinctDiversity(3, "a"),
        lambda: FrequencyDiversity(3, "a"),
        lambda: EntropyDiversity(3, "a"),
        lambda: RecursiveDiversity(2, 2),
        lambda: TCloseness(0.1, "a"),
        lambda: MUniqueness(2, "a"),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (KAnonymity(10), {"k": 10}),
        (KAnonymity(np.int64(10)), {"k": 10}),
        (DistinctDiversity(3), {"l": 3, "diversity": "distinct"}),
        (DistinctDiversity(3, attribute="a"), {"l": 3, "diversity": "distinct", "attribute": "a"}),
        (FrequencyDiversity(2.5), {"l": 2.5, "diversity": "frequency"}),
        (EntropyDiversity(3.0), {"l": 3, "diversity": "entropy"}),
        (RecursiveDiversity(c=0.5, l=2), {"l": 2, "c": 0.5, "diversity": "recursive"}),
        (TCloseness(0.2), {"t": 0.2}),
        (MUniqueness(3), {"m": 3}),
        (MUniqueness(3, attribute="a") & KAnonymity(4), {"m": 3, "attribute": "a", "k": 4}),
        (TCloseness(0.1, attribute="bp", distance="equal"), {"t": {"bp": 0.1}, "distance": "equal"}),
        (TCloseness(0.1, attribute="bp") & TCloseness(0.2, attribute="chol"), {"t": {"bp": 0.1, "chol": 0.2}}),
        (KAnonymity(5) & TCloseness(0.2), {"k": 5, "t": 0.2}),
        (
            KAnonymity(5) & DistinctDiversity(3, attribute="a") & DistinctDiversity(2, attribute="b"),
            {
                "k": 5,
                "all": [
                    {"l": 3, "diversity": "distinct", "attribute": "a"},
                    {"l": 2, "diversity": "distinct", "attribute": "b"},
                ],
            },
        ),
        (TCloseness(0.1, attribute="bp") & TCloseness(0.2), {"all": [{"t": {"bp": 0.1}}, {"t": 0.2}]}),
        (
            TCloseness(0.1, attribute="bp", distance="equal") & TCloseness(0.2, attribute="chol"),
            {"all": [{"t": {"bp": 0.1}, "distance": "equal"}, {"t": {"chol": 0.2}}]},
        ),
    ],
    ids=repr,
)
def test_parameters_have_the_names_of_the_config(model: Model, parameters: dict[str, Any]) -> None:
    assert model.parameters() == parameters
    json.dumps(model.parameters(), allow_nan=False)


def test_models_are_values() -> None:
    assert DistinctDiversity(3) == DistinctDiversity(3)
    assert hash(TCloseness(0.1)) == hash(TCloseness(0.1))
    assert KAnonymity(2) & TCloseness(0.1) == KAnonymity(2) & TCloseness(0.1)


def test_conjunction() -> None:
    both = KAnonymity(4) & DistinctDiversity(2) & TCloseness(0.1)
    stats = stats_of({"a": [[2, 2], [4, 0], [1, 1], [0, 0]]})
    assert both.verdict(stats).tolist() == [False, False, False, True]
    assert (KAnonymity(4) & DistinctDiversity(2)).measure(stats).tolist() == [2, 1, 1, 2]
    assert both.achieved(stats) == {"k": 2, "l": 1, "t": {"a": 0.3}}
    assert both.minimum_size == 4
    assert (both.tags.monotone, both.tags.union_closed, both.tags.reads_values) == (False, True, True)
    assert both.sentence().startswith("every group has at least 4 records, and every group has at least 2 different")


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=model_name)
def test_documentation(model: Model) -> None:
    text = type(model).__doc__ or ""
    for heading in ("Guarantee", "Assumes", "Does not protect against", "Closure", "Source"):
        assert f"*{heading}*: " in text
    assert ("Not monotone:" in text) is not model.tags.monotone
    assert "nion-closed" in text
    if model.tags.reads_values:
        assert "several sensitive attributes" in re.sub(r"\s+", " ", text)


def test_sentences() -> None:
    assert [model.sentence() for model in ONE_OF_EACH] == [
        "every group has at least 3 records",
        "every group has at least 2 different values of each sensitive column",
        "no value of a sensitive column occurs in more than one in 2.5 records of a group",
        "in every group the values of each sensitive column are at least as mixed as 2.5 equally frequent ones",
        (
            "in every group the most frequent value of each sensitive column occurs less than 2 times as often as "
            "all values but the most frequent one together"
        ),
        (
            "in every group the values of each sensitive column are distributed as in the whole table up to a "
            "distance of 0.2 (0 is the same, 1 the farthest)"
        ),
        "every group has at least 2 records, all with different values of each sensitive column",
    ]
    everything = RecursiveDiversity(c=1, l=1, attribute="a")
    assert everything.sentence().endswith("of a occurs less than 1 times as often as all values together")
    assert RecursiveDiversity(c=1, l=4).sentence().endswith("all values but the 3 most frequent ones together")
    assert KAnonymity(1).sentence() == "every group has at least 1 record"


# ---------------------------------------------------------------- errata of the sources


def test_erratum_recursive_diversity_bounds_the_most_frequent_value() -> None:
    """Printed with r_1 on the right-hand side it would accept 5, 1, 1 (2 < 2 * 5) and refuse nothing common."""
    assert RecursiveDiversity(c=2, l=2).verdict(stats_of({"a": [[5, 1, 1]]})).tolist() == [False]


def test_erratum_emd_takes_the_absolute_value_of_the_inner_sum() -> None:
    """Printed with the absolute value inside, the distance of (1/2, 0, 1/2) to the uniform would be 2/3."""
    stats = stats_of({"a": [[1, 0, 1]]}, {"a": [2, 2, 2]})
    numerator, denominator = earth_movers_distance(stats.histograms["a"], stats.table["a"], "ordered")
    assert Fraction(int(numerator[0]), int(denominator[0])) == Fraction(1, 6)


# ---------------------------------------------------------------- distances


def transport(p: Any, q: Any, cost: Any) -> float:
    """The earth mover's distance by its definition: the cheapest plan that turns p into q."""
    size = len(p)
    rows = np.kron(np.eye(size), np.ones(size))
    columns = np.kron(np.ones(size), np.eye(size))
    plan = linprog(np.ravel(cost), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q]), method="highs")
    assert plan.success
    return float(plan.fun)


def distances(groups: Any, reference: Reference, distance: str | None = None) -> list[float]:
    numerator, denominator = earth_movers_distance(histogram_of(groups), reference, distance)
    return [float(Fraction(int(a), int(b))) for a, b in zip(numerator, denominator, strict=True)]


def height_cost(levels: Any) -> Any:
    """Height of the lowest common node over the height of the tree: the share of levels on which two leaves part."""
    return np.mean([row[:, None] != row[None, :] for row in np.asarray(levels)[1:]], axis=0)


TREES = {
    "even": {"A": {"a": ["1", "2"], "b": ["3", "4"]}},
    "uneven": {"*": {"a": ["1", "2", "3"], "b": {"c": ["4"], "d": ["5", "6"]}}},
    "flat": {"*": {"a": ["1"], "b": ["2"], "c": ["3", "4"]}},
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["ordered", "equal", *TREES, "shuffled"])
def test_distance_is_the_cheapest_transport(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(kind)])
    levels: Any = None
    if kind in ("ordered", "equal"):
        size = int(rng.integers(2, 6))
        places = np.arange(size)
        cost = np.abs(places[:, None] - places) / (size - 1) if kind == "ordered" else places[:, None] != places
    else:
        levels = Taxonomy.load(TREES["uneven" if kind == "shuffled" else kind]).levels
        if kind == "shuffled":  # codes that are not in depth-first order
            levels = levels[:, rng.permutation(levels.shape[1])]
        size = levels.shape[1]
        cost = height_cost(levels)
    groups = rng.integers(0, 4, (4, size)) * (rng.random((4, size)) < 0.6)
    groups[0] = 0
    groups[1:, 0] += 1
    table = groups.sum(axis=0) + 1
    reference = Reference(table, kind == "ordered", levels)
    expected = [transport(row / row.sum(), table / table.sum(), cost) for row in groups[1:]]
    assert distances(groups, reference) == pytest.approx([0.0, *expected], abs=1e-9)


def test_default_distance() -> None:
    levels = Taxonomy.load(TREES["even"]).levels
    groups, table = [[1, 0, 1, 0]], np.array([1, 2, 3, 4])
    for ordered, tree, distance in ((True, levels, "taxonomy"), (True, None, "ordered"), (False, None, "equal")):
        reference = Reference(table, ordered, tree)
        assert distances(groups, reference) == distances(groups, reference, distance)


def test_equal_is_the_tree_of_height_one() -> None:
    flat = np.array([[0, 0, 0], [1, 2, 3]], np.int32)
    groups, table = [[1, 0, 2], [0, 5, 1]], np.array([4, 5, 6])
    assert distances(groups, Reference(table, False, flat)) == distances(groups, Reference(table, False))


def test_a_missing_value_beside_a_tree_of_one_value_is_still_apart() -> None:
    only_root = np.zeros((1, 2), np.int32)
    assert distances([[1, 0]], Reference(np.array([1, 1]), False, only_root)) == [0.5]


@EXAMPLES
@given(tables(), st.sampled_from(["ordered", "equal", "tree"]), st.integers(2**38, 2**42))
def test_python_integers_agree_with_machine_integers(groups: list[list[int]], kind: str, factor: int) -> None:
    """Multiplying all counts changes no distance, only the path through the code; one group stays small."""
    table = np.sum(groups, axis=0)
    levels = None
    if kind == "tree":
        codes = np.arange(len(table))
        levels = np.array([np.zeros(len(table)), codes // 2, codes + len(table)], np.int32)
    small = Reference(table, kind == "ordered", levels)
    large = Reference(table * factor, kind == "ordered", levels)
    assert distances(groups, small) == distances(np.array(groups) * factor, large)
    assert distances(groups, small) == distances(groups, large)


def test_a_value_that_the_table_does_not_have() -> None:
    with pytest.raises(ValueError, match="table does not have"):
        TCloseness(0.1).verdict(stats_of({"a": [[1, 1]]}, {"a": [3, 0]}))
    with pytest.raises(ValueError, match="whole table"):
        TCloseness(0.1).verdict(GroupStats(np.array([2]), {"a": histogram_of([[1, 1]])}))


def test_distance_and_schema() -> None:
    text = Schema(quasi="age", sensitive=("disease", "bp"), types={"disease": "text", "bp": "number"})
    with pytest.raises(ConfigError, match="'disease' have no order"):
        TCloseness(0.1, distance="ordered").check(text)
    TCloseness(0.1, distance="ordered", attribute="bp").check(text)
    with pytest.raises(ConfigError, match="no hierarchy"):
        TCloseness(0.1, distance="taxonomy", attribute="bp").check(text)
    declared = Schema(quasi="age", sensitive="grade", types={"grade": "text"}, orders={"grade": ["low", "high"]})
    TCloseness(0.1, distance="ordered").check(declared)
    tree = Schema(quasi="age", sensitive="place", hierarchies={"place": TREES["even"]})
    TCloseness(0.1, distance="taxonomy").check(tree)
    with pytest.raises(ConfigError, match="'place' have no order"):
        TCloseness(0.1, distance="ordered").check(tree)
    # Of a frame's column the type is known only when it is read: the order is asked for again when measuring.
    TCloseness(0.1, distance="ordered").check(Schema(quasi="age", sensitive="a"))
    with pytest.raises(ConfigError, match="no order"):
        TCloseness(0.1, distance="ordered").measure(stats_of({"a": [[1, 1]]}, ordered=False))
    with pytest.raises(ConfigError, match="no hierarchy"):
        TCloseness(0.1, distance="taxonomy").measure(stats_of({"a": [[1, 1]]}))


# ---------------------------------------------------------------- exactness


@EXAMPLES
@given(
    st.lists(st.tuples(st.integers(0, 2**62), st.integers(1, 2**62)), min_size=1),
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**17),
)
def test_exact_fractions(pairs: list[tuple[int, int]], factor: Fraction) -> None:
    # Ties and their neighbours, beside whatever was drawn.
    ties = [(factor.numerator * n + d, factor.denominator * n) for n in (1, 7) for d in (-1, 0, 1)]
    pairs += [(a, b) for a, b in ties if a < 2**62 and b < 2**62]
    left, right = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    expected = [a <= factor * b for a, b in pairs]
    assert at_most(left, right, factor).tolist() == expected
    assert at_most(left.astype(object), right.astype(object), factor).tolist() == expected
    assert at_most(left, right, factor / 10**400).tolist() == [a == 0 for a, _ in pairs]
    for up in (True, False):
        worst = (max if up else min)(Fraction(a, b) for a, b in pairs)
        assert extreme(left, right, up=up) == worst
        for rounded, (a, b) in zip(quotient(left, right, up=up), pairs, strict=True):
            if max(a, b) > 2**53:
                assert (rounded >= Fraction(a, b)) if up else (rounded <= Fraction(a, b))
            else:
                assert rounded == a / b


def test_large_integral_thresholds() -> None:
    stats = stats_of({"a": [[3, 3]]})
    for model in (KAnonymity(10**30), DistinctDiversity(10**30), FrequencyDiversity(10**30), EntropyDiversity(10**30)):
        assert model.verdict(stats).tolist() == [False]
    assert RecursiveDiversity(c=10**30, l=10**30).verdict(stats).tolist() == [False]
    assert RecursiveDiversity(c=10**30, l=2).verdict(stats).tolist() == [True]


def test_entropy_ties_are_settled_exactly_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tie = (4, 1, 1, 1, 1)
    above, below = Fraction(4) + Fraction(1, 10**45), Fraction(4) - Fraction(1, 10**45)
    assert entropy_reaches(tie, Fraction(4))
    assert not entropy_reaches(tie, above)
    assert entropy_reaches(tie, below)
    monkeypatch.setattr(entropy_diversity, "LARGEST_POWER", 10)
    assert not entropy_reaches(tie, Fraction(4))  # rounded against acceptance
    assert entropy_reaches(tie, Fraction(4) - Fraction(1, 10**30))


def test_entropy_never_looks_better_than_it_is() -> None:
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 9, (300, 7))
    groups[:, 0] += 1
    levels = EntropyDiversity(2).measure(stats_of({"a": groups}))
    for row, level in zip(groups.tolist(), levels.tolist(), strict=True):
        assert entropy_reaches([c for c in row if c], Fraction(level))


def test_public_modules_import() -> None:
    for _, name, _ in pkgutil.iter_modules(reveil.models.__path__):
        importlib.import_module(f"reveil.models.{name}")
