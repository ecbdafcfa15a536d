"""The page: one HTML file that needs nothing else, made of the report's JSON and of nothing besides.

No script, no network (the page forbids both itself), no raw value. Landmarks, headings in order, tables with captions
and scopes, charts with a title and a description; light and dark as the reader's screen asks; and made to be printed.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from reveil.reporting import chapters, charts, known_values
from reveil.reporting.document import document
from reveil.reporting.marks import Column, Marks, figure, folded, listed, paragraph, terms
from reveil.reporting.words import SECTIONS

if TYPE_CHECKING:
    from reveil.reporting.chapters import Part


def render(content: dict[str, Any]) -> str:
    """Draw a report."""
    marks = Marks(content)
    measured = (
        chapters.risk,
        known_values.chapter,
        chapters.groups,
        chapters.utility,
        chapters.comparing,
        chapters.extras,
    )
    makers = (_glance, _releases, _promise, *measured, chapters.budget, chapters.auto, _settings)
    parts = [part for maker in makers if (part := maker(marks)) is not None]
    name = content["series"]["name"] or "A series"
    return document(
        title=f"{name}: report on the releases",
        kicker=f"Reveil · report of {marks.value('created', 'time')}",
        heading=name,
        lead=_lead(content),
        parts=parts,
        first=_missing(marks),
        footer=f"""<p>Written by Reveil {marks.value("reveil", "text")}; the same numbers are in the JSON file beside
this page (format {marks.value("format")}). For the owner's eyes: numbers of people, and what is measured against the
snapshots, are not published by the releases themselves. No value of anybody is on this page.</p>""",
    )


def _lead(content: dict[str, Any]) -> str:
    claim = content["guarantee"]["claim"]
    return "" if claim is None else f'<p class="lead">{escape(claim)}</p>'


def _missing(marks: Marks) -> str:
    """Name what could not be found, and what is to be said besides."""
    rows = [f"missing.{n}" for n in range(len(marks.content["missing"]))]
    columns = [Column("release", "release"), Column("file", "file", "text"), Column("why", "why", "text")]
    found = marks.table("Releases whose files are not at hand", columns, rows) if rows else ""
    notes = "".join(paragraph(note) for note in marks.content["notes"])
    return f'<aside class="word" aria-label="What is missing">{notes}{found}</aside>' if rows or notes else ""


def _glance(marks: Marks) -> Part:
    content = marks.content
    last = len(content["releases"]) - 1
    cards = [marks.card("releases", "series.releases"), marks.card("rows published in all", "series.rows")]
    own = content["releases"][last]
    if own["persons"] is not None:
        cards.append(marks.card("people in the last table", f"releases.{last}.persons"))
    if own["gcp"] is not None:
        cards.append(
            marks.card("of a column's range, a cell of the last release covers", f"releases.{last}.gcp", "share")
        )
    if content["guarantee"]["bound"] is not None:
        cards.append(marks.card("the bound: no value may be believed by more", "guarantee.bound", "number"))
    if content["risk"] is not None:
        cards.append(marks.card("the highest belief that is proven", "risk.highest_proven", "number"))
    return "glance", "At a glance", f'<dl class="cards">{"".join(cards)}</dl>{_verdict(marks)}'


def _verdict(marks: Marks) -> str:
    """Say whether the series kept its word, where it was attacked."""
    risk = marks.content["risk"]
    if risk is None:
        return ""
    kept = any(own["held"] and own["over"] == "release" for own in risk["limits"])
    if not risk["held"]:
        kind, word = "bad", "Broken: the attacks found more than this series promises."
    elif risk["unread"]:
        # What nobody can read excludes nobody, and proves nothing either.
        kind, word = "", "No attack found more than is promised, but some labels could not be read."
    elif risk["bound"] is None:
        alone = "Each release by itself keeps what it promises. " if kept else ""
        kind, word = "", f"{alone}No bound is promised for the releases together."
    elif risk["releases"] < marks.content["series"]["releases"]:
        # Green is for the whole series: what was not attacked may tell more.
        kind, word = "", "No attack found more than this series promises, but not all releases could be attacked."
    else:
        kind, word = "good", "Held: no attack found more than this series promises."
    more = [f"{found[:1].upper()}{found[1:]}." for found in risk["broken"]]
    if risk["knows_more"] is not None:
        more.append(f"Somebody who knows more finds out more: {risk['knows_more']['sentence']}")
    said = "".join(map(paragraph, [risk["sentence"], *more]))
    return f'<div class="word {kind}"><p><strong>{word}</strong></p>{said}</div>'


def _releases(marks: Marks) -> Part:
    drawn = ""
    came, went, moved, back = (marks.values(key)[1:] for key in ("inserted", "deleted", "updated", "returned"))
    if any(value is not None for value in came):
        picture = charts.timeline(
            "People who came, went and changed, release by release",
            marks.labels[1:],
            {"new": came, "back again": back},
            {"gone": went},
            {"changed": moved},
            y_label="people",
            x_label="release",
        )
        drawn = figure("Who came, who went, and whose data changed since the release before.", picture)
    columns = [Column("release", "release"), Column("created", "created", "time"), Column("state", "state", "text")]
    columns += [Column("people", "persons"), Column("new", "inserted"), Column("gone", "deleted")]
    columns += [Column("changed", "updated"), Column("back", "returned"), Column("rows", "rows")]
    columns += [Column("groups", "groups"), Column("file", "file", "text")]
    if not marks.content["series"]["remembered"]:
        columns = [columns[0], columns[1], *columns[-3:]]
    return "releases", "The releases", drawn + marks.table("All releases, in order", columns, marks.rows)


def _promise(marks: Marks) -> Part:
    own = marks.content["guarantee"]
    parts = [paragraph(text) for text in own["plain"]]
    if own["claim"] is not None:
        parts.append(f"<blockquote>{escape(own['claim'])}</blockquote>")
    if own["grade_means"] is not None:
        parts.append(paragraph(own["grade_means"], "quiet"))
    if own["plain_limits"]:
        parts.append("<h3>What it does not protect against</h3>" + listed(own["plain_limits"]))
    elif own["sections"].get("does_not_protect"):  # a guarantee from elsewhere
        parts.append(
            "<h3>What it does not protect against</h3>" + paragraph(_sentence(own["sections"]["does_not_protect"]))
        )
    if own["assumes"]:
        parts.append("<h3>What it assumes</h3>" + listed(own["assumes"]))
    parts.append(folded(f"In the papers' words: {own['kind']}", _in_full(own["sections"])))
    parts += [
        folded(f"The model of each group: {model['name']}", _in_full(model["sections"]))
        for model in own["models"]
        if own["grouped"]
    ]
    return "promise", "What is promised", "".join(parts)


def _in_full(sections: dict[str, str]) -> str:
    return terms((SECTIONS[key], _sentence(text)) for key, text in sections.items())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _settings(marks: Marks) -> Part:
    content = marks.content
    settings = [f"configuration.{n}" for n in range(len(content["configuration"]))]
    columns = [Column("setting", "key", "text"), Column("value", "value", "text")]
    digests = [
        Column("release", "release"),
        Column("table", "digest", "text"),
        Column("manifest", "manifest_digest", "text"),
    ]
    table = marks.table("Digests of the files, as the series remembers them", digests, marks.rows)
    levels = [
        f"releases.{n}.achieved.{m}" for n, own in enumerate(content["releases"]) for m in range(len(own["achieved"]))
    ]
    reached = [Column("level", "name", "text"), Column("reached", "value", "number")]
    last = f"releases.{len(content['releases']) - 1}."
    inside = (
        '<div class="mono">'
        + marks.table("The settings of this series; the seed is not shown", columns, settings)
        + "</div>"
    )
    inside += marks.table(
        "What every group of the last release reaches", reached, [p for p in levels if p.startswith(last)]
    )
    return "settings", "Settings and digests", inside + folded("Digests", f'<div class="mono">{table}</div>')
