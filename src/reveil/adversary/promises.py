"""What releases promise: read from their manifests or, where these say nothing, from the guarantee that is handed over.

A manifest states the limits of what it promises. Releases that state none (another tool's) are judged by the limits of
the guarantee that the caller names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from reveil.models.limits import Limit, weakest
from reveil.releases.limits import limits_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema


class OfSeries(Protocol):
    """A guarantee."""

    def promise(self, schema: Schema, method: None) -> Promise:
        """Return what releases of a table with this schema promise."""


class OfReleases(Protocol):
    """A model, for each release alone."""

    def limits(self) -> tuple[Limit, ...]:
        """Return the limits."""


Promising: TypeAlias = OfSeries | OfReleases  # what an audit may be handed as the promise of the releases


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


def handed_over(given: Promising | None, schema: Schema) -> Promise | None:
    """Return the promise of what was handed over; None of a model, which says nothing of a series."""
    made = getattr(given, "promise", None)
    return None if made is None else made(schema, None)


def read_promises(stated: Sequence[Promise], given: Promising | None, schema: Schema) -> Promises:
    """Put together what the manifests promise, and what was handed over for those that promise nothing."""
    stated_limits = [limits_of(promise) for promise in stated]
    series_wide = handed_over(given, schema)
    asked = getattr(given, "limits", tuple)() if series_wide is None else limits_of(series_wide) or ()
    series = weakest(_over(limits, "series") for limits in stated_limits if limits is not None)
    silent = any(limits is None for limits in stated_limits)
    # A bound is kept by every release of the series that it was handed over for, whatever else these promise.
    more = list(_over(asked, "series"))
    if not silent:
        more = [replace(limit, model=None) for limit in more if limit.at_most is not None and limit.about != "link"]
    return Promises(
        (*series, *(limit for limit in more if limit not in series)),
        tuple(_over(asked if limits is None else limits, "release") for limits in stated_limits),
    )


def _over(limits: Sequence[Limit], over: str) -> tuple[Limit, ...]:
    return tuple(limit for limit in limits if limit.over == over)
