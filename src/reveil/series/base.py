"""What a series is made of: its settings, and its vault, opened for each call and seen to be that of this series."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.core.errors import ConfigError
from reveil.core.settings import Section, build
from reveil.guarantees.base import Guarantee
from reveil.series.agreement import agree, check_roles, described, roles_ever
from reveil.series.alarms import Alarms
from reveil.series.archive import releases_kept
from reveil.series.beginning import Asked, defaults_in, to_remember
from reveil.series.column_types import as_begun, check_declared
from reveil.series.config import Config, load_config
from reveil.tables.joint import joint_schema
from reveil.tables.schema import Role
from reveil.tables.settings import placed
from reveil.vault import DuckDBVault, Vault
from reveil.vault.address import Place, anchor_beside, folders_of, is_begun, place_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from typing import Self

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.tables.schema import Schema


class SeriesBase:
    """The settings of a series, filled in as it began, and its vault."""

    def __init__(
        self,
        vault: Place,
        schema: Schema,
        guarantee: Guarantee,
        method: Grouper | None = None,
        *,
        name: str | None = None,
        seed: int | None = None,
        archive: bool | int | str = True,
        files: tuple[Path, ...] = (),
        anchor: Path | None = None,
        alarms: Alarms | None = None,
    ) -> None:
        self.alarms = alarms or Alarms()
        self.vault, self.guarantee, self.method = vault, guarantee, method
        self.anchor = anchor or anchor_beside(vault)
        self.notes: list[str] = []  # what the owner should know of the last call
        self.schema = schema if method is None else method.reading(schema)
        self._asked = Asked(self.schema, guarantee, method)  # what nobody named is filled in when the vault is opened
        self._as_begun: tuple[str, ...] = ()  # columns whose texts are compared as when the series began
        self.name, self.seed, self.files = name, seed, files
        self.archive = releases_kept(archive)  # of so many releases; None: of all

    def __repr__(self) -> str:
        return f"<Series {self.name or self.vault.name!r}: {self.guarantee!r}>"

    @classmethod
    def open(
        cls,
        vault: str | os.PathLike[str],
        schema: Schema,
        guarantee: Guarantee,
        method: Grouper | None = None,
        *,
        name: str | None = None,
        seed: int | None = None,
        archive: bool | int | str = True,
        anchor: str | os.PathLike[str] | None = None,
        sealed: bool = False,
        keys: str | os.PathLike[str] | None = None,
        key_command: str | None = None,
        limits: Mapping[str, float] | None = None,
    ) -> Self:
        """Open the series in a vault, or begin one: the folder is made when something is published first.

        What cannot work is refused now, and so are settings that are not those of the releases so far. ``anchor`` is
        a file outside the vault that shows how far it had come; beside the vault unless given. ``vault`` may be on a
        server (``postgresql://user@host/database?schema=hospital``), and a folder may be ``sealed``: then ``keys`` is
        the file of the keys of buckets, and ``key_command`` prints the master key. ``limits`` are those of the section
        [limits]: a release beyond one is refused. ``archive`` says of which releases the vault keeps who was in which
        row: ``"all"`` (or true), ``"last"``, a number of them, or none (false).
        """
        if not isinstance(guarantee, Guarantee):
            raise ConfigError("guarantee must be a guarantee", hint="For example rv.TauSafety(m=4).")
        place = None if anchor is None else Path(anchor)
        where = place_of(vault, sealed=sealed, keys=keys, key_command=key_command)
        series = cls(
            where,
            schema,
            guarantee,
            method,
            name=name,
            seed=seed,
            archive=archive,
            anchor=place,
            alarms=build(Alarms, limits or {}, Section("limits", "limits")),
        )
        series._check()
        if series.vault.exists():
            with series._opened(create=True):
                pass
        return series

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Open the series of a reveil.toml."""
        return cls.of(load_config(Path(path)))

    @classmethod
    def of(cls, config: Config) -> Self:
        """Open the series of a config; the vault is made when something is published first."""
        series = cls(
            config.vault_path,
            config.schema,
            config.guarantee,
            config.method,
            name=config.name,
            seed=config.seed,
            archive=config.archive,
            files=config.files,
            anchor=config.anchor_path,
            alarms=config.alarms,
        )
        try:
            series._check()
        except ConfigError as error:
            raise placed(error, config.path) from None
        return series

    def _check(self) -> None:
        """Refuse, before any data is read, what cannot work with all the columns, of which a release may have some."""
        self.guarantee.check(self.schema, self.method)
        check_declared(self._reading()["declared"], joint_schema(self.schema, self.guarantee.traits.together))
        if self.method is not None:
            self.method.check_schema(self.schema)
        self.alarms.check(self.schema, self.guarantee, self.method)
        if any(self.anchor.resolve().is_relative_to(place.resolve()) for place in folders_of(self.vault)):
            raise ConfigError(
                "the anchor is inside the vault",
                hint="It shows whether the vault is the latest one, so it must not be restored with it: name a file "
                "outside.",
            )

    def _reading(self) -> dict[str, Any]:
        """Return what reading a table has to know of the guarantee."""
        traits = self.guarantee.traits
        declared = traits.declared_by(joint_schema(self.schema, traits.together))
        return {"any_columns": traits.any_columns, "declared": declared, "binned": traits.by_column}

    @property
    def _published_columns(self) -> tuple[str, ...]:
        return self.schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)

    def _settings(self, vault: Vault) -> dict[str, JSON]:
        """Return what the vault remembers of the config with the next release."""
        return {
            "config": self._described(),
            **to_remember(vault, self._asked),
            "seed": self.seed if self.seed is not None else vault.setting("seed"),
            "roles": roles_ever(vault.setting("roles") or {}, self.schema),
        }

    def _described(self) -> dict[str, JSON]:
        named = self._asked.method is not None
        return described(self.name, self.seed, self.schema, self.guarantee, self.method, named=named)

    def _fill_in(self, vault: Vault) -> None:
        """Fill in what nobody named: as the series began, or as it begins now."""
        begun = self._asked.as_begun(defaults_in(vault))
        self.schema, self.guarantee, self.method = begun.schema, begun.guarantee, begun.method

    @contextmanager
    def _opened(self, *, create: bool = False, pretend: bool = False) -> Iterator[DuckDBVault]:
        """Open the vault and see that it is the vault of this series.

        ``pretend``: where there is no vault yet, one that is thrown away will do.
        """
        if pretend and not is_begun(self.vault):
            with tempfile.TemporaryDirectory() as folder, DuckDBVault.open(Path(folder) / "vault") as vault:
                self._fill_in(vault)
                yield vault
            return
        with DuckDBVault.open(self.vault, create=create, anchor=self.anchor) as vault:
            self._fill_in(vault)
            if vault.head():
                before = vault.setting("config") or {}
                self.schema, kept = as_begun(self.schema, before)
                self._as_begun = (*self._as_begun, *kept)
                agree(before, self._described(), self._asked)
                if self.guarantee.traits.remembers:
                    check_roles(vault.setting("roles") or {}, self.schema)
                self.name = self.name or before.get("series.name")
            yield vault
