"""What a model is: a level that a group achieves, and a verdict derived from it.

A model looks at the statistics of many groups at once, never at rows. So the same small class enforces (a
grouper asks it at each cut), reports (the level goes into the manifest) and audits (the level is measured again
from the published bytes).

To add one: a file in this folder, a line under ``[project.entry-points."reveil.models"]``, and an entry in
``tests/models/cases.py``. The contract suite finds it by itself.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from reveil.core.errors import ConfigError, shown
from reveil.core.json_values import object_in
from reveil.models.limits import Limit, Over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats
    from reveil.tables.schema import Schema

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tags:
    """What a model needs and which closure it has; each closure is proved in the model's docstring.

    ``monotone``: every superset of a valid group that is not empty is valid (the empty group is valid under every
    model: it tells nothing of anybody). ``union_closed``: the union of two disjoint valid groups is valid.
    ``reads_values``: the verdict depends on sensitive values, so that a rejected cut can tell something about them
    (the *counted* grade; a model that reads sizes alone is *blind*).
    """

    monotone: bool
    union_closed: bool
    reads_values: bool


class Model(ABC):
    """A predicate on the statistics of one group."""

    tags: ClassVar[Tags]

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Model, ...]:
        """Return a few instances that the contract suite tries, on an attribute ``s`` if they name one."""

    @property
    def parts(self) -> tuple[Model, ...]:
        """The models that must all hold; one, except for what ``&`` makes."""
        return (self,)

    @property
    def minimum_size(self) -> int:
        """No smaller group can be valid, except an empty one. Only a shortcut: the verdict decides."""
        return 1

    @abstractmethod
    def measure(self, stats: GroupStats) -> FloatArray:
        """Return the level that each group achieves, over all the attributes concerned the worst.

        For ranking and reporting. An empty group has the best level there is.
        """

    @abstractmethod
    def verdict(self, stats: GroupStats) -> BoolArray:
        """Return which groups are valid: exact where integers allow it, else rounded against acceptance.

        An empty group is valid.
        """

    def surely(self, sizes: IntArray, whole: GroupStats) -> BoolArray:  # noqa: ARG002
        """Return whether every part of ``sizes[i]`` records of group i is valid, whichever records these are.

        It may say no where the answer is yes. It looks at a group as a whole, never at who has which value: a cut that
        is made or not made because of it tells nothing of anybody inside.
        """
        raise ConfigError(
            f"{self!r} cannot be kept without looking at who has which value",
            hint="Take blind = true out, or ask for k and l only.",
        )

    @abstractmethod
    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the level of the whole release, as it goes into the manifest (``{"k": 10}``)."""

    @abstractmethod
    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names, for the manifest."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the claim for one group in plain words, without a full stop."""

    def limits(self, over: Over = "release") -> tuple[Limit, ...]:
        """Return what the model means to an adversary: in every set of people who are told apart, it holds."""
        return (Limit("value", over, self.sentence(), model=self),)

    def check(self, schema: Schema) -> None:  # noqa: B027  (most schemas suit most models)
        """Raise :class:`ConfigError` if the model cannot be asked of tables with this schema."""

    def __and__(self, other: Model) -> Model:
        return AllOf(*self.parts, *other.parts)


class ValueModel(Model):
    """A model about the values of one sensitive attribute (``attribute``), or of each one (None).

    A subclass judges one attribute in ``_levels`` and ``_holds`` and need not care for empty groups. A group that
    has records but no values in its histogram is not empty: its level is the subclass's, and it should be invalid.
    """

    attribute: str | None
    smaller_is_better: ClassVar[bool] = False

    def concerns(self, name: str) -> bool:
        """Return whether the model is about an attribute."""
        return self.attribute in (None, name)

    @abstractmethod
    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        """Return the level of each group in one attribute."""

    @abstractmethod
    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        """Return which groups are valid in one attribute."""

    def measure(self, stats: GroupStats) -> FloatArray:
        """Return the level of each group, over the attributes concerned the worst."""
        best, worse = (0.0, np.maximum) if self.smaller_is_better else (np.inf, np.minimum)
        levels: FloatArray = np.full(stats.n_groups, best)
        for name in self._names(stats):
            levels[:] = worse(levels, np.where(_filled(stats, name), self._levels(stats, name), best))
        return levels

    def verdict(self, stats: GroupStats) -> BoolArray:
        """Return the groups that are valid in every attribute concerned."""
        valid = np.ones(stats.n_groups, np.bool_)
        for name in self._names(stats):
            valid &= self._holds(stats, name) | ~_filled(stats, name)
        return valid

    def surely(self, sizes: IntArray, whole: GroupStats) -> BoolArray:
        """Return whether every part of so many records is valid in every attribute concerned."""
        sure: BoolArray = np.ones(len(sizes), np.bool_)
        for name in self._names(whole):
            sure &= self._sure(sizes, whole, name) | (sizes == 0)
        return sure

    def _sure(self, sizes: IntArray, whole: GroupStats, name: str) -> BoolArray:  # noqa: ARG002
        """Return whether every part of so many records is valid in one attribute; a model that can tell says so."""
        return super().surely(sizes, whole)

    def check(self, schema: Schema) -> None:
        """Raise if a concerned column is not sensitive, or there is none."""
        concerned(self.attribute, schema.sensitive, words_of(type(self).__name__))

    def _names(self, stats: GroupStats) -> tuple[str, ...]:
        return concerned(self.attribute, tuple(stats.histograms), words_of(type(self).__name__))

    def _attribute(self) -> dict[str, str]:
        return {} if self.attribute is None else {"attribute": self.attribute}

    def _subject(self, every: str = "each") -> str:
        return f"{every} sensitive column" if self.attribute is None else self.attribute


class AllOf(Model):
    """Several models that must all hold; made by ``&``.

    A conjunction has a closure when each part has it: if every part accepts all supersets (unions), so does
    their conjunction.
    """

    def __init__(self, *parts: Model) -> None:
        self._parts = parts
        self.tags = Tags(  # type: ignore[misc]  # a conjunction's tags are known only when it is made
            monotone=all(p.tags.monotone for p in parts),
            union_closed=all(p.tags.union_closed for p in parts),
            reads_values=any(p.tags.reads_values for p in parts),
        )

    @classmethod
    def examples(cls) -> tuple[Model, ...]:
        """Return none: the parts are tried."""
        return ()

    @property
    def parts(self) -> tuple[Model, ...]:
        """The models that must all hold."""
        return self._parts

    @property
    def minimum_size(self) -> int:
        """No smaller group can be valid."""
        return max(p.minimum_size for p in self._parts)

    def measure(self, stats: GroupStats) -> FloatArray:
        """Return how many of the parts hold in each group."""
        holding = np.zeros(stats.n_groups)
        for part in self._parts:
            holding += part.verdict(stats)
        return holding

    def verdict(self, stats: GroupStats) -> BoolArray:
        """Return where all parts hold."""
        verdict = np.ones(stats.n_groups, np.bool_)
        for part in self._parts:
            verdict &= part.verdict(stats)
        return verdict

    def surely(self, sizes: IntArray, whole: GroupStats) -> BoolArray:
        """Return where all parts are sure."""
        sure = np.ones(len(sizes), np.bool_)
        for part in self._parts:
            sure &= part.surely(sizes, whole)
        return sure

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the levels of all parts; ``t`` of several attributes share one key."""
        return told_together([part.achieved(stats) for part in self._parts])

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters of all parts; ``t`` of several attributes share one key."""
        return told_together([part.parameters() for part in self._parts])

    def sentence(self) -> str:
        """Return the claims of all parts, joined."""
        return ", and ".join(p.sentence() for p in self._parts)

    def limits(self, over: Over = "release") -> tuple[Limit, ...]:
        """Return the limits of all parts."""
        return tuple(limit for part in self._parts for limit in part.limits(over))

    def check(self, schema: Schema) -> None:
        """Check every part."""
        for part in self._parts:
            part.check(schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AllOf) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return " & ".join(map(repr, self._parts))


def told_together(parts: Sequence[dict[str, JSON]]) -> dict[str, JSON]:
    """Put what several models say under common keys; those that would contradict each other go under ``all``."""
    apart = [part for i, part in enumerate(parts) if not all(_agree(part, p) for j, p in enumerate(parts) if i != j)]
    merged: dict[str, JSON] = {}
    for part in parts:
        for key, value in part.items() if part not in apart else ():
            merged[key] = {**object_in(merged.get(key, {})), **value} if isinstance(value, dict) else value
    return {**merged, "all": apart} if apart else merged


def _agree(one: dict[str, JSON], other: dict[str, JSON]) -> bool:
    """Return whether two models speak of different things, or say the same of what both speak of."""
    if not one.keys() & other.keys():
        return True
    return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)


def _same(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(one[key] == other[key] for key in one.keys() & other.keys())
    return bool(one == other)


def _filled(stats: GroupStats, name: str) -> BoolArray:
    return (stats.sizes > 0) | (stats.histograms[name].distinct > 0)


class RealDiversity(ValueModel):
    """A diversity whose ``l`` may be any number from 1 up: the effective number of values, however it is counted."""

    l: float | Fraction

    @classmethod
    def examples(cls) -> tuple[Model, ...]:
        """Return what the contract suite tries."""
        return (cls(2), cls(1.5, attribute="s"))  # type: ignore[call-arg]  # the subclasses are dataclasses

    def __post_init__(self) -> None:
        number_from("l", self.l, least=1)

    @property
    def minimum_size(self) -> int:
        """As many records as values, and there are at least l."""
        return math.ceil(self._exact)

    @property
    def _exact(self) -> Fraction:
        return exact_number("l", self.l)


def whole_number(name: str, value: object, *, least: int) -> int:
    """Return a parameter that must be a whole number, or raise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ConfigError(f"{name} must be a whole number from {least} up, not {value!r}")
    return int(value)


def exact_number(name: str, value: object) -> Fraction:
    """Return a threshold as the exact number the user wrote: 0.1 means one tenth, not its nearest binary fraction."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | np.integer | np.floating):
        raise ConfigError(f"{name} must be a number, not {value!r}")
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        raise ConfigError(f"{name} must be a finite number")
    return (
        value
        if isinstance(value, Fraction)
        else Fraction(repr(float(value)) if isinstance(value, float) else str(value))
    )


def number_from(name: str, value: object, *, least: int) -> Fraction:
    """Return a threshold as the exact number the user wrote, if it is large enough, or raise."""
    number = exact_number(name, value)
    if number < least:
        raise ConfigError(f"{name} must be a number from {least} up, not {value!r}")
    return number


def plain_number(value: Fraction) -> int | float:
    """Return the number as it goes into a manifest."""
    return int(value) if value.denominator == 1 else float(value)


def concerned(attribute: str | None, sensitive: Sequence[str], model: str) -> tuple[str, ...]:
    """Return the sensitive attributes a model is about: the named one, or all."""
    if attribute is None:
        if not sensitive:
            raise ConfigError(f"{model} needs a sensitive column", hint='Declare one: disease = "sensitive".')
        return tuple(sensitive)
    if attribute not in sensitive:
        known = shown(sensitive) if sensitive else "none"
        raise ConfigError(
            f"{model}: {attribute!r} is not a sensitive column", column=attribute, hint=f"Sensitive columns: {known}."
        )
    return (attribute,)


def words_of(class_name: str) -> str:
    """Return ``KAnonymity`` as ``k anonymity``, for messages."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", class_name).lower()
