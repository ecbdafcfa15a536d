"""The demo as a page, for whoever answers for the hospital's data: one file, no network, no raw value.

Here stands what is shown; how is said in the templates ``demo/*.html.j2`` of :mod:`reveil.reporting`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.cli import demo_stories as stories
from reveil.cli.demo_words import figures, price
from reveil.releases.files import KeptFiles, write_file
from reveil.reporting import charts
from reveil.reporting.page import Page
from reveil.reporting.parts import Chapter
from reveil.reporting.templating import fill

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.cli.demo_stories import Outcome
    from reveil.reporting.charts import Chart

_QUESTIONS = (
    ("People come, go, return, and their values change", "tau-safety"),
    ("Anybody may ask for any part of the table, again and again", "refinement"),
    ("Values change and the question is whether somebody ever had one", "global"),
    ("The same people, other columns for other recipients", "worlds"),
)


@dataclass(frozen=True)
class _DemoPage(Page):
    """The page: how many lose their secret in files that are each k-anonymous and l-diverse, and with Reveil."""

    k: int
    l: int
    people: int
    certain: int
    certain_with_reveil: int


@dataclass(frozen=True)
class _Happened(Chapter):
    """What the files of common tools give away: one alone, all together, and those of four recipients."""

    key: ClassVar[str] = "happened"
    title: ClassVar[str] = "What happens when every file is safe alone"
    template: ClassVar[str] = "demo/happened.html.j2"
    patients: int
    k: int
    l: int
    last_alone: int
    chart: Chart
    certain: int
    right: int
    certain_apart: int
    people_apart: int


@dataclass(frozen=True)
class _Way:
    """A way to publish: what the attacks found, and what it cost."""

    title: str
    figures: tuple[str, ...]
    price: str


@dataclass(frozen=True)
class _WithReveil(Chapter):
    """All ways to publish beside each other."""

    key: ClassVar[str] = "reveil"
    title: ClassVar[str] = "The same year with Reveil"
    template: ClassVar[str] = "demo/with_reveil.html.j2"
    ways: tuple[_Way, ...]
    chart: Chart


@dataclass(frozen=True)
class _Sample:
    """A few published rows."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Files(Chapter):
    """What the files look like."""

    key: ClassVar[str] = "files"
    title: ClassVar[str] = "What the files look like"
    template: ClassVar[str] = "demo/files.html.j2"
    samples: tuple[_Sample, ...]


@dataclass(frozen=True)
class _Answer:
    """Which guarantee answers a question, and on what terms."""

    question: str
    name: str
    claim: str
    assumes: tuple[str, ...]


@dataclass(frozen=True)
class _Which(Chapter):
    """Which guarantee is for whom."""

    key: ClassVar[str] = "which"
    title: ClassVar[str] = "Which guarantee is for whom"
    template: ClassVar[str] = "demo/which.html.j2"
    answers: tuple[_Answer, ...]


@dataclass(frozen=True)
class _Vocabulary(Chapter):
    """What the words of the page mean."""

    key: ClassVar[str] = "words"
    title: ClassVar[str] = "Words"
    template: ClassVar[str] = "demo/words.html.j2"


def write_page(path: Path, told: Mapping[str, Outcome]) -> None:
    """Write the page."""
    write_file(path, render(told).encode(), KeptFiles())


def render(told: Mapping[str, Outcome]) -> str:
    """Draw what came of the stories."""
    naive, safe = told["naive"], told["tau-safety"]
    page = _DemoPage(
        title="Reveil: a year of extracts, attacked",
        heading="A year of monthly extracts, and somebody who holds all of them",
        chapters=(_happened(told), _with_reveil(told), _files(naive, safe), _which(told), _Vocabulary()),
        k=stories.K,
        l=stories.L,
        people=naive.people,
        certain=naive.certain,
        certain_with_reveil=safe.certain,
    )
    return fill("demo/page.html.j2", page=page)


def _happened(told: Mapping[str, Outcome]) -> _Happened:
    naive, apart = told["naive"], told["apart"]
    held = dict(naive.held)
    return _Happened(
        patients=stories.PATIENTS,
        k=stories.K,
        l=stories.L,
        last_alone=naive.summary["baseline"]["last_release"]["certain"],
        chart=charts.lines(
            "Diagnoses that can be read off",
            list(held),
            {"each month by itself": list(held.values())},
            x_label="files held",
            y_label="patients",
        ),
        certain=naive.certain,
        right=naive.summary["certain_and_right"],
        certain_apart=apart.certain,
        people_apart=apart.people,
    )


def _with_reveil(told: Mapping[str, Outcome]) -> _WithReveil:
    shown = [story for story in stories.STORIES if story.name in told]
    ways = (_Way(story.title, tuple(figures(story, told[story.name])), price(told[story.name])) for story in shown)
    chart = charts.bars(
        "Share of the patients whose diagnosis can be read off",
        [story.name for story in shown],
        [told[story.name].certain / told[story.name].people for story in shown],
        y_label="share of patients",
    )
    return _WithReveil(tuple(ways), chart)


def _files(naive: Outcome, safe: Outcome) -> _Files:
    return _Files((_sample("Each month by itself", naive), _sample("With tau-safety", safe)))


def _sample(caption: str, outcome: Outcome) -> _Sample:
    return _Sample(caption, tuple(outcome.header), tuple(tuple(row) for row in outcome.sample))


def _which(told: Mapping[str, Outcome]) -> _Which:
    return _Which(
        tuple(_Answer(question, name, told[name].claim, tuple(told[name].assumes)) for question, name in _QUESTIONS)
    )
