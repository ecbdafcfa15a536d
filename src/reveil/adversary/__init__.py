"""The adversary: an independent reader of published files.

It sees releases, their manifests, the public schema and the background tables that the caller hands over; nothing of
how a release was made, and no vault. :func:`audit` runs the attacks, each of which is one file found by its entry
point in the group ``reveil.attacks``, and says how strongly each person's value may be believed at most.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.adversary.attacks.base import Attack, Findings
from reveil.adversary.attacks.program import KnownProgram
from reveil.adversary.evidence import Evidence
from reveil.adversary.field_risk import field_risks
from reveil.adversary.fitting import check_certain, is_foreign
from reveil.adversary.gathering import Gathering, gather
from reveil.adversary.judging import judge, made
from reveil.adversary.pairs import TRUTH, with_pairs
from reveil.adversary.result import Audit, merged
from reveil.adversary.sampling import check_sample, some_of
from reveil.adversary.view import View
from reveil.core import registry
from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from reveil.adversary.attacks.program import Simulation
    from reveil.adversary.field_risk import ReleaseRisk
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
    prior: object | None = None,
    control: object | None = None,
    pairs: object | None = None,
    program: Simulation | None = None,
    minutes: float = 1.0,
    learn_labels: bool = False,
    sample: int | None = None,
    population_size: int | None = None,
    states: int | None = None,
    table_risks: bool = True,
    gathering: Gathering | None = None,
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
    ``prior``: also attack as somebody who knows beforehand what people like their target have: ``uniform``,
    ``releases`` (learnt from them), a table with quasi and sensitive columns, or one of probabilities. How many such
    guesses are right is measured beside the prior alone and a ``control`` group of people who are not in the data (by
    default those of other snapshots); no verdict rests on it.
    ``pairs``: also attack as somebody who knows which values of two sensitive columns occur together: ``truth`` (in
    the snapshots; also where the attack ``pairs`` is asked for by name), or a public table that has both columns.
    ``program``: the publisher (:class:`reveil.adversary.attacks.program.Simulation`), to be tried for so many
    ``minutes`` on tables that agree with the releases.
    ``learn_labels``: the snapshots say what the labels of other tools' files stand for, where no hierarchy does.
    ``sample``: count everybody, and attack so many persons, drawn by ``seed``. ``population_size``: of how many people
    the tables are a random sample, where no population lists them: journalist and marketer risk are estimated then.
    ``states``: the most steps in which larger pieces are counted exactly, attack by attack. ``table_risks``: also count
    who looks like whom in each table by itself, as other tools do.
    ``gathering``: these releases and tables as another audit has read them, so that nothing is read again.
    ``stage`` is told what is being done.
    """
    if threshold is not None and not 0 < threshold <= 1:
        raise ConfigError("the threshold must be above 0 and at most 1", hint="0.5: nobody may be guessed by more.")
    check_sample(sample)
    if not minutes > 0:
        raise ConfigError("the minutes must be more than 0", hint="--minutes 5, for example.")
    chosen = _chosen(attacks)
    stage("reading releases")
    if gathering is None:
        gathering = Gathering.prepared(
            _listed(releases), schema, population, _listed(truth) or None,
            guarantee=guarantee, labels_learnt=learn_labels,
        )  # fmt: skip
    gathering = gathering.knowing(known, _listed(placements) or None)
    schema, truths = gathering.schema, gathering.truth
    columns = schema.sensitive or ("",)
    if pairs is None and ((attacks is not None and "pairs" in chosen) or gathering.independent) and truths:
        pairs = TRUTH
    on = partial(gathering.on, values_known=values_known, prior=prior, control=control)

    results: list[Audit] = []
    risks: list[ReleaseRisk] = []
    for column, given in _each(columns, lambda column: on(column or None), pairs, truths or (), schema):
        evidence = given if program is None else replace(given, program=KnownProgram(program, 60 * minutes))
        read = [view.release.whole or view.release for view in evidence.views]
        if table_risks and not results:
            risks = field_risks(evidence.views, population_size, stage=stage)
        evidence = replace(some_of(evidence, sample, seed), states=states)
        several = "" if len(columns) == 1 else f" on {column}"
        findings = made(evidence, chosen, seed, stage=lambda name, more=several: stage(name + more))  # type: ignore[misc]
        stage(f"the last release alone{several}")
        last = findings if len(read) == 1 else made(evidence.last_alone, chosen, seed, stage=lambda _: None)
        stage("judging")
        results.append(judge(evidence, findings, last, threshold, named=attacks is not None))
    found = merged(results)
    remembers = evidence.limits or evidence.known == "values"  # then somebody may be shown as they were told before
    if found.certain.height and (any(is_foreign(release) for release in read) or not remembers):
        # What the attack on plain columns is sure of rests on an assumption.
        wrong = found.certain.filter(pl.col("right").eq_missing(False) & (pl.col("attack") != "plain"))
        check_certain(wrong.height)
    rest = dict.fromkeys(sorted(set(registry.names("attacks")) - chosen.keys()), "it was not asked for")
    return replace(found, not_run={**found.not_run, **rest}, table_risks=risks)


def _each(
    columns: Sequence[str],
    gathered: Callable[[str], Evidence],
    pairs: object | None,
    truth: Sequence[object],
    schema: Schema,
) -> Iterator[tuple[str, Evidence]]:
    """Yield the evidence of each column; of all of them at once only where they are looked at together."""
    if pairs is None:
        for column in columns:
            yield column, gathered(column)
    else:
        yield from zip(columns, with_pairs([gathered(name) for name in columns], pairs, truth, schema), strict=True)


def _chosen(attacks: Sequence[str] | str | None) -> dict[str, Attack]:
    wanted = (attacks,) if isinstance(attacks, str) else registry.names("attacks") if attacks is None else attacks
    return {name: registry.find("attacks", name)() for name in sorted(set(wanted))}


def _listed(given: object) -> list[Any]:
    """Return one thing or several as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, list | tuple) else [given]
