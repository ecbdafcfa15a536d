"""Finds formats, models, groupers, guarantees, judges, measures, attacks and so on by entry point, built-in ones too.

Another package adds one by declaring an entry point in the same group; nothing in Reveil lists names. It is
also how a room asks for something of a room above it: a release knows that questions are answered, not by whom.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from reveil.core.errors import ConfigError

GROUPS = (
    "formats",
    "models",
    "groupers",
    "recoders",
    "guarantees",
    "judges",
    "measures",
    "attacks",
    "questions",
    "indexes",
    "stores",
    "engines",
)


@cache
def _installed() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of all groups: the files of the installation are read once, not once for each group."""
    found = entry_points()
    return {group: tuple(found.select(group=f"reveil.{group}")) for group in GROUPS}


def points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group."""
    return _installed().get(group, ())


@cache
def names(group: str) -> tuple[str, ...]:
    """Return the names registered in a group, sorted."""
    found = tuple(sorted({point.name for point in points(group)}))
    if not found:
        raise ConfigError(
            f"no {group} are registered",
            hint="Reveil finds its parts through its installation: run make setup.",
        )
    return found


@cache
def find(group: str, name: str) -> Any:
    """Return the registered object, or raise with the names that exist."""
    for point in points(group):
        if point.name == name:
            return point.load()
    raise ConfigError(f"unknown {group.removesuffix('s')} {name!r}", hint=f"Known: {', '.join(names(group))}.")


def everything(group: str) -> dict[str, Any]:
    """Return all registered objects of a group by name."""
    return {name: find(group, name) for name in names(group)}
