"""Guarantees and methods that go together, found through the registry: what they take, they say themselves."""

import re
from dataclasses import MISSING, fields
from functools import cache

from reveil.core import registry
from reveil.core.errors import ReveilError
from reveil.series.config import load_config
from tests.fuzz.mutators import toml_text

TRIES, SETTINGS = 160, 8  # so often in all, and so often for a guarantee with a method
# Settings with a meaning that their type does not tell; whatever is not here is drawn by its type, or left alone.
KNOWN = {
    "k": lambda dice: dice.pick([2, 2, 3, 5, "auto"]),
    "l": lambda dice: dice.pick([2, 2, 3, 1.5]),
    "m": lambda dice: dice.pick([2, 2, 3, 4]),
    "c": lambda dice: dice.pick([0.5, 1.0, 3.0]),
    "t": lambda dice: dice.pick([0.2, 0.4, 0.7, {"s0": 0.5}]),
    "p": lambda dice: dice.pick([1, 10, 100]),
    "slack": lambda dice: dice.pick([1, 1.5, 3.0, "lean", "roomy"]),
    "suppress": lambda dice: dice.pick([0.0, 0.05, 0.5]),
    "weight": lambda dice: dice.pick([0.0, 0.5, 1.0]),
    "largest": lambda dice: dice.pick([20, 100.0]),
    "when_exhausted": lambda dice: dice.pick(["rest", "suppress", "withhold"]),
    "beta": lambda dice: dice.pick([0.3, 0.9]),
    "epsilon": lambda dice: dice.pick([0.5, 3.0]),
}
# One setting of these guarantees comes with another beside it.
STRATEGIES = [
    {"strategy": "constant-ratio", "releases": 3},
    {"strategy": "spread", "releases": 3},
    {"strategy": "geometric", "alpha": 3.0},
]


def draw(dice, path, columns, values, methods=None):
    """Write a config of a guarantee and a method that go together with these columns, and return the kinds of both.

    ``columns`` is the text of the other sections, ``values`` some sensitive values, where a setting asks for them;
    ``methods`` are all unless given. Now and then the two do not go together: then they must be refused.
    """
    for number in range(TRIES):
        if number % (TRIES // 4) == 0:
            kind = dice.pick(registry.names("guarantees"))
        if number % SETTINGS == 0:
            method = dice.pick(methods or [None, *registry.names("groupers")])
        path.write_text(f"{columns}\n{guarantee(dice, kind, values)}\n{grouper(dice, method)}")
        try:
            config = load_config(path)
            config.guarantee.check(config.schema, config.method)
        except ReveilError:
            if dice.chance(0.0005):
                break
            continue
        break
    return kind, method


def guarantee(dice, kind, values):
    """Return a [guarantee] section with settings that the guarantee knows, some of them left out."""
    cls = registry.find("guarantees", kind)
    settings, often = {}, dice.pick([0.1, 0.3, 0.5])
    for own in fields(cls):
        if _needed(own) or dice.chance(often):
            settings |= _setting(dice, own.name, str(own.type), values)
    return section("guarantee", {"kind": kind, **settings})


def grouper(dice, name):
    """Return a [method] section: one of the examples that the method gives of itself."""
    if name is None:
        return ""
    example = dice.pick(registry.find("groupers", name).examples())
    bare = dice.chance(0.3)  # only what it cannot do without
    given = [own for own in fields(example) if own.init and (_needed(own) or not bare)]
    settings = {own.name: getattr(example, own.name) for own in given if getattr(example, own.name) != own.default}
    return section("method", {"kind": name, **{key: value for key, value in settings.items() if value is not None}})


def _needed(own):
    return own.default is MISSING and own.default_factory is MISSING


def section(name, settings):
    """Return a section of a config."""
    return "\n".join([f"[{name}]", *(f"{key} = {toml_text(value)}" for key, value in settings.items())]) + "\n"


def _setting(dice, name, hint, values):
    if name == "strategy":
        return dice.pick(STRATEGIES)
    if name in KNOWN:
        return {name: KNOWN[name](dice)}
    if name in ("domain", "harmless", "permanent"):
        return {name: dice.some(values) if name != "domain" else values}
    if hint == "bool":
        return {name: dice.chance(0.5)}
    choices = re.findall(r'"([^"]+)"', hint) if "Literal[" in hint else []
    return {name: dice.pick(choices)} if choices else {}


@cache
def known_settings():
    """Return the settings of every guarantee and method, series and column, as (section, key, good value in TOML)."""
    found = [
        ("series", "name", '"x"'),
        ("series", "vault", '"x.vault"'),
        ("series", "anchor", '"x.anchor"'),
        ("series", "seed", "3"),
        ("series", "archive", "false"),
    ]
    found += [
        ("columns", name, f'"{role}"')
        for name in ("age", "disease", "pid")
        for role in ("quasi", "sensitive", "plain", "person")
    ]
    typed = [("age", "text"), ("age", "date"), ("born", "datetime"), ("zip", "number"), ("school", "boolean")]
    found += [("columns", name, f'{{ role = "quasi", type = "{kind}" }}') for name, kind in typed]
    found += [("columns", "disease", '{ role = "sensitive", type = "number", bins = 3 }')]
    found += [("columns", "age", '{ role = "quasi", order = ["1", "2"] }')]
    found += [("columns", "zip", '{ role = "quasi", hierarchy = { a = "b" } }')]
    for name in registry.names("guarantees"):
        cls = registry.find("guarantees", name)
        found.append(("guarantee", "kind", f'"{name}"'))
        found += [("guarantee", own.name, value) for own in fields(cls) for value in _good(own.name, str(own.type))]
    for name in registry.names("groupers"):
        found.append(("method", "kind", f'"{name}"'))
        for example in registry.find("groupers", name).examples():
            found += [
                ("method", own.name, toml_text(value))
                for own in fields(example)
                if (value := getattr(example, own.name)) is not None
            ]
    return found


def _good(name, hint):
    from tests.fuzz.dice import Dice

    return [
        toml_text(value) for n in range(3) for key, value in _setting(Dice(n, name), name, hint, ["a", "b"]).items()
    ]
