"""What was promised, as the judge reads it: from a manifest, from the settings of a config, or from a model object."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from reveil.core.errors import VerificationError
from reveil.verification.judges.base import GroupJudge, group_judges, judge_named, other_promise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.json_values import JSON
    from reveil.verification.judges.guarantee import GuaranteeJudge

_ABOUT = frozenset(["kind", "grade", "method", "all"])  # what a promise says beside its parameters


@dataclass(frozen=True)
class Promised:
    """A promise: the kind of guarantee, what every group must be like, the other settings, and the grade.

    ``kind`` is None where only groups are asked about.
    """

    kind: str | None
    demands: tuple[GroupJudge, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    grade: str | None = None

    @property
    def judge(self) -> type[GuaranteeJudge]:
        """The judge of the guarantee."""
        return guarantee_judge(str(self.kind))

    @property
    def reads_values(self) -> bool:
        """Whether sensitive values are needed to judge the groups."""
        return any(own.reads_values for own in self.demands)

    @classmethod
    def told(cls, guarantee: Mapping[str, Any]) -> Promised:
        """Read the promise of a manifest; what nobody can judge is refused."""
        kind, grade = guarantee.get("kind"), guarantee.get("grade")
        if not isinstance(kind, str):
            raise VerificationError("the manifest does not say which guarantee it promises")
        judge = guarantee_judge(kind)
        known = _ABOUT | judge.own_settings
        for part in (guarantee, *guarantee.get("all", ())):
            unknown = part.keys() - known - {key for own in group_judges() for key in own.keys(part)}
            if unknown:
                raise VerificationError(
                    f"nobody judges {min(unknown)!r}, which the manifest promises",
                    hint='Whoever brings a promise brings its judge: an entry point in the group "reveil.judges".',
                )
        return cls(kind, judge.demands(guarantee), dict(guarantee), grade if isinstance(grade, str) else None)

    @classmethod
    def asked(cls, kind: str, settings: Mapping[str, JSON]) -> Promised:
        """Read what a config asks for, by the settings of its guarantee."""
        return cls(kind, guarantee_judge(kind).demands(settings), dict(settings))

    @classmethod
    def of_model(cls, model: object, kind: str | None = None, **settings: object) -> Promised:
        """Read what a model object asks of groups, by the fields it was made with; its methods are not asked."""
        parts = getattr(model, "parts", (model,))
        return cls(kind, tuple(judge_named(type(part).__name__).of(part) for part in parts), settings)

    @classmethod
    def of_guarantee(cls, guarantee: object, **more: Any) -> Promised:
        """Read what a guarantee object asks for, by the fields it was made with; its methods are not asked."""
        if not is_dataclass(guarantee):
            raise VerificationError("a guarantee is known by its settings, and this one has none")
        given = {own.name: getattr(guarantee, own.name) for own in fields(guarantee)}
        return cls.asked(str(guarantee.kind), {**given, **more})  # type: ignore[union-attr]  # every guarantee has a kind

    def check_covers(self, asked: Promised) -> None:
        """Refuse a promise that is weaker than what was asked for."""
        for wanted in asked.demands:
            if not any(own.covers(wanted) for own in self.demands):
                raise other_promise(f"it asked for {wanted!r}")


def guarantee_judge(kind: str) -> type[GuaranteeJudge]:
    """Return the judge of a guarantee, or refuse it."""
    found = judge_named(kind)
    if isinstance(found, type) and issubclass(found, GroupJudge):
        raise VerificationError(f"{kind!r} is no guarantee")
    judge: type[GuaranteeJudge] = found
    return judge


def group_demands(told: Mapping[str, Any]) -> tuple[GroupJudge, ...]:
    """Return everything that the parameters of a promise ask of groups."""
    parts = (told, *told.get("all", ()))
    return tuple(demand for part in parts for judge in group_judges() for demand in judge.read(part))


def together(levels: Sequence[Mapping[str, JSON]]) -> dict[str, Any]:
    """Put levels under common keys as a manifest does: those that would contradict each other apart, under ``all``."""
    apart = [
        one for at, one in enumerate(levels) if any(_conflict(one, two) for i, two in enumerate(levels) if i != at)
    ]
    found: dict[str, Any] = {}
    for level in levels:
        if level in apart:
            continue
        for key, value in level.items():
            found[key] = {**found.get(key, {}), **value} if isinstance(value, dict) else value
    return {**found, "all": apart} if apart else found


def _conflict(one: Mapping[str, JSON], other: Mapping[str, Any]) -> bool:
    """Return whether two levels speak of the same thing and say something else of it."""
    if not one.keys() & other.keys():
        return False
    if one.keys() != other.keys():
        return True
    for key, value in one.items():
        if isinstance(value, dict) and isinstance(other[key], dict):
            if any(value[name] != other[key][name] for name in value.keys() & other[key].keys()):
                return True
        elif value != other[key]:
            return True
    return False


def same_levels(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> bool:
    """Return whether two manifests' levels say the same, whatever the order of those under ``all``."""

    def plain(levels: Mapping[str, JSON]) -> list[str]:
        rest = {key: value for key, value in levels.items() if key != "all"}
        given = levels.get("all", [])
        parts = given if isinstance(given, list) else [given]
        return sorted(json.dumps(part, sort_keys=True, default=str) for part in [rest, *parts])

    return plain(one) == plain(other)
