"""Worked examples for every model: groups as counts per value, the level of each group and whether it is valid.

A new model needs an entry here. Levels are exact unless the case says otherwise; ``achieved`` is what the manifest
would say of all the groups together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from reveil.core.arrays import Ragged
from reveil.models.any_group import AnyGroup
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.models.t_closeness import TCloseness
from reveil.tables.hierarchy import Taxonomy

if TYPE_CHECKING:
    from reveil.models.base import Model

HUGE = 2**40
SMALL_TREE = Taxonomy.load({"Europe": {"North": ["Denmark", "Norway"], "South": ["Italy", "Spain"]}}).levels


@dataclass(frozen=True)
class Case:
    name: str
    model: Model
    groups: tuple[tuple[int, ...], ...]
    levels: tuple[float | Fraction, ...]
    valid: tuple[bool, ...]
    achieved: dict[str, Any]
    table: tuple[int, ...] | None = None
    ordered: bool = True
    taxonomy: Any = field(default=None, repr=False)

    @property
    def stats(self) -> GroupStats:
        return stats_of({"a": self.groups}, {"a": self.table}, ordered=self.ordered, levels=self.taxonomy)


def histogram_of(groups: Any) -> Histogram:
    """A histogram from a dense table with one row for each group."""
    dense = np.array(groups, np.int64)
    rows, codes = np.nonzero(dense)
    values = Ragged.of_sorted_owners(rows, len(dense), codes.astype(np.int32))
    return Histogram(values, dense[rows, codes], dense.shape[1])


def stats_of(attributes: dict[str, Any], tables: Any = None, *, ordered: bool = True, levels: Any = None) -> GroupStats:
    """Statistics from dense counts for each attribute; the table is the sum of the groups unless it is given."""
    table = {}
    for name, groups in attributes.items():
        given = (tables or {}).get(name)
        counts = np.sum(np.array(groups, np.int64), axis=0) if given is None else np.array(given, np.int64)
        table[name] = Reference(counts, ordered, levels)
    sizes = np.sum(np.array(next(iter(attributes.values())), np.int64), axis=1)
    return GroupStats(sizes, {name: histogram_of(groups) for name, groups in attributes.items()}, table)


def _deal(counts: tuple[int, ...], groups: int) -> tuple[tuple[int, ...], ...]:
    """Deal records stacked by value to the groups in turn."""
    dealt = np.zeros((groups, len(counts)), np.int64)
    stacked = np.repeat(np.arange(len(counts)), counts)
    np.add.at(dealt, (np.arange(len(stacked)) % groups, stacked), 1)
    return tuple(tuple(int(c) for c in row) for row in dealt)


# 250 records dealt to 5 groups; the values by frequency are these salaries (in thousands).
BY_FREQUENCY = _deal((42, 39, 37, 31, 24, 20, 17, 16, 15, 9), 5)
SALARY = (70, 75, 85, 55, 50, 65, 80, 60, 90, 95)
BY_SALARY = tuple(tuple(row[i] for i in np.argsort(SALARY)) for row in BY_FREQUENCY)

CASES = [
    Case(
        "at the threshold, one short, a value twice, empty",
        MUniqueness(3),
        ((1, 1, 1, 0), (0, 1, 1, 0), (2, 1, 1, 1), (0, 0, 0, 0)),
        (3, 2, 0, inf),
        (True, False, False, True),
        {"m": 0},
    ),
    Case("everything is accepted", AnyGroup(), ((1, 0), (0, 9), (0, 0)), (inf, inf, inf), (True, True, True), {}),
    Case("larger groups are as good", MUniqueness(2), ((1, 1, 1), (1, 0, 1)), (3, 2), (True, True), {"m": 2}),
    Case(
        "at the threshold, one short, empty",
        KAnonymity(3),
        ((2, 1), (2, 0), (0, 0)),
        (3, 2, inf),
        (True, False, True),
        {"k": 2},
    ),
    Case(
        "a huge group", KAnonymity(HUGE), ((HUGE, 0), (HUGE - 1, 0)), (HUGE, HUGE - 1), (True, False), {"k": HUGE - 1}
    ),
    Case(
        "at the threshold, one short, empty",
        DistinctDiversity(3),
        ((1, 1, 7), (9, 9, 0), (0, 0, 0)),
        (3, 2, inf),
        (True, False, True),
        {"l": 2},
    ),
    Case("a column with one value", DistinctDiversity(1), ((4,), (1,)), (1, 1), (True, True), {"l": 1}),
    Case(
        "the likely guess that distinct diversity allows",
        FrequencyDiversity(2),
        ((99, 1), (50, 50), (51, 50), (0, 0)),
        (Fraction(100, 99), 2, Fraction(101, 51), inf),
        (False, True, False, True),
        {"l": 1.010101},
    ),
    Case(
        "alpha = 0.3 means exactly three tenths",
        FrequencyDiversity(Fraction(10, 3)),
        ((3, 3, 3, 1), (3, 3, 3, 0)),
        (Fraction(10, 3), 3),
        (True, False),
        {"l": 3.0},
    ),
    Case(
        "huge counts, ties and near ties",
        FrequencyDiversity(3),
        ((HUGE, HUGE, HUGE), (HUGE + 1, HUGE, HUGE)),
        (3, Fraction(3 * HUGE + 1, HUGE + 1)),
        (True, False),
        {"l": 2.999999},
    ),
    Case("a real l", FrequencyDiversity(2.5), ((2, 2, 1), (4, 3, 2)), (2.5, 2.25), (True, False), {"l": 2.25}),
    Case(
        "uniform over exactly l values",
        EntropyDiversity(3),
        ((7, 7, 7), (7, 7, 8), (7, 7, 0), (0, 0, 0)),
        (3, 2.9938957, 2, inf),
        (True, False, False, True),
        {"l": 2.0},
    ),
    Case(
        "a tie that is not uniform: half, and four times an eighth, are two bits",
        EntropyDiversity(4),
        ((4, 1, 1, 1, 1), (8 * HUGE, 2 * HUGE, 2 * HUGE, 2 * HUGE, 2 * HUGE), (9, 2, 2, 2, 2)),
        (4, 4, 3.833545),
        (True, True, False),
        {"l": 3.833544},
    ),
    Case(
        "the achieved level of that tie is not rounded below it",
        EntropyDiversity(2),
        ((4, 1, 1, 1, 1),),
        (4,),
        (True,),
        {"l": 4.0},
    ),
    Case(
        "huge counts one record off the tie",
        EntropyDiversity(2),
        ((HUGE, HUGE), (HUGE, HUGE + 1)),
        (2, 2),
        (True, False),
        {"l": 1.999999},
    ),
    Case("a column with one value", EntropyDiversity(1), ((4,), (1,)), (1, 1), (True, True), {"l": 1.0}),
    Case("irrational levels", EntropyDiversity(2.8284271247), ((1, 1, 2),), (2 * sqrt(2),), (True,), {"l": 2.828427}),
    Case(
        "strictly less, so a tie is invalid",
        RecursiveDiversity(c=2, l=2),
        ((3, 1, 1), (4, 1, 1), (5, 1, 1), (4, 0, 0), (0, 0, 0)),
        (Fraction(3, 2), 2, Fraction(5, 2), inf, 0),
        (True, False, False, False, True),
        {"l": 2, "c": None},
    ),
    Case(
        "the tail from the third value on",
        RecursiveDiversity(c=1.5, l=3),
        ((4, 9, 3, 4), (2, 2, 2, 0), (3, 3, 2, 0)),
        (Fraction(9, 7), 1, 1.5),
        (True, True, False),
        {"l": 3, "c": 1.5},
    ),
    Case(
        "l = 1: the whole group is the tail",
        RecursiveDiversity(c=1, l=1),
        ((4, 1), (4, 0)),
        (0.8, 1),
        (True, False),
        {"l": 1, "c": 1.0},
    ),
    Case(
        "huge counts",
        RecursiveDiversity(c=1, l=2),
        ((HUGE, HUGE - 1, 1), (HUGE, HUGE - 1, 2)),
        (1, Fraction(HUGE, HUGE + 1)),
        (False, True),
        {"l": 2, "c": 1.0},
    ),
    Case(
        "250 records in order of frequency",
        TCloseness(0.008),
        BY_FREQUENCY,
        tuple(Fraction(n, 2250) for n in (22, 13, 12, 15, 18)),
        (False, True, True, True, True),
        {"t": {"a": 0.009778}},
    ),
    Case(
        "250 records in order of salary",
        TCloseness(0.0063),
        BY_SALARY,
        tuple(Fraction(n, 2250) for n in (38, 13, 14, 14, 11)),
        (False, True, True, True, True),
        {"t": {"a": 0.016889}},
    ),
    Case(
        "three values, one of them not in the group",
        TCloseness(0.1),
        ((3, 0, 7), (1, 0, 9)),
        (Fraction(1, 20), Fraction(3, 20)),
        (True, False),
        {"t": {"a": 0.15}},
        table=(2, 1, 7),
    ),
    Case(
        "a value that nobody has does not count as a step",
        TCloseness(0.2),
        ((3, 0, 7),),
        (Fraction(1, 5),),
        (True,),
        {"t": {"a": 0.2}},
        table=(1, 0, 9),
    ),
    Case(
        "0.1 is one tenth: ties hold",
        TCloseness(0.1),
        ((6, 4), (4, 6), (61, 39), (0, 0)),
        (0.1, 0.1, 0.11, 0),
        (True, True, False, True),
        {"t": {"a": 0.11}},
        table=(100, 100),
    ),
    Case(
        "a column with one value", TCloseness(0), ((4,), (1,), (0,)), (0, 0, 0), (True, True, True), {"t": {"a": 0.0}}
    ),
    Case(
        "equal distance: half the sum of differences",
        TCloseness(0.5),
        ((1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 1)),
        (0.75, 0.5, 0),
        (False, True, True),
        {"t": {"a": 0.75}},
        table=(2, 2, 2, 2),
        ordered=False,
    ),
    Case(
        "taxonomy: Denmark and Norway are half as far apart as Denmark and Spain",
        TCloseness(0.5),
        ((1, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0), (1, 1, 1, 1)),
        (0.625, 0.5, 0.25, 0),
        (False, True, True, True),
        {"t": {"a": 0.625}},
        table=(2, 2, 2, 2),
        ordered=False,
        taxonomy=SMALL_TREE,
    ),
    Case(
        "huge counts do not overflow",
        TCloseness(0.25),
        ((3 * HUGE, HUGE), (3 * HUGE + 1, HUGE), (HUGE, HUGE)),
        (Fraction(1, 4), Fraction(1, 4), 0),
        (True, False, True),
        {"t": {"a": 0.250001}},
        table=(10 * HUGE, 10 * HUGE),
    ),
]
