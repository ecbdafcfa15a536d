"""What a judge is: of groups (a model's), or of a whole guarantee.

A judge is written from the definition, not from the publisher's code: it shares with it the reading of bytes, the
schema with its hierarchies, and nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from reveil.core import registry
from reveil.core.errors import ConfigError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools
    from reveil.verification.counting import GroupCounts, Tally

PROMISE = "Is this the config that the release was published with?"


@dataclass(frozen=True)
class GroupJudge(ABC):
    """One demand on every group, with its threshold. Every group that is asked about has a record."""

    name: ClassVar[str]  # the name of the model, under which the judge is registered
    reads_values: ClassVar[bool] = True
    union_closed: ClassVar[bool] = True
    about: ClassVar[str] = "value"  # what attacks it speaks of: finding a row (link), or a value

    @property
    def most(self) -> float | None:
        """The largest chance or belief that follows from it; None where no number does."""
        return None

    @classmethod
    @abstractmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return the demands of this kind that the parameters of a promise make, under their config names."""

    @classmethod
    @abstractmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return which of the parameters this judge answers for."""

    @classmethod
    def of(cls, model: object) -> Self:
        """Return the demand with the settings that a model object was made with."""
        return cls(**{setting.name: getattr(model, setting.name) for setting in fields(cls)})

    @abstractmethod
    def holds(self, counts: GroupCounts) -> Bools:
        """Return which groups keep the promise: exactly, or rounded against them."""

    @abstractmethod
    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return the level that the worst group reaches, as a manifest tells it."""

    @abstractmethod
    def covers(self, other: GroupJudge) -> bool:
        """Return whether whoever keeps this promise keeps the other, too."""

    def states(self, claim: str) -> bool:  # noqa: ARG002
        """Return whether a claim in words says what is promised."""
        return True

    def __repr__(self) -> str:
        settings = ", ".join(
            f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) is not None
        )
        return f"{self.name}({settings})"


@dataclass(frozen=True, repr=False)
class ValueJudge(GroupJudge):
    """A demand on the values of one sensitive column, or of each."""

    def concerns(self, name: str) -> bool:
        """Return whether the demand is about a column."""
        return getattr(self, "attribute", None) in (None, name)

    def tallies(self, counts: GroupCounts) -> dict[str, Tally]:
        """Return the values that the demand is about; a promise about a column that is not there cannot be kept."""
        found = {name: tally for name, tally in counts.tallies.items() if self.concerns(name)}
        if not found:
            raise VerificationError(f"{self!r} speaks of a sensitive column that this table does not have")
        return found

    @abstractmethod
    def holds_in(self, tally: Tally) -> Bools:
        """Return which groups keep the promise in one column."""

    def holds(self, counts: GroupCounts) -> Bools:
        """Return which groups keep the promise in every column concerned."""
        good = np.ones(len(counts.sizes), np.bool_)
        for tally in self.tallies(counts).values():
            good &= self.holds_in(tally)
        return good

    def same_column(self, other: GroupJudge) -> bool:
        """Return whether this speaks of every column that the other speaks of."""
        attribute = getattr(self, "attribute", None)
        return attribute is None or attribute == getattr(other, "attribute", None)


def text_told(told: Mapping[str, JSON], key: str) -> str | None:
    """Return a text that a promise names, or None."""
    value = told.get(key)
    if value is not None and not isinstance(value, str):
        raise VerificationError(
            f"the promise has a {key} that is not a text", hint="A column or a distance has a name."
        )
    return value


def judge_named(name: str) -> Any:
    """Return the judge that is registered under a name, or refuse the promise that has none."""
    try:
        return registry.find("judges", name)
    except ConfigError:
        raise VerificationError(
            f"nobody judges the promise {name!r}, so that it cannot be given",
            hint='Whoever brings it brings its judge: an entry point of this name in the group "reveil.judges".',
        ) from None


def group_judges() -> list[type[GroupJudge]]:
    """Return all the judges of groups."""
    found = registry.everything("judges").values()
    return [judge for judge in found if isinstance(judge, type) and issubclass(judge, GroupJudge)]


def other_promise(what: str) -> VerificationError:
    """Return the refusal of a manifest that promises something else."""
    return VerificationError(f"the manifest promises something else than the config asks for: {what}", hint=PROMISE)
