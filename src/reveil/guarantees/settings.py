"""The settings of a guarantee: the fields of its dataclass, from the ``[guarantee]`` table of a config and back.

Two marks in the metadata of a field say what a plain value cannot: ``path`` that it is a path, which a config means
relative to itself, and ``named`` that it is an object, made from one of several names and a setting beside it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from reveil.core.errors import ConfigError
from reveil.core.settings import Section, build

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveil.core.json_values import JSON
    from reveil.guarantees.base import Guarantee

PATH, NAMED = "path", "named"
G = TypeVar("G", bound="Guarantee")


def settings_of(guarantee: Guarantee, *, unset: bool = True) -> dict[str, JSON]:
    """Return the parameters under their config names; without those that are not set, if they say nothing."""
    given = {setting.name: getattr(guarantee, setting.name) for setting in fields(guarantee)}  # type: ignore[arg-type]  # every guarantee is a dataclass
    return {key: value for key, value in given.items() if unset or value is not None}


def paths_of(cls: type[Guarantee]) -> tuple[str, ...]:
    """Return the settings that are paths."""
    return tuple(setting.name for setting in fields(cls) if setting.metadata.get(PATH))  # type: ignore[arg-type]


def from_settings(cls: type[G], table: Mapping[str, object]) -> G:
    """Build a guarantee from the ``[guarantee]`` table of a config, without its ``kind``."""
    declared = fields(cls)  # type: ignore[arg-type]
    settings = dict(table)
    for field in declared:
        if NAMED in field.metadata:
            settings[field.name] = _named(cls.kind, field.name, field.metadata[NAMED], settings)
    return build(cls, settings, Section("[guarantee]", f"the guarantee {cls.kind!r}"))


def _named(
    kind: str, key: str, known: Mapping[str, tuple[Callable[..., object], str]], settings: dict[str, object]
) -> object:
    """Make the object that a name stands for, with its parameter, which is taken out of the settings."""
    name = settings.pop(key, None)
    if not isinstance(name, str) or name not in known:
        raise ConfigError(
            f"the guarantee {kind!r} needs a {key}" if name is None else f"there is no {key} {name!r}",
            hint=", or ".join(f'{key} = "{one}" with {parameter} = 3' for one, (_, parameter) in known.items()),
        )
    made, parameter = known[name]
    if parameter not in settings:
        raise ConfigError(f"the {key} {name!r} needs {parameter}", hint=f"Add {parameter} = 3 under [guarantee].")
    found = made(**{parameter: settings.pop(parameter)})
    foreign = [other for _, other in known.values() if other in settings]
    if foreign:
        raise ConfigError(f"{foreign[0]} does not belong to the {key} {name!r}", hint="Take the line out.")
    return found
