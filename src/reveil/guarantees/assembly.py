"""From cells, classes and rows to a release and the description of its columns: what all guarantees share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, VerificationError
from reveil.core.json_values import thawed
from reveil.grouping.recoders.boxes import FORMS
from reveil.releases.manifest import SECOND, Counterfeits, PublishedColumn
from reveil.releases.release import compact, dtype_name
from reveil.releases.table import COUNT, GROUP, LEVEL
from reveil.tables.notation import Form
from reveil.tables.schema import FOLDED, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.core.arrays import CodeArray
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Memory
    from reveil.models.encoding import Codes
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Column, Schema
    from reveil.tables.snapshot import Snapshot


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
    binned = [name for name in schema.sensitive if schema[name].bins is not None]
    if binned:
        raise ConfigError(
            f"the guarantee {kind!r} compares exact values over releases and knows no bins",
            column=binned[0],
            hint="Take bins out, or round the numbers in the file.",
        )


def check_memory(kind: str, memory: Memory | None) -> Memory:
    """Refuse to go on without knowing what was told before."""
    if memory is None:
        raise ConfigError(f"the guarantee {kind!r} needs a vault", hint="Publish with rv.Series or a config.")
    return memory


def other_promise() -> VerificationError:
    """Return the refusal of a manifest that belongs to other settings."""
    return VerificationError(
        "the manifest promises something else than the config asks for",
        hint="Is this the config that the release was published with?",
    )


def check_same_promise(told: Promise, own: Promise, settings: Iterable[str]) -> None:
    """Refuse a promise that says something else than the own one: in words, in these settings, or in its limits.

    A manifest of the first format states no limits. What is not covered may be more: what adopted releases told.
    """
    same = (told.kind, told.grade, told.claim) == (own.kind, own.grade, own.claim)
    if not same or any(thawed(told.settings.get(key)) != thawed(own.settings[key]) for key in settings):
        raise other_promise()
    check_same_limits(told, own)


def check_same_limits(told: Promise, own: Promise) -> None:
    """Refuse a promise with other limits than the own one, where it states any."""
    if told.limits is None:
        return
    facts = [(one.bound, one.about, one.against, one.signatures, one.limits) for one in (told, own)]
    if facts[0] != facts[1] or not set(own.not_covered) <= set(told.not_covered):
        raise other_promise()


def check_names(schema: Schema, *, two_tables: bool, nested: bool = False) -> None:
    """Refuse columns whose names a release with groups, or with nested boxes, has for itself."""
    own = (LEVEL,) if nested else (GROUP, COUNT) if two_tables else (GROUP,)
    double = [name for name in own if name in schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)]
    if double:
        raise ConfigError(f"this release has a column {double[0]!r} of its own", column=double[0], hint="Rename yours.")


def published_names(snapshot: Snapshot, *, two_tables: bool) -> tuple[str, ...]:
    """Return the columns of the first table, in the order of the snapshot."""
    roles = (Role.QUASI, Role.PLAIN) if two_tables else (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    return tuple(name for name in snapshot.frame.columns if snapshot.schema[name].role in roles)


def counted_counterfeits(numbers: CodeArray) -> Counterfeits:
    """Count counterfeits, in all and per group, by the published number of the group of each."""
    groups, counts = np.unique(numbers, return_counts=True)
    per_group = {str(number): int(count) for number, count in zip(groups, counts, strict=True)}
    return Counterfeits(int(counts.sum()), per_group)


def second_table(groups: CodeArray, values: pl.DataFrame) -> pl.DataFrame:
    """Return the sensitive values of each group with their counts, in an order that says nothing of the rows."""
    told = values.insert_column(0, pl.Series(GROUP, groups))
    batch = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(told.columns)
    return batch.with_columns(compact(batch[name]) for name in values.columns[1:]).rechunk()


def describe_columns(
    snapshot: Snapshot, codes: Codes, *, two_tables: bool, groups: bool, nested: bool = False
) -> list[PublishedColumn]:
    """Describe the published columns, table by table; ``nested`` boxes have sets where others have labels."""
    schema, frame = snapshot.schema, snapshot.frame
    kinds = {attribute.name: attribute.kind for attribute in codes.quasi}
    first: list[PublishedColumn] = []
    second: list[PublishedColumn] = []
    for name in frame.columns:
        role = schema[name].role
        if role in (Role.PERSON, Role.IDENTIFIER):
            continue
        form = FORMS[kinds[name]] if name in kinds else Form.VALUE
        leaves = nested and form is Form.LABEL
        column = PublishedColumn(
            name,
            role.value,
            (Form.SET if leaves else form).value,
            dtype_name(frame.schema[name]),
            compare=FOLDED if schema[name].folds and frame.schema[name] == pl.String else None,
            hierarchy="leaves" if leaves else None,
            table=SECOND if two_tables and role is Role.SENSITIVE else None,
        )
        (first if column.table is None else second).append(column)
    beside = [*([GROUP] if groups else []), *([LEVEL] if nested else [])]
    own = [PublishedColumn(name, name, Form.VALUE.value, "Int32") for name in beside]
    return [*first, *own, *second]
