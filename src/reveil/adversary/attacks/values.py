"""Known values: somebody knows one sensitive value of their target, finds the row by it, and reads the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.adversary.attacks.base import Attack, Findings, joined, mask_of
from reveil.adversary.beliefs import group_beliefs
from reveil.adversary.known_values import HIDDEN
from reveil.core.arrays import BoolArray, CodeArray, Ragged
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.known_values import Beside
    from reveil.adversary.view import View


class Values(Attack):
    """Belief in a value of the rows that show what is known of the target in other sensitive columns.

    The adversary knows who is in the table, with all quasi values, and the target's true values in as many other
    sensitive columns as they were given; which columns is the worst choice for each target. All the rows of the
    target's group are equally likely to be theirs, so of those that agree with what is known each is. Exact where the
    group of the target is known, or where all the rows that may be theirs have one value. One release at a time.

    It runs with ``known="values"`` alone. No guarantee is about this adversary: a model looks at each sensitive column
    by itself. The summary counts of how many persons the row is found (one is left), and compares the mean of the
    highest beliefs with what the groups alone give.
    """

    name: ClassVar[str] = "values"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return the strongest finding for each person and release."""
        known = evidence.others
        if known is None:
            return Findings.nothing({"ran": False, "why": "nobody's sensitive values are known: known = values"})
        parts = []
        found = np.zeros(len(evidence.persons), np.bool_)
        best, by_group = np.zeros(len(evidence.persons)), np.zeros(len(evidence.persons))
        for view in evidence.views:
            beside = known.releases[view.number]
            if evidence.column not in beside.columns:
                continue
            strongest = _Strongest(len(view.present))
            for choice in known.choices(view.number):
                strongest.take(*_beliefs(view, beside, evidence.column, choice))
            parts.append(strongest.findings(evidence, view, _codes(view, beside, evidence.column)))
            found[view.present[strongest.single_row]] = True
            told = strongest.value >= 0
            np.maximum.at(best, view.present[told], strongest.belief[told])
            single = told & (view.only >= 0)
            np.maximum.at(by_group, view.present[single], group_beliefs(view).best[view.only[single]])
        seen = best > 0
        summary = {
            "values_known": known.many,
            "columns": list(known.names),
            "rows_found": int(found.sum()),
            "mean": float(best[seen].mean()) if seen.any() else 0.0,
            "mean_without": float(by_group[seen].mean()) if seen.any() else 0.0,
        }
        return joined(parts, summary)


class _Strongest:
    """The strongest belief about each person over all choices; what is exact goes before what is not."""

    def __init__(self, persons: int) -> None:
        self.belief = np.zeros(persons)
        self.value = np.full(persons, -1, np.int32)
        self.exact = np.zeros(persons, np.bool_)
        self.single_row = np.zeros(persons, np.bool_)

    def take(
        self,
        belief: np.ndarray[tuple[int], np.dtype[np.float64]],
        value: CodeArray,
        exact: BoolArray,
        single_row: BoolArray,
    ) -> None:
        rank, before = np.where(exact, belief + 2, belief), np.where(self.exact, self.belief + 2, self.belief)
        better = (value >= 0) & (rank > before)
        self.belief[better], self.value[better], self.exact[better] = belief[better], value[better], exact[better]
        self.single_row |= single_row

    def findings(self, evidence: Evidence, view: View, code_of: CodeArray) -> Findings:
        told = np.flatnonzero(self.value >= 0)
        mask = np.full(len(told), mask_of(evidence, view.number), np.int64)
        at = np.full(len(told), view.number, np.int32)
        value = code_of[self.value[told]]
        return Findings(view.present[told], self.belief[told], value, self.exact[told], mask, {}, None, at)


def _codes(view: View, beside: Beside, column: str) -> CodeArray:
    """Return the evidence's code of each code that the values of the column have here."""
    values = beside.columns[column]
    codes = np.full(int(values.max(initial=0)) + 1, -1, np.int32)
    shown = values >= 0
    # The same rows in the same order, coded twice; a table in two is told through its second one.
    texts = view.value_codes
    codes[values[shown]] = texts[shown]
    return codes


def _beliefs(
    view: View, beside: Beside, column: str, choice: tuple[str, ...]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], CodeArray, BoolArray, BoolArray]:
    """Return for each person present the likeliest value: belief, code, whether exact, and whether one row is left."""
    n = len(view.present)
    cells = [beside.columns[name] for name in choice]
    target = beside.columns[column]
    veiled = np.zeros(view.n_groups, np.bool_)
    for column_codes in (target, *cells):
        veiled[beside.groups[column_codes == HIDDEN]] = True
    shown = ~np.any([column_codes == HIDDEN for column_codes in (target, *cells)], axis=0)
    truths = [beside.truth[name] for name in choice]
    # What is known, numbered alike for rows and persons.
    both = [np.concatenate([column_codes[shown], known]) + 1 for column_codes, known in zip(cells, truths, strict=True)]
    key = classes_of(both, int(shown.sum()) + n)[0] if both[0].size else np.zeros(0, np.int32)
    row_key, own_key = key[: len(key) - n], key[len(key) - n :]
    rows = pl.DataFrame({"group": beside.groups[shown], "key": row_key, "value": target[shown]})
    kinds = rows.group_by("group", "key", "value").len("rows").sort("group", "key", "value")
    # The share of the worlds in which a member has each combination: that of its rows, but for counterfeits.
    combined = Ragged.of_sorted_owners(
        kinds["group"].to_numpy(), view.n_groups, np.arange(kinds.height, dtype=np.int32)
    )
    joint = replace(view, values=combined, counts=kinds["rows"].to_numpy().astype(np.int64))
    share = group_beliefs(joint).each * view.sizes[kinds["group"].to_numpy()]
    kinds = kinds.with_columns(share=pl.Series(share))

    unknown = np.any([known < 0 for known in truths], axis=0)
    asked = np.flatnonzero((view.candidates.lengths > 0) & ~unknown)
    person, place = view.candidates.places(asked)
    seats = pl.DataFrame(
        {"person": asked[person].astype(np.int32), "group": view.candidates.items[place], "key": own_key[asked[person]]}
    )
    fits = seats.join(kinds, on=["group", "key"])
    told = fits.group_by("person", "value").agg(pl.col("share").sum(), pl.col("rows").sum())
    told = told.with_columns(
        total=pl.col("share").sum().over("person"),
        left=pl.col("rows").sum().over("person"),
        values=pl.len().over("person"),
    )
    top = told.sort("person", "share", "value", descending=[False, True, False]).unique(
        "person", keep="first", maintain_order=True
    )
    who = top["person"].to_numpy()
    belief, value = np.zeros(n), np.full(n, -1, np.int32)
    single = top["values"].to_numpy() == 1
    belief[who] = np.where(single, 1.0, (top["share"] / top["total"]).to_numpy())
    value[who] = top["value"].to_numpy()
    # Somebody's group may hide what would have agreed, too.
    cloudy = np.zeros(n, np.bool_)
    cloudy[seats["person"].to_numpy()[veiled[seats["group"].to_numpy()]]] = True
    sure = view.sure >= 0
    exact = np.zeros(n, np.bool_)
    exact[who] = (sure[who] | (single & view.all_published)) & ~cloudy[who]
    single_row = np.zeros(n, np.bool_)
    single_row[who] = (top["left"].to_numpy() == 1) & exact[who]
    return belief, value, exact, single_row
