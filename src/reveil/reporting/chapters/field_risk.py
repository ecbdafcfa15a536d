"""Risk as other tools count it: who looks like whom, one table at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting.parts import Chapter, PageTable, TableColumn

if TYPE_CHECKING:
    from reveil.reporting.parts import Parts

BASIS = {
    "population": "a population that was listed",
    "estimate": "the size of the population that was given, of which the table is taken for a random sample",
    "release": "the table itself, taken for the whole population",
}


@dataclass(frozen=True)
class FieldRiskChapter(Chapter):
    """The chapter; ``basis``: what journalist and marketer risk rest on."""

    key: ClassVar[str] = "field-risk"
    title: ClassVar[str] = "Risk as other tools count it"
    template: ClassVar[str] = "report/field_risk.html.j2"
    basis: str
    chances: PageTable
    alike: PageTable
    uniques: PageTable
    population: PageTable | None


def field_risk(parts: Parts) -> FieldRiskChapter | None:
    """Lay out prosecutor, journalist and marketer risk, release by release, before and after."""
    risk = parts.content["risk"]
    if risk is None or not risk["table_risks"]:
        return None
    found = risk["table_risks"]
    rows = [f"risk.table_risks.{n}" for n in range(len(found))]
    chances = [
        _of("prosecutor", "prosecutor.highest"),
        _of("journalist", "journalist.highest"),
        _of("marketer", "marketer"),
    ]
    alike = [
        _of("classes", "classes", "count"),
        _of("smallest class", "smallest", "count"),
        _of("rows found by more than 1 in 5", "prosecutor.above_fifth", "count"),
    ]
    uniques = [_of("unique", "uniques", "count"), _of("special", "special_uniques.rows", "count")]
    estimated = found[-1]["after"]["population_uniques"] is not None
    source = found[-1]["after"]["journalist"]["from"]
    largest = found[-1]["after"]["special_uniques"]["largest_set"]
    return FieldRiskChapter(
        BASIS.get(source, source),
        _table(parts, "The highest chance to find a person, and the mean", chances, rows),
        _table(parts, "How many look alike", alike, rows),
        _table(
            parts,
            f"Records that are unique, and special: unique by at most {largest} columns",
            uniques,
            rows,
        ),
        parts.table(
            "People who are expected to be unique in the population",
            [
                TableColumn("release", "release"),
                TableColumn("expected", "after.population_uniques.expected", "number"),
                TableColumn("by", "after.population_uniques.by", "text"),
            ],
            rows,
        )
        if estimated
        else None,
    )


def _of(name: str, key: str, how: str = "number") -> tuple[TableColumn, TableColumn]:
    """Return the two columns of a figure: of the snapshot, and of the release."""
    return (
        TableColumn(f"{name}, before", f"before.{key}", how),
        TableColumn(f"{name}, after", f"after.{key}", how),
    )


def _table(parts: Parts, caption: str, figures: list[tuple[TableColumn, TableColumn]], rows: list[str]) -> PageTable:
    columns = [TableColumn("release", "release"), *(column for pair in figures for column in pair)]
    return parts.table(caption, columns, rows)
