"""The demo as a page, for whoever answers for the hospital's data: one file, no network, no raw value."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from reveil.cli import demo_stories as stories
from reveil.cli.demo_words import figures, price
from reveil.releases.files import Kept, write_file
from reveil.reporting import charts
from reveil.reporting.document import document
from reveil.reporting.marks import figure, folded, listed, paragraph

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.cli.demo_stories import Outcome

_QUESTIONS = (
    ("People come, go, return, and their values change", "tau-safety"),
    ("Anybody may ask for any part of the table, again and again", "refinement"),
    ("Values change and the question is whether somebody ever had one", "global"),
    ("The same people, other columns for other recipients", "worlds"),
)

_MEANINGS = (
    "Read off: in every world that agrees with all the files and with what the attacker knows, the patient has it.",
    "Highest belief: the largest share of such worlds in which a patient has one diagnosis, over all patients.",
    "A cell covers: how much of its column's range a published cell leaves open, on average. Smaller is better.",
    "Counterfeit: a made-up row that keeps a group's diagnoses as they were when somebody left; manifests count them.",
    "Rows not asked for: people outside the extract, published once more as last told, so that nobody is singled out.",
)


def write_page(path: Path, told: Mapping[str, Outcome]) -> None:
    """Write the page."""
    write_file(path, _page(told).encode(), Kept())


def _page(told: Mapping[str, Outcome]) -> str:
    naive, safe = told["naive"], told["tau-safety"]
    parts = [
        ("happened", "What happens when every file is safe alone", _happened(told)),
        ("reveil", "The same year with Reveil", _with_reveil(told)),
        ("files", "What the files look like", _files(naive, safe)),
        ("which", "Which guarantee is for whom", _which(told)),
        ("words", "Words", _words()),
    ]
    return document(
        title="Reveil: a year of extracts, attacked",
        kicker="Reveil · demonstration with a made-up hospital",
        heading="A year of monthly extracts, and somebody who holds all of them",
        lead=f"""<p class="lead">
{naive.certain:,} of {naive.people:,} patients lose their secret though every single file
is {stories.K}-anonymous and {stories.L}-diverse. With Reveil: {safe.certain:,}.</p>""",
        parts=parts,
        first="",
        footer="""<p>All patients are made up. Every number on this page was computed from the files beside it, which
the attack read as anybody could; what it knows of people is what others may know of them.</p>""",
    )


def _happened(told: Mapping[str, Outcome]) -> str:
    naive, apart = told["naive"], told["apart"]
    alone = naive.summary["baseline"]["last_release"]["certain"]
    held = dict(naive.held)
    return "\n".join(
        [
            paragraph(
                f"A hospital publishes its table every month, {stories.PATIENTS:,} patients at a time, each file as "
                f"common tools make it: everybody looks like at least {stories.K - 1} others, and every "
                f"group shows at least {stories.L} different diagnoses. The last file alone gives away {alone:,} "
                "patients. But people stay while the groups around them change: whoever holds two files keeps only the "
                "diagnoses that fit both."
            ),
            figure(
                "Patients whose diagnosis is certain, by the number of monthly files that somebody holds",
                charts.lines(
                    "Diagnoses that can be read off",
                    list(held),
                    {"each month by itself": list(held.values())},
                    x_label="files held",
                    y_label="patients",
                ),
            ),
            paragraph(
                f"{naive.summary['certain_and_right']:,} of these {naive.certain:,} conclusions are right. The same "
                f"happens without any passing of time: January for four recipients, with other columns for each, gives "
                f"away {apart.certain:,} of {apart.people:,}."
            ),
        ]
    )


def _with_reveil(told: Mapping[str, Outcome]) -> str:
    shown = [story for story in stories.STORIES if story.name in told]
    head = ("way to publish", "files", "read off", "highest belief", "bound", "a cell covers", "the price")
    rows = "".join(
        f'<tr><th scope="row">{escape(_unbroken(story.title))}</th>'
        + "".join(f'<td class="n">{escape(cell)}</td>' for cell in figures(story, told[story.name]))
        + f"<td>{escape(price(told[story.name]))}</td></tr>"
        for story in shown
    )
    heads = "".join(f'<th scope="col"{"" if name in (head[0], head[-1]) else " class=n"}>{name}</th>' for name in head)
    caption = "The same attacks, with all the files of a series in hand"
    table = (
        f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0"><table><caption>{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    return "\n".join(
        [
            paragraph(
                "Reveil remembers what each file has told, and chooses the next one so that a bound on all of them "
                "together holds. Then it attacks its own files."
            ),
            table,
            figure(
                "Share of the patients whose diagnosis is certain",
                charts.bars(
                    "Share of the patients whose diagnosis can be read off",
                    [story.name for story in shown],
                    [told[story.name].certain / told[story.name].people for story in shown],
                    y_label="share of patients",
                ),
            ),
            paragraph(
                "Naive and apart are the files that every tool would make. m-invariance is the older rule that this "
                "field knows; it does not cover people who return or whose diagnosis changes, and the attack finds "
                "them. Where the bound says none, the guarantee promises groups (at least so many people, so many "
                "different diagnoses in whatever all files together tell apart) and no number for a belief. Nothing is "
                "free: cells are wider than in the naive files, and the last column says what else was paid."
            ),
        ]
    )


def _unbroken(title: str) -> str:
    """Keep "l = 2" on one line."""
    return title.replace(" = ", "\u00a0=\u00a0")


def _files(naive: Outcome, safe: Outcome) -> str:
    return "\n".join(
        [
            paragraph("Two rows of the last file of each kind. The group numbers are drawn anew in each file."),
            _sample("Each month by itself", naive),
            _sample("With tau-safety", safe),
        ]
    )


def _sample(caption: str, own: Outcome) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in own.header)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in own.sample)
    return (
        f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0"><table><caption>{caption}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _which(told: Mapping[str, Outcome]) -> str:
    parts: list[str] = []
    for question, name in _QUESTIONS:
        inside = paragraph(told[name].claim) + listed(told[name].assumes)
        parts.append(
            f"<h3>{escape(question)}: {escape(name)}</h3>" + folded("What it promises, and on what terms", inside)
        )
    return "\n".join(parts)


def _words() -> str:
    return listed(_MEANINGS)
