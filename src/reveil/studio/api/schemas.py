"""What a program writes for a task, as JSON Schema, from the fields of the task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Literal, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.studio.tasks.base import StudioTask

PREFIX = "/api/v1"
# Collections, and the command whose task each of them takes.
COLLECTIONS = {
    "adoptions": "adopt",
    "audits": "audit",
    "erasures": "forget",
    "explorations": "explore",
    "hierarchies": "hierarchy",
    "histories": "history",
    "measurements": "measure",
    "queries": "query",
    "reports": "report",
    "series": "init",
    "verifications": "verify",
}
_NAMES = {"release_paths": "releases"}
_SIMPLE: dict[object, str] = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}


def outside(name: str) -> str:
    """Return the name of a field as programs write it: a path is named by what it is."""
    return _NAMES.get(name, name.removesuffix("_path"))


def inside(cls: type[StudioTask], given: Mapping[str, JSON]) -> dict[str, object]:
    """Return what a program says by the names of a task's fields; a name that no field has stays and is refused."""
    names = {outside(one.name): one.name for one in fields(cls)}
    return {names.get(name, name): value for name, value in given.items() if value is not None}


def schema_of(cls: type[StudioTask], without: tuple[str, ...] = ()) -> dict[str, JSON]:
    """Return the schema of a task."""
    hints = get_type_hints(cls, localns={"Mapping": Mapping})  # known to type checkers only where tasks are
    told = [one for one in fields(cls) if one.name not in without]
    needed: list[JSON] = [
        outside(one.name) for one in told if one.default is MISSING and one.default_factory is MISSING
    ]
    return {
        "type": "object",
        "description": (cls.__doc__ or "").split("\n")[0],
        "additionalProperties": False,
        "required": needed,
        "properties": {outside(one.name): {**_type(hints[one.name]), **_note(cls.paths.get(one.name))} for one in told},
    }


def _note(what: str | None) -> dict[str, JSON]:
    return {} if what is None else {"description": f"the path of {what}, relative to the folder"}


def _type(annotation: object) -> dict[str, JSON]:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return _type(next(part for part in get_args(annotation) if part is not NoneType))
    if origin is Literal:
        return {"type": "string", "enum": [str(choice) for choice in get_args(annotation)]}
    if origin is tuple:
        return {"type": "array", "items": {"type": "string"}}
    return {"type": _SIMPLE[dict if origin is dict else annotation]}
