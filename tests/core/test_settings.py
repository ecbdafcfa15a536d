"""Settings from a config: what fits is built, and what does not is named, but never shown."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import pytest

from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.core.settings import Section, build
from reveil.guarantees.settings import from_settings

if TYPE_CHECKING:
    from fractions import Fraction


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Base:
    whole: int
    _: KW_ONLY
    made: str = field(default="here", init=False)


@dataclass(frozen=True)
class Example(Base):
    number: float | None = None
    text: str = ""
    flag: bool = False
    choice: Literal["one", "two"] = "one"
    either: int | Literal["auto"] | None = None
    colour: Colour | None = None
    texts: list[str] = field(default_factory=list)
    values: tuple[str, ...] = ()
    table: dict[str, Any] | None = None
    path_or_table: str | dict[str, Any] | None = None
    strange: Fraction | None = None  # a name that is not there at run time
    anything: Any = None


SECTION = Section("[example]", "the example 'x'", {"size": "It has no size, because it has a number."}, "disease")


def test_what_fits_is_built():
    given = {
        "whole": 4,
        "number": 2,
        "text": "t",
        "flag": True,
        "choice": "two",
        "either": "auto",
        "colour": "blue",
        "texts": ["a", "b"],
        "values": ["a", 1],
        "table": {"a": 1},
        "path_or_table": "a.csv",
        "strange": object,
        "anything": [None],
    }
    made = build(Example, given, SECTION)
    assert {key: getattr(made, key) for key in given} == given
    assert made.colour is Colour.BLUE
    assert build(Example, {"whole": 0}, SECTION) == Example(0)
    assert build(Example, {"whole": 0, "number": None, "either": 3}, SECTION).either == 3


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({}, "the example 'x' needs whole", "Add whole = ... (a whole number) under [example]."),
        ({"wohle": 4}, "the example 'x' has no setting 'wohle'", "It knows: whole, number, text"),
        ({"whole": 1, "size": 4}, "has no setting 'size'", "because it has a number"),
        ({"whole": 1, "made": "there"}, "has no setting 'made'", "It knows: whole"),
        ({"whole": "4"}, "whole must be a whole number, not a text", "without quotes"),
        ({"whole": 4.0}, "whole must be a whole number, not a number", "without a point"),
        ({"whole": True}, "whole must be a whole number, not true or false", "digits"),
        ({"whole": None}, "whole must be a whole number, not a value of another kind", "digits"),
        ({"whole": 1, "number": True}, "number must be a number, not true or false", "digits"),
        ({"whole": 1, "number": "hiv"}, "number must be a number, not a text", "without quotes"),
        ({"whole": 1, "text": ["hiv"]}, "text must be a text, not a list", 'text = "..."'),
        ({"whole": 1, "flag": 1}, "flag must be true or false, not a whole number", "flag = true or flag = false"),
        ({"whole": 1, "choice": "three"}, "choice must be 'one' or 'two', not 'three'", 'choice = "one", say'),
        ({"whole": 1, "choice": 3}, "choice must be 'one' or 'two', not a whole number", 'choice = "one"'),
        ({"whole": 1, "either": "hiv"}, "either must be a whole number or 'auto', not a text", "auto"),
        ({"whole": 1, "colour": "green"}, "colour must be 'red' or 'blue', not 'green'", "red"),
        ({"whole": 1, "texts": "hiv"}, "texts must be a list of texts, not a text", "brackets"),
        ({"whole": 1, "texts": ["hiv", 1]}, "texts must be a list of texts, not a list", "quotes"),
        ({"whole": 1, "values": "hiv"}, "values must be a list, not a text", "brackets"),
        ({"whole": 1, "table": "hiv"}, "table must be a table, not a text", "table = { ... }"),
        ({"whole": 1, "path_or_table": ["hiv"]}, "path_or_table must be a text or a table, not a list", "quotes"),
    ],
    ids=repr,
)
def test_what_does_not_fit_is_named_and_not_shown(given, message, hint):
    with pytest.raises(ConfigError) as caught:
        build(Example, given, SECTION)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.column == "disease"
    assert "[example]" in caught.value.hint or "no setting" in message
    assert "hiv" not in str(caught.value)


@pytest.mark.parametrize("kind", registry.names("guarantees"))
def test_every_guarantee_names_what_it_does_not_know(kind):
    with pytest.raises(ConfigError) as caught:
        from_settings(registry.find("guarantees", kind), {"strategy": "geometric", "alpha": 3.0, "nonsense": 1})
    assert "has no setting" in caught.value.message
    assert "It knows: " in caught.value.hint
