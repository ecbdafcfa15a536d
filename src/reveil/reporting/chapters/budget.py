"""What is left of the budget, under a guarantee that spends one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Card, Chapter

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts

QUARTERS = ("up to a quarter", "up to a half", "up to three quarters", "up to all")


@dataclass(frozen=True)
class Spent:
    """What is left of the links of people with values."""

    cards: tuple[Card, ...]
    chart: Chart


@dataclass(frozen=True)
class BudgetChapter(Chapter):
    """The chapter; nothing is spent before somebody is linked with a value."""

    key: ClassVar[str] = "budget"
    title: ClassVar[str] = "What is left of the budget"
    template: ClassVar[str] = "report/budget.html.j2"
    spent: Spent | None


def budget(parts: Parts) -> BudgetChapter | None:
    """Show what is left to be spent."""
    found = parts.content["budget"]
    if found is None:
        return None
    if not found["links"]:
        return BudgetChapter(None)
    cards = (
        parts.card("links of a person with a value so far", "budget.links"),
        parts.card("of these are used up", "budget.used_up"),
        parts.card("left on average", "budget.average_left", "share"),
        parts.card("releases for which it lasts at least, at the pace so far", "budget.releases_left"),
    )
    chart = charts.bars("Links by what is left of them", QUARTERS, found["quarters"], y_label="links", x_label="left")
    return BudgetChapter(Spent(cards, chart))
