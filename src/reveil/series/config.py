"""reveil.toml: the series, the columns, the guarantee, the method and the limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.core.settings import Section, build
from reveil.engines.settings import EngineSettings
from reveil.guarantees.settings import from_settings, paths_of
from reveil.series.alarms import Alarms
from reveil.tables.input import severity_files
from reveil.tables.settings import SeriesSettings, placed, read_settings, schema_of, section_of
from reveil.vault.address import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.tables.schema import Schema
    from reveil.vault.address import Place


@dataclass(frozen=True)
class Config:
    """What a reveil.toml says."""

    path: Path
    name: str | None
    schema: Schema
    guarantee: Guarantee
    method: Grouper | None
    seed: int | None
    files: tuple[Path, ...]  # the config and what it names: never to be written over
    vault: Place | None = None
    archive: bool | int | str = True
    anchor: Path | None = None
    alarms: Alarms = field(default_factory=Alarms)
    engine: EngineSettings = field(default_factory=EngineSettings)

    def with_engine(self, kind: str | None) -> Config:
        """Return the config with another engine, as a command asks for one; None leaves it."""
        if kind is None or kind == self.engine.kind:
            return self
        return replace(self, engine=replace(self.engine, kind=kind, master=None))

    @property
    def anchor_path(self) -> Path:
        """Where the anchor of the vault lies: as declared, or beside the config by the name of the vault."""
        return self.anchor or self.path.parent / f"{self.vault_path.name.removesuffix('.vault')}.anchor"

    @property
    def vault_path(self) -> Place:
        """Where the series remembers what it told: as declared, or beside the config by the name of the series."""
        return self.vault or self.path.parent / f"{self.name or self.path.stem}.vault"

    @property
    def in_series(self) -> bool:
        """Whether releases are remembered: a guarantee needs it, or a vault is declared."""
        return self.guarantee.traits.remembers or self.vault is not None


def load_config(path: str | Path) -> Config:
    """Read a reveil.toml; paths in it are relative to it."""
    path = Path(path)
    return config_of(read_settings(path), path)


def config_of(table: Mapping[str, JSON], path: Path) -> Config:
    """Return what the table of a reveil.toml says that lies, or would lie, at a path."""
    try:
        series = build(SeriesSettings, section_of(table, "series"), Section("[series]", "[series]"))
        schema, method = schema_of(table, path.parent), _method(section_of(table, "method"))
        return Config(
            path,
            series.name,
            schema if method is None else method.reading(schema),
            _guarantee(section_of(table, "guarantee", required=True), path.parent),
            method,
            series.seed,
            (
                path,
                *_hierarchy_files(table, path.parent),
                *severity_files(section_of(table, "input"), path.parent),
                *_guarantee_files(table, path.parent),
            ),
            _vault(series, path),
            series.archive,
            None if series.anchor is None else path.parent / series.anchor,
            build(Alarms, section_of(table, "limits"), Section("[limits]", "[limits]")),
            build(EngineSettings, section_of(table, "engine"), Section("[engine]", "[engine]")),
        )
    except ConfigError as error:
        raise placed(error, path) from None


def _hierarchy_files(table: Mapping[str, JSON], folder: Path) -> list[Path]:
    columns = [given for given in section_of(table, "columns").values() if isinstance(given, dict)]
    named = [given.get("hierarchy") for given in columns]
    return [folder / name for name in named if isinstance(name, str)]


def _guarantee_files(table: Mapping[str, JSON], folder: Path) -> list[Path]:
    """Return the files that the guarantee reads: a release must not be written over them."""
    section = section_of(table, "guarantee")
    named = [section.get(key) for key in paths_of(registry.find("guarantees", str(section["kind"])))]
    return [folder / name for name in named if isinstance(name, str)]


def _guarantee(section: Mapping[str, JSON], folder: Path) -> Guarantee:
    kind, settings = _kind(section, "guarantee", "guarantees")
    cls: type[Guarantee] = registry.find("guarantees", kind)
    for key in paths_of(cls):
        if isinstance(named := settings.get(key), str):
            settings[key] = str(folder / named)
    return from_settings(cls, settings)


def _method(section: Mapping[str, JSON]) -> Grouper | None:
    if not section:
        return None
    kind, settings = _kind(section, "method", "groupers")
    cls: type[Grouper] = registry.find("groupers", kind)
    return build(cls, settings, Section("[method]", f"the method {kind!r}", cls.refuses))


def _kind(section: Mapping[str, JSON], name: str, group: str) -> tuple[str, dict[str, JSON]]:
    """Return which of a group a section asks for, and its other settings."""
    settings = dict(section)
    kind = settings.pop("kind", None)
    if not isinstance(kind, str):
        raise ConfigError(f"[{name}] needs a kind", hint=f"Known: {', '.join(registry.names(group))}.")
    return kind, settings


def _vault(series: SeriesSettings, path: Path) -> Place | None:
    """Return where the vault is; None: in the folder that has the name of the series, if one is needed."""
    given = series.vault
    if given is None and not (series.sealed or series.keys or series.key_command):
        return None
    name = given or f"{series.name or path.stem}.vault"
    return place_of(name, path.parent, sealed=series.sealed, keys=series.keys, key_command=series.key_command)
