"""An audit of releases in folders that are not to be in one memory: region by region, then slice by slice of people.

1. Persons and boxes go to the regions of quasi values that they touch; there the ordinary search finds who may be in
   which group. Counting over all regions excludes what it excludes in one memory.
2. Every person gets a home, the region where they came first, and the groups that they may be in follow them there.
   The attacks that conclude from somebody's own groups are made home by home, by the code for whole releases.
3. Attacks that set releases beside each other need whole groups: each release is cut into slices of its groups.

What needs everybody at once is not made, and the result says so.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from reveil.adversary import audit
from reveil.adversary.cells import compared
from reveil.adversary.in_shards.asking import (
    NotInShardsError,
    reason_against_shards,
    refused,
    rows_to_shard,
)
from reveil.adversary.in_shards.drawing import Lighten
from reveil.adversary.in_shards.gathering import Gathered, gather_in_shards
from reveil.adversary.in_shards.homes import FOUND, HOME, PAIRED, PAYLOAD, AttackHome, AttackPlan, unpacked
from reveil.adversary.in_shards.merging import Counted, put_together
from reveil.adversary.in_shards.pairs_of_releases import (
    ANCHORED,
    FOUND_BESIDE,
    KNOWN,
    SLICE,
    AnchorHome,
    AttackGroups,
    SlicePlan,
)
from reveil.adversary.in_shards.placing import together
from reveil.adversary.in_shards.reasons import reasons
from reveil.adversary.result import merged
from reveil.adversary.sampling import check_sample
from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.engines.settings import LOCAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from reveil.adversary.in_shards.slices import KnownSeries
    from reveil.adversary.promises import Promising
    from reveil.adversary.result import Audit
    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine, Shards
    from reveil.tables.schema import Schema


def audit_where_asked(
    settings: EngineSettings,
    releases: Sequence[object],
    schema: Schema,
    population: object | None = None,
    truth: Sequence[object] | None = None,
    known: str | None = None,
    placements: Sequence[object] | None = None,
    threshold: float | None = None,
    attacks: Sequence[str] | None = None,
    seed: int = 0,
    *,
    insists: bool = False,
    everybody: bool = False,
    guarantee: Promising | None = None,
    sample: int | None = None,
    stage: Callable[[str], None] = lambda _: None,
    **others: Any,
) -> Audit:
    """Attack releases as :func:`reveil.adversary.audit` does, in shards where an engine is to and can do it.

    Here, it is done in shards where a snapshot has more than ``shard_rows`` rows and nothing is asked for that needs
    everybody in one memory. Another engine does it whatever the number of rows; who ``insists`` on it is refused what
    it cannot do.
    """
    more = {"a population": population, "a table of placements": placements}
    more |= {f"--{name.replace('_', '-')}": given for name, given in others.items() if given != _USUAL.get(name)}
    reason = reason_against_shards(releases, schema, truth or (), known, attacks, more)
    rows = rows_to_shard(settings, truth or (), reason, insists=insists)
    if rows is not None:
        try:
            with settings.opened(rows) as engine:
                return audit_in_shards(
                    engine,
                    settings,
                    releases,
                    schema,
                    truth or (),
                    known,
                    threshold,
                    attacks,
                    seed,
                    everybody=everybody,
                    guarantee=guarantee,
                    sample=sample,
                    stage=stage,
                )
        except NotInShardsError as error:
            if insists and settings.kind != LOCAL:
                raise refused(settings, error.message) from None
    return audit(
        releases,
        schema,
        population,
        truth,
        known,
        placements,
        threshold,
        attacks,
        seed,
        guarantee=guarantee,
        sample=sample,
        stage=stage,
        **others,
    )


_USUAL = {"values_known": 1, "minutes": 1.0, "learn_labels": False, "table_risks": False}  # what needs nothing


def audit_in_shards(
    engine: Engine,
    settings: EngineSettings,
    releases: Sequence[object],
    schema: Schema,
    truth: Sequence[object],
    known: str | None = None,
    threshold: float | None = None,
    attacks: Sequence[str] | None = None,
    seed: int = 0,
    *,
    everybody: bool = False,
    guarantee: Promising | None = None,
    sample: int | None = None,
    stage: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Attack releases in folders, of which the snapshots are given, in shards.

    The result has those of whom something is proven, and some others; with ``everybody`` all. ``sample``: count
    everybody, and attack so many persons, the same as in memory.
    """
    check_sample(sample)
    if threshold is not None and not 0 < threshold <= 1:
        raise ConfigError("the threshold must be above 0 and at most 1", hint="0.5: nobody may be guessed by more.")
    chosen = tuple(sorted(set(registry.names("attacks") if attacks is None else attacks)))
    gathered = gather_in_shards(engine, settings, releases, schema, truth, known, guarantee, sample, seed, stage)
    found: list[Audit] = []
    plans: list[AttackPlan] = []
    counts: list[Mapping[str, Mapping[str, int | None]]] = []
    told: list[Shards] = []
    for series in gathered.series:
        plan = _plan(gathered, series, chosen, threshold, seed, named=attacks is not None, everybody=everybody)
        plans.append(plan)
        counts.append({})
        if plan.elsewhere:
            stage(f"releases beside each other{_on(gathered, series)}")
            rows, summary = _beside(engine, gathered, series, plan)
            told.append(rows)
            counts[-1] = summary
    stage("bringing groups to people")
    home = _with_groups(engine, gathered.people, gathered.groups, HOME, _Homes())
    gathered.people.drop()
    gathered.groups.drop()
    all_of = pl.Schema({**home.schema, **{name: dtype for name, dtype in FOUND.items() if name != "person"}})
    work = home if not told else together(engine, [home, *(rows.map(_Found(), FOUND) for rows in told)], all_of)
    if not told:
        work = home.map(_WithNothing(all_of), all_of)
    stage("attacking")
    partials = [
        unpacked(payload)
        for table in work.each(HOME, AttackHome(tuple(plans)), PAYLOAD).tables()
        for payload in table["payload"]
    ]
    stage("judging")
    if any(partial.contradicts for partial in partials):
        raise NotInShardsError("the releases contradict their own rule, and then everybody is looked at at once")
    for s, series in enumerate(gathered.series):
        counted = Counted(series, tuple(one.of_groups[s] for one in gathered.counted), counts[s])
        some = sorted((p for p in partials if p.column == s), key=lambda p: p.home)
        found.append(put_together(some, counted, gathered.notes, drawn=gathered.draw is not None))
    whole = merged(found)
    rest = dict.fromkeys(sorted(set(registry.names("attacks")) - set(chosen)), "it was not asked for")
    whole = replace(
        whole,
        not_run={**whole.not_run, **rest},
        engine={"kind": engine.name, "shard_rows": engine.shard_rows},
    )
    if not whole.left_out:
        return whole
    return replace(whole, sentence=f"{whole.sentence} Not tried in shards: {', '.join(whole.left_out)}.")


def _on(gathered: Gathered, series: KnownSeries) -> str:
    return "" if len(gathered.series) == 1 else f" on {series.column}"


def _plan(
    gathered: Gathered,
    series: KnownSeries,
    chosen: tuple[str, ...],
    threshold: float | None,
    seed: int,
    *,
    named: bool,
    everybody: bool,
) -> AttackPlan:
    """Decide what is attacked where."""
    even = all(one.even[series.place] for one in gathered.counted)
    why = reasons(series, chosen, odd=gathered.odd[series.place], even=even)
    for limit in series.limits:
        if limit.over == "series" and limit.about == "value" and "tau" in why:
            # The attack that this bound is meant for: without it, nothing found would pass for a promise that is held.
            raise NotInShardsError(f"the promise {limit.says!r} is about an attack that looks at everybody at once")
    paired = series.known == "events" and len(series.releases) > 1
    elsewhere = tuple(name for name in PAIRED if paired and name in chosen and name not in why)
    return AttackPlan(series, chosen, elsewhere, why, threshold, seed, named, everybody, gathered.draw)


@dataclass(frozen=True)
class _Homes:
    """Work: which groups the people of a home may be in."""

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """List them once."""
        pairs = table.select(HOME, "t", pl.col("groups").alias("g")).explode("g")
        return pairs.drop_nulls().unique()


class _Slices:
    """Work: which groups the people of a slice are or were in."""

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """List them once."""
        flat = table.select(SLICE, pl.col("releases").alias("t"), pl.col("groups").alias("g"), "kinds")
        known = flat.explode("t", "g", "kinds").filter(pl.col("kinds") == KNOWN)
        return known.select(SLICE, pl.col("t").cast(pl.Int32), "g").unique()


def _with_groups(engine: Engine, people: Shards, groups: Shards, key: str, listing: object) -> Shards:
    """Lay out people by a key, and with them the groups that they need."""
    needed = pl.Schema({key: people.schema[key], "t": pl.Int32(), "g": pl.Int64()})
    brought = people.map(cast("Any", listing), needed).join(groups, on=["t", "g"])
    columns = pl.Schema({**people.schema, **{n: d for n, d in brought.schema.items() if n not in people.schema}})
    laid = together(engine, [people, brought], columns)
    brought.drop()
    return laid


def _beside(
    engine: Engine, gathered: Gathered, series: KnownSeries, plan: AttackPlan
) -> tuple[Shards, Mapping[str, Mapping[str, int | None]]]:
    """Make the attacks that set releases beside each other; return their findings and what they say of themselves."""
    sure = [one.alone for one in gathered.counted]
    slices = SlicePlan.of(sure, [known.present for known in series.releases], engine.shard_rows)
    people = gathered.people.map(Lighten(None), gathered.people.schema).kept()
    home = _with_groups(engine, people, gathered.groups, HOME, _Homes())
    people.drop()
    anchored = home.each(HOME, AnchorHome(series, slices), ANCHORED)
    home.drop()
    laid = _with_groups(engine, anchored, gathered.groups, SLICE, _Slices())
    anchored.drop()
    found = laid.each(SLICE, AttackGroups(series, plan.elsewhere, slices), FOUND_BESIDE)
    laid.drop()
    summaries: dict[str, dict[str, int | None]] = {}
    for table in found.map(_Summaries(), pl.Schema({"summary": pl.Binary()})).tables():
        for packed in table["summary"]:
            _add(summaries, pickle.loads(packed))  # noqa: S301  (packed by a worker of ours)
    compared_by = {"absence": slices.pairs, "correspondence": slices.pairs, "difference": slices.contained}
    for name, pairs in compared_by.items():
        if name in plan.elsewhere:
            summaries.setdefault(name, {}).update(compared(len(series.releases), list(pairs)))
    return found, summaries


def _add(total: dict[str, dict[str, int | None]], more: Mapping[str, Mapping[str, int | None]]) -> None:
    """Add what a slice counted: groups are added up, of cracked rows the most, of rows left the fewest are told."""
    for name, counts in more.items():
        here = total.setdefault(name, {})
        for key, many in counts.items():
            before = here.get(key)
            if before is None or many is None:
                here[key] = many if before is None else before
            elif key.endswith("cracked"):
                here[key] = max(before, many)
            else:
                here[key] = min(before, many) if key.startswith("fewest") else before + many


class _Summaries:
    """Work: what slices say of themselves."""

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Keep it."""
        return table.filter(pl.col("summary").is_not_null()).select("summary")


class _Found:
    """Work: what slices found."""

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Keep it."""
        return table.filter(pl.col("attack").is_not_null()).select(FOUND.names())


@dataclass(frozen=True)
class _WithNothing:
    """Work: people of whom nothing was found elsewhere."""

    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Add empty columns."""
        missing = [pl.lit(None, dtype).alias(name) for name, dtype in self.returns.items() if name not in table.columns]
        return table.with_columns(missing).select(self.returns.names())
