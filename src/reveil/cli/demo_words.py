"""What the demo says of each way to publish, on the screen and on the page alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.cli.demo_stories import Outcome, Story


def figures(story: Story, outcome: Outcome) -> list[str]:
    """Return files, diagnoses read off, highest belief, bound and the share of its range that a cell covers."""
    bound = outcome.summary["bound"]
    return [
        str(len(story.releases)),
        f"{outcome.certain:,}",
        f"{outcome.summary['highest']:.2f}",
        "none" if bound is None else f"{bound:.2f}",
        f"{outcome.loss:.0%}",
    ]


def price(outcome: Outcome) -> str:
    """Say in words what a guarantee cost beside coarser cells."""
    parts = [
        f"{many:,} {what}"
        for many, what in (
            (outcome.counterfeits, "counterfeits"),
            (outcome.dirty, "rows not asked for"),
            (outcome.withheld, "people held back"),
        )
        if many
    ]
    return ", ".join(parts) or "-"
