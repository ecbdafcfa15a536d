"""The anchor of a vault: a small file outside it that says how far it had come.

A vault that was restored from an old backup looks in order by itself. The anchor has the number and the digest of the
last entry of the chain, written after each change. A vault whose chain contains that entry has the anchor's past, and
perhaps more (a kill before the anchor was written, a release of a colleague). All others are behind or have diverged.

It also has a mark of every release that was told, so that a vault which does not contain the anchor can show that it
knows all the same releases: then it has been brought up to date by adopting them. No mark, counter or digest tells
anything of a person or of the key.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from reveil.core.errors import VaultError
from reveil.vault.private import write_private

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.core.json_values import JSON

FORMAT = 1
_DAMAGED = (
    "Restore the anchor of today. If there is none, and this vault is surely the latest one, take the file away: the "
    "next command looks at the published files it finds and writes the anchor anew."
)


@dataclass(frozen=True)
class Anchor:
    """What a vault had come to: a counter, the digest of the chain, and what had been told until then."""

    series: str
    entry: int
    digest: str
    releases: tuple[str, ...]
    erasures: int

    @classmethod
    def read(cls, path: Path) -> Anchor | None:
        """Return the anchor in a file, None if there is no file."""
        try:
            content = json.loads(path.read_bytes())
            given = content.pop("check")
            if content.pop("format") != FORMAT or given != _check(content):
                raise ValueError
            anchor = cls(**{**content, "releases": tuple(content["releases"])})
            if not re.fullmatch(r"[0-9a-f]{16}", anchor.series) or not isinstance(anchor.entry, int):
                raise ValueError
        except FileNotFoundError:
            return None
        except OSError:
            raise VaultError("this anchor cannot be read", file=path, hint="Check its permissions.") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise VaultError("this anchor is damaged", file=path, hint=_DAMAGED) from None
        return anchor

    def write(self, path: Path) -> None:
        """Put the anchor in place, entirely or not at all."""
        content = {**asdict(self), "releases": list(self.releases)}
        text = json.dumps({"format": FORMAT, **content, "check": _check(content)}, indent=1) + "\n"
        try:
            write_private(path, text.encode("ascii"))
        except OSError:
            raise unwritable(path) from None


def unwritable(path: Path) -> VaultError:
    """Return the error of an anchor that has no place to lie."""
    return VaultError(
        "this anchor cannot be written",
        file=path,
        hint="Check the folder, its permissions and the free space, or name another file with `anchor` under [series]. "
        "What was begun is finished by the same command.",
    )


@dataclass(frozen=True)
class Standing:
    """How a vault stands to its anchor.

    ``contained``: the chain has the anchor's entry. Else ``missing`` are the numbers of releases that the anchor knows
    and the vault does not, and ``erasures`` is how many erasures are missing. ``foreign``: the anchor is of another
    series.
    """

    anchor: Anchor | None
    contained: bool
    missing: tuple[int, ...] = ()
    erasures: int = 0
    foreign: bool = False

    @property
    def behind(self) -> bool:
        """Whether the anchor knows of something that the vault does not."""
        return bool(self.missing or self.erasures)

    @property
    def lacks_erasures_only(self) -> bool:
        """Whether erasures are missing, and no release that could bring somebody in who was erased."""
        return bool(self.erasures and not self.missing)

    @property
    def joins(self) -> bool:
        """Whether the vault knows all that the anchor does, by another way."""
        return self.anchor is not None and not self.contained and not self.behind


def compare(anchor: Anchor | None, series: str, digest: str | None, releases: list[str], erasures: int) -> Standing:
    """Return how a vault stands: ``digest`` is that of its entry of the anchor's number, if it has one."""
    if anchor is None:
        return Standing(None, contained=False)
    foreign = anchor.series != series
    if not foreign and digest == anchor.digest:
        return Standing(anchor, contained=True)
    missing = _missing(anchor.releases, releases)
    # Persons who were erased from a lost vault are not in a new one, unless a snapshot brings them back.
    lost = 0 if foreign else max(anchor.erasures - erasures, 0)
    return Standing(anchor, contained=False, missing=missing, erasures=lost, foreign=foreign)


def _missing(wanted: tuple[str, ...], known: list[str]) -> tuple[int, ...]:
    """Return the numbers of the releases that are not known: one that was told twice has to be known twice."""
    left, missing = Counter(known), []
    for number, mark in enumerate(wanted, start=1):
        if left[mark]:
            left[mark] -= 1
        else:
            missing.append(number)
    return tuple(missing)


def _check(content: dict[str, JSON]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
