"""At a glance: a few numbers shown large, and whether the series kept its word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from reveil.reporting.parts import Card, Chapter

if TYPE_CHECKING:
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
    cards = [parts.card("releases", "series.releases"), parts.card("rows published in all", "series.rows")]
    newest = content["releases"][last]
    if newest["persons"] is not None:
        cards.append(parts.card("people in the last table", f"releases.{last}.persons"))
    if newest["gcp"] is not None:
        cards.append(
            parts.card("of a column's range, a cell of the last release covers", f"releases.{last}.gcp", "share")
        )
    if content["guarantee"]["bound"] is not None:
        cards.append(parts.card("the bound: no value may be believed by more", "guarantee.bound", "number"))
    if content["risk"] is not None:
        cards.append(parts.card("the highest belief that is proven", "risk.highest_proven", "number"))
    return GlanceChapter(tuple(cards), _verdict(parts))


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
    else:
        kind, word = "good", "Held: no attack found more than this series promises."
    more = [f"{found[:1].upper()}{found[1:]}." for found in risk["broken"]]
    if risk["knows_more"] is not None:
        more.append(f"Somebody who knows more finds out more: {risk['knows_more']['sentence']}")
    return Verdict(kind, word, (risk["sentence"], *more))
