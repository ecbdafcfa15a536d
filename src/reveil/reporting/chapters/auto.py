"""How k was chosen, where a method chose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, Number

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts

LOSSES = {"t": "privacy loss (t)", "information_loss": "information loss", "cost": "both, weighted"}


@dataclass(frozen=True)
class AutoChapter(Chapter):
    """The chapter."""

    key: ClassVar[str] = "auto"
    title: ClassVar[str] = "How k was chosen"
    template: ClassVar[str] = "report/auto.html.j2"
    chosen: Number
    weight: Number
    curve: Chart


def auto(parts: Parts) -> AutoChapter | None:
    """Show what each k would have lost, in the last release for which a method chose it."""
    found = [n for n, release in enumerate(parts.content["releases"]) if release["auto"] is not None]
    if not found:
        return None
    path, curve = f"releases.{found[-1]}.auto", parts.content["releases"][found[-1]]["auto"]["curve"]
    series = {words: curve[key] for key, words in LOSSES.items() if key in curve}
    return AutoChapter(
        chosen=parts.number(f"{path}.chosen"),
        weight=parts.number(f"{path}.weight", "number"),
        curve=charts.lines("How k was chosen", curve["k"], series, x_label="k", y_label="loss", log_x=True),
    )
