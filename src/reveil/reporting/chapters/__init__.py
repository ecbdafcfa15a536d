"""The chapters of the report, one module and one template each: a view of what is shown, and what makes it.

Each maker returns the view of its chapter, or None where there is nothing to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.reporting.chapters.auto import auto
from reveil.reporting.chapters.budget import budget
from reveil.reporting.chapters.comparing import comparing
from reveil.reporting.chapters.extras import extras
from reveil.reporting.chapters.field_risk import field_risk
from reveil.reporting.chapters.glance import glance
from reveil.reporting.chapters.groups import groups
from reveil.reporting.chapters.guessing import guessing
from reveil.reporting.chapters.knowing import knowing
from reveil.reporting.chapters.promise import promise
from reveil.reporting.chapters.releases import releases
from reveil.reporting.chapters.risk import risk
from reveil.reporting.chapters.settings import settings
from reveil.reporting.chapters.utility import utility

if TYPE_CHECKING:
    from reveil.reporting.parts import Chapter, Parts

IN_ORDER = (
    glance,
    releases,
    promise,
    risk,
    field_risk,
    knowing,
    guessing,
    groups,
    utility,
    comparing,
    extras,
    budget,
    auto,
    settings,
)


def chapters(parts: Parts) -> tuple[Chapter, ...]:
    """Return all chapters that have something to say, in order."""
    made = (maker(parts) for maker in IN_ORDER)
    return tuple(chapter for chapter in made if chapter is not None)
