"""What releases promise: read from their manifests or, where these say nothing, from the guarantee that is handed over.

A manifest states a kind and its parameters. Which limits follow from the kinds that Reveil publishes is said here and
nowhere else in the adversary; a kind that is not known here (another tool's, a plugin's) is judged by the limits of the
guarantee that the caller names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from reveil.core.errors import ReveilError
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.limits import Limit, at_most, keeping_values, weakest
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from reveil.models.base import Model

Stated = dict[str, Any]  # the guarantee of a manifest


class Promising(Protocol):
    """What an audit may be handed as the promise of the releases: a guarantee, or a model for each release."""

    def limits(self) -> tuple[Limit, ...]:
        """Return the limits."""


@dataclass(frozen=True)
class Promises:
    """The limits of the series, and those of each release by itself.

    ``bound`` is the belief that nobody's value may exceed over the series, None where no number is promised.
    """

    series: tuple[Limit, ...]
    releases: tuple[tuple[Limit, ...], ...]

    @property
    def bound(self) -> float | None:
        """The least of the bounds that the series promises."""
        return min(
            (limit.at_most for limit in self.series if limit.about != "link" and limit.at_most is not None),
            default=None,
        )


def read_promises(stated: Sequence[Stated], given: Promising | None) -> Promises:
    """Put together what the manifests promise, and what was handed over for those that promise nothing."""
    own = [limits_of(guarantee) for guarantee in stated]
    asked = () if given is None else given.limits()
    series = weakest(_over(limits, "series") for limits in own if limits is not None)
    silent = any(limits is None for limits in own)
    # A bound is kept by every release of the series that it was handed over for, whatever else these promise.
    more = list(_over(asked, "series"))
    if not silent:
        more = [replace(limit, model=None) for limit in more if limit.at_most is not None and limit.about != "link"]
    return Promises(
        (*series, *(limit for limit in more if limit not in series)),
        tuple(_over(asked if limits is None else limits, "release") for limits in own),
    )


def limits_of(guarantee: Stated) -> tuple[Limit, ...] | None:
    """Return the limits that a manifest's guarantee states; None if it is of a kind that is not known."""
    reader = _KINDS.get(str(guarantee.get("kind")))
    if reader is None:
        return None
    nothing = guarantee.get("grade") == "none" or guarantee.get("strict") is False
    return reader({**guarantee, "l": None, "m": None} if nothing else guarantee)


def against(guarantee: Stated) -> str | None:
    """Return what the adversary knows whom a manifest's promise is against; None if it does not say."""
    if guarantee.get("population") is True:
        return "nothing"  # the promise is to somebody who does not know who is in the table
    kind = str(guarantee.get("kind"))
    return ("events" if kind in _FOLLOWED else "presence") if kind in _KINDS else None


def _over(limits: Sequence[Limit], over: str) -> tuple[Limit, ...]:
    return tuple(limit for limit in limits if limit.over == over)


def _number(value: object) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value >= 1
    return float(value) if good else None  # type: ignore[arg-type]


def _one_in(value: object) -> float | None:
    number = _number(value)
    return None if number is None else 1 / number


def _signatures(guarantee: Stated) -> tuple[Limit, ...]:
    return at_most(_one_in(guarantee.get("m")), "value")


def _links(guarantee: Stated) -> tuple[Limit, ...]:
    free = {key: tuple(map(str, guarantee.get(key) or ())) for key in ("harmless", "permanent")}
    return at_most(_one_in(guarantee.get("l")), "ever", "value", **free)


def _worlds(guarantee: Stated) -> tuple[Limit, ...]:
    number = _number(guarantee.get("l"))
    return keeping_values(None if number is None else int(number))


def _alone(guarantee: Stated) -> tuple[Limit, ...]:
    return tuple(limit for model in models_of(guarantee) for limit in model.limits("release"))


def _cells(guarantee: Stated) -> tuple[Limit, ...]:
    return tuple(limit for model in models_of(guarantee) for limit in model.limits("series"))


_KINDS: dict[str, Callable[[Stated], tuple[Limit, ...]]] = {
    "static": _alone,
    "refinement": _cells,
    "m-invariance": _signatures,
    "tau-safety": _signatures,
    "global": _links,
    "worlds": _worlds,
}
_FOLLOWED = ("m-invariance", "tau-safety")
_DIVERSITY: dict[str, Callable[..., Model]] = {
    "distinct": DistinctDiversity,
    "frequency": FrequencyDiversity,
    "entropy": EntropyDiversity,
}


def models_of(guarantee: Mapping[str, Any]) -> list[Model]:
    """Return the models whose parameters a manifest states; what is no model's is left out.

    >>> models_of({"kind": "static", "k": 3, "l": 2, "diversity": "entropy", "suppress": 0.1})
    [KAnonymity(k=3), EntropyDiversity(l=2, attribute=None)]
    """
    found: list[Model] = []
    for part in (guarantee, *(own for own in guarantee.get("all") or () if isinstance(own, dict))):
        for make in _makers(part):
            try:
                found.append(make())
            except (ReveilError, TypeError):  # not a parameter of ours
                continue
    return found


def _makers(part: Mapping[str, Any]) -> Iterator[Callable[[], Model]]:
    column = part.get("attribute")
    k, l, m, t = (part.get(key) for key in ("k", "l", "m", "t"))
    if k is not None:
        yield lambda: KAnonymity(k)
    if m is not None:
        yield lambda: MUniqueness(m, attribute=column)
    if l is not None and part.get("diversity") == "recursive":
        yield lambda: RecursiveDiversity(c=part.get("c", 0), l=l, attribute=column)
    elif l is not None and part.get("diversity") in _DIVERSITY:
        yield lambda: _DIVERSITY[str(part.get("diversity"))](l, attribute=column)
    distance = part.get("distance")
    for name, value in t.items() if isinstance(t, dict) else [] if t is None else [(None, t)]:
        yield lambda name=name, value=value: TCloseness(value, attribute=name, distance=distance)  # type: ignore[misc]
