"""What a guarantee means to somebody who has never heard of it: each declares its own words, a report shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.releases.promise import About

TOGETHER = "Somebody may keep every file of this series and compare them line by line."
EVER = (
    "The question whether somebody ever had a value: each change that is known of adds to the answer. Where that is "
    "the question, the global guarantee is for it."
)
RETURN = "Somebody who was erased without a tombstone and comes back: for them the bound starts again."
NOBODYS = (  # what no guarantee covers
    (
        "What is known beforehand: where a value is likelier for somebody than for others, whoever knows that believes "
        "it more strongly than any bound says."
    ),
    "Related people, who share what they have: people are taken one by one.",
    "What others publish about the same people.",
    "Being in the table: that somebody is in it can often be recognised. What is hidden is what they have.",
    "Columns that others know of somebody and that the config does not call quasi.",
)


@dataclass(frozen=True)
class Explained:
    """What is bounded, in plain words what that means, and what nothing is promised about.

    In ``plain``, ``{bound}`` stands for the bound as one in so many, ``{part}`` for what every group must have.
    ``uncovered`` is what this guarantee leaves open beside what all of them do.
    """

    about: About
    plain: tuple[str, ...]
    uncovered: tuple[str, ...]

    @property
    def not_covered(self) -> tuple[str, ...]:
        """All that nothing is promised about."""
        return (*self.uncovered, *NOBODYS)

    def in_plain_words(self, bound: float | None, settings: Mapping[str, JSON]) -> list[str]:
        """Return what it means with these settings."""
        if bound is None and any("{bound}" in text for text in self.plain):
            return [
                "With these settings no number is promised: they are there to be compared with, not to protect anybody."
            ]
        share = "" if bound is None else f"1 in {1 / bound:.4g}"
        return [text.format(bound=share, part=_part(settings)) for text in self.plain]


def _part(settings: Mapping[str, JSON]) -> str:
    """Say what every group must have."""
    said = []
    if settings.get("k") is not None:
        chosen = isinstance(settings["k"], str)
        said.append("as many people as the method chose" if chosen else f"at least {settings['k']} people")
    if settings.get("l") is not None:
        said.append(f"at least {settings['l']} different values, counted as the config says")
    if settings.get("t") is not None:
        said.append("values that are spread nearly as in the whole table")
    return " and ".join(said) or "what the model of the config asks for"
