"""What a manifest is made of: its columns, its counterfeits, the parts of its table; and how each is read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from reveil.core.json_values import JSON, frozen_object, thawed
from reveil.releases.reading import ManifestObject, UnusableError

VISITS = "visits"  # what the rows of a table were whose records were put together
_FORMS = ("interval", "set", "label", "value", "foreign")  # of cells, as reveil.tables.notation has them


@dataclass(frozen=True)
class PublishedColumn:
    """A column as a manifest describes it.

    ``form`` is how its cells are written, ``type`` that of its values. ``compare`` is set where spellings are taken for
    one value, ``hierarchy`` where cells list the leaves of one, and ``table`` where the column is in the second table.
    ``coarse`` are the declared ends and steps to which its values were cut and rounded: top, bottom, round.
    """

    name: str
    role: str
    form: str
    type: str
    compare: str | None = None
    hierarchy: str | None = None
    table: str | None = None
    coarse: Mapping[str, JSON] | None = None

    def __post_init__(self) -> None:
        if self.coarse is not None:
            object.__setattr__(self, "coarse", frozen_object(self.coarse))

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it; what is not set is left out."""
        said = {setting.name: thawed(getattr(self, setting.name)) for setting in fields(self)}
        return {key: value for key, value in said.items() if value is not None}


@dataclass(frozen=True)
class TablePart:
    """A part of a release in a folder: its name inside, how many rows it has, and the digest of its bytes."""

    name: str
    rows: int
    digest: str

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it."""
        return {"name": self.name, "rows": self.rows, "digest": self.digest}


@dataclass(frozen=True)
class Counterfeits:
    """How many rows are made up, in all and by the number of their group; which ones they are nobody is told."""

    total: int = 0
    per_group: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "per_group", frozen_object(self.per_group))

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it."""
        return {"total": self.total, "per_group": dict(self.per_group)}


def read_column(given: Mapping[str, JSON]) -> PublishedColumn:
    """Read the description of a column."""
    known = [setting.name for setting in fields(PublishedColumn)]
    said: dict[str, Any] = {key: value for key, value in given.items() if isinstance(value, str)}
    coarse = given.get("coarse")
    if coarse is not None:
        if not isinstance(coarse, Mapping) or not coarse or not coarse.keys() <= {"top", "bottom", "round"}:
            raise UnusableError("columns")
        if not all(isinstance(end, str | int | float) and not isinstance(end, bool) for end in coarse.values()):
            raise UnusableError("columns")
        said["coarse"] = coarse
    if said.keys() != given.keys() or not set(known[:4]) <= said.keys() <= set(known) or said["form"] not in _FORMS:
        raise UnusableError("columns")
    return PublishedColumn(**said)


def read_counterfeits(told: ManifestObject) -> Counterfeits:
    """Read how many rows are made up."""
    counterfeits = ManifestObject(told.object("counterfeits"), "counterfeits")
    places = ManifestObject(
        counterfeits.object("per_group") if "per_group" in counterfeits.given else {}, "counterfeits"
    )
    if counterfeits.given.keys() - {"total", "per_group"}:
        raise UnusableError("counterfeits")
    return Counterfeits(counterfeits.number("total"), {group: places.number(group) for group in places.given})


def read_selection(told: ManifestObject) -> tuple[str, ...] | None:
    """Read which columns decided who is in the release."""
    if told.given.get("selection") is None:
        return None
    selection = ManifestObject(told.object("selection"), "selection")
    selection.check_keys(["columns"])
    return selection.texts("columns")


def read_records(told: ManifestObject) -> dict[str, str] | None:
    """Read by which rules the rows of visits became records."""
    if told.given.get("records") is None:
        return None
    records = ManifestObject(told.object("records"), "records")
    records.check_keys(["of", "rules"])
    rules = records.object("rules")
    found = {key: value for key, value in rules.items() if isinstance(value, str)}
    if records.given["of"] != VISITS or len(found) != len(rules):
        raise UnusableError("records")
    return found


def read_parts(told: ManifestObject) -> tuple[TablePart, ...] | None:
    """Read the parts of a release in a folder."""
    if told.given.get("parts") is None:
        return None
    found = []
    for given in told.objects("parts"):
        part = ManifestObject(given, "parts")
        found.append(TablePart(part.sentence("name"), part.number("rows"), part.sentence("digest")))
    return tuple(found)


def read_digests(told: ManifestObject) -> dict[str, str] | None:
    """Read the digests of each format."""
    if told.given.get("digests") is None:
        return None
    digests = told.object("digests")
    found = {key: value for key, value in digests.items() if isinstance(value, str)}
    if len(found) != len(digests):
        raise UnusableError("digests")
    return found
