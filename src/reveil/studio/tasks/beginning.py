"""``init``: look at a table, propose roles and a guarantee, and write the config."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from reveil.core.errors import ConfigError, FileError, InputError, excerpt
from reveil.releases.files import KeptFiles, file_target
from reveil.series.config import config_of
from reveil.series.proposing.answers import Answers
from reveil.series.proposing.choosing import choose
from reveil.series.proposing.saving import check_publishable, save_config
from reveil.series.proposing.trying import attempt
from reveil.series.proposing.writing import config_text, remarks, sentence
from reveil.studio.tasks.base import NEW, TABLE, Bench, StudioTask, TaskResult
from reveil.tables.detection import detect
from reveil.tables.profiling import Profile, profile
from reveil.tables.schema import Role
from reveil.tables.snapshot.types import canonical_text, infer_type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.series.config import Config

_BINS = 16
_BARS = 8


@dataclass(frozen=True)
class InitTask(StudioTask):
    """Look at a table (``look``), propose a config, or write it where ``out`` says so."""

    data: str
    roles: dict[str, str] = field(default_factory=dict)
    again: bool | None = None
    changing: bool | None = None
    leaving: bool | None = None
    ever: bool = False
    parts: bool = False
    recipients: bool = False
    out: str | None = None
    look: bool = False

    command: ClassVar[str] = "init"
    title: ClassVar[str] = "New series"
    paths: ClassVar[Mapping[str, str]] = {"data": TABLE, "out": NEW}
    opens_vault: ClassVar[bool] = False

    def run(self, bench: Bench) -> TaskResult:
        """Look, propose, and write if that is asked for."""
        path = bench.table(self.data)
        bench.stage("reading")
        found = profile(path)
        if self.look:
            bench.stage("counting")
            return TaskResult({"data": self.data, "rows": found.rows, "columns": _columns(found)})
        found = self._with_roles(found)
        check_publishable(found)
        answers = self._answers()
        if self.out is not None:  # refused before any work is done
            _free(bench.folder.new(self.out), path)
        bench.stage("trying")
        choice = choose(found, answers)
        trial = attempt(config_text(found, choice), found)
        text = config_text(found, choice, trial)
        if self.out is not None:
            bench.stage("writing")
            write_proposed(bench.folder.new(self.out), path, text)
        content: dict[str, JSON] = {
            "data": self.data,
            "rows": found.rows,
            "kind": choice.kind,
            "in_words": choice.in_words,
            "plain": _in_plain_words(config_of(tomllib.loads(text), bench.folder.root / "reveil.toml")),
            "reasons": list(choice.reasons),
            "costs": [*filter(None, [found.visits_in_words]), *choice.costs],
            "warnings": list(choice.warnings),
            "trial": trial.in_words,
            "refused": trial.refused,
            "width": trial.width,
            "roles": {column.name: column.role.value for column in found.columns},
            "undecided": [column.name for column in found.columns if column.decide],
            "text": text,
            "out": self.out,
        }
        return TaskResult(content, good=trial.refused is None)

    def _with_roles(self, found: Profile) -> Profile:
        names = {column.name for column in found.columns}
        chosen: dict[str, Role] = {}
        for name, role in self.roles.items():
            if name not in names:
                raise ConfigError(f"there is no column {excerpt(name)}", hint="Look at the table again.")
            if role not in list(Role):
                raise ConfigError(f"a column cannot be {excerpt(role)}", hint=f"Roles are {', '.join(Role)}.")
            chosen[name] = Role(role)
        if sum(role is Role.PERSON for role in chosen.values()) > 1:
            raise ConfigError(
                "two columns say whom a row is about", hint="Make one of them an identifier: it is dropped."
            )
        return found.with_roles(chosen)

    def _answers(self) -> Answers:
        if self.again is False and (self.changing or self.ever or self.parts or self.recipients):
            raise InputError(
                "you said that there is one release, and the other answers speak of several",
                hint="Take one of them back.",
            )
        return Answers(
            again=self.again,
            changing=True if self.ever else self.changing,
            leaving=self.leaving,
            ever=self.ever,
            parts=self.parts,
            recipients=self.recipients,
        )


def _in_plain_words(config: Config) -> list[JSON]:
    """Return what the proposed guarantee means to somebody who has never heard of it."""
    guarantee = config.guarantee
    bound = guarantee.promise(config.schema, config.method).bound
    return list(guarantee.explained.in_plain_words(bound, guarantee.traits.settings))


def write_proposed(target: Path, data: Path, text: str) -> None:
    """Write a proposed config; one that is there stays."""
    _free(target, data)
    save_config(target, data, text)


def _free(target: Path, data: Path) -> None:
    if target.suffix != ".toml":
        raise FileError("a config ends in .toml", file=target, hint="Choose this ending.")
    file_target(target, KeptFiles((data,)), config=True)
    if target.exists():
        raise FileError("this file exists", file=target, hint="Choose another name.")


def _columns(found: Profile) -> list[JSON]:
    frame = detect(found.path).table.frame
    return [
        {
            "name": column.name,
            "role": column.role.value,
            "facts": sentence(column.facts),
            "reasons": [sentence(remark) for remark in remarks(column)],
            "decide": column.decide,
            "histogram": None if column.type is None else histogram(frame[column.name]),
        }
        for column in found.columns
    ]


def histogram(cells: pl.Series) -> dict[str, JSON] | None:
    """Count the values of a column: numbers and dates in bins, of anything else the most common."""
    if cells.dtype == pl.String:
        cells = infer_type(cells)
    values = cells.drop_nulls()
    if cells.dtype.is_float():
        values = values.filter(values.is_finite())
    if values.is_empty():
        return None
    if values.dtype.is_numeric() or values.dtype in (pl.Date, pl.Datetime):
        numbers = values.to_physical().cast(pl.Float64)
        low, high = float(numbers.min() or 0.0), float(numbers.max() or 0.0)  # type: ignore[arg-type]  # numbers
        span = (high - low) or 1.0
        places = ((numbers - low) / span * _BINS).cast(pl.Int32).clip(0, _BINS - 1)
        counted = dict(places.value_counts().iter_rows())
        ends = [str(values.min()), str(values.max())]
        return {"counts": [int(counted.get(n, 0)) for n in range(_BINS)], "labels": ends, "ranges": True}
    counts = canonical_text(values).alias("value").value_counts(sort=True, name="n")
    if counts.height > len(values) / 2 and counts.height > _BARS:
        return None  # nearly every row has a value of its own
    top = counts.head(_BARS)
    return {
        "counts": [int(n) for n in top["n"]],
        "labels": [str(value)[:40] for value in top["value"]],
        "ranges": False,
        "more": counts.height - top.height,
    }
