"""What a manifest states to an audit is what follows from its parameters, or the judge refuses it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import VerificationError
from reveil.guarantees.comparing import check_promise
from reveil.tables.snapshot import read_snapshot
from reveil.verification import Promised, verify
from tests.sabotage.limits import LIES, weaker

PEOPLE = rv.Schema(identifiers="pid", quasi="age", sensitive="ill")
FOLLOWED = rv.Schema(person="pid", quasi="age", sensitive="ill")
FRAME = pl.DataFrame({"pid": range(24), "age": range(20, 44), "ill": ["flu", "gout", "cold", "acne"] * 6})
MODEL = rv.KAnonymity(4) & rv.FrequencyDiversity(2) & rv.TCloseness(0.9, distance="equal")
SERIES = [
    rv.MInvariance(2),
    rv.TauSafety(m=2, domain=tuple("abcdefgh")),
    rv.TauSafety(m=2, strict=False),
    rv.GlobalGuarantee(2, rv.ConstantRatio(releases=3), harmless=["flu"], permanent=["gout"]),
    rv.PossibleWorlds(3),
    rv.PossibleWorlds(3, placement="greedy"),
]


@pytest.fixture(scope="module")
def release():
    return rv.anonymize(FRAME, PEOPLE, MODEL, seed=1)


@pytest.mark.parametrize("lie", LIES)
def test_other_limits_are_refused(release, lie):
    asked = Promised.of_model(MODEL, "static")
    verify(release, read_snapshot(FRAME, PEOPLE), asked)
    promise = LIES[lie](release.manifest.promise)
    other = release.under(replace(release.manifest, promise=promise))
    with pytest.raises(VerificationError, match=r"states other limits|bounds something else"):
        verify(other, read_snapshot(FRAME, PEOPLE), asked)
    asking = rv.Static(k=4, l=2, diversity="frequency", t=0.9, distance="equal")
    with pytest.raises(VerificationError, match="promises something else"):
        check_promise(asking, other.manifest, PEOPLE, None)


@pytest.mark.parametrize("guarantee", SERIES, ids=repr)
def test_the_judge_reads_every_promise_as_its_guarantee_states_it(guarantee):
    promise = guarantee.promise(FOLLOWED, None)
    told = Promised.told(promise.guarantee())
    told.judge.meaning(told).check(promise)
    for lie in (
        replace(promise, limits=(*promise.limits, *rv.MInvariance(9).promise(FOLLOWED, None).limits)),
        replace(promise, bound=0.9),
        replace(promise, against="nothing"),
        replace(promise, signatures="kept" if promise.signatures != "kept" else None),
        replace(promise, limits=tuple(replace(limit, at_most=0.9) for limit in promise.limits) or None),
    ):
        if lie.limits is None:  # a promise without limits: nothing can be made weaker
            continue
        with pytest.raises(VerificationError):
            told.judge.meaning(told).check(lie)


def test_refinement_means_its_model_in_every_set_told_apart():
    promise = rv.Refinement(k=3, l=2, diversity="frequency").promise(FOLLOWED, rv.Mondrian())
    told = Promised.told(promise.guarantee())
    told.judge.meaning(told).check(promise)
    with pytest.raises(VerificationError):
        told.judge.meaning(told).check(weaker(promise, over="release"))
