"""What was found, in sentences for people: never without saying what the adversary was taken to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

KNOWS = {
    "nothing": "who could be in the tables",
    "presence": "who is in which release",
    "events": "who is in which release and whose value changed when",
    "ids": "which rows are the same person's",
}
TOLERANCE = 1e-9


def known_to(known: str, values: int = 0) -> str:
    """Say what an adversary knows, of a target so many sensitive ``values``."""
    if not values:
        return KNOWS.get(known, known)
    return f"who is in which release and {values} other sensitive value{'' if values == 1 else 's'} of their target"


def sentence(
    column: str, knows: str, persons: pl.DataFrame, summary: dict[str, Any], unread: Sequence[str] = ()
) -> str:
    """Say how many people's values can be read off or guessed, and by whom; ``unread`` are columns with such labels."""
    if unread:
        knows += f" and cannot read the labels of {', '.join(unread)}"
    certain = persons.filter(pl.col("exact") & (pl.col("belief") >= 1 - TOLERANCE))
    if certain.height:
        ways = certain.group_by("releases").len("n").sort("n", pl.col("releases").list.len(), descending=[True, False])
        most = ways["releases"][0].to_list()
        how = f"from release {most[0]} alone" if len(most) == 1 else f"by comparing {_releases(most)}"
        if ways.height > 1:
            how += f" ({ways['n'][0]:,} of them) or otherwise"
        text = f"{_people(certain.height)} {column} can be read off {how}, by somebody who knows {knows}"
        if summary["certain_and_right"] is not None:
            text += f"; {summary['certain_and_right']:,} of these are right"
        return text + "."
    bound = summary["bound"]
    if bound is not None and summary["above"]["bound"]:
        many = _people(summary["above"]["bound"])
        return f"{many} {column} can be guessed with more than {bound:.4g}, by somebody who knows {knows}."
    if not persons.height or not summary["highest_proven"]:
        return f"Nothing is proven about anybody's {column}, by somebody who knows {knows}."
    highest = f"the highest belief that is proven is {summary['highest_proven']:.4g}"
    promise = "" if bound is None else f", within the bound of {bound:.4g}"
    return f"Nobody's {column} can be read off by somebody who knows {knows}; {highest}{promise}."


def broken(limits: Sequence[dict[str, Any]]) -> list[str]:
    """Say which limits about people who are not told apart are broken, and how far."""
    found = []
    for limit in limits:
        if not limit["persons"]:
            continue
        many = f"{limit['persons']:,} person{'' if limit['persons'] == 1 else 's'}"
        where = f"release {limit['releases'][0]} alone" if len(limit["releases"]) == 1 else "a release alone"
        where = "the releases together" if limit["over"] == "series" else where
        if limit["about"] == "link" and limit["over"] == "release":
            found.append(
                f"the row of {many} can be found in {where} with a chance of up to {limit['worst']:.4g}, and "
                f"{limit['at_most']:.4g} is promised ({limit['says']})"
            )
        elif limit["about"] == "link":
            found.append(f"{where} tell {many} apart from all but too few others ({limit['says']})")
        else:
            found.append(f"{many} are found in {where} in a group that does not keep what is promised: {limit['says']}")
    return found


def _people(number: int) -> str:
    return "1 person's" if number == 1 else f"{number:,} persons'"


def _releases(numbers: list[int]) -> str:
    # Of many releases, only the last are named.
    return f"the releases {_and(numbers)}" if numbers else "early releases"


def _and(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
