"""reveil.toml: the series, the columns, the guarantee and the method."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.guarantees.settings import from_settings, paths_of
from reveil.tables.settings import placed, read_settings, schema_of, section_of

if TYPE_CHECKING:
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.tables.schema import Schema

SERIES_KEYS = ("name", "vault", "anchor", "seed", "archive", "null_values")


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
    vault: Path | None = None
    archive: bool = True
    anchor: Path | None = None

    @property
    def anchor_path(self) -> Path:
        """Where the anchor of the vault lies: as declared, or beside the config by the name of the vault."""
        return self.anchor or self.path.parent / f"{self.vault_path.name.removesuffix('.vault')}.anchor"

    @property
    def vault_path(self) -> Path:
        """Where the series remembers what it told: as declared, or beside the config by the name of the series."""
        return self.vault or self.path.parent / f"{self.name or self.path.stem}.vault"

    @property
    def in_series(self) -> bool:
        """Whether releases are remembered: a guarantee needs it, or a vault is declared."""
        return self.guarantee.traits.remembers or self.vault is not None


def load_config(path: str | Path) -> Config:
    """Read a reveil.toml; paths in it are relative to it."""
    path = Path(path)
    table = read_settings(path)
    try:
        series = section_of(table, "series")
        for key in series:
            if key not in SERIES_KEYS:
                raise ConfigError(f"[series] has no setting {key!r}", hint=f"It knows: {', '.join(SERIES_KEYS)}.")
        schema, method = schema_of(table, path.parent), _method(section_of(table, "method"))
        return Config(
            path,
            _text(series, "name"),
            schema if method is None else method.reading(schema),
            _guarantee(section_of(table, "guarantee", required=True), path.parent),
            method,
            _seed(series),
            (path, *_hierarchy_files(table, path.parent), *_guarantee_files(table, path.parent)),
            _vault(series, path.parent),
            _flag(series, "archive", default=True),
            None if (anchor := _text(series, "anchor")) is None else path.parent / anchor,
        )
    except ConfigError as error:
        raise placed(error, path) from None


def _hierarchy_files(table: dict[str, Any], folder: Path) -> list[Path]:
    columns = [given for given in table["columns"].values() if isinstance(given, dict)]
    return [folder / given["hierarchy"] for given in columns if isinstance(given.get("hierarchy"), str)]


def _guarantee_files(table: dict[str, Any], folder: Path) -> list[Path]:
    """Return the files that the guarantee reads: a release must not be written over them."""
    section = table["guarantee"]
    paths = paths_of(registry.find("guarantees", section["kind"]))
    return [folder / section[key] for key in paths if isinstance(section.get(key), str)]


def _guarantee(section: dict[str, Any], folder: Path) -> Guarantee:
    settings = dict(section)
    kind = settings.pop("kind", None)
    if not isinstance(kind, str):
        raise ConfigError("[guarantee] needs a kind", hint=f"Known: {', '.join(registry.names('guarantees'))}.")
    cls: type[Guarantee] = registry.find("guarantees", kind)
    for key in paths_of(cls):
        if isinstance(settings.get(key), str):
            settings[key] = str(folder / settings[key])
    return from_settings(cls, settings)


def _method(section: dict[str, Any]) -> Grouper | None:
    if not section:
        return None
    settings = dict(section)
    kind = settings.pop("kind", None)
    if not isinstance(kind, str):
        raise ConfigError("[method] needs a kind", hint=f"Known: {', '.join(registry.names('groupers'))}.")
    cls: type[Grouper] = registry.find("groupers", kind)
    own = [f for f in fields(cls) if f.init]  # type: ignore[arg-type]  # every grouper is a dataclass
    known = [f.name for f in own]
    unknown = [key for key in settings if key not in known]
    if unknown:
        why = cls.refuses.get(unknown[0], f"It knows: {', '.join(known)}.")
        raise ConfigError(f"the method {kind!r} has no setting {unknown[0]!r}", hint=why)
    missing = [f.name for f in own if f.default is MISSING and f.default_factory is MISSING and f.name not in settings]
    if missing:
        raise ConfigError(f"the method {kind!r} needs {missing[0]}", hint=f"Add {missing[0]} = ... under [method].")
    made: Grouper = cls(**settings)
    return made


def _text(section: dict[str, Any], key: str) -> str | None:
    value = section.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{key} must be a text")
    return value


def _vault(series: dict[str, Any], folder: Path) -> Path | None:
    vault = _text(series, "vault")
    if vault is None:
        return None
    if "://" in vault:
        raise ConfigError("this version keeps vaults in folders only", hint='vault = "hospital.vault"')
    return folder / vault


def _flag(section: dict[str, Any], key: str, *, default: bool) -> bool:
    value = section.get(key, default)
    if not isinstance(value, bool):
        raise ConfigError(f"{key} must be true or false")
    return value


def _seed(series: dict[str, Any]) -> int | None:
    seed = series.get("seed")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise ConfigError("seed must be a whole number")
    return seed
