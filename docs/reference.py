"""Write ``docs/reference.md`` from the docstrings of everything public: ``make docs``."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import reveil
from reveil.core import registry

PAGE = Path(__file__).with_name("reference.md")
HEAD = """# Reference

Everything public, from its docstrings. `import reveil as rv`, then `rv.NAME`. This page is written by `make docs`:
change the docstrings, not the page. The commands are in [command-line.md](command-line.md), the pages that explain in
[README.md](README.md).
"""
FIRST = ("anonymize", "Schema", "Taxonomy", "Series", "Release", "Count", "audit", "Audit", "measure")
# What is chosen by its name in a config or on the command line: the heading, the registry, and how it is chosen.
CHOSEN = (
    ("Guarantees", "guarantees", 'Under `[guarantee]`: `kind = "NAME"`, with the parameters as settings.'),
    ("Methods", "groupers", 'Under `[method]`: `kind = "NAME"`, with the parameters as settings.'),
    ("Models", "models", "What a group must satisfy. Settings k, l, t of a guarantee ask for them; `&` joins them."),
    ("Published forms", "recoders", 'What `recode = "NAME"` of a method means.'),
    ("Measures", "measures", "What `reveil measure` prints."),
    ("Attacks", "attacks", "What `reveil audit --attack NAME` runs."),
)
PARTS = r"Guarantee|Assumes|Does not protect against|Source"
ROLE = re.compile(r":\w+:`(~?)([^`]+)`")


def reference() -> str:
    """Return the page."""
    chosen = {kind: _own(registry.everything(kind)) for _, kind, _ in CHOSEN}
    registered = {cls for found in chosen.values() for cls in found.values()}
    public = {name: getattr(reveil, name) for name in reveil.__all__}
    errors = [name for name, thing in public.items() if isinstance(thing, type) and issubclass(thing, Exception)]
    others = [
        name
        for name, thing in public.items()
        if not (isinstance(thing, type) and thing in registered) and name not in (*errors, *FIRST)
    ]
    lines = [HEAD, "## Use\n"]
    for name in [*FIRST, *others]:
        lines += _described(name, public[name], members=True)
    for title, kind, how in CHOSEN:
        lines += [f"## {title}\n", f"{how}\n"]
        for name, cls in sorted(chosen[kind].items()):
            lines += _described(name, cls, where=f"rv.{cls.__name__}" if cls.__name__ in public else None)
    lines += ["## Errors\n", "Every error has a `message`, a `hint` with the remedy and an `exit_code`.\n"]
    for name in sorted(errors, key=lambda name: [cls.__name__ for cls in reversed(public[name].__mro__)]):
        parent = public[name].__base__.__name__
        lines.append(f"- `{name}` (a `{parent}`; exit {public[name].exit_code}): {_flat(_documented(public[name]))}")
    return "\n".join(lines).rstrip() + "\n"


def _own(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out what other packages have registered here."""
    return {name: cls for name, cls in found.items() if cls.__module__.partition(".")[0] == reveil.__name__}


def _described(name: str, thing: Any, *, members: bool = False, where: str | None = None) -> list[str]:
    title = f"### {name}" + ("" if where is None or where == f"rv.{name}" else f": `{where}`")
    called = name if where is None else where.removeprefix("rv.")
    # A plain class of the registry has nothing to set; its name says it all.
    shown = members or where is not None
    lines = [f"{title}\n", *([f"```text\n{_signature(called, thing)}\n```\n"] if shown else []), _text(thing)]
    if members and isinstance(thing, type):
        for own, member in sorted(_members(thing).items()):
            text = None if own.startswith("_") else _member(own, member)
            lines += [] if text is None else [text]
        lines.append("")
    return lines


def _members(thing: type) -> dict[str, Any]:
    """Return what a class has, with what it inherits from a class of ours that nobody outside sees."""
    hidden = [cls for cls in thing.__mro__[1:] if cls.__module__ == f"{thing.__module__.rpartition('.')[0]}.base"]
    return {name: member for cls in [*reversed(hidden), thing] for name, member in vars(cls).items()}


def _member(name: str, member: Any) -> str | None:
    """Return a line for a method or a property; fields of a class are in its signature."""
    inner = getattr(member, "__func__", getattr(member, "func", member))
    if isinstance(member, property):
        return f"- `{name}`: {_flat(_documented(member))}"
    if not inspect.isfunction(inner):
        return None
    if member is not inner and not isinstance(member, classmethod | staticmethod):  # a cached property
        return f"- `{name}`: {_flat(_documented(inner))}"
    bound = not isinstance(member, staticmethod)
    return f"- `{_signature(name, inner, bound=bound)}`: {_flat(_documented(inner))}"


def _signature(name: str, thing: Any, *, bound: bool = False) -> str:
    """Return how something is called, with types as they stand in the source."""
    given = list(inspect.signature(thing).parameters.values())[1 if bound else 0 :]
    parts, star = [], False
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is parameter.VAR_POSITIONAL
        mark = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        mark = "**" if parameter.kind is parameter.VAR_KEYWORD else mark
        text = mark + parameter.name
        if parameter.annotation is not parameter.empty:
            kind = parameter.annotation
            text += f": {kind if isinstance(kind, str) else inspect.formatannotation(kind)}"
        if parameter.default is not parameter.empty:
            own = repr(parameter.default)
            text += " = ..." if own.startswith("<") else f" = {own}"  # an object, which has an address in its name
        parts.append(text)
    one_line = f"{name}({', '.join(parts)})"
    return one_line if bound or len(one_line) <= 110 else f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def _documented(thing: Any) -> str:
    """Return a docstring as Markdown."""
    text = inspect.cleandoc(thing.__doc__ or "")
    text = ROLE.sub(lambda found: f"`{found[2].rpartition('.')[2] if found[1] else found[2]}`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def _text(thing: Any) -> str:
    """Return a docstring as paragraphs: what it guarantees, assumes and does not protect against stands by itself."""
    text = re.sub(rf"\n*^\*?({PARTS})\*?:", r"\n\n**\1:**", _documented(thing), flags=re.MULTILINE)
    text = re.sub(r"((?:^>>>.*\n?(?:^(?!\n).+\n?)*)+)", r"```pycon\n\1\n```\n", text, flags=re.MULTILINE)
    return text.replace("\n\n```\n", "\n```\n") + "\n"


def _flat(text: str) -> str:
    """Return the first paragraph in one line."""
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
