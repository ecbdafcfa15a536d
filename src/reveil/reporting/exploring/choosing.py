"""Writes a choice into a config: the lines of the chosen settings, and no other."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, RefusedError
from reveil.releases.files import KeptFiles, write_file
from reveil.reporting.exploring.candidates import METHOD, with_changes
from reveil.series.config import load_config
from reveil.tables.schema import toml_text
from reveil.vault.address import is_begun

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.reporting.exploring.candidates import Candidate

_NOTE = "chosen by reveil explore"


def take_point(path: Path, candidate: Candidate, number: int) -> str:
    """Write the settings of a candidate into the config at a path, and return a word about it."""
    config = load_config(path)
    before = path.read_text(encoding="utf-8")
    text = chosen_text(before, candidate.changes)
    if text == before:
        return f"point {number} is what {path} says already"
    if config.in_series and config.guarantee != candidate.guarantee and is_begun(config.vault_path):
        raise RefusedError(
            "this series has begun, and its guarantee stays",
            hint="Another one needs another vault, into which every release so far is adopted.",
        )
    write_file(path, text.encode(), KeptFiles(), config=True)
    return f"wrote point {number} into {path}"


def chosen_text(text: str, changes: Mapping[tuple[str, str], JSON]) -> str:
    """Return the text of a config with other settings, each with a comment that says what stood there."""
    before = tomllib.loads(text)
    wanted = with_changes(before, changes)
    lines = text.split("\n")
    for (section, key), value in changes.items():
        if before.get(section, {}).get(key) == value:
            continue
        if (section, key) == (METHOD, "kind"):
            lines = _without_others(lines, before.get(METHOD, {}))
        lines = _with_setting(lines, section, key, value)
    made = "\n".join(lines)
    try:
        same = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        told = ", ".join(f"{key} = {_toml(value)} under [{section}]" for (section, key), value in changes.items())
        raise ConfigError(
            "this config is written in a way that cannot be changed line by line", hint=f"Write it yourself: {told}."
        )
    return made


def _with_setting(lines: list[str], section: str, key: str, value: object) -> list[str]:
    span = _span(lines, section)
    if span is None:
        rest = [] if lines and not lines[-1] else [""]
        return [*lines, *rest, f"[{section}]", f"{key} = {_toml(value)}  # {_NOTE}", ""]
    for place in span:
        found = re.match(rf"(\s*{re.escape(key)}\s*=\s*)(.*?)\s*(#.*)?$", lines[place])
        if found is not None:
            said = f"{_NOTE}; it was {found[2]}"
            return [*lines[:place], f"{found[1]}{_toml(value)}  # {said}", *lines[place + 1 :]]
    last = max((place for place in span if lines[place].strip()), default=span.start)
    return [*lines[: last + 1], f"{key} = {_toml(value)}  # {_NOTE}", *lines[last + 1 :]]


def _without_others(lines: list[str], settings: Mapping[str, JSON]) -> list[str]:
    """Turn the settings of the old method into comments: another one does not know them."""
    span = _span(lines, METHOD) or range(0)
    others = [key for key in settings if key != "kind"]
    return [
        f"# {line}" if n in span and any(re.match(rf"\s*{re.escape(key)}\s*=", line) for key in others) else line
        for n, line in enumerate(lines)
    ]


def _span(lines: list[str], section: str) -> range | None:
    """Return the places of a section's lines, its head included; None where it has none."""
    start = next((n for n, line in enumerate(lines) if re.match(rf"\s*\[{section}\]\s*(#.*)?$", line)), None)
    if start is None:
        return None
    end = next((n for n in range(start + 1, len(lines)) if re.match(r"\s*\[", lines[n])), len(lines))
    return range(start, end)


def _toml(value: object) -> str:
    if isinstance(value, str):
        return toml_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
