"""What an exploration finds, as its JSON has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON


class PointRisk(TypedDict):
    """How strongly attacks believe: the highest, the mean over everybody, and how often guesses are right."""

    highest: float | None
    mean: float | None
    prior: float | None


class PointLoss(TypedDict):
    """The measures of the releases, on average."""

    gcp: float | None
    query_error: float | None
    query_error_sensitive: float | None


class PointFigures(TypedDict):
    """What is found of one candidate by itself."""

    risk: PointRisk
    loss: PointLoss
    counterfeits: int
    withheld: int
    rows: int
    seconds: float


class TriedPoint(PointFigures):
    """A candidate that could be tried, with its number and its settings."""

    n: int
    settings: Mapping[str, JSON]
    named: str


class MarkedPoint(TriedPoint):
    """A point that knows whether it is worth a choice."""

    frontier: bool


class ExploredPoint(MarkedPoint):
    """A point with what it means in plain words, where it is worth a choice."""

    words: str | None


class RefusedPoint(TypedDict):
    """A candidate that could not be tried, and why."""

    n: int
    settings: Mapping[str, JSON]
    named: str
    why: str


class Exploration(TypedDict):
    """All of it."""

    format: int
    reveil: str
    created: str
    snapshots: int
    sample: int | None
    points: list[ExploredPoint]
    current: int | None
    refused: list[RefusedPoint]
