"""What a look at every part of a vault finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Checked:
    """A vault that is as it was written: what it knows, and what its anchor knows beyond that, in words."""

    releases: int
    persons: int
    lacking: str | None = None
