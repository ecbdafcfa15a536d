"""What an index over a table can do: cut it for any threshold, follow its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from reveil.models.base import Model
    from reveil.models.statistics import Partition
    from reveil.releases.answers import Count
    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression


class Index(Protocol):
    """An index of the owner's: it holds the raw table, and only what :meth:`cut` returns is meant for others."""

    def __len__(self) -> int:
        """Return how many records it holds."""
        ...

    def cut(self, model: int | Model, *, seed: int | None = None) -> Release:
        """Publish the table so that every group satisfies a model; a number is a k."""
        ...

    def groups(self, model: int | Model) -> Partition:
        """Return the groups that :meth:`cut` would publish, as places in the table."""
        ...

    def insert(self, frame: object) -> None:
        """Add records."""
        ...

    def delete(self, persons: Iterable[object] | pl.Series) -> None:
        """Take the records of some persons out."""
        ...

    def renew(self) -> None:
        """Merge the present blocks into a new tree."""
        ...

    def count(self, expression: str | Expression) -> Count:
        """Count the records that satisfy an expression, exactly."""
        ...

    def churn(self) -> float:
        """Return the share of the records of both of the last two cuts whose box changed, though they did not."""
        ...
