"""What must hold at any time: the vault is whole, the series is sound, and nobody reads off more than is promised."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.long_run.commands import Commands, Ran

CLOSE = 1e-9
CONFIG = ("-c", "reveil.toml")


@dataclass
class Told:
    """The releases so far: files, the tables they were made of, expressions, and which of them came from elsewhere."""

    releases: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)

    @property
    def own(self) -> list[int]:
        """Return the places of what this series published itself."""
        return [place for place, name in enumerate(self.releases) if name not in self.adopted]


def checked(commands: Commands, folder: Path) -> Ran:
    """Compare all files with the vault."""
    return commands.run(folder, "history", *CONFIG, "--check", ".")


def judged(commands: Commands, folder: Path, told: Told, last: int = 3) -> Ran:
    """Judge the whole series again, the last tables beside it; with expressions only the files and the books."""
    truth = [told.tables[place] for place in told.own[-last:]] if not any(told.parts) else []
    return commands.run(folder, "verify", "--series", *CONFIG, *(("--truth", *truth) if truth else ()))


def verified(commands: Commands, folder: Path, told: Told) -> Ran:
    """Compare the last release with the table that it was made of."""
    part = told.parts[-1]
    where = ("--where", part) if part else ()
    return commands.run(folder, "verify", told.releases[-1], told.tables[-1], *CONFIG, *where)


def audited(
    commands: Commands, folder: Path, told: Told, which: Sequence[int], *more: str
) -> tuple[Ran, dict[str, Any]]:
    """Attack some of the releases by the tables that they were made of."""
    names, tables = [told.releases[place] for place in which], [told.tables[place] for place in which]
    target = folder / "audit.json"
    target.unlink(missing_ok=True)
    ran = commands.run(folder, "audit", *names, *CONFIG, "--truth", *tables, "--json", target.name, *more)
    return ran, json.loads(target.read_text()) if target.exists() else {}


def added(found: dict[str, Any], before: dict[str, Any]) -> int:
    """Return of how many people more is believed than the bound allows, and than what was adopted told by itself."""
    alone = {str(row["person"]): row["belief"] for row in before.get("persons", [])}
    bound = found.get("summary", {}).get("bound") or 1.0
    above = [row for row in found.get("persons", []) if row["belief"] > bound]
    return sum(row["belief"] > alone.get(str(row["person"]), 0.0) + CLOSE for row in above)
