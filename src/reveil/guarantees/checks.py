"""What a guarantee refuses before any data is read: schemas and methods that it cannot work with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError
from reveil.releases.table import COUNT, GROUP, LEVEL
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Memory
    from reveil.tables.schema import Column, Schema


def check_no_method(kind: str, method: Grouper | None) -> None:
    """Refuse a method beside a guarantee that groups by itself."""
    if method is not None:
        raise ConfigError(
            f"the guarantee {kind!r} groups by itself and takes no method", hint="Take the section [method] out."
        )


def check_person(kind: str, schema: Schema) -> None:
    """Refuse a table whose people cannot be followed."""
    if schema.person is None:
        raise ConfigError(
            f"the guarantee {kind!r} needs a person column",
            hint='It follows people from release to release: name the column that stays the same, pid = "person".',
        )


def check_one_sensitive(kind: str, schema: Schema, hint: str) -> Column:
    """Refuse another number of sensitive columns than one, and bins; return the column."""
    if len(schema.sensitive) != 1:
        raise ConfigError(
            f"the guarantee {kind!r} needs exactly one sensitive column, not {len(schema.sensitive)}", hint=hint
        )
    check_no_bins(kind, schema)
    return schema[schema.sensitive[0]]


def check_no_bins(kind: str, schema: Schema) -> None:
    """Refuse values in bins."""
    binned = [name for name in schema.sensitive if isinstance(schema[name].bins, int)]
    if binned:
        raise ConfigError(
            f"the guarantee {kind!r} compares exact values over releases and knows no bins",
            column=binned[0],
            hint="Declare the edges of bins (bins = [10, 20, 30]), which are published then, or take bins out.",
        )


def check_memory(kind: str, memory: Memory | None) -> Memory:
    """Refuse to go on without knowing what was told before."""
    if memory is None:
        raise ConfigError(f"the guarantee {kind!r} needs a vault", hint="Publish with rv.Series or a config.")
    return memory


def check_names(schema: Schema, *, two_tables: bool, nested: bool = False) -> None:
    """Refuse columns whose names a release with groups, or with nested boxes, has for itself."""
    added = (LEVEL,) if nested else (GROUP, COUNT) if two_tables else (GROUP,)
    double = [name for name in added if name in schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)]
    if double:
        raise ConfigError(f"this release has a column {double[0]!r} of its own", column=double[0], hint="Rename yours.")
