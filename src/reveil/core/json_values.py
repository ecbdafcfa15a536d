"""What JSON can say, as a type; and the same made so that nobody can change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
JSONObject: TypeAlias = "Mapping[str, JSON]"

_PLAIN = frozenset({str, int, float, bool, type(None)})  # a manifest has thousands: asking what they are takes long


def objects_in(value: JSON) -> list[Mapping[str, JSON]]:
    """Return the objects of a list; none where there is no list."""
    found = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [each for each in found if isinstance(each, Mapping)]


def object_in(value: JSON) -> Mapping[str, JSON]:
    """Return a value that is an object."""
    if not isinstance(value, Mapping):
        raise TypeError("an object of JSON is needed here")
    return value


def list_in(value: JSON) -> Sequence[JSON]:
    """Return a value that is a list."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError("a list of JSON is needed here")
    return value


def whole_in(value: JSON) -> int:
    """Return a value that is a whole number."""
    if not isinstance(value, int):
        raise TypeError("a whole number is needed here")
    return value


def number_in(value: JSON) -> float:
    """Return a value that is a number."""
    if not isinstance(value, int | float):
        raise TypeError("a number is needed here")
    return float(value)


def text_in(value: JSON) -> str:
    """Return a value that is a text."""
    if not isinstance(value, str):
        raise TypeError("a text is needed here")
    return value


class FrozenObject(Mapping[str, JSON]):
    """An object of JSON that is read and never changed; it equals whatever mapping says the same."""

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[str, JSON]) -> None:
        self._held = {key: frozen(value) for key, value in held.items()}

    def __getitem__(self, key: str) -> JSON:
        return self._held[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and thawed(self) == thawed(other)

    __hash__ = None  # type: ignore[assignment]  # it may hold what has none

    def __repr__(self) -> str:
        return repr(self._held)


def frozen(value: JSON) -> JSON:
    """Return a value with its lists as tuples and its objects such that they cannot be changed."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, FrozenObject):
        return value
    if isinstance(value, Mapping):
        return FrozenObject(value)
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def thawed(value: object) -> JSON:
    """Return a copy in plain lists and dicts, as ``json`` writes and reads them.

    >>> thawed(frozen({"k": 3, "scales": {"age": [18, 65]}}))
    {'k': 3, 'scales': {'age': [18, 65]}}
    """
    if type(value) in _PLAIN:
        return value  # type: ignore[return-value]  # one of the five is a value of JSON
    if isinstance(value, Mapping):
        return {str(key): thawed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(item) for item in value]
    return value  # type: ignore[return-value]  # whatever else a caller holds is a value of JSON


def frozen_object(value: Mapping[str, JSON]) -> FrozenObject:
    """Return an object that cannot be changed."""
    return value if isinstance(value, FrozenObject) else FrozenObject(value)
