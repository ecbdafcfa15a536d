"""What an audit found, and how the audits of several sensitive columns are put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.adversary.field_risk import worst
from reveil.adversary.strongest import LIMITS, TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.field_risk import ReleaseRisk
    from reveil.core.json_values import JSON

FORMAT = 1
AT_ONCE = "it looks at everybody at once, and this audit was made in shards"


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    ``persons``: for each person of whom anything is believed, the highest belief, the value, the attack, the releases
    it needed (counted from 1), whether the number is exact, whether the value is right (null without truth), and the
    highest belief that is proven of the person, by whichever attack. ``certain`` are all the values that can be read
    off, with the release in which the person has them (a person may have several, at different times). ``summary``
    counts persons, ``attacks`` has the same per attack, ``releases`` per release; ``held`` is whether nothing proven
    exceeds what is promised and the threshold. ``limits`` are what is promised of people who are not told apart (k,
    diversity, closeness), each with how far it was tried, and ``beyond`` the persons who are beyond one of them.
    ``not_run`` says why an attack was not made; ``notes`` what could not be read, and how it was taken; ``unread`` are
    the columns with labels that nobody explains. ``guesses``: what somebody with a prior believes of everybody, and the
    prior alone, where one was given. ``table_risks``: who looks like whom, release by release, as other tools count it.
    ``engine``: which one worked on shards; ``persons`` has those of whom something is proven then, and some others.
    """

    persons: pl.DataFrame = field(repr=False)
    certain: pl.DataFrame = field(repr=False)
    summary: dict[str, Any]
    attacks: dict[str, dict[str, Any]] = field(repr=False)
    releases: list[dict[str, JSON]] = field(repr=False)
    known: str
    sentence: str
    column: str = ""
    everybody: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.String), repr=False)
    limits: list[dict[str, Any]] = field(default_factory=list, repr=False)
    beyond: pl.DataFrame = field(default_factory=pl.DataFrame, repr=False)
    not_run: dict[str, str] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list, repr=False)
    unread: list[str] = field(default_factory=list, repr=False)
    guesses: pl.DataFrame | None = field(default=None, repr=False)
    table_risks: list[ReleaseRisk] = field(default_factory=list, repr=False)
    engine: dict[str, JSON] | None = None  # which one worked; None: everything was in one memory

    def __repr__(self) -> str:
        """Say the sentence: names and values stay out of logs."""
        return f"<Audit: {self.sentence}>"

    @property
    def held(self) -> bool:
        """Whether the series' own bound and the threshold are kept."""
        return bool(self.summary["held"])

    @cached_property
    def breaches(self) -> pl.DataFrame:
        """The persons above the bound; without one, those who are more likely than not to be known."""
        bound = self.summary["bound"]
        limit = (LIMITS[0] if bound is None else bound) + TOLERANCE
        if "bounds" in self.summary:  # by the column in which each is worst off
            bound_of = pl.col("column").replace_strict(self.summary["bounds"], return_dtype=pl.Float64)
            return self.persons.filter(pl.col("proven") > bound_of.fill_null(LIMITS[0]) + TOLERANCE)
        return self.persons.filter(pl.col("proven") > limit)

    @property
    def ran(self) -> list[str]:
        """The attacks that were made."""
        return [name for name in self.attacks if name not in self.not_run]

    @property
    def left_out(self) -> list[str]:
        """The attacks that one memory would have made, and shards did not."""
        return sorted(name for name, why in self.not_run.items() if why.endswith(AT_ONCE))

    @property
    def risks(self) -> dict[str, float | None]:
        """The three figures of the field: to find somebody's row, to name who is behind a row, and the mean of that."""
        return worst(self.table_risks)

    def to_json(self, *, everybody: bool = False) -> dict[str, JSON]:
        """Return what is written as JSON: the persons beyond what is promised, or everybody, found out about or not."""
        shown = self.breaches
        if self.beyond.height:
            more = self.beyond.filter(~pl.col("person").is_in(shown["person"].implode()))
            shown = pl.concat([shown, more], how="diagonal")
        if everybody:
            rest = self.everybody.filter(~self.everybody.is_in(self.persons["person"].implode())).alias("person")
            nothing = {"releases": pl.lit([], dtype=pl.List(pl.Int64)), "exact": pl.lit(False)}
            shown = pl.concat([self.persons, rest.to_frame().with_columns(**nothing)], how="diagonal")
        beside = (
            {} if self.guesses is None else {"guesses": self._guesses(self.guesses, everybody=everybody).to_dicts()}
        )
        worked = {} if self.engine is None else {"engine": self.engine}
        return {
            "format": FORMAT,
            "releases": self.releases,
            "known": self.known,
            "attacks": self.attacks,
            "persons": shown.drop("proven").to_dicts(),
            "certain": self.certain.to_dicts(),
            "summary": self.summary,
            "sentence": self.sentence,
            "limits": self.limits,
            "risks": self.risks,
            "table_risks": [risk.to_json() for risk in self.table_risks],
            "riskiest": [risk.riskiest() for risk in self.table_risks],
            "ran": self.ran,
            "not_run": self.not_run,
            "notes": self.notes,
            "unread": self.unread,
            **beside,
            **worked,
        }

    def _guesses(self, guesses: pl.DataFrame, *, everybody: bool) -> pl.DataFrame:
        """Return the guesses that are believed with more than the bound, or all."""
        bound = self.summary["bound"]
        limit = (LIMITS[0] if bound is None else bound) + TOLERANCE
        return guesses if everybody else guesses.filter(pl.col("belief") > limit)


def merged(results: Sequence[Audit]) -> Audit:
    """Put the audits of several sensitive columns together: per person the column with the highest belief."""
    first = results[0]
    if len(results) == 1:
        return first
    columns = [audit.column for audit in results]
    # Columns may have bounds of their own: everybody is judged by that of the column in which they are worst off.
    bounds = [audit.summary["bound"] for audit in results]
    frames = [
        audit.persons.with_columns(
            pl.lit(column).alias("column"),
            (pl.lit(False) if column_bound is None else pl.col("proven") > column_bound + TOLERANCE).alias("\0above"),
        )
        for audit, column, column_bound in zip(results, columns, bounds, strict=True)
    ]
    order = pl.concat(frames).sort("\0above", "belief", "exact", descending=True, maintain_order=True)
    best = order.unique("person", keep="first", maintain_order=True)
    persons = best.drop("\0above")
    held = all(audit.summary["held"] for audit in results)
    bound = max((known for known in bounds if known is not None), default=None)
    many = {**_frame_counts(persons, bound), "bound": bound}
    if len(set(bounds)) > 1:
        many["bounds"] = dict(zip(columns, bounds, strict=True))
        many["above"] = {**many["above"], "bound": int(best["\0above"].sum())}  # type: ignore[dict-item]
    baseline = {column: audit.summary["baseline"] for column, audit in zip(columns, results, strict=True)}
    summary = {**first.summary, **many, "held": held, "baseline": baseline}
    attacks = {
        name: {column: audit.attacks[name] for column, audit in zip(columns, results, strict=True)}
        for name in first.attacks
    }
    said = " ".join(audit.sentence for audit in results)
    beyond = pl.concat([audit.beyond for audit in results if audit.beyond.height] or [first.beyond])
    # An attack that was made on one of the columns was made.
    not_run = {name: why for name, why in first.not_run.items() if all(name in audit.not_run for audit in results)}
    certain = pl.concat(
        [audit.certain.with_columns(pl.lit(c).alias("column")) for audit, c in zip(results, columns, strict=True)]
    )
    guesses = [
        audit.guesses.with_columns(pl.lit(column).alias("column"))
        for audit, column in zip(results, columns, strict=True)
        if audit.guesses is not None
    ]
    return Audit(
        persons,
        certain,
        summary,
        attacks,
        first.releases,
        first.known,
        said,
        everybody=first.everybody,
        limits=_once([limit for audit in results for limit in audit.limits]),
        beyond=beyond.unique("person", keep="first", maintain_order=True) if beyond.height else beyond,
        not_run=not_run,
        notes=_once([note for audit in results for note in audit.notes]),
        unread=first.unread,
        guesses=pl.concat(guesses) if guesses else None,
    )


def _once(said: list[object]) -> list[Any]:
    return [one for place, one in enumerate(said) if one not in said[:place]]


def _frame_counts(persons: pl.DataFrame, bound: float | None) -> dict[str, object]:
    certain = persons.filter(pl.col("exact") & (pl.col("belief") >= 1 - TOLERANCE))
    limits = {**{str(limit): limit for limit in LIMITS}, "bound": bound}
    return {
        "certain": certain.height,
        "certain_and_right": int(certain["right"].sum()) if persons["right"].is_not_null().any() else None,
        "above": {
            key: None if limit is None else persons.filter(pl.col("proven") > limit + TOLERANCE).height
            for key, limit in limits.items()
        },
        "highest": persons["belief"].max() or 0.0,
        "highest_proven": persons["proven"].max() or 0.0,
    }
