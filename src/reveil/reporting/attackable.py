"""The releases of a report that can be attacked: read once, for everybody who attacks them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from reveil.adversary.gathering import Gathering
from reveil.reporting.placing import placements_of_all

if TYPE_CHECKING:
    import polars as pl

    from reveil.reporting.holdings import Held, Holdings


@dataclass(frozen=True)
class Attackable:
    """The releases of which the snapshots are given."""

    about: Holdings
    held: tuple[Held, ...]

    @classmethod
    def of(cls, about: Holdings) -> Attackable | None:
        """Return what can be attacked; None without snapshots, or where no column is sensitive."""
        held = tuple(one for one in about.at_hand if one.truth is not None)
        return cls(about, held) if held and about.schema.sensitive else None

    @property
    def sources(self) -> list[object]:
        """The releases: another tool's table is read with the types of the snapshots; one of Reveil's has been read."""
        return [held.source if held.adopted else held.release for held in self.held]

    @property
    def truth(self) -> list[pl.DataFrame]:
        """The snapshots."""
        return [held.truth for held in self.held if held.truth is not None]

    @cached_property
    def gathering(self) -> Gathering:
        """Releases and snapshots as the attacks read them."""
        about = self.about
        return Gathering.prepared(self.sources, about.schema, None, self.truth, guarantee=about.guarantee)

    @cached_property
    def placements(self) -> list[pl.DataFrame] | None:
        """Whose record is in which row of each; None where the vault did not keep it of all."""
        return placements_of_all(self.about, self.held)
