"""Models that agree where they should not, count wrongly, or look at something else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import reveil as rv
from reveil.core.json_values import frozen_object
from reveil.grouping.groupers import _dealing
from reveil.models import encoding as coding
from reveil.models import t_closeness
from reveil.models._exact import at_most
from tests.sabotage.registry import sabotage
from tests.sabotage.scenes import FRAME, NUMBERS, PAID, anonymized, series, told

ORDERED = {"frame": PAID, "schema": NUMBERS}
# With more effort groups are dealt by their values, whatever the model says.
CUT_ONLY = {"method": rv.Mondrian(effort="quick")}
LOPSIDED = FRAME.with_columns(ill=FRAME["ill"].scatter(range(24), ["flu"] * 24))


def agreeing(name, model, **more):
    """A model of each kind that always agrees."""

    @sabotage(f"model {name}", name=f"{name} always agrees")
    def run(patch, tmp_path):
        own = "verdict" if name == "KAnonymity" else "_holds"
        patch.setattr(type(model), own, lambda self, stats, *_: np.ones(stats.n_groups, np.bool_))
        patch.setattr(type(model), "minimum_size", 1)
        anonymized(model, **more)


agreeing("KAnonymity", rv.KAnonymity(5))
agreeing("DistinctDiversity", rv.DistinctDiversity(3))
agreeing("FrequencyDiversity", rv.FrequencyDiversity(3), **CUT_ONLY)
agreeing("EntropyDiversity", rv.EntropyDiversity(3))
agreeing("RecursiveDiversity", rv.RecursiveDiversity(c=2, l=3))
agreeing("TCloseness", rv.TCloseness(0.3))


def weaker(name, model, other, **more):
    """A model that is one step weaker than what it is asked for."""

    @sabotage(f"model {name}", name=f"{name} one step weaker")
    def run(patch, tmp_path):
        own = "verdict" if name == "KAnonymity" else "_holds"
        right = getattr(type(model), own)
        patch.setattr(type(model), own, lambda self, *args: right(other, *args))
        patch.setattr(type(model), "minimum_size", 1)
        anonymized(model, **more)


weaker("KAnonymity", rv.KAnonymity(4), rv.KAnonymity(3))
weaker("DistinctDiversity", rv.DistinctDiversity(4), rv.DistinctDiversity(3))
weaker("FrequencyDiversity", rv.FrequencyDiversity(4), rv.FrequencyDiversity(3), **CUT_ONLY)
weaker("EntropyDiversity", rv.EntropyDiversity(4), rv.EntropyDiversity(3.5))
weaker("RecursiveDiversity", rv.RecursiveDiversity(c=1, l=3), rv.RecursiveDiversity(c=2, l=2))
weaker("TCloseness", rv.TCloseness(0.25), rv.TCloseness(0.4))


def boasting(name, model, level, **more):
    """A release that tells a better level than it reaches."""

    @sabotage(f"model {name}", name=f"{name} tells a better level")
    def run(patch, tmp_path):
        patch.setattr(type(model), "achieved", lambda self, stats: level)
        anonymized(model, **more)


boasting("KAnonymity", rv.KAnonymity(4), {"k": 12})
boasting("DistinctDiversity", rv.DistinctDiversity(2), {"l": 8})
boasting("FrequencyDiversity", rv.FrequencyDiversity(2), {"l": 7.5})
boasting("EntropyDiversity", rv.EntropyDiversity(2), {"l": 7.5})
boasting("RecursiveDiversity", rv.RecursiveDiversity(c=2, l=2), {"l": 2, "c": 0.01})
boasting("TCloseness", rv.TCloseness(0.5), {"t": {"ill": 0.0}})


@sabotage("model RecursiveDiversity")
def recursive_diversity_compares_without_strictness(patch, tmp_path):
    def holds(self, stats, name):
        own = stats.histograms[name]
        return at_most(own.largest, own.beyond(self.l - 1), self._exact)

    patch.setattr(rv.RecursiveDiversity, "_holds", holds)
    frame = FRAME.with_columns(ill=FRAME["ill"].scatter(range(48), ["flu", "gout"] * 24))
    anonymized(rv.RecursiveDiversity(c=1, l=2), frame=frame)


@sabotage("model FrequencyDiversity")
def frequency_diversity_counts_one_record_less(patch, tmp_path):
    def holds(self, stats, name):
        own = stats.histograms[name]
        return at_most(np.maximum(own.largest - 1, 0), own.totals, 1 / self._exact)

    patch.setattr(rv.FrequencyDiversity, "_holds", holds)
    anonymized(rv.FrequencyDiversity(4), **CUT_ONLY)


@sabotage("model FrequencyDiversity")
def groups_are_dealt_with_one_value_too_few(patch, tmp_path):
    right = _dealing.least_dealt
    patch.setattr(_dealing, "least_dealt", lambda plan: max(right(plan) - 1, 0))
    patch.setattr(rv.FrequencyDiversity, "_holds", lambda self, stats, *_: np.ones(stats.n_groups, np.bool_))
    anonymized(rv.FrequencyDiversity(4))


@sabotage("model TCloseness")
def t_against_the_wrong_table(patch, tmp_path):
    right = t_closeness.earth_movers_distance

    def wrong(histogram, reference, distance=None):
        counts = np.where(reference.counts > 0, 1, 0)
        return right(histogram, type(reference)(counts, reference.ordered, reference.levels), distance)

    patch.setattr(t_closeness, "earth_movers_distance", wrong)
    anonymized(rv.TCloseness(0.45), frame=LOPSIDED)


@sabotage("model TCloseness")
def t_in_another_distance(patch, tmp_path):
    right = t_closeness.earth_movers_distance
    patch.setattr(t_closeness, "earth_movers_distance", lambda own, table, distance=None: right(own, table, "ordered"))
    anonymized(rv.TCloseness(0.4, distance="equal"), **ORDERED)


@sabotage("model FrequencyDiversity")
def null_treated_as_absent(patch, tmp_path):
    right = coding.encode_sensitive

    def wrong(values, column):
        own = right(values, column)
        missing = values.is_null().to_numpy()
        codes = own.codes.copy()
        codes[missing] = own.domain + np.arange(int(missing.sum()))
        return replace(
            own, meaning=replace(own.meaning, size=own.domain + int(missing.sum()), levels=None), codes=codes
        )

    patch.setattr(coding, "encode_sensitive", wrong)
    frame = FRAME.with_columns(ill=FRAME["ill"].scatter(range(20), [None] * 20))
    anonymized(rv.FrequencyDiversity(2), frame=frame)


@sabotage("model MUniqueness", "guarantee tau-safety")
def groups_of_one_value_less_than_m(patch, tmp_path):
    from reveil.guarantees.signatures import tau_safety

    right = tau_safety.form_groups
    patch.setattr(tau_safety, "form_groups", lambda now, space, m, *more: right(now, space, m - 1, *more))
    series(tmp_path, rv.TauSafety(m=3), [FRAME])


@sabotage("model MUniqueness", "guarantee m-invariance")
def m_invariance_with_one_value_less_than_m(patch, tmp_path):
    from reveil.guarantees.signatures import m_invariance

    right = m_invariance.form_groups
    patch.setattr(m_invariance, "form_groups", lambda now, space, m, *more: right(now, space, m - 1, *more))
    series(tmp_path, rv.MInvariance(m=3), [FRAME])


@sabotage("model AnyGroup", "guarantee worlds")
def worlds_that_tell_a_level(patch, tmp_path):
    from reveil.models.any_group import AnyGroup

    patch.setattr(AnyGroup, "achieved", lambda self, stats: {"k": 9})
    series(tmp_path, rv.PossibleWorlds(l=3), [FRAME])


@sabotage("model MUniqueness", "guarantee tau-safety")
def a_level_of_m_that_is_not_reached(patch, tmp_path):
    told(patch, lambda manifest: replace(manifest, achieved=frozen_object({"m": 9})))
    series(tmp_path, rv.TauSafety(m=2), [FRAME])
