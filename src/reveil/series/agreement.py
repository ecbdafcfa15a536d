"""Whether the config of today is the config of the series: a series does not change its promise on the way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, RefusedError, shown
from reveil.series.beginning import Asked, changes_freely
from reveil.tables.schema import FOLDED, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.tables.schema import Column, Schema

_SHOWN = 12


def described(
    name: str | None,
    seed: int | None,
    schema: Schema,
    guarantee: Guarantee,
    method: Grouper | None,
    *,
    named: bool = True,
) -> dict[str, JSON]:
    """Return the settings of a series as flat JSON: what the vault keeps and compares.

    ``named``: whether the config names the method, or it is the usual one as it was when the series began.
    """
    found: dict[str, JSON] = {"series.name": name}
    if seed is not None:
        found["series.seed"] = seed
    found["series.null_values"] = sorted(schema.null_values)
    if schema.input.visits is not None:
        # How cells are written may change from file to file; what a record is may not.
        found |= {f"input.visits.{name}": rule for name, rule in schema.input.visits.fixed().items()}
    for column in schema.columns:
        found |= {f"columns.{column.name}.{key}": value for key, value in _column(column).items()}
    found["guarantee.kind"] = guarantee.kind
    found |= {f"guarantee.{key}": value for key, value in guarantee.traits.settings.items()}
    if method is not None and named:
        found |= {"method.kind": method.name, **{f"method.{k}": v for k, v in method.parameters().items()}}
    found |= Asked(schema, guarantee, method).described()
    plain: dict[str, JSON] = json.loads(json.dumps(found))
    return plain


def _column(column: Column) -> dict[str, JSON]:
    found: dict[str, JSON] = {"role": column.role.value}
    if column.type is not None:
        found["type"] = column.type.value
    if column.order is not None:
        found["order"] = list(column.order)
    if column.bins is not None:
        found["bins"] = column.bins
    if column.folds:
        found["compare"] = FOLDED  # a series that says nothing is from before there was a choice: exact
    if column.coarse is not None:
        found |= column.coarse.to_json()
    if column.null_values:
        found["null_values"] = sorted(column.null_values)
    if column.taxonomy is not None:
        # The vault compares hierarchies; it need not hold them.
        found["hierarchy"] = column.taxonomy.fingerprint
    return found


def agree(before: Mapping[str, JSON], now: Mapping[str, JSON], asked: Asked) -> None:
    """Raise, with the differences, unless everything that changed may change."""
    differs = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    refused = [
        key for key in differs if not changes_freely(key, asked) and not _may_change(key, before, now, asked.guarantee)
    ]
    if not refused:
        return
    lines = []
    for key in refused[:_SHOWN]:
        lines += [f"  - {key} = {_text(key, before[key])}"] if key in before else []
        lines += [f"  + {key} = {_text(key, now[key])}"] if key in now else []
    if len(refused) > _SHOWN:
        lines.append(f"  and {len(refused) - _SHOWN} more")
    raise RefusedError(
        "the settings are not those with which this series was published so far:\n" + "\n".join(lines),
        hint="Set them back. Another vault with these settings is safe only if every release so far is adopted into it "
        "first (reveil adopt): else nothing holds about these people.",
    )


def same_making(before: Mapping[str, JSON], now: Mapping[str, JSON]) -> bool:
    """Return whether a release would be made in the same way: columns, guarantee and method are what they were."""
    keys = [key for key in {**before, **now} if not key.startswith("series.")]
    return all(before.get(key) == now.get(key) for key in keys)


def _may_change(key: str, before: Mapping[str, JSON], now: Mapping[str, JSON], guarantee: Guarantee) -> bool:
    section, _, rest = key.partition(".")
    if section == "columns":
        name = rest.rpartition(".")[0]
        roles = {before.get(f"columns.{name}.role"), now.get(f"columns.{name}.role")} - {None}
        # Quasi columns may come and go and be recoded: no promise rests on them. Neither on what is dropped.
        free = roles <= {Role.QUASI.value, Role.IDENTIFIER.value}
        # A plain column may come or go where it moves with the values, but never become or have been another.
        traits = guarantee.traits
        return free or (traits.any_columns and roles == {Role.PLAIN.value}) or not traits.remembers
    if section == "guarantee":
        if key == "guarantee.kind":
            return False
        return guarantee.traits.may_change(rest, before.get(key), now.get(key))
    if section == "method":
        # How long a method looks for narrower cells changes no promise.
        return not guarantee.traits.remembers or rest == "effort"
    if key == "series.name":
        return before.get(key) is None or now.get(key) is None  # a vault has one name, given once
    # A seed that was never declared was drawn: declaring one now would change it.
    return key == "series.seed" and key not in now


def check_roles(ever: Mapping[str, str], schema: Schema) -> None:
    """Raise if a column that is plain now was something else in an earlier release, or the other way round.

    Published in a box once and as it is another time, it links everybody who is in both.
    """
    for column in schema.columns:
        before = ever.get(column.name)
        if before is not None and before != column.role.value and Role.PLAIN.value in (before, column.role.value):
            raise RefusedError(
                f"column {column.name!r} is {column.role.value} now and was {before} in an earlier release",
                column=column.name,
                hint="Whoever holds both releases could join them by it. Set it back, or leave it out (--columns).",
            )


def roles_ever(ever: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Return the roles that columns had in any release, with those of today; a dropped column keeps what it was."""
    now = {column.name: column.role.value for column in schema.columns}
    return {**{name: role for name, role in now.items() if role != Role.IDENTIFIER.value or name not in ever}, **ever}


def _text(key: str, value: object) -> str:
    """Write a setting; lists may be of sensitive values and are counted only. Edges of bins stand in every manifest."""
    if isinstance(value, list) and not key.endswith(".bins"):
        return f"({len(value)} values)"
    return json.dumps(value, ensure_ascii=False)


def check_columns(columns: tuple[str, ...], schema: Schema, *, any_columns: bool = False) -> None:
    """Raise unless some columns can be released without the others; ``any_columns``: without the sensitive one, too."""
    known = schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise ConfigError(
            f"there is no column {unknown[0]!r} to publish", column=unknown[0], hint=f"There are: {shown(known)}."
        )
    missing = [] if any_columns else [name for name in schema.sensitive if name not in columns]
    if missing:
        raise ConfigError(
            f"the sensitive column {missing[0]!r} is what the groups are made for",
            column=missing[0],
            hint="Name it, too.",
        )
    if not set(columns) & set(schema.quasi):
        raise ConfigError("no quasi column is among those to publish", hint=f"There are: {shown(schema.quasi)}.")
