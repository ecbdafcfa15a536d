"""What a promise says to those who attack releases: of which findings it speaks, and how far these may go.

A model or a guarantee declares its limits as a tuple of :class:`Limit`, and the adversary reads nothing else of it: it
knows no guarantee by its name. What is no part of the promise has no limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.models.base import Model

Over = Literal["release", "series"]


@dataclass(frozen=True)
class Limit:
    """How far attacks of one kind may get.

    ``about``: the chance to find somebody's row (``link``), belief in a ``value`` that they have in a release, or that
    they ``ever`` had it. ``over``: what a single release tells, or what all of them tell together. ``at_most``: the
    largest chance or belief. ``model``: what every set of people who are told apart satisfies, measured by the model
    itself on the values that the adversary sees. ``attack``: the only one that the limit speaks of; None: every one
    that is about the same. No limit is about the values that are ``harmless``; those that are ``permanent`` are told
    once. ``says`` are the words of the promise.
    """

    about: Literal["link", "value", "ever"]
    over: Over
    says: str
    at_most: float | None = None
    model: Model | None = None
    attack: str | None = None
    harmless: tuple[str, ...] = ()
    permanent: tuple[str, ...] = ()

    def speaks_of(self, attack: str, about: str) -> bool:
        """Return whether an attack is one of those that the limit speaks of."""
        return attack == self.attack if self.attack is not None else about == self.about


def at_most(
    bound: float | None,
    *about: Literal["value", "ever"],
    harmless: tuple[str, ...] = (),
    permanent: tuple[str, ...] = (),
) -> tuple[Limit, ...]:
    """Return the limits of a bound on what is believed over a whole series; none without a bound.

    >>> [limit.says for limit in at_most(0.25, "value")]
    ["nobody's value is believed with more than 0.25"]
    """
    if bound is None:
        return ()
    words = {"value": "nobody's value is", "ever": "of nobody it is, that they ever had a value,"}
    return tuple(
        Limit(
            belief,
            "series",
            f"{words[belief]} believed with more than {bound:.4g}",
            at_most=bound,
            harmless=harmless,
            permanent=permanent,
        )
        for belief in about
    )


def weakest(promises: Iterable[Iterable[Limit]]) -> tuple[Limit, ...]:
    """Return what the releases of one series promise together: of limits of one kind the one that asks for least."""
    found: dict[tuple[object, ...], Limit] = {}
    for limit in (limit for limits in promises for limit in limits):
        column = getattr(limit.model, "attribute", None)
        key = (limit.about, limit.over, limit.attack, None if limit.model is None else type(limit.model), column)
        other = found.get(key)
        if other is None:
            found[key] = limit
            continue
        looser = limit if (limit.at_most or 0) > (other.at_most or 0) else other
        found[key] = replace(
            looser,
            harmless=tuple(value for value in limit.harmless if value in other.harmless),
            permanent=tuple(value for value in limit.permanent if value in other.permanent),
        )
    return tuple(found.values())


def keeping_values(many: int | None) -> tuple[Limit, ...]:
    """Return the limit of possible worlds: everybody keeps so many values in worlds that fit all the releases."""
    says = f"everybody keeps at least {many} values" if many is not None else "nothing"
    return (Limit("value", "series", says, at_most=None if many is None else 1 / many, attack="sequential"),)
