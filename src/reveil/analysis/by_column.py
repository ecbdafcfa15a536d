"""Which part of a release a question is about, where each sensitive column has a table of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.errors import InputError
from reveil.releases.column_views import first_table, view_with
from reveil.tables.expressions import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression


def asked_part(release: Release, expression: str | Expression | None, about: Iterable[str] = ()) -> Release:
    """Return the release as a question sees it: the first table, or with the values of the one column asked about.

    Which value of one column goes with which of another is told nowhere: a question about both is refused.
    """
    if not release.seconds:
        return release
    parsed = parse(expression) if isinstance(expression, str) else expression
    named = {*about, *(() if parsed is None else parsed.columns())}
    asked = [second for second in release.seconds if named & set(second.parts)]
    known = [*release.columns, *(name for second in release.seconds for name in second.parts)]
    for name in sorted(named - set(known)):
        # The part that is asked would name its own columns only.
        listed = ", ".join(repr(told) for told in known)
        raise InputError(f"there is no column {name!r} in this release", hint=f"The columns are {listed}.")
    kept: dict[tuple[str, ...], Release] = vars(release).setdefault("_parts", {})
    if len(asked) > 1:
        one, other = (next(name for name in second.parts if name in named) for second in asked[:2])
        raise InputError(
            f"columns {one!r} and {other!r} have groups of their own: the release does not tell which values of the "
            "two go together",
            hint="Ask about each with quasi columns. (The publisher can make one value of them: together.)",
        )
    key = asked[0].parts if asked else ()
    if key not in kept:
        found = view_with(release, key[0]) if key else first_table(release)
        kept[key] = release if found is None else found
    return kept[key]
