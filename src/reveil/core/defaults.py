"""Defaults that may become others, and that a series keeps as they were when it began.

A setting whose default has changed, or that did not exist once, is declared in its dataclass (a guarantee, a method, a
column) by one line::

    effort: Effort | None = kept_default(Effort.NORMAL, before=Effort.QUICK)

None means that nobody named it, neither a config nor a Python caller. Then the default of the first release of the
series holds, which the vault keeps (:mod:`reveil.series.beginning`); a vault that knows of no such default is older
than the setting, and ``before`` is what was done then. ``new`` is the default of series that begin now and of
tables that are published without one. Code reads the setting by ``in_force(self, "effort")`` and never by its name
alone; a value that the config names may change from one release to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON

T = TypeVar("T")
V = TypeVar("V", bound="JSON")
_MARK = "kept_default"


@dataclass(frozen=True)
class Default:
    """The default of a setting for ``new`` series, and what was done ``before`` it existed.

    ``only_where`` and ``unless`` are properties of an owner: it applies where the first is true and the second is not.
    """

    new: JSON
    before: JSON
    only_where: str | None = None
    unless: str | None = None

    def read(self, value: JSON) -> JSON:
        """Return a value that was kept as JSON as the class takes it."""
        return type(self.new)(str(value)) if isinstance(self.new, StrEnum) else value

    def applies(self, owner: object) -> bool:
        """Return whether an owner has this setting, by its other fields."""
        wanted = self.only_where is None or bool(getattr(owner, self.only_where))
        return wanted and (self.unless is None or not getattr(owner, self.unless))


def kept_default(new: V, *, before: V, only_where: str | None = None, unless: str | None = None) -> V | None:
    """Declare a field of a dataclass whose default a series keeps; see above.

    ``only_where``, ``unless``: to which owners it applies; a column has ``cells`` only where it has a hierarchy, say.
    """
    return field(default=None, metadata={_MARK: Default(new, before, only_where, unless)})


def defaults_of(owner: object) -> dict[str, Default]:
    """Return the settings of a dataclass, or of an object of one, whose defaults a series keeps."""
    if not is_dataclass(owner):
        return {}  # a method of somebody else's, say
    return {setting.name: setting.metadata[_MARK] for setting in fields(owner) if _MARK in setting.metadata}


def unnamed(owner: object) -> dict[str, Default]:
    """Return those of them that apply to an object and that nobody named."""
    return {
        key: default
        for key, default in defaults_of(owner).items()
        if getattr(owner, key) is None and default.applies(owner)
    }


def in_force(owner: object, key: str) -> JSON:
    """Return a setting: as it was named, or else the default of what begins now."""
    value: JSON = getattr(owner, key)
    return defaults_of(owner)[key].new if value is None else value


def filled(owner: T, values: Mapping[str, JSON] | None = None) -> T:
    """Return an object with every setting that nobody named filled in: by the ``values`` of a series, or as it begins.

    A setting that ``values`` lack is as it was before there was a choice.
    """
    found = {
        key: default.new if values is None else default.read(values.get(key, default.before))
        for key, default in unnamed(owner).items()
    }
    return replace(owner, **found) if found else owner  # type: ignore[type-var]  # a dataclass, by contract
