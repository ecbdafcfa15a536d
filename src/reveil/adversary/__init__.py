"""The adversary: an independent reader of published files.

It sees releases, their manifests, the public schema and the background tables that the caller hands over; nothing of
how a release was made, and no vault. :func:`audit` runs the attacks, each of which is one file found by its entry
point in the group ``reveil.attacks``, and says how strongly each person's value may be believed at most.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.adversary.attacks.base import Attack, Findings
from reveil.adversary.evidence import Evidence, View, gather
from reveil.adversary.fitting import check_certain, is_foreign
from reveil.adversary.result import Audit, judge, made, merged
from reveil.core import registry
from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.adversary.promises import Promising
    from reveil.tables.schema import Schema

__all__ = ["Attack", "Audit", "Evidence", "Findings", "View", "audit", "gather"]


def audit(
    releases: object,
    schema: Schema,
    population: object | None = None,
    truth: object | None = None,
    known: str | None = None,
    placements: object | None = None,
    threshold: float | None = None,
    attacks: Sequence[str] | str | None = None,
    seed: int = 0,
    *,
    guarantee: Promising | None = None,
    values_known: int = 1,
    stage: Callable[[str], None] = lambda _: None,
) -> Audit:
    """Attack a series of releases and say what can be found out about whom.

    ``releases``: in the order of publication; releases, files or frames, by any tool. ``population``: who could be in
    them, with quasi values; one table, or a list with one for each release. ``truth``: the snapshots, one for each
    release; without a population they also say who is in which release, with what quasi values. ``known``: what the
    adversary knows (``nothing``, ``presence``, ``events``, ``ids``, ``values``), by default what the guarantee is
    against. With ``values`` they know who is there, and of whomever they look for the true values of any
    ``values_known`` sensitive columns, the worst choice for each person; the others are attacked, and no promise of the
    series is about that.
    ``placements``: one table for each release with the columns row and id. ``threshold``: the belief that is too
    much, besides what the series itself promises. ``attacks``: names, by default all. ``guarantee``: what releases are
    judged by that promise nothing themselves (those of other tools): a guarantee, or a model for each release alone.
    ``stage`` is told what is being done.
    """
    if threshold is not None and not 0 < threshold <= 1:
        raise ConfigError("the threshold must be above 0 and at most 1", hint="0.5: nobody may be guessed by more.")
    chosen = _chosen(attacks)
    stage("reading releases")
    read: list[Any] = _listed(releases)
    known_to = (population, _listed(truth) or None, known, _listed(placements) or None)
    columns = schema.sensitive or ("",)
    results = []
    for column in columns:
        evidence = gather(
            read, schema, *known_to, column=column or None, guarantee=guarantee, values_known=values_known
        )
        read = [view.release for view in evidence.views]
        several = "" if len(columns) == 1 else f" on {column}"
        findings = made(evidence, chosen, seed, stage=lambda name, more=several: stage(name + more))  # type: ignore[misc]
        stage(f"the last release alone{several}")
        last = findings if len(read) == 1 else made(evidence.last_alone, chosen, seed, stage=lambda _: None)
        stage("judging")
        results.append(judge(evidence, findings, last, threshold, named=attacks is not None))
    found = merged(results)
    if any(is_foreign(release) for release in read) and found.certain.height:
        # What the attack on plain columns is sure of rests on an assumption.
        wrong = found.certain.filter(pl.col("right").eq_missing(False) & (pl.col("attack") != "plain"))
        check_certain(wrong.height)
    rest = dict.fromkeys(sorted(set(registry.names("attacks")) - chosen.keys()), "it was not asked for")
    return replace(found, not_run={**found.not_run, **rest})


def _chosen(attacks: Sequence[str] | str | None) -> dict[str, Attack]:
    wanted = (attacks,) if isinstance(attacks, str) else registry.names("attacks") if attacks is None else attacks
    return {name: registry.find("attacks", name)() for name in sorted(set(wanted))}


def _listed(given: object) -> list[Any]:
    """Return one thing or several as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]
