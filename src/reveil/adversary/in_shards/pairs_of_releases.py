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
from reveil.adversary.cells import UNSURE, Runs, containing, pair_of, runs_of
from reveil.adversary.in_shards.homes import FOUND, HOME, PAIRED
from reveil.adversary.in_shards.placing import listed
from reveil.adversary.remainders import beliefs_in_remainder
from reveil.core.arrays import offsets_of
from reveil.engines.shards import with_column

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.in_shards.slices import KnownSeries
    from reveil.adversary.view import View
    from reveil.core.arrays import CodeArray

SLICE, KNOWN = "slice", 0
ANCHORED = pl.Schema(
    {
        SLICE: pl.Int64(),
        HOME: pl.Int32(),
        "person": pl.String(),
        "anchor": pl.Int64(),
        "groups": pl.List(pl.Int64),
        "kinds": pl.List(pl.Int64),
        "there": pl.List(pl.Int64),
    }
)
"""A person who is certainly in the group ``anchor`` of the release of a slice.

``groups`` are those of each release while their value was the same, where ``kinds`` is KNOWN; else it is UNSURE or
ABSENT. ``there``: in which releases they are, with whatever value.
"""
FOUND_BESIDE = with_column(FOUND, "summary", pl.Binary())
Counted = dict[str, dict[str, int | None]]


@dataclass(frozen=True)
class AnchorHome:
    """Work: the people of a home, once for each release in which their group is known."""

    series: KnownSeries
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Lay out the groups of their runs."""
        people = table.filter(pl.col("t").is_not_null() & pl.col("person").is_not_null())
        groups = table.filter(pl.col("size").is_not_null()).unique(["t", "g"]).sort("t", "g")
        if not people.height:
            return ANCHORED.to_frame()
        evidence = self.series.of_people(people, groups)
        numbers = [groups.filter(pl.col("t") == t)["g"].to_numpy() for t in range(len(evidence.views))]
        runs, found = runs_of(evidence), [ANCHORED.to_frame()]
        there = np.zeros((len(evidence.persons), len(evidence.views)), np.int64)
        for view in evidence.views:
            there[view.present, view.number] = 1
        for view in evidence.views:
            some = np.flatnonzero(view.sure >= 0)
            if not len(some):
                continue
            where = np.stack([groups_of[runs.of_view[view.number][some]] for groups_of in runs.where], axis=1)
            told = np.zeros(where.shape, np.int64)
            for t, known in enumerate(numbers):
                inside = where[:, t] >= 0
                told[inside, t] = known[where[inside, t]]
            anchor = numbers[view.number][view.sure[some]].astype(np.int64)
            home = np.full(len(some), people[HOME][0], np.int32)
            who = view.present[some]
            key = view.number * self.buckets + np.abs(anchor % self.buckets)
            columns = {SLICE: key, HOME: home, "person": evidence.persons.gather(who), "anchor": anchor}
            lists = {"groups": told, "kinds": np.minimum(where, KNOWN), "there": there[who]}
            ends = offsets_of(np.full(len(some), len(numbers)))
            rows = {name: listed(ends, table.ravel()) for name, table in lists.items()}
            found.append(pl.DataFrame({**columns, **rows}, schema=ANCHORED))
        return pl.concat(found)


@dataclass(frozen=True)
class AttackGroups:
    """Work: the groups of a slice, with all who are certainly in them; ``pairs`` are the releases to be compared."""

    series: KnownSeries
    attacks: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Set the release of the slice beside the others."""
        people = table.filter(pl.col("kinds").is_not_null()).sort("person")
        groups = table.filter(pl.col("size").is_not_null()).unique(["t", "g"]).sort("t", "g")
        if not people.height:
            return FOUND_BESIDE.to_frame()
        number = int(people[SLICE][0]) // self.buckets
        evidence, runs = self._laid_out(number, people, groups)
        summary: Counted = {}
        findings = {name: getattr(self, f"_{name}")(evidence, runs, number, summary) for name in self.attacks}
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
        many = len(series.releases)
        numbers, kinds, there = (
            people[name].explode().to_numpy().reshape(-1, many) for name in ("groups", "kinds", "there")
        )
        persons = people["person"]
        views: list[View] = []
        where: list[CodeArray] = []
        for t in range(many):
            here = people.filter(pl.Series(there[:, t] == 1)).with_columns(
                pl.lit(t, pl.Int32).alias("t"),
                pl.lit(False).alias("crowded"),
                pl.lit(-1, pl.Int32).alias(f"v{series.place}"),
                (pl.concat_list("anchor") if t == number else pl.lit([], pl.List(pl.Int64))).alias("groups"),
            )
            views.append(series.view(t, here, groups, persons))
            places = np.searchsorted(groups.filter(pl.col("t") == t)["g"].to_numpy(), numbers[:, t])
            where.append(np.where(kinds[:, t] == KNOWN, places, kinds[:, t]).astype(np.int32))
        runs = Runs(np.arange(len(persons), dtype=np.int32), tuple(v.present for v in views), tuple(where))
        return series.evidence(views, persons), runs

    def _intersection(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        """Look at the cells whose first known release this is."""
        earlier = np.zeros(len(runs.person), np.bool_)
        for t in range(number):
            earlier |= runs.where[t] >= 0
        earlier |= runs.where[number] < 0
        summary["intersection"] = {}
        where = tuple(np.where(earlier, UNSURE, groups).astype(np.int32) for groups in runs.where)
        return in_cells(evidence, Runs(runs.person, runs.of_view, where))

    def _difference(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        found, groups = [], 0
        for other in range(len(evidence.views)):
            around = containing(evidence, runs, number, other) if other != number else np.zeros(0, np.bool_)
            if around.any():
                pair = pair_of(evidence, runs, number, other, around)
                groups += int(groups_inside(pair).sum())
                found.append(beliefs_in_remainder(evidence, pair, around))
        summary["difference"] = {"contained_groups": groups}
        return joined(found)

    def _absence(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        found, groups = [], 0
        for _, other in (pair for pair in self.pairs if pair[0] == number):
            pair = pair_of(evidence, runs, number, other)
            gone = with_a_lost_value(pair, max(len(evidence.values), 1))
            groups += int(gone.sum())
            found.append(beliefs_in_remainder(evidence, pair, gone))
        summary["absence"] = {"groups_with_an_absent_value": groups}
        return joined(found)

    def _correspondence(self, evidence: Evidence, runs: Runs, number: int, summary: Counted) -> Findings:
        found, fewest = [], None
        cracked: dict[str, int | None] = {"forward_cracked": 0, "cross_cracked": 0}
        for _, other in (pair for pair in self.pairs if pair[0] == number):
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
