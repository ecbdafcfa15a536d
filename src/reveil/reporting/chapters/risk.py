"""What can be found out: how strongly values could be believed as the releases came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from reveil.reporting import charts
from reveil.reporting.parts import Chapter, Number, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.charts import Chart
    from reveil.reporting.parts import Parts

ABOUT = {
    "value": "a value at some time",
    "ever": "a value at any time",
    "range": "a range of values",
    "guess": "a guess",
    "given": "a value, by more than a promise takes people to know",
}
KNOWS = {
    "nothing": "who could be in the table, and their quasi values",
    "presence": "who is in which release, and their quasi values",
    "events": "who is in which release, their quasi values, and whose value changed when",
    "ids": "which rows are the same person's",
    "values": "who is in which release, their quasi values, and other sensitive values of whom they look for",
}
HELD = "releases that the adversary holds"


@dataclass(frozen=True)
class ByAttack:
    """What each attack on a column believed: ``about`` what, and whose answer is ``not_bounded`` by the guarantee."""

    highest: Chart
    median: Chart
    table: PageTable
    about: tuple[tuple[str, str], ...]
    not_bounded: tuple[str, ...]


@dataclass(frozen=True)
class AttackedColumn:
    """What was believed of one column; ``not_run`` has attacks and why they were not made."""

    name: str
    belief: Chart
    by_attack: ByAttack | None
    found_nothing: tuple[str, ...]
    not_run: tuple[tuple[str, str], ...]
    linkage: Number | None


@dataclass(frozen=True)
class Attacked:
    """What the attacks know, whom they looked for and what they found; ``partly``: not on all releases."""

    knows: str
    many: int
    releases: Number
    published: Number
    persons: Number
    certain: Number
    right: Number | None
    above_half: Number
    partly: bool
    levels: PageTable
    not_tried: tuple[tuple[str, str], ...]
    sample: str | None
    columns: tuple[AttackedColumn, ...]


@dataclass(frozen=True)
class RiskChapter(Chapter):
    """The chapter; nothing was attacked where nobody was known."""

    key: ClassVar[str] = "risk"
    title: ClassVar[str] = "What can be found out"
    template: ClassVar[str] = "report/risk.html.j2"
    attacked: Attacked | None


def risk(parts: Parts) -> RiskChapter:
    """Show what the attacks found."""
    found = parts.content["risk"]
    if found is None:
        return RiskChapter(None)
    # Where nothing is certain, nothing certain is right either; without the truth nobody knows.
    right = found["certain"] and found["certain_and_right"] is not None
    columns = (
        _column(parts, f"risk.columns.{place}", column, found["bound"]) for place, column in enumerate(found["columns"])
    )
    attacked = Attacked(
        knows=KNOWS.get(found["known"], found["known"]),
        many=found["releases"],
        releases=parts.number("risk.releases"),
        published=parts.number("series.releases"),
        persons=parts.number("risk.persons"),
        certain=parts.number("risk.certain"),
        right=parts.number("risk.certain_and_right") if right else None,
        above_half=parts.number("risk.above_half"),
        partly=found["releases"] < parts.content["series"]["releases"],
        levels=_levels(parts),
        not_tried=tuple((level["knows"], level["why"]) for level in found["levels_not_tried"]),
        sample=None if found["sample"] is None else f"{found['sample']['attacked']:,}",
        columns=tuple(columns),
    )
    return RiskChapter(attacked)


def _levels(parts: Parts) -> PageTable:
    """Lay out what everybody finds out, by what they know."""
    levels = parts.content["risk"]["levels"]
    columns = [
        TableColumn("somebody who knows", "knows", "text"),
        TableColumn("read off", "certain"),
        TableColumn("right", "certain_and_right"),
        TableColumn("above one half", "above_half"),
        TableColumn("highest that is proven", "highest_proven", "number"),
        TableColumn("people", "persons"),
        TableColumn("the promise is about them", "promised", "answer"),
    ]
    if any(level["sample"] is not None for level in levels):
        columns.append(TableColumn("attacked", "sample.attacked"))
        columns.append(TableColumn("of everybody, at least", "sample.certain.low", "whole"))
        columns.append(TableColumn("at most", "sample.certain.high", "whole"))
    rows = [f"risk.levels.{n}" for n in range(len(levels))]
    return parts.table("What everybody finds out from all releases together, by what they know", columns, rows)


def _column(parts: Parts, path: str, column: dict[str, Any], bound: float | None) -> AttackedColumn:
    """Draw what was believed of one column as the releases came out."""
    places = [step["releases"] for step in column["steps"]]
    known = {
        "highest that is proven": [step["highest_proven"] for step in column["steps"]],
        "the newest release alone": [step["last_release"] for step in column["steps"]],
        "the table as a whole alone": [step["table"] for step in column["steps"]],
    }
    title = f"Belief in somebody's {column['name']}"
    return AttackedColumn(
        name=column["name"],
        belief=charts.lines(title, places, known, bound=bound, x_label=HELD, y_label="belief"),
        by_attack=_by_attack(parts, path, column["attacks"], places, bound) if column["attacks"] else None,
        found_nothing=tuple(column["found_nothing"]),
        not_run=tuple((attack["name"], attack["why"]) for attack in column["not_run"]),
        linkage=None if column["linkage"] is None else parts.number(f"{path}.linkage", "number"),
    )


def _by_attack(
    parts: Parts, path: str, attacks: list[dict[str, Any]], places: list[int], bound: float | None
) -> ByAttack:
    """Draw what each attack believed, and lay out what it believes with all releases in hand."""
    names = [attack["name"] + ("" if attack["judged"] else " (not bounded)") for attack in attacks]
    highest, median = (
        charts.lines(
            f"{words}, attack by attack",
            places,
            {name: attack[key] for name, attack in zip(names, attacks, strict=True)},
            bound=bound,
            x_label=HELD,
            y_label="belief",
        )
        for key, words in (("highest", "The highest belief"), ("median", "The median belief over everybody"))
    )
    last = len(places) - 1
    columns = [
        TableColumn("attack", "name", "text"),
        TableColumn("about", "about", "text"),
        TableColumn("by", "attacker", "text"),
        TableColumn("highest belief", f"highest.{last}", "number"),
        TableColumn("proven", f"highest_proven.{last}", "number"),
        TableColumn("median", f"median.{last}", "number"),
        TableColumn("certain", f"certain.{last}"),
    ]
    rows = [f"{path}.attacks.{n}" for n in range(len(attacks))]
    return ByAttack(
        highest,
        median,
        table=parts.table("The attacks on all releases together", columns, rows),
        about=tuple((name, ABOUT.get(name, name)) for name in sorted({attack["about"] for attack in attacks})),
        not_bounded=tuple(attack["name"] for attack in attacks if not attack["judged"]),
    )
