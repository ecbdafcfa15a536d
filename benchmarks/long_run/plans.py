"""What every guarantee goes through: its settings, and what may happen to the people of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

EVERYTHING: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A guarantee under trial.

    ``leave``, ``come_back`` and ``change``: whether people leave, return and get other values in its tables; what a
    guarantee does not cover does not happen to it. ``several``: three sensitive columns instead of one. ``forget``:
    how people are erased, in turns. ``adopts``: a clinic that published with another tool joins in the middle.
    ``parts`` are expressions, ``columns`` the columns of one recipient after another; both are taken in turns.
    """

    name: str
    guarantee: str
    leave: bool = True
    come_back: bool = True
    change: bool = True
    several: bool = False
    forget: tuple[str, ...] = ("--tombstone", "")
    adopts: bool = True
    parts: tuple[str, ...] = ("",)
    columns: tuple[tuple[str, ...], ...] = (EVERYTHING,)
    method: str = ""

    def part(self, month: int) -> str:
        """Return the expression with which a month is published, empty for all of it."""
        return self.parts[(month - 1) % len(self.parts)]

    def recipient(self, month: int) -> tuple[str, ...]:
        """Return the columns of a month, none for all of them."""
        return self.columns[(month - 1) % len(self.columns)]

    def erasure(self, turn: int) -> str:
        """Return the option of an erasure."""
        return self.forget[turn % len(self.forget)]


def _of(*plans: Plan) -> dict[str, Plan]:
    return {plan.name: plan for plan in plans}


PLANS = _of(
    # Its own paper is about people who come and leave; returns and changes are what tau-safety adds.
    Plan("m-invariance", 'kind = "m-invariance"\nm = 2', come_back=False, change=False, forget=("",), adopts=False),
    Plan("tau-safety", 'kind = "tau-safety"\nm = 4'),
    Plan("tau-safety angelized", 'kind = "tau-safety"\nm = 4\nform = "angelized"'),
    Plan(
        "several columns",
        'kind = "tau-safety"\nform = "angelized"\nm = { diagnosis = 4, drug = 3, days = 2 }',
        several=True,
        adopts=False,
    ),
    Plan(
        "refinement",
        'kind = "refinement"\nk = 10\nl = 3',
        forget=("--tombstone",),
        parts=("", "age >= 50", "", "sex = f", "", "ward in {internal, surgery, cardiology}"),
    ),
    Plan("global", 'kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 3'),
    # Nobody may leave and nothing may change: the table grows, and recipients get one set of columns after another.
    Plan(
        "worlds",
        'kind = "worlds"\nl = 4',
        leave=False,
        come_back=False,
        change=False,
        forget=(),
        adopts=False,
        columns=(
            EVERYTHING,
            ("age", "sex", "diagnosis"),
            ("town", "ward", "diagnosis"),
            ("age", "income", "admitted", "diagnosis"),
            ("sex", "town", "income", "ward", "diagnosis"),
        ),
    ),
)


def chosen(names: Sequence[str]) -> list[Plan]:
    """Return the plans of these names, all of them without names."""
    return [PLANS[name] for name in names] if names else list(PLANS.values())
