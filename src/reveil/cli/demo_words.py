"""What the demo says of each way to publish, on the screen and on the page alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.cli.demo_stories import Outcome, Story


def figures(story: Story, outcome: Outcome) -> list[str]:
    """Return files, diagnoses read off, highest belief, bound, how wide cells are and how far counts are off."""
    bound = outcome.summary["bound"]
    return [
        str(len(story.releases)),
        f"{outcome.certain:,}",
        f"{outcome.summary['highest']:.2f}",
        "none" if bound is None else f"{bound:.2f}",
        f"{outcome.loss:.0%}",
        "-" if outcome.error is None else f"{outcome.error:.0%}",
    ]


def price(outcome: Outcome) -> str:
    """Say in words what a guarantee cost beside coarser cells."""
    parts = [
        f"{many:,} {one if many == 1 else several}"
        for many, one, several in (
            (outcome.counterfeits, "counterfeit", "counterfeits"),
            (outcome.dirty, "row not asked for", "rows not asked for"),
            (outcome.withheld, "person held back", "people held back"),
        )
        if many
    ]
    return ", ".join(parts) or "-"
