"""Household: what the values of those who belong to somebody tell of theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.adversary.attacks.base import Attack, Findings, joined, mask_of
from reveil.adversary.beliefs import group_beliefs, world_shares
from reveil.adversary.rates import CONFIDENCE, Rate
from reveil.adversary.sentences import known_to

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View
    from reveil.core.arrays import CodeArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]


class Household(Attack):
    """Belief in a value, for somebody who knows the values of all the others of the target's household.

    That is the household itself, about one of its members. Two things help them. *The rows that are left*: relatives
    in the target's group have theirs, and the target has one of the others; of two people in a group of two, one's
    value is the other's. This is the share of the worlds of the release in which the relatives have what they have, and
    exact where the members of the group are known. *Likeness*: people who belong together have the same value more
    often than chance would have it. How often is counted over all households of the snapshots (the worst that anybody
    could know), a value that most of the relatives have is weighed by it, and how many such guesses are right is
    measured beside the rows that are left alone. One release at a time; people whose group is not known are left out.

    It runs where a column is declared with ``relation = true`` and the snapshots are given. No guarantee is about it:
    bounds take people one by one. Complexity: members of groups times values. Source: the specification; Kifer,
    Machanavajjhala 2011 (what a table tells of people through others).
    """

    name: ClassVar[str] = "household"
    about: ClassVar[Literal["value", "ever", "range", "guess", "given"]] = "given"
    knows: ClassVar[str] = "the values of everybody else in their target's household"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return for each person with relatives in a release what these know."""
        if not any(codes is not None for codes in evidence.households):
            return Findings.not_made(
                "who belongs together is not known: declare the column with relation = true, and give the snapshots"
            )
        told = [
            _Relatives.of(view, codes)
            for view, codes in zip(evidence.views, evidence.households, strict=True)
            if codes is not None and view.truth is not None and len(view.codes)
        ]
        parts = [lives.findings(evidence) for lives in told]
        attacker = f"somebody who knows {known_to(evidence.known)}, and {self.knows}"
        summary: dict[str, JSON] = {
            "attacker": attacker,
            "confidence": CONFIDENCE,
            "releases": [{"release": lives.view.number + 1, **lives.summary()} for lives in told],
        }
        return joined(parts, summary)


@dataclass(frozen=True)
class _Relatives:
    """One release: its people with relatives (``persons``), and by kinds of them what is left of their groups.

    A kind is people of one household in one group with one value: what their relatives know of them is the same.
    ``left`` has for each kind the shares of the values that are left, and those ``weighed`` by likeness; ``alike`` is
    the share of pairs of relatives with one value, ``chance`` that of any two people.
    """

    view: View
    persons: pl.DataFrame = field(repr=False)
    left: pl.DataFrame = field(repr=False)
    alike: float
    chance: float

    @classmethod
    def of(cls, view: View, households: CodeArray) -> _Relatives:
        """Lay out who has relatives whose values are known."""
        truth = view.truth if view.truth is not None else np.zeros(0, np.int32)
        everybody = pl.DataFrame(
            {
                "place": np.arange(len(view.present), dtype=np.int32),
                "household": households,
                "group": view.sure,
                "own": truth,
            }
        ).filter(pl.col("own") >= 0)
        related = everybody.filter(pl.col("household") >= 0).filter(pl.len().over("household") > 1)
        alike, chance = _likeness(related, everybody)
        persons = related.filter(pl.col("group") >= 0)
        shown = pl.Series(~view.veiled)
        persons = persons.filter(shown.gather(persons["group"])) if persons.height else persons
        usual = everybody.group_by(pl.col("own").alias("likely")).agg((pl.len() / everybody.height).alias("usual"))
        left = _left(view, persons).join(_likely(related), on=["household", "own"], how="left")
        left = left.join(usual, on="likely", how="left", maintain_order="left")
        # Relatives have the same with ``alike``, where anybody has this value with ``usual``.
        weight = (
            pl.when(pl.col("value") == pl.col("likely"))
            .then(alike / pl.col("usual"))
            .otherwise((1 - alike) / (1 - pl.col("usual")).clip(1e-12))
        )
        return cls(view, persons, left.with_columns(weighed=pl.col("share") * weight.fill_null(1.0)), alike, chance)

    def findings(self, evidence: Evidence) -> Findings:
        """Return what is certain or likeliest by the rows that are left."""
        best = _first(self.left, "share").join(self.persons, on=["household", "group", "own"])
        place = best["place"].to_numpy()
        mask = np.full(best.height, mask_of(evidence, self.view.number), np.int64)
        at = np.full(best.height, self.view.number, np.int32)
        group = best["group"].to_numpy()
        exact = self.view.known_members[group]
        return Findings(
            self.view.present[place],
            best["share"].to_numpy(),
            best["value"].to_numpy().astype(np.int32),
            exact,
            mask,
            at=at,
        )

    def summary(self) -> dict[str, JSON]:
        """Return how many have relatives, how many of these in their group, and what the knowledge is worth."""
        alone = group_beliefs(self.view)
        groups = self.persons["group"].to_numpy()
        best = _first(self.left, "share").join(self.persons, on=["household", "group", "own"])
        guess = _first(self.left, "weighed").join(self.persons, on=["household", "group", "own"])
        together = self.persons.filter(pl.len().over("household", "group") > 1)
        usual = alone.value[groups] == self.persons["own"].to_numpy() if len(groups) else np.zeros(0, np.bool_)
        return {
            "persons": self.persons.height,
            "in_one_group": together.height,
            "mean": _mean(best["share"]),
            "mean_without": float(alone.best[groups].mean()) if len(groups) else 0.0,
            "alike": self.alike,
            "alike_by_chance": self.chance,
            "guesses": _rate(guess["value"] == guess["own"]),
            "guesses_by_rows": _rate(best["value"] == best["own"]),
            "guesses_without": _rate(pl.Series(usual)),
        }


def _left(view: View, persons: pl.DataFrame) -> pl.DataFrame:
    """Return for each kind of person the values that are left in their group, with their shares of worlds."""
    keys = ["household", "group", "own"]
    kinds = persons.select(keys).unique()
    here = persons.group_by("household", "group").len("members")
    taken = persons.group_by("household", "group", pl.col("own").alias("value")).len("taken")
    rows = pl.DataFrame(
        {"group": view.values.owners().astype(np.int32), "value": view.codes, "rows": view.counts.astype(np.int64)}
    )
    laid = kinds.join(here, on=["household", "group"]).join(rows, on="group")
    # The target is one of those who have their own value: the row is not taken by a relative.
    laid = laid.join(taken, on=["household", "group", "value"], how="left").with_columns(
        rows=pl.col("rows") - pl.col("taken").fill_null(0).cast(pl.Int64) + (pl.col("value") == pl.col("own")),
        others=pl.col("members").cast(pl.Int64) - 1,
        size=pl.Series(view.sizes).gather(laid["group"]),
    )
    # A release that shows older values than the snapshot has says nothing of who has which row.
    whole = (pl.col("rows").sum().over(keys) == pl.col("size") - pl.col("others")) & (
        pl.col("rows").min().over(keys) >= 0
    )
    laid = laid.filter(whole).filter(pl.col("rows") > 0).sort(*keys, "value")
    group = laid["group"].to_numpy()
    kind = laid.select(pl.struct(keys).rle_id().cast(pl.Int64)).to_series().to_numpy()
    share = world_shares(kind, laid["rows"].to_numpy(), view.real[group] - laid["others"].to_numpy(), view.fakes[group])
    return laid.select(*keys, "value").with_columns(share=pl.Series(share, dtype=pl.Float64))


def _likely(related: pl.DataFrame) -> pl.DataFrame:
    """Return for people of a household with one value what most of their relatives have."""
    counts = related.group_by("household", pl.col("own").alias("likely")).len("many")
    kinds = related.select("household", "own").unique().join(counts, on="household")
    kinds = kinds.with_columns(many=pl.col("many").cast(pl.Int64) - (pl.col("own") == pl.col("likely")))
    by = ["household", "own", "many", "likely"]
    kinds = kinds.filter(pl.col("many") > 0).sort(by, descending=[False, False, True, False])
    return kinds.unique(["household", "own"], keep="first", maintain_order=True).drop("many")


def _likeness(related: pl.DataFrame, everybody: pl.DataFrame) -> tuple[float, float]:
    """Return the share of pairs of a household with one value, and that of any two people."""

    def same(table: pl.DataFrame, *of: str) -> tuple[int, int]:
        by_value = table.group_by(*of, "own").len("n")["n"].cast(pl.Int64)
        whole = table.group_by(*of).len("n")["n"].cast(pl.Int64) if of else pl.Series([table.height])
        return int((by_value * (by_value - 1)).sum()), int((whole * (whole - 1)).sum())

    alike, pairs = same(related, "household")
    chance, any_two = same(everybody)
    return (alike / pairs if pairs else 0.0), (chance / any_two if any_two else 0.0)


def _first(left: pl.DataFrame, by: str) -> pl.DataFrame:
    """Return for each kind the value with most of something."""
    keys = ["household", "group", "own"]
    return left.sort(*keys, by, "value", descending=[False] * 3 + [True, False]).unique(
        keys, keep="first", maintain_order=True
    )


def _mean(numbers: pl.Series) -> float:
    return float(numbers.mean() or 0.0)  # type: ignore[arg-type]


def _rate(right: pl.Series) -> dict[str, JSON] | None:
    return Rate(int(right.sum()), len(right)).to_json() if len(right) else None
