"""A series keeps the defaults of its first release: what its config does not name is done as it was when it began.

A new version may have better defaults, and a series that changed its ways between two releases without being asked
would be harder to compare, and no longer what its owner looked at. So the vault keeps the defaults with which the
series began (the setting ``defaults``, a value for each ``section.key``), and a setting that the config names goes
before them. :mod:`reveil.core.defaults` has how a setting is declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reveil.core.defaults import Default, defaults_of, filled, unnamed
from reveil.tables.schema import Column, Schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.vault import Vault

DEFAULTS = "defaults"  # the setting of the vault: with what the series began
SHOWN = "defaults_shown"  # of which newer defaults the owner knows that the series does not have them


@dataclass(frozen=True)
class Asked:
    """The columns, the guarantee and the method of a series, as its owner gave them; ``usual`` where no method is."""

    schema: Schema
    guarantee: Guarantee
    method: Grouper | None

    def as_begun(self, kept: Mapping[str, JSON] | None) -> Asked:
        """Return them with everything filled in that nobody named; ``kept`` is None where the series begins now."""

        def of(section: str) -> dict[str, JSON] | None:
            return None if kept is None else {key.partition(".")[2]: kept[key] for key in kept if _is(key, section)}

        columns = [filled(column, of("columns")) for column in self.schema.columns]
        usual, method = self.guarantee.traits.usual_method, self.method
        if method is not None:
            method = filled(method, of("method"))
        elif usual is not None and (begun := filled(usual, of("method"))) != filled(usual):
            method = begun  # no method is named, and the usual one worked otherwise when the series began
        return Asked(self.schema.with_columns(columns), filled(self.guarantee, of("guarantee")), method)

    def described(self) -> dict[str, JSON]:
        """Return all such settings in force, as the vault compares them: under the names of a config."""
        makes = self.method or self.guarantee.traits.usual_method
        owners: list[tuple[str, object]] = [(f"columns.{column.name}", column) for column in self.schema.columns]
        owners += [("guarantee", self.guarantee), *([] if makes is None else [("method", makes)])]
        return {
            f"{section}.{key}": getattr(filled(owner), key)
            for section, owner in owners
            for key, default in defaults_of(owner).items()
            if default.applies(owner)
        }

    def unnamed(self) -> dict[str, Default]:
        """Return the defaults that nobody named, for at least one of the columns where it is one of theirs."""
        found = {
            f"columns.{key}": default for column in self.schema.columns for key, default in unnamed(column).items()
        }
        found |= {f"guarantee.{key}": default for key, default in unnamed(self.guarantee).items()}
        method = self.method or self.guarantee.traits.usual_method
        return found if method is None else found | {f"method.{k}": default for k, default in unnamed(method).items()}

    def to_keep(self, kept: Mapping[str, JSON] | None) -> dict[str, JSON]:
        """Return the defaults of the series, for its vault; ``kept`` is None where it begins now."""
        method = self.method or self.guarantee.traits.usual_method
        classes = [
            ("columns", Column),
            ("guarantee", self.guarantee),
            *([] if method is None else [("method", method)]),
        ]
        known = {f"{section}.{key}": one for section, owner in classes for key, one in defaults_of(owner).items()}
        begun = {key: default.new if kept is None else default.before for key, default in known.items()}
        return {**begun, **(kept or {})}


def defaults_in(vault: Vault) -> dict[str, JSON] | None:
    """Return the defaults with which the series of a vault began; None if it begins now."""
    return vault.setting(DEFAULTS) or ({} if vault.head() else None)  # they are kept from the first release on


def to_remember(vault: Vault, asked: Asked) -> dict[str, JSON]:
    """Return what the vault keeps with the next release: the defaults of the first one, and what the owner knows."""
    kept = defaults_in(vault)
    known = {key: default.new for key, default in _unlike(kept, asked)}
    return {DEFAULTS: asked.to_keep(kept), SHOWN: {**(vault.setting(SHOWN) or {}), **known}}


def note_of(vault: Vault, asked: Asked) -> str | None:
    """Say, once for each, which settings a new series would have otherwise; None where there is nothing to say."""
    kept, known = defaults_in(vault), vault.setting(SHOWN) or {}
    new = [(key, one) for key, one in _unlike(kept, asked) if key not in known or known[key] != one.new]
    if not new:
        return None
    was = ", ".join(f"{key} = {_toml((kept or {}).get(key, one.before))}" for key, one in new)
    now = ", ".join(f"{key} = {_toml(one.new)}" for key, one in new)
    return (
        f"this series goes on as it began: {was}; series that begin now have {now}, and so has this one from the next "
        "release on if its config says so"
    )


def changes_freely(key: str, asked: Asked) -> bool:
    """Return whether a setting of the vault is one of these, which a config may name anew for any release."""
    section, _, rest = key.partition(".")
    if section == "columns":
        return rest.rpartition(".")[2] in defaults_of(Column)
    owner = asked.guarantee if section == "guarantee" else asked.method or asked.guarantee.traits.usual_method
    return section in ("guarantee", "method") and owner is not None and rest in defaults_of(owner)


def _unlike(kept: Mapping[str, JSON] | None, asked: Asked) -> Iterator[tuple[str, Default]]:
    """Yield what nobody named and what the series has otherwise than one that begins now."""
    for key, default in asked.unnamed().items():
        if kept is not None and kept.get(key, default.before) != default.new:
            yield key, default


def _is(key: str, section: str) -> bool:
    return key.startswith(f"{section}.")


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else f"{value}"
