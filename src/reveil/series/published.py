"""What publishing answers, and to whom it reports on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from reveil.releases.release import Release

Stage = Callable[[str], None]
How = Literal["published", "resumed", "already"]


def silent(_: str) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Published:
    """A release and how it came about: made now, a pending one finished, or the last one once more."""

    release: Release
    how: How
    note: str | None = None
