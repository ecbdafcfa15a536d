"""Which points are worth a choice, and what each means in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.json_values import JSON
    from reveil.reporting.exploring.points import MarkedPoint, TriedPoint


def marked(points: Sequence[TriedPoint]) -> list[MarkedPoint]:
    """Mark the points than which no other has less risk for no more loss, or less loss for no more risk."""
    return [{**point, "frontier": not any(_beats(other, point) for other in points)} for point in points]


def _beats(one: TriedPoint, other: TriedPoint) -> bool:
    mine, theirs = _place(one), _place(other)
    return all(a <= b for a, b in zip(mine, theirs, strict=True)) and mine != theirs


def _place(point: TriedPoint) -> tuple[float, ...]:
    """Return what is compared: the highest and the mean belief, and the width of cells with rows that are missing."""
    risk, loss = point["risk"], point["loss"]
    unknown = float("inf")
    missing = (point["counterfeits"] + point["withheld"]) / max(point["rows"], 1)
    return tuple(
        unknown if value is None else float(value) for value in (risk["highest"], risk["mean"], loss["gcp"], missing)
    )


def point_in_words(point: MarkedPoint, points: Sequence[MarkedPoint]) -> str:
    """Say what a point means, and how it stands among the others."""
    risk, loss = point["risk"], point["loss"]
    said = []
    if risk["highest"] is not None:
        said.append(
            f"Attacks believe somebody's value with {_share(risk['highest'])} at most "
            f"and {_share(risk['mean'])} on average"
            + (
                ""
                if risk["prior"] is None
                else f"; guesses by a learnt prior are right for {risk['prior']:.0%} of the people"
            )
            + "."
        )
    if loss["gcp"] is not None:
        error = "" if loss["query_error"] is None else f", and a count is off by {loss['query_error']:.0%} on average"
        said.append(f"A cell is {loss['gcp']:.0%} of its column wide{error}.")
    costs = ((point["counterfeits"], "counterfeits"), (point["withheld"], "records withheld"))
    cost = [f"{many:,} {what}" for many, what in costs if many]
    said.append(f"It costs {' and '.join(cost)}." if cost else "No row is made up and none is held back.")
    front = [other for other in points if other["frontier"]]
    for value, all_values, best in (
        (risk["highest"], [other["risk"]["highest"] for other in front], "the least risk"),
        (loss["gcp"], [other["loss"]["gcp"] for other in front], "the narrowest cells"),
    ):
        if len(front) > 1 and value is not None and value == min(one for one in all_values if one is not None):
            said.append(f"Of all it has {best}.")
    return " ".join(said)


def _share(belief: float | None) -> str:
    if belief is None:
        return "–"
    return f"{belief:.0%}" if belief >= 0.1 else f"{belief:.1%}"


def named(settings: Mapping[str, JSON]) -> str:
    """Return settings as a reader writes them."""
    said = ((key, str(value).lower() if isinstance(value, bool) else value) for key, value in settings.items())
    return ", ".join(f"{key} = {value}" for key, value in said if value is not None) or "as it is"
