"""What the run wants to know of a series itself: beside the command line, a process that reads its vault."""

from __future__ import annotations

import json

import reveil as rv


def width(config: str) -> None:
    """Print the mean width of a cell in the last release, as the vault keeps it."""
    facts = rv.Series.load(config).releases()[-1][0].facts
    print(json.dumps((facts.get("measures") or {}).get("gcp")))
