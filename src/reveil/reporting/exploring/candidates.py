"""Which settings are tried: those that are asked for, or a few that are usual for the guarantee."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import TYPE_CHECKING

from reveil.core import registry
from reveil.core.errors import ConfigError, excerpt
from reveil.core.json_values import object_in
from reveil.series.config import config_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.series.config import Config

METHOD = "method"
FORM, OLD_FORM = "form", "angelize"  # two names of one setting: whichever a config has goes on
LARGEST_GRID = 200  # candidates; more are a mistake


@dataclass(frozen=True)
class Candidate:
    """A guarantee and a method, and the settings by which it differs from others, under their names in a config.

    ``changes`` are the same by section, as they would be written.
    """

    settings: Mapping[str, JSON] = field(compare=False)
    guarantee: Guarantee
    method: Grouper | None = None
    changes: Mapping[tuple[str, str], JSON] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, guarantee: Guarantee, method: Grouper | None) -> Candidate:
        """Return a candidate with all its settings."""
        named = {} if method is None else {METHOD: method.name}
        return cls({"kind": guarantee.kind, **guarantee.traits.settings, **named}, guarantee, method)

    def neighbours(self) -> Iterator[Candidate]:
        """Return candidates that differ in what is usually chosen and can be replaced by itself."""
        names = {each.name for each in fields(self.guarantee)}  # type: ignore[arg-type]  # guarantees are dataclasses
        usual = {key: values for key, values in self.guarantee.traits.usual.items() if key in names}
        unset = {OLD_FORM: None} if FORM in usual else {}
        for values in product(*usual.values()):
            changes = dict(zip(usual, values, strict=True)) | unset
            guarantee = replace(self.guarantee, **changes)  # type: ignore[type-var]
            yield Candidate.of(guarantee, self.method)


def asked(tries: Sequence[str]) -> dict[str, tuple[JSON, ...]]:
    """Read ``k=5,10`` and the like.

    >>> asked(["k=5,10", "method=mondrian,bang"])
    {'k': (5, 10), 'method': ('mondrian', 'bang')}
    """
    found: dict[str, tuple[JSON, ...]] = {}
    for text in tries:
        key, equals, values = (part.strip() for part in text.partition("="))
        if not (key and equals and values) or key in found:
            raise ConfigError(
                f"--try {excerpt(text)} is not a setting with its values, each setting once",
                hint='Write --try "k=5,10,20", and --try "method=mondrian,bang" for another setting.',
            )
        found[key] = tuple(_value(value.strip()) for value in values.split(","))
    return found


def of_config(config: Config, table: Mapping[str, JSON], tries: Mapping[str, tuple[JSON, ...]]) -> list[Candidate]:
    """Return the candidates for a config: what is asked for, or what is usual, and the config's own as the last."""
    kind = config.guarantee.kind
    chosen = dict(tries) or _usual(config, table)
    places = {key: _place(config, key) for key in chosen}
    if not chosen:
        raise ConfigError(f"nothing usual is known to try for the guarantee {kind!r}", hint='Say what: --try "k=5,10".')
    found = []
    for values in product(*chosen.values()):
        changes = {places[key]: value for key, value in zip(chosen, values, strict=True)}
        changed = with_changes(table, changes)
        other = config_of(changed, config.path)
        found.append(Candidate(dict(zip(chosen, values, strict=True)), other.guarantee, other.method, changes))
    if len(found) > LARGEST_GRID:
        raise ConfigError(
            f"these are {len(found):,} candidates, and {LARGEST_GRID} are enough", hint="Try fewer values."
        )
    configured = Candidate({key: _present(config, table, key) for key in chosen}, config.guarantee, config.method)
    return [*(one for one in found if one != configured), configured]


def with_changes(table: Mapping[str, JSON], changes: Mapping[tuple[str, str], JSON]) -> dict[str, JSON]:
    """Return the table of a config with other settings; another method begins without those of the old one."""
    changed = {name: dict(object_in(section)) for name, section in table.items()}
    for (section, key), value in changes.items():
        keys = changed.setdefault(section, {})
        if (section, key) == (METHOD, "kind") and keys.get("kind") != value:
            keys.clear()
        keys[key] = value
    return {**changed}


def _usual(config: Config, table: Mapping[str, JSON]) -> dict[str, tuple[JSON, ...]]:
    """Return what is usually tried, under the names that the config has for it."""
    found: dict[str, tuple[JSON, ...]] = {}
    written = object_in(table["guarantee"])
    for key, values in config.guarantee.traits.usual.items():
        if key == FORM and OLD_FORM in written:
            if FORM not in written:  # where both are there, another form would contradict one of them
                found[OLD_FORM] = tuple(value == "angelized" for value in values)
        elif _has(config, table, key):
            found[key] = values
    return found


def _has(config: Config, table: Mapping[str, JSON], key: str) -> bool:
    """Return whether a usual setting can be tried: another method only where none with settings is chosen."""
    if key == METHOD:
        return len(object_in(table.get(METHOD, {}))) < 2
    # Groups may be asked for k alone; what is no field of the guarantee belongs to a part of it that is chosen.
    chosen = key != "l" and key in {setting.name for setting in fields(config.guarantee)}  # type: ignore[arg-type]
    return chosen or key in object_in(table["guarantee"])


def _place(config: Config, key: str) -> tuple[str, str]:
    """Return the section and the key of a setting in a config."""
    if key == METHOD:
        return (METHOD, "kind")
    if key == "kind":
        raise ConfigError(
            "another guarantee needs settings of its own", hint="Write a config for it, and explore with that."
        )
    names = {each.name for each in fields(config.guarantee)}  # type: ignore[arg-type]  # guarantees are dataclasses
    method = set() if config.method is None else {each.name for each in fields(config.method)}  # type: ignore[arg-type]
    parts = config.guarantee.traits.usual.keys() - names - {METHOD}
    if key in names | parts | {"diversity", "c", "distance"}:
        return ("guarantee", key)
    if key in method:
        return (METHOD, key)
    raise ConfigError(
        f"neither the guarantee {config.guarantee.kind!r} nor its method has a setting {excerpt(key)}",
        hint=f"They know: {', '.join(sorted(names | parts | method))}. Methods: "
        f"{', '.join(registry.names('groupers'))}.",
    )


def _present(config: Config, table: Mapping[str, JSON], key: str) -> JSON:
    section, name = _place(config, key)
    given = object_in(table.get(section, {}))
    if name in given:
        return given[name]
    if key == METHOD:
        return None if config.method is None else config.method.name
    return getattr(config.guarantee if section == "guarantee" else config.method, name, None)


def _value(text: str) -> JSON:
    try:
        value: JSON = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value
