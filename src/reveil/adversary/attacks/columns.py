"""Columns: which values go together, read off rows that lead to a group of each of several sensitive columns.

Where each sensitive column has a table of its own, a row of the first table is in one group of each. Whoever knows
which values occur together excludes a value that occurs with none of the other group's values. A value that is all that
is left to one row is taken from the others of its group, and so on until nothing changes. Who is in which row is known
from placements; otherwise all the rows that somebody may have must say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from reveil.adversary.attacks.base import Attack, Findings, joined, mask_of

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence

ROUNDS = 50


class ColumnsOfRows(Attack):
    """Belief in a value by those values of other columns that it occurs with, row by row.

    Certain where one value is left, which is exact if the list of pairs is complete. Otherwise a value is believed by
    the number of combinations that it is left in, which is an estimate. No guarantee is about this adversary.
    Complexity: rows times m squared, for each pair of columns and round. Source: specification, several columns.
    """

    name: ClassVar[str] = "columns"
    about: ClassVar[Literal["value", "ever", "range", "guess", "given"]] = "given"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return one finding for each person and release about whose rows something is left to believe."""
        if evidence.pairs is None:
            return Findings.not_made("nobody said which values occur together: --pairs truth or a table")
        if not evidence.pairs.others or any(view.release.whole is None for view in evidence.views):
            return Findings.not_made("no other sensitive column has groups of its own in the same rows")
        rows = [_believed(evidence, number) for number in range(len(evidence.views))]
        parts = [_of_people(evidence, number, table) for number, table in enumerate(rows)]
        return joined(parts, {"rows_certain": sum(int((table["left"] == 1).sum()) for table in rows)})


def _believed(evidence: Evidence, number: int) -> pl.DataFrame:
    """Return of each row the likeliest value, how strongly it is believed, and how many values are left."""
    known = () if evidence.pairs is None else evidence.pairs.others
    mine, others = _possible(evidence, number), [_possible(other.evidence, number) for other in known]
    pairs = [pl.DataFrame(dict(zip(("value", "other"), np.nonzero(other.possible), strict=True))) for other in known]
    for _ in range(ROUNDS):
        before = (mine.height, *(other.height for other in others))
        for place, table in enumerate(pairs):
            both = _combined(mine, others[place], table)
            mine = _kept(mine, both.select("row", "value"))
            others[place] = _kept(others[place], both.select("row", value="other"))
        mine, others = _taken(mine), [_taken(other) for other in others]
        if before == (mine.height, *(other.height for other in others)):
            break
    ways = mine.with_columns(ways=pl.lit(1.0))
    for other, table in zip(others, pairs, strict=True):
        many = _combined(mine, other, table).group_by("row", "value").len("many")
        ways = ways.join(many, on=["row", "value"], how="left")
        ways = ways.with_columns(ways=pl.col("ways") * pl.col("many").fill_null(1)).drop("many")
    shares = ways.with_columns(belief=pl.col("ways") / pl.col("ways").sum().over("row"), left=pl.len().over("row"))
    best = shares.sort("row", "belief", "value", descending=[False, True, False])
    return best.unique("row", keep="first", maintain_order=True).select("row", "value", "belief", "left")


def _possible(evidence: Evidence, number: int) -> pl.DataFrame:
    """Return the values that its group leaves to each row of the first table: ``row``, ``group``, ``value``."""
    view = evidence.views[number]
    whole = view.release.whole or view.release
    group = view.row_groups[: len(whole.classes)].astype(np.int64)  # counterfeits come behind, in rows of nobody
    lengths = view.values.lengths[group]
    row = np.repeat(np.arange(len(group)), lengths)
    values = view.values.take(group)
    return pl.DataFrame(
        {"row": row.astype(np.int64), "group": np.repeat(group, lengths), "value": values.items.astype(np.int64)}
    )


def _of_people(evidence: Evidence, number: int, rows: pl.DataFrame) -> Findings:
    """Return what the rows tell of people: of whom it is known by the row, else by all the rows they may have."""
    view = evidence.views[number]
    if view.row_ids is not None:
        ids = evidence.persons.gather(view.present)
        here = pl.DataFrame({"id": ids, "who": np.arange(len(ids))})
        told = pl.DataFrame({"id": view.row_ids.head(len(rows)), "row": np.arange(len(rows), dtype=np.int64)})
        candidates = here.join(told, on="id").select("who", "row")
    else:
        who = np.repeat(np.arange(len(view.present)), view.candidates.lengths)
        may = pl.DataFrame({"who": who, "group": view.candidates.items.astype(np.int64)})
        whole = view.release.whole or view.release
        group = view.row_groups[: len(whole.classes)].astype(np.int64)
        candidates = may.join(pl.DataFrame({"group": group, "row": np.arange(len(group))}), on="group")
    told = candidates.join(rows, on="row")
    total = told.group_by("who").agg(rows=pl.len(), sure=(pl.col("left") == 1).all())
    shares = told.group_by("who", "value").agg(belief=pl.col("belief").sum()).join(total, on="who")
    shares = shares.with_columns(
        belief=pl.col("belief") / pl.col("rows"), exact=pl.col("sure") & (pl.len().over("who") == 1)
    )
    best = shares.sort("who", "belief", "value", descending=[False, True, False])
    best = best.unique("who", keep="first", maintain_order=True)
    places = best["who"].to_numpy()
    return Findings(
        view.present[places],
        best["belief"].to_numpy(),
        best["value"].to_numpy().astype(np.int32),
        best["exact"].to_numpy(),
        np.full(len(places), mask_of(evidence, number), np.int64),
        at=np.full(len(places), number, np.int32),
    )


def _combined(one: pl.DataFrame, other: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the combinations of values that are left to each row and occur."""
    both = one.select("row", "value").join(other.select("row", other="value"), on="row")
    return both.join(pairs, on=["value", "other"], how="semi")


def _kept(rows: pl.DataFrame, good: pl.DataFrame) -> pl.DataFrame:
    """Keep values that occur with something; a row that would be left with nothing keeps all."""
    kept = rows.join(good.unique(), on=["row", "value"], how="semi")
    return pl.concat([kept, rows.join(kept.select("row").unique(), on="row", how="anti")])


def _taken(rows: pl.DataFrame) -> pl.DataFrame:
    """Take a value that is all that is left to a row from the others of its group: it is there once."""
    sole = rows.filter(pl.len().over("row") == 1).select("group", "value", owner="row").unique(["group", "value"])
    taken = rows.join(sole, on=["group", "value"]).filter(pl.col("row") != pl.col("owner"))
    kept = rows.join(taken.select("row", "value"), on=["row", "value"], how="anti")
    return pl.concat([kept, rows.join(kept.select("row").unique(), on="row", how="anti")])
