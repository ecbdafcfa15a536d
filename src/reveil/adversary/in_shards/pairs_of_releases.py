"""Attacks that set one release beside another: slices of whole groups of the one, with all who are certainly in them.

A slice has some groups of one release, its *anchor*, and everybody who is known to be in them, with the groups of the
other releases in which their value was the same. So what one release shows of a group of another is counted as in one
memory; and the persons of a cell are in one slice, of the release in which their group is known first.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.attacks.absence import with_a_lost_value
from reveil.adversary.attacks.base import Findings, joined
from reveil.adversary.attacks.correspondence import common
from reveil.adversary.attacks.difference import groups_inside
from reveil.adversary.attacks.intersection import in_cells
from reveil.adversary.cells import ABSENT, LOOKS, UNSURE, Runs, containing, pair_of, pairs_of, runs_of
from reveil.adversary.in_shards.homes import FOUND, HOME, PAIRED
from reveil.adversary.in_shards.placing import listed
from reveil.adversary.remainders import beliefs_in_remainder
from reveil.core.arrays import offsets_of
from reveil.engines.shards import with_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.evidence import Evidence
    from reveil.adversary.in_shards.slices import KnownSeries
    from reveil.adversary.view import View
    from reveil.core.arrays import BoolArray, CodeArray, IntArray

SLICE, KNOWN = "slice", 0
SLICES = 2  # of the groups of a release, so many have as many people as a shard has rows
ENTRIES = 20  # and no more groups in all releases than so many times that
ANCHORED = pl.Schema(
    {
        SLICE: pl.Int64(),
        HOME: pl.Int32(),
        "person": pl.String(),
        "anchor": pl.Int64(),
        "first": pl.Boolean(),
        "releases": pl.List(pl.Int64),
        "kinds": pl.List(pl.Int64),
        "groups": pl.List(pl.Int64),
    }
)
"""A person who is certainly in the group ``anchor`` of the release of a slice; ``first``: and in no group before it.

``releases`` are those in which they are, with whatever value; where it was the same, ``groups`` is their group
if ``kinds`` is KNOWN; else that is UNSURE or, with another value, ABSENT. Of releases that are not compared with that
of the slice there is nothing, unless it is the first: a hundred releases would make a hundred copies of a hundred
groups.
"""
FOUND_BESIDE = with_column(FOUND, "summary", pl.Binary())
Counted = dict[str, dict[str, int | None]]


@dataclass(frozen=True)
class SlicePlan:
    """How many slices the groups of each release make, and which releases are compared, and by which attacks.

    ``contained`` are the pairs for the attack difference, ``pairs`` those for the others.
    """

    buckets: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    contained: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, known: Sequence[int], present: Sequence[int], shard_rows: int) -> SlicePlan:
        """Plan for so many persons with one group, and so many persons, in each release."""
        many = len(known)
        buckets = [max(SLICES * each // shard_rows, each * many // (ENTRIES * shard_rows), 1) for each in known]
        return cls(tuple(buckets), tuple(pairs_of(present)), tuple(pairs_of(known, rows=LOOKS)))

    def release_of(self, slice_: int) -> int:
        """Return the release of a slice."""
        return slice_ // max(self.buckets)

    def slices_of(self, number: int, groups: IntArray) -> IntArray:
        """Return the slices of groups of a release."""
        slices: IntArray = number * max(self.buckets) + np.abs(groups % self.buckets[number])
        return slices

    def others(self, number: int) -> list[int]:
        """Return the releases with which the attack difference compares one."""
        return [other for one, other in self.contained if one == number]

    def beside(self, number: int) -> BoolArray:
        """Return which releases are compared with one."""
        found = np.zeros(len(self.buckets), np.bool_)
        found[[number, *self.others(number), *(other for one, other in self.pairs if one == number)]] = True
        return found


@dataclass(frozen=True)
class AnchorHome:
    """Work: the people of a home, once for each release in which their group is known."""

    series: KnownSeries
    plan: SlicePlan

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Lay out the groups of their runs."""
        people = table.filter(pl.col("t").is_not_null() & pl.col("person").is_not_null())
        groups = table.filter(pl.col("size").is_not_null()).unique(["t", "g"]).sort("t", "g")
        if not people.height:
            return ANCHORED.to_frame()
        evidence = self.series.of_people(people, groups)
        numbers = [groups.filter(pl.col("t") == t)["g"].to_numpy() for t in range(len(evidence.views))]
        runs, found = runs_of(evidence), [ANCHORED.to_frame()]
        there = np.zeros((len(evidence.persons), len(evidence.views)), np.bool_)
        for view in evidence.views:
            there[view.present, view.number] = True
        started = np.zeros(len(runs.person), np.bool_)
        for view in evidence.views:
            some = np.flatnonzero(view.sure >= 0)
            run, who = runs.of_view[view.number][some], view.present[some]
            where = np.stack([groups_of[run] for groups_of in runs.where], axis=1)
            inside = where[np.arange(len(some)), view.number] >= 0  # not of a group with a suppressed value
            some, run, who, where = some[inside], run[inside], who[inside], where[inside]
            if not len(some):
                continue
            first = ~started[run]
            started[run] = True
            told = there[who] & (self.plan.beside(view.number) | first[:, None])
            row, release = np.nonzero(told)
            places = where[row, release]
            groups_told = np.zeros(len(row), np.int64)
            for t, known in enumerate(numbers):
                here = (release == t) & (places >= 0)
                groups_told[here] = known[places[here]]
            anchor = numbers[view.number][view.sure[some]].astype(np.int64)
            columns = {
                SLICE: self.plan.slices_of(view.number, anchor),
                HOME: np.full(len(some), people[HOME][0], np.int32),
                "person": evidence.persons.gather(who),
                "anchor": anchor,
                "first": first,
            }
            ends = offsets_of(told.sum(axis=1))
            lists = {"releases": release, "kinds": np.minimum(places, KNOWN), "groups": groups_told}
            rows = {name: listed(ends, items) for name, items in lists.items()}
            found.append(pl.DataFrame({**columns, **rows}, schema=ANCHORED))
        return pl.concat(found)


@dataclass(frozen=True)
class AttackGroups:
    """Work: the groups of a slice, with all who are certainly in them."""

    series: KnownSeries
    attacks: tuple[str, ...]
    plan: SlicePlan

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Set the release of the slice beside the others."""
        people = table.filter(pl.col("kinds").is_not_null()).sort("person")
        groups = table.filter(pl.col("size").is_not_null()).unique(["t", "g"]).sort("t", "g")
        if not people.height:
            return FOUND_BESIDE.to_frame()
        number = self.plan.release_of(int(people[SLICE][0]))
        evidence, runs = self._laid_out(number, people, groups)
        summary: Counted = {}
        first = people["first"].to_numpy()
        findings = {
            name: self._in_first(evidence, runs, first, summary)
            if name == "intersection"
            else getattr(self, f"_{name}")(evidence, runs, number, summary)
            for name in self.attacks
        }
        homes = people[HOME]
        told = [FOUND_BESIDE.to_frame()]
        for name, found in findings.items():
            told.append(self._rows(evidence, homes, name, found))
        told.append(
            FOUND_BESIDE.to_frame().clear(1).with_columns(
                pl.lit(self.series.place, pl.Int32).alias("column"), pl.lit(pickle.dumps(summary)).alias("summary")
            )
        )  # fmt: skip
        return pl.concat(told)

    def _rows(self, evidence: Evidence, homes: pl.Series, name: str, found: Findings) -> pl.DataFrame:
        many = len(found.person)
        return pl.DataFrame(
            {
                HOME: homes.gather(found.person),
                "person": evidence.persons.gather(found.person),
                "column": np.full(many, self.series.place, np.int32),
                "attack": np.full(many, PAIRED.index(name), np.int32),
                "belief": found.belief,
                "value": found.value,
                "exact": found.exact,
                "mask": found.release_mask,
                "lower": np.full(many, np.nan) if found.lower is None else found.lower,
                "at": np.full(many, -1, np.int32) if found.at is None else found.at,
                "summary": pl.Series([None] * many, dtype=pl.Binary),
            },
            schema=FOUND_BESIDE,
        )

    def _laid_out(self, number: int, people: pl.DataFrame, groups: pl.DataFrame) -> tuple[Evidence, Runs]:
        """Return evidence in which the groups of the anchor have their members, and the runs of these."""
        series = replace(self.series, releases=tuple(replace(r, everybody=True) for r in self.series.releases))
        many, persons = len(series.releases), people["person"]
        row = np.repeat(np.arange(people.height), people["releases"].list.len().to_numpy().astype(np.int64))
        release, kind, told = (
            people[name].explode().drop_nulls().to_numpy() for name in ("releases", "kinds", "groups")
        )
        views: list[View] = []
        where: list[CodeArray] = []
        for t in range(many):
            at = np.flatnonzero(release == t)
            here = people[row[at]].select(
                "person",
                pl.lit(t, pl.Int32).alias("t"),
                pl.lit(value=False).alias("crowded"),
                pl.lit(-1, pl.Int32).alias(f"v{series.place}"),
                (pl.concat_list("anchor") if t == number else pl.lit([], pl.List(pl.Int64))).alias("groups"),
            )
            known = groups.filter(pl.col("t") == t)
            views.append(series.view(t, here, known, persons))
            places = np.full(people.height, ABSENT, np.int32)
            inside = kind[at] == KNOWN
            places[row[at]] = kind[at]
            places[row[at[inside]]] = np.searchsorted(known["g"].to_numpy(), told[at[inside]])
            where.append(places)
        runs = Runs(np.arange(len(persons), dtype=np.int32), tuple(v.present for v in views), tuple(where))
        return series.evidence(views, persons), runs

    def _in_first(self, evidence: Evidence, runs: Runs, first: BoolArray, summary: Counted) -> Findings:
        """Look at the cells whose first known release this is."""
        summary["intersection"] = {}
        where = tuple(np.where(first, groups, UNSURE).astype(np.int32) for groups in runs.where)
        return in_cells(evidence, Runs(runs.person, runs.of_view, where))

    def _difference(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        found, groups = [], 0
        for other in self.plan.others(number):
            around = containing(evidence, runs, number, other)
            if around.any():
                pair = pair_of(evidence, runs, number, other, around)
                groups += int(groups_inside(pair).sum())
                found.append(beliefs_in_remainder(evidence, pair, around))
        summary["difference"] = {"contained_groups": groups}
        return joined(found)

    def _absence(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        found, groups = [], 0
        for _, other in (pair for pair in self.plan.pairs if pair[0] == number):
            pair = pair_of(evidence, runs, number, other)
            gone = with_a_lost_value(pair, max(len(evidence.values), 1))
            groups += int(gone.sum())
            found.append(beliefs_in_remainder(evidence, pair, gone))
        summary["absence"] = {"groups_with_an_absent_value": groups}
        return joined(found)

    def _correspondence(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        found, fewest = [], None
        cracked: dict[str, int | None] = {"forward_cracked": 0, "cross_cracked": 0}
        for _, other in (pair for pair in self.plan.pairs if pair[0] == number):
            pair = pair_of(evidence, runs, number, other)
            if len(pair.group):
                left = common(pair, max(len(evidence.values), 1))
                key = "forward_cracked" if number < other else "cross_cracked"
                cracked[key] = max(cracked[key] or 0, int((pair.view.sizes[pair.group] - left).max()))
                fewest = int(left.min()) if fewest is None else min(fewest, int(left.min()))
            told = np.zeros(pair.view.n_groups, np.bool_)
            told[pair.group] = True
            found.append(beliefs_in_remainder(evidence, pair, told & (pair.remainder > 0)))
        summary["correspondence"] = {**cracked, "fewest_rows_left": fewest}
        return joined(found)
