"""Levels that releases reach, as manifests tell them: the worse of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.core.json_values import JSON

_SMALLER_IS_BETTER = frozenset(["t", "c"])


def worst(levels: Iterable[Mapping[str, JSON]]) -> dict[str, JSON]:
    """Return the worst of the levels that one model reaches in different groups.

    >>> worst([{"k": 5}, {"k": 3}]), worst([{"t": {"a": 0.1}}, {"t": {"a": 0.2}}])
    ({'k': 3}, {'t': {'a': 0.2}})
    """
    found: dict[str, JSON] = {}
    for level in levels:
        for key, value in level.items():
            found[key] = _worse(key, found[key], value) if key in found else value
    return found


def _worse(key: str, one: JSON, other: JSON) -> JSON:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {name: _worse(key, one[name], other[name]) if name in other else one[name] for name in one} | {
            name: value for name, value in other.items() if name not in one
        }
    if one is None or other is None:  # no number is good enough
        return None
    numbers = [value for value in (one, other) if isinstance(value, int | float)]
    return max(numbers) if key in _SMALLER_IS_BETTER else min(numbers)
