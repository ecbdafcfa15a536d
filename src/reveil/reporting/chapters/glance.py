"""At a glance: a few numbers shown large, and whether the series kept its word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from reveil.reporting.chapters.risk import KNOWS
from reveil.reporting.parts import Card, Chapter, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.reporting.parts import Parts


@dataclass(frozen=True)
class Verdict:
    """Whether the series kept its word, where it was attacked."""

    kind: Literal["good", "bad", ""]
    word: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class GlanceChapter(Chapter):
    """The chapter."""

    key: ClassVar[str] = "glance"
    title: ClassVar[str] = "At a glance"
    template: ClassVar[str] = "report/glance.html.j2"
    cards: tuple[Card, ...]
    verdict: Verdict | None


def glance(parts: Parts) -> GlanceChapter:
    """Show the series as a whole and its last release."""
    content = parts.content
    last = len(content["releases"]) - 1
    many = "release" if content["series"]["releases"] == 1 else "releases"
    cards = [parts.card(many, "series.releases"), parts.card("rows published in all", "series.rows")]
    newest = content["releases"][last]
    if newest["persons"] is not None:
        cards.append(parts.card("people in the last table", f"releases.{last}.persons"))
    if newest["gcp"] is not None:
        cards.append(
            parts.card("of a column's range, a cell of the last release covers", f"releases.{last}.gcp", "share")
        )
    cards += _price(parts, last)
    if content["guarantee"]["bound"] is not None:
        cards.append(parts.card("the bound: no value may be believed by more", "guarantee.bound", "number"))
    if content["risk"] is not None:
        knows = KNOWS.get(content["risk"]["known"], content["risk"]["known"])
        label = f"the highest belief that is proven, of somebody who knows {knows}"
        cards.append(parts.card(label, "risk.highest_proven", "number"))
    return GlanceChapter(tuple(cards), _verdict(parts))


def _price(parts: Parts, last: int) -> Iterator[Card]:
    """Show what the last release costs beside its width: what is zero is not shown."""
    column = at(parts.content, f"releases.{last}.made_up_in")
    made_up = "of its rows" if column is None else f"of its values of {column} (the most of any column)"
    for label, key, how in (
        ("groups in the last release", "groups", "count"),
        (f"{made_up} are counterfeits", "made_up", "share"),
        ("of its records were withheld because of earlier releases", "left_out.withheld", "share"),
        ("of its records were suppressed", "left_out.suppressed", "share"),
        ("its delta", "delta", "number"),
    ):
        path = f"releases.{last}.{key}"
        if at(parts.content, path):
            yield parts.card(label, path, how)
    budget = parts.content["budget"]
    if budget is not None and budget["releases_left"] is not None:
        yield parts.card("releases for which everybody's budget lasts", "budget.releases_left")


def _verdict(parts: Parts) -> Verdict | None:
    risk = parts.content["risk"]
    if risk is None:
        return None
    kind: Literal["good", "bad", ""] = ""
    kept = any(limit["held"] and limit["over"] == "release" for limit in risk["limits"])
    if not risk["held"]:
        kind, word = "bad", "Broken: the attacks found more than this series promises."
    elif risk["unread"]:
        # What nobody can read excludes nobody, and proves nothing either.
        word = "No attack found more than is promised, but some labels could not be read."
    elif risk["bound"] is None:
        alone = "Each release by itself keeps what it promises. " if kept else ""
        word = f"{alone}No bound is promised for the releases together."
    elif risk["releases"] < parts.content["series"]["releases"]:
        # Green is for the whole series: what was not attacked may tell more.
        word = "No attack found more than this series promises, but not all releases could be attacked."
    elif any(level["promised"] and level["sample"] is not None for level in risk["levels"]):
        word = "No attack found more than this series promises, but only some of the people were attacked."
    else:
        kind, word = "good", "Held: no attack found more than this series promises."
    more = [f"{found[:1].upper()}{found[1:]}." for found in risk["broken"]]
    return Verdict(kind, word, (*_worst(parts), *more))


def _worst(parts: Parts) -> tuple[str, ...]:
    """Say who finds out most, and what those find out whom the promise is about where they are others."""
    risk = parts.content["risk"]
    worst = risk["levels"][risk["worst"]]
    said, sample = worst["sentence"], worst["sample"]
    if sample is not None:  # what a part of the people tells of everybody
        low, high = sample["certain"]["low"], sample["certain"]["high"]
        said += (
            f" ({sample['attacked']:,} of {sample['of']:,} people were attacked: of everybody {low:,.0f} to "
            f"{high:,.0f} can be read off, with 95 %.)"
        )
    if worst["promised"]:
        return (said,)
    promised = next((level for level in risk["levels"] if level["promised"]), None)
    figures = ("certain", "highest_proven", "sample")
    if promised is not None and sample is None and all(worst[name] == promised[name] for name in figures):
        return risk["sentence"], f"Somebody who knows no more than {worst['knows']} finds out as much."
    meant = "this series promises nothing against them" if risk["bound"] is None else "the promise is not about them"
    return f"The worst first ({meant}): {said}", f"At the level of the promise: {risk['sentence']}"
