"""Settings from a config: a table of it becomes a dataclass, and what does not fit is named with its section and key.

The fields of the dataclass say which keys there are, which are needed, and, where their types are simple, what a value
must be. A value is not shown, only what kind of value it is: some settings list sensitive values. A word where one of
a few words is meant is no such value, and is shown.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from types import NoneType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from reveil.core.errors import ConfigError, excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping


T = TypeVar("T")
# Kinds of values, in words, and how to write one; the first that fits is what a value is.
_PLAIN: dict[object, tuple[str, str]] = {
    bool: ("true or false", "Write {key} = true or {key} = false."),
    int: ("a whole number", "Write it in digits, without quotes and without a point."),
    float: ("a number", "Write it in digits, without quotes."),
    str: ("a text", 'Write it in quotes: {key} = "...".'),
    list: ("a list", "Write it in brackets: {key} = [..., ...]."),
    list[str]: ("a list of texts", 'Write it in brackets and quotes: {key} = ["...", "..."].'),
    dict: ("a table", "Write it in braces: {key} = {{ ... }}."),
}


@dataclass(frozen=True)
class Section:
    """Where settings stand in a config, for messages.

    ``place`` is the section in brackets, ``owner`` whose settings they are (``the method 'bang'``), ``refused`` says of
    keys that it does not have why not, and ``column`` is the column of the table that they are about.
    """

    place: str
    owner: str
    refused: Mapping[str, str] = field(default_factory=dict)
    column: str | None = None

    def error(self, message: str, hint: str) -> ConfigError:
        """Build an error about one of the settings."""
        return ConfigError(message, column=self.column, hint=hint)


def build(cls: type[T], given: Mapping[str, object], section: Section) -> T:
    """Build a dataclass from a table of a config.

    Values of types that are not simple (see :func:`_kinds`), and limits of those that are, are left to the class.
    """
    known = {setting.name: setting for setting in fields(cls) if setting.init}  # type: ignore[arg-type]  # a dataclass, by contract
    for key in given:
        if key not in known:
            why = section.refused.get(key, f"It knows: {', '.join(known)}.")
            raise section.error(f"{section.owner} has no setting {excerpt(key)}", why)
    kinds = {key: _kinds(_annotation(cls, setting)) for key, setting in known.items()}
    for key, setting in known.items():
        if key not in given and setting.default is MISSING and setting.default_factory is MISSING:
            what = kinds[key]
            said = "" if what is None else f" ({_in_words(what)})"
            raise section.error(f"{section.owner} needs {key}", f"Add {key} = ...{said} under {section.place}.")
    return cls(**{key: _fitted(key, value, kinds[key], section) for key, value in given.items()})


def kind_of(value: object) -> str:
    """Say what kind of value this is, without the value.

    >>> kind_of("flu"), kind_of(True), kind_of(4)
    ('a text', 'true or false', 'a whole number')
    """
    return next((words for kind, (words, _) in _PLAIN.items() if _fits(value, kind)), "a value of another kind")


def _annotation(cls: type, setting: Field[object]) -> object:
    """Return the type of a field; ``Any`` where its names are known to type checkers only."""
    holder = next(base for base in cls.__mro__ if setting.name in vars(base).get("__annotations__", {}))
    one = SimpleNamespace(__annotations__={setting.name: setting.type})
    try:
        return get_type_hints(one, vars(sys.modules[holder.__module__]))[setting.name]
    except NameError:
        return Any


def _kinds(annotation: object) -> tuple[object, ...] | None:
    """Return the alternatives of a type; None where one of them is not simple, and nothing is checked.

    Simple are None, bool, int, float, str, lists, tables, enums of texts and literals. A tuple is a list in a config,
    and what is in lists and tables is the business of the class, but for ``list[str]``.
    """
    if get_origin(annotation) in (Union, UnionType):
        parts = [_kinds(part) for part in get_args(annotation)]
        return None if None in parts else tuple(kind for part in parts if part is not None for kind in part)
    origin = get_origin(annotation)
    if origin in (list, tuple, dict) and annotation not in _PLAIN:
        return (dict if origin is dict else list,)
    simple = (
        annotation in _PLAIN
        or annotation is NoneType
        or origin is Literal
        or (isinstance(annotation, type) and issubclass(annotation, StrEnum))
    )
    return (annotation,) if simple else None


def _fitted(key: str, value: object, kinds: tuple[object, ...] | None, section: Section) -> object:
    """Return a value as the class takes it, or say what it must be."""
    if kinds is None:
        return value
    for kind in kinds:
        if _fits(value, kind):
            return kind(str(value)) if isinstance(kind, type) and issubclass(kind, StrEnum) else value
    choices = _choices(kinds)
    word = choices and isinstance(value, str) and not any(kind in _PLAIN for kind in kinds)
    given = f", not {excerpt(value) if word else kind_of(value)}"
    hint = f'Write {key} = "{choices[0]}", say.' if choices else _hint(kinds).format(key=key)
    raise section.error(f"{section.owner}: {key} must be {_in_words(kinds)}{given}", f"{hint} See {section.place}.")


def _fits(value: object, kind: object) -> bool:
    if get_origin(kind) is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(kind))
    if kind in (list, list[str]):
        return isinstance(value, list | tuple) and (kind is list or all(isinstance(one, str) for one in value))
    if kind in (int, float):
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    if not isinstance(kind, type):
        raise TypeError(f"settings of this kind are not known: {kind!r}")
    if issubclass(kind, StrEnum):
        return isinstance(value, str) and value in list(kind)
    return isinstance(value, kind)


def _choices(kinds: tuple[object, ...]) -> list[str]:
    """Return the words that may be written, where there are only some."""
    found: list[str] = []
    for kind in kinds:
        if get_origin(kind) is Literal:
            found += [str(choice) for choice in get_args(kind)]
        elif isinstance(kind, type) and issubclass(kind, StrEnum):
            found += [str(choice) for choice in kind]
    return found


def _hint(kinds: tuple[object, ...]) -> str:
    return next(_PLAIN[kind][1] for kind in kinds if kind in _PLAIN)


def _in_words(kinds: tuple[object, ...]) -> str:
    words = [_PLAIN[kind][0] for kind in kinds if kind in _PLAIN]
    words += [repr(choice) for choice in _choices(kinds)]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
