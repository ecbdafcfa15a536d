"""What was promised, as the judge reads it: from a manifest, from the settings of a config, or from a model object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING

from reveil.core.errors import VerificationError
from reveil.core.json_values import object_in, objects_in
from reveil.releases.column_views import ABOUT_ALL, BY_COLUMN
from reveil.verification.judges.base import GroupJudge, group_judges, judge_named, other_promise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.json_values import JSON
    from reveil.releases.release import Release
    from reveil.verification.judges.guarantee import GuaranteeJudge

_ABOUT = frozenset(["kind", "grade", "method", "all"])  # what a promise says beside its parameters


@dataclass(frozen=True)
class Promised:
    """A promise: the kind of guarantee, what every group must be like, the other settings, and the grade.

    ``kind`` is None where only groups are asked about.
    """

    kind: str | None
    demands: tuple[GroupJudge, ...]
    settings: Mapping[str, JSON] = field(default_factory=dict)
    grade: str | None = None

    @property
    def judge(self) -> type[GuaranteeJudge]:
        """The judge of the guarantee."""
        return guarantee_judge(str(self.kind))

    @property
    def reads_values(self) -> bool:
        """Whether sensitive values are needed to judge the groups."""
        return any(demand.reads_values for demand in self.demands)

    @classmethod
    def told(cls, guarantee: Mapping[str, JSON]) -> Promised:
        """Read the promise of a manifest; what nobody can judge is refused."""
        kind, grade = guarantee.get("kind"), guarantee.get("grade")
        if not isinstance(kind, str):
            raise VerificationError("the manifest does not say which guarantee it promises")
        judge = guarantee_judge(kind)
        known = _ABOUT | judge.own_settings
        for part in (guarantee, *objects_in(guarantee.get("all"))):
            unknown = part.keys() - known - {key for judge in group_judges() for key in judge.keys(part)}
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
    def of_model(cls, model: object, kind: str | None = None, **settings: JSON) -> Promised:
        """Read what a model object asks of groups, by the fields it was made with; its methods are not asked."""
        parts = getattr(model, "parts", (model,))
        return cls(kind, tuple(judge_named(type(part).__name__).of(part) for part in parts), settings)

    @classmethod
    def of_guarantee(cls, guarantee: object, **more: JSON) -> Promised:
        """Read what a guarantee object asks for, by the fields it was made with; its methods are not asked."""
        if not is_dataclass(guarantee):
            raise VerificationError("a guarantee is known by its settings, and this one has none")
        given = {setting.name: getattr(guarantee, setting.name) for setting in fields(guarantee)}
        return cls.asked(str(guarantee.kind), {**given, **more})  # type: ignore[union-attr]  # every guarantee has a kind

    def of_column(self, name: str) -> Promised:
        """Return what is promised of one sensitive column, where settings are by column."""
        settings = {
            key: value[name] if key in BY_COLUMN and isinstance(value, Mapping) and name in value else value
            for key, value in self.settings.items()
            if key not in ABOUT_ALL
        }
        if isinstance(settings.get("fixed"), Mapping):
            settings["fixed"] = False  # it names other columns
        return Promised(self.kind, guarantee_judge(str(self.kind)).demands(settings), settings, self.grade)

    def of_release(self, release: Release) -> Promised:
        """Return the promise as it is about a release: where one sensitive column has settings by column, its own."""
        by_column = any(isinstance(self.settings.get(key), Mapping) for key in BY_COLUMN)
        names = release.manifest.sensitive
        return self.of_column(names[0]) if by_column and names and not release.seconds else self

    def check_covers(self, asked: Promised) -> None:
        """Refuse a promise that is weaker than what was asked for."""
        for wanted in asked.demands:
            if not any(demand.covers(wanted) for demand in self.demands):
                raise other_promise(f"it asked for {wanted!r}")


def guarantee_judge(kind: str) -> type[GuaranteeJudge]:
    """Return the judge of a guarantee, or refuse it."""
    found = judge_named(kind)
    if isinstance(found, type) and issubclass(found, GroupJudge):
        raise VerificationError(f"{kind!r} is no guarantee")
    judge: type[GuaranteeJudge] = found
    return judge


def group_demands(told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
    """Return everything that the parameters of a promise ask of groups."""
    parts = (told, *objects_in(told.get("all")))
    return tuple(demand for part in parts for judge in group_judges() for demand in judge.read(part))


def together(levels: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Put levels under common keys as a manifest does: those that would contradict each other apart, under ``all``."""
    apart = [
        one for at, one in enumerate(levels) if any(_conflict(one, two) for i, two in enumerate(levels) if i != at)
    ]
    found: dict[str, JSON] = {}
    for level in levels:
        if level in apart:
            continue
        for key, value in level.items():
            found[key] = {**object_in(found.get(key, {})), **value} if isinstance(value, dict) else value
    return {**found, "all": apart} if apart else found


def _conflict(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> bool:
    """Return whether two levels speak of the same thing and say something else of it."""
    if not one.keys() & other.keys():
        return False
    if one.keys() != other.keys():
        return True
    for key, value in one.items():
        beside = other[key]
        if isinstance(value, dict) and isinstance(beside, dict):
            if any(value[name] != beside[name] for name in value.keys() & beside.keys()):
                return True
        elif value != beside:
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
