"""What a release rests on because of its columns, whatever guarantee it is under, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.releases.manifest_parts import PublishedColumn

_APART = "sensitive/"  # as manifests name the tables of single columns
RELATED = "The value of one person tells nothing of another's: people who belong together are taken one by one."
OF_RELATIVES = (
    "What the values of a household tell of one of its members, by the rows that are left in a group or because "
    "relatives have the same."
)


def of_several(columns: Iterable[PublishedColumn]) -> tuple[str, ...]:
    """Return what a release with several sensitive columns in a row rests on."""
    # In tables of their own, values stand beside no row by which they could be found.
    many = sum(column.role == "sensitive" and not (column.table or "").startswith(_APART) for column in columns)
    if many < 2:
        return ()
    words = (
        f"Nobody knows a sensitive value of whom they look for: each of the {many} sensitive columns is protected by "
        "itself, and whoever knows one may find the row by it and read the others."
    )
    return (words,)
