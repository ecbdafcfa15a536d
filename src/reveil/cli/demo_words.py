"""What the demo says of each way to publish, on the screen and on the page alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.cli.demo_stories import Outcome, Story


def figures(story: Story, own: Outcome) -> list[str]:
    """Return files, diagnoses read off, highest belief, bound and the share of its range that a cell covers."""
    bound = own.summary["bound"]
    return [
        str(len(story.releases)),
        f"{own.certain:,}",
        f"{own.summary['highest']:.2f}",
        "none" if bound is None else f"{bound:.2f}",
        f"{own.loss:.0%}",
    ]


def price(own: Outcome) -> str:
    """Say in words what a guarantee cost beside coarser cells."""
    parts = [
        f"{many:,} {what}"
        for many, what in (
            (own.counterfeits, "counterfeits"),
            (own.dirty, "rows not asked for"),
            (own.withheld, "people held back"),
        )
        if many
    ]
    return ", ".join(parts) or "-"
