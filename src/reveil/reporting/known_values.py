"""What somebody gains who knows a sensitive value of their target, where a row has several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.adversary import audit
from reveil.adversary.known_values import check_known
from reveil.adversary.sentences import known_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.adversary import Audit
    from reveil.core.json_values import JSON
    from reveil.reporting.holdings import Holdings


def knowing(about: Holdings, many: int, *, stage: Callable[[str], None]) -> tuple[dict[str, JSON] | None, Audit | None]:
    """Attack the last release with ``many`` known values; None where a row has one of them, or nobody is known."""
    if many > 1 or len(about.schema.sensitive) > 1:
        check_known(about.schema, many)
    able = [held for held in about.at_hand if held.truth is not None]
    if len(about.schema.sensitive) < 2 or not able:
        return None, None
    last = able[-1]
    stage("attacking with a known value")
    source = last.source if last.adopted else last.release
    found = audit(
        source, about.schema, truth=last.truth, known="values", values_known=many, attacks="values", table_risks=False
    )
    columns = [{"name": name, **column} for name, column in found.attacks["values"].items()]
    keys = ("name", "rows_found", "certain", "mean", "mean_without")
    content: dict[str, JSON] = {
        "attacker": f"somebody who knows {known_to(found.known, many)}, and everybody's quasi values",
        "release": last.number,
        "values_known": many,
        "persons": found.summary["persons"],
        "certain": found.summary["certain"],
        "columns": [{key: column.get(key) for key in keys} for column in columns],
    }
    return content, found
