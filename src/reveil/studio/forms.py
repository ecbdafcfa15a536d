"""From the fields of a form to the fields of a task."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.studio.tasks.base import StudioTask
    from reveil.studio.uploads import SentForm

_LISTED = ("columns", "tries")  # texts in which commas or lines part the names
_YES_NO = {"yes": True, "no": False}


def form_values(cls: type[StudioTask], form: SentForm) -> dict[str, object]:
    """Return what a form says of a task, in the types of its fields; what is empty is left to the defaults."""
    found: dict[str, object] = {}
    for one in fields(cls):
        kind = str(one.type)
        value = _value(one.name, kind, form)
        if value is not None and value != ():
            found[one.name] = value
    return found


def in_order(form: SentForm, name: str) -> tuple[str, ...]:
    """Return the chosen files of a list by the numbers beside them; where two have one, as they are listed."""
    chosen = form.several(name)
    places = {path: form.number(f"{name}.place.{path}") for path in chosen}
    return tuple(sorted(chosen, key=lambda path: (places[path] is None, places[path] or 0)))


def _value(name: str, kind: str, form: SentForm) -> object:
    if kind.startswith("bool"):
        said = form.get(name)
        return None if said is None else _YES_NO.get(said)
    if kind.startswith("int"):
        return form.number(name)
    if kind.startswith("float"):
        return form.real(name)
    if kind.startswith("dict"):
        return {
            key.removeprefix(f"{name}."): values[-1]
            for key, values in form.fields.items()
            if key.startswith(f"{name}.")
        }
    if kind.startswith("tuple"):
        if name in _LISTED:
            mark = "," if name == "columns" else "\n"
            said = form.get(name) or ""
            return tuple(part.strip() for part in said.split(mark) if part.strip())
        return in_order(form, name)
    return form.get(name)
