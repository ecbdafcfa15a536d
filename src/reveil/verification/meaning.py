"""What a promise means to those who attack releases, as the judge reads it from the parameters alone.

A manifest states its limits, and an audit judges releases by them: a publisher who states weaker ones than its
parameters have would be found to keep its word. So the judge says by itself what follows from the parameters, and
compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from reveil.core.errors import VerificationError
from reveil.verification.judges.base import GroupJudge, judge_named

if TYPE_CHECKING:
    from reveil.releases.promise import About, Against, Promise, Signatures, StatedLimit, StatedModel

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bound:
    """How far one kind of attack may get; ``demand`` is what every set of people told apart must be like."""

    about: str
    over: str
    at_most: float | None = None
    demand: GroupJudge | None = None
    attack: str | None = None
    harmless: tuple[str, ...] = ()
    permanent: tuple[str, ...] = ()

    def is_stated(self, told: StatedLimit) -> bool:
        """Return whether a limit of a manifest says the same."""
        meant = (self.about, self.over, self.attack, self.harmless, self.permanent)
        if meant != (told.about, told.over, told.attack, told.harmless, told.permanent):
            return False
        return _same_number(self.at_most, told.at_most) and _same_demand(self.demand, told.model)


@dataclass(frozen=True)
class PromisedMeaning:
    """What is bounded, against whom, by which rule of signatures, and how far attacks may get."""

    about: About
    bounds: tuple[Bound, ...]
    against: Against = "presence"
    signatures: Signatures | None = None

    def check(self, promise: Promise) -> None:
        """Refuse a promise that states something else; one of the first format states nothing."""
        if promise.limits is None:
            return
        if not self.bounds and promise.limits:
            raise VerificationError("the manifest states limits, and none follow from its parameters")
        least = [bound.at_most for bound in self.bounds if bound.about != "link" and bound.over == "series"]
        bound = min((most for most in least if most is not None), default=None)
        said = (promise.about, promise.against, promise.signatures)
        if said != (self.about, self.against, self.signatures) or not _same_number(bound, promise.bound):
            raise VerificationError("the manifest bounds something else than follows from its parameters")
        stated = [[bound.is_stated(told) for told in promise.limits] for bound in self.bounds]
        if not all(map(any, stated)) or not all(any(column) for column in zip(*stated, strict=True)):
            raise VerificationError("the manifest states other limits than follow from its parameters")


def of_groups(demands: tuple[GroupJudge, ...], over: str) -> tuple[Bound, ...]:
    """Return what demands on groups mean, in a release or in all that a series tells apart."""
    return tuple(Bound(demand.about, over, demand.most, demand) for demand in demands)


def believed(
    most: float, *about: str, harmless: tuple[str, ...] = (), permanent: tuple[str, ...] = ()
) -> tuple[Bound, ...]:
    """Return a bound on what is believed over a whole series, of each thing that it is about."""
    return tuple(Bound(kind, "series", most, harmless=harmless, permanent=permanent) for kind in about)


def _same_number(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_ROUNDING)


def _same_demand(demand: GroupJudge | None, told: StatedModel | None) -> bool:
    if demand is None or told is None:
        return demand is None and told is None
    if told.name != demand.name or not isinstance(judge_named(told.name), type):
        return False
    known = {field.name for field in fields(demand)}
    if told.parameters.keys() != known:
        return False
    other = type(demand)(**told.parameters)
    return demand.covers(other) and other.covers(demand)
