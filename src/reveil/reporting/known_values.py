"""What somebody gains who knows a sensitive value of their target, where a row has several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.adversary import audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.core.json_values import JSON
    from reveil.reporting.holdings import Holdings

KNOWN = 1


def knowing(about: Holdings, *, stage: Callable[[str], None]) -> dict[str, JSON] | None:
    """Attack the last release with one known value; None where a row has one sensitive value, or nobody is known."""
    able = [held for held in about.at_hand if held.truth is not None]
    if len(about.schema.sensitive) < 2 or not able:
        return None
    last = able[-1]
    stage("attacking with a known value")
    source = last.source if last.adopted else last.release
    found = audit(source, about.schema, truth=last.truth, known="values", values_known=KNOWN, attacks="values")
    columns = [{"name": name, **own} for name, own in found.attacks["values"].items()]
    keys = ("name", "rows_found", "certain", "mean", "mean_without")
    return {
        "release": last.number,
        "values_known": KNOWN,
        "persons": found.summary["persons"],
        "certain": found.summary["certain"],
        "columns": [{key: own.get(key) for key in keys} for own in columns],
    }
