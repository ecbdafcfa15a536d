"""What tau-safety says of several sensitive columns: settings by column, and the promise about all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, shown
from reveil.core.json_values import FrozenObject, frozen_object
from reveil.guarantees.checks import check_names
from reveil.guarantees.signatures.forms import ReleaseForm
from reveil.models.limits import at_most
from reveil.releases.limits import stated
from reveil.releases.table import COUNT, GROUP, group_column
from reveil.tables.hierarchy import value_text
from reveil.tables.joint import units_of
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.guarantees.signatures.tau_safety import TauSafety
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema

UNRELATED = (
    "Values of different sensitive columns do not decide each other: every combination of them is possible. (Whoever "
    "knows which values occur together could exclude some.)"
)
TAKEN = (
    "Somebody who knows which values of different sensitive columns occur together: that one column does not decide "
    "another was taken for granted (independent = true), and not looked at."
)


def has_tables_by_column(schema: Schema) -> bool:
    """Return whether each sensitive column has a table of its own, and counterfeits stand in no row of the first."""
    return len(schema.sensitive) > 1 or bool(schema.plain)


def check_settings(given: TauSafety) -> None:
    """Refuse settings that cannot be, whatever the columns are."""
    least = "m must be a whole number from 2 up"
    for m in _each(given.m):
        if isinstance(m, bool) or not isinstance(m, int) or m < 2:
            hint = "m = 4, or by column: m = { diagnosis = 4, drug = 3 }." if isinstance(given.m, Mapping) else None
            raise ConfigError(f"{least}, not {m!r}", hint=hint)
    if not all(isinstance(flag, bool) for flag in _each(given.fixed)):
        raise ConfigError("fixed must be true or false", hint="Or by column: fixed = { diagnosis = true }.")
    if not (given.independent is None or isinstance(given.independent, bool)):
        raise ConfigError("independent must be true or false")
    allowed: object = given.counterfeits
    if allowed is not None and (isinstance(allowed, bool) or not isinstance(allowed, int | float) or allowed < 0):
        raise ConfigError("counterfeits must be a number from 0 up", hint="counterfeits = 0.1: one for ten records.")
    listed: object = given.together
    if listed is None:
        return
    if not isinstance(listed, list | tuple) or not all(
        isinstance(names_together, list | tuple) for names_together in listed
    ):
        raise ConfigError("together must be a list of lists of columns", hint='together = [["drug", "dose"]]')
    names = [name for names_together in listed for name in names_together]
    if not all(isinstance(name, str) for name in names) or any(len(names_together) < 2 for names_together in listed):
        raise ConfigError("together names columns, two or more in each list", hint='together = [["drug", "dose"]]')
    if len(set(names)) < len(names):
        raise ConfigError("together names a column twice", hint="A column is part of one value only.")
    object.__setattr__(given, "together", tuple(tuple(names_together) for names_together in listed) or None)


def _each(setting: object) -> list[object]:
    return list(setting.values()) if isinstance(setting, Mapping) else [setting]


def declared_values(given: object) -> tuple[str, ...]:
    """Return a declared domain as texts."""
    if not isinstance(given, list | tuple) or not all(isinstance(v, str | int | float) for v in given):
        raise ConfigError("domain must be a list of values", hint='domain = ["flu", "gout", ...]')
    texts = tuple(value_text(value) for value in given)
    if len(set(texts)) != len(texts):
        raise ConfigError("domain names a value twice")
    return texts


def of_column(given: TauSafety, name: str) -> TauSafety:
    """Return the guarantee of one column, with its own m, fixed and domain."""
    changed: dict[str, object] = {}
    if isinstance(given.m, Mapping):
        changed["m"] = given.m[name]
    if isinstance(given.fixed, Mapping):
        changed["fixed"] = given.fixed.get(name, False)
    if isinstance(given.domain, Mapping):
        changed["domain"] = given.domain.get(name)
    if given.together is not None:
        changed["together"] = None
    return replace(given, **changed) if changed else given  # type: ignore[arg-type]


def check_columns(given: TauSafety, schema: Schema) -> None:
    """Refuse columns that go with none of these settings."""
    if not schema.sensitive:
        raise ConfigError(
            f"the guarantee {given.kind!r} needs a sensitive column", hint='disease = "sensitive" under [columns].'
        )
    _check_together(given, schema)
    units = units_of(schema.sensitive, given.together or ())
    for key in ("m", "fixed", "domain"):
        setting = getattr(given, key)
        if not isinstance(setting, Mapping):
            continue
        unknown = [name for name in setting if name not in units]
        if unknown:
            raise ConfigError(
                f"{key} names {unknown[0]!r}, which is no sensitive column",
                column=unknown[0],
                hint=f"There are: {shown(units)}.",
            )
        missing = [name for name in units if name not in setting]
        if key == "m" and missing:
            raise ConfigError(
                f"m says nothing of the sensitive column {missing[0]!r}",
                column=missing[0],
                hint=f'Add "{missing[0]}" = 3 to it, or write one m for all.',
            )
    apart = given.form is not ReleaseForm.BOXES
    if not has_tables_by_column(schema):
        check_names(schema, two_tables=apart)
        return
    what = (
        f"{len(schema.sensitive)} sensitive columns"
        if len(schema.sensitive) > 1
        else f"the plain column {schema.plain[0]!r}"
    )
    column = schema.sensitive[1] if len(schema.sensitive) > 1 else schema.plain[0]
    if given.form is not ReleaseForm.ANGELIZED:
        raise ConfigError(
            f"the guarantee {given.kind!r} takes {what} in the angelized form only: beside a sensitive value, other "
            "columns would link a person's rows from release to release",
            column=column,
            hint='Write form = "angelized" under [guarantee]. Or make the column quasi, drop it (identifier), or use '
            "the guarantee 'worlds', which moves plain columns with the values.",
        )
    if not given.strict:
        raise ConfigError(f"strict = false is for one sensitive column, and there are {what}", hint="Take it out.")
    added = {group_column(name, len(units)) for name in units} | {GROUP, COUNT}
    double = [name for name in schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN) if name in added]
    if double:
        raise ConfigError(f"this release has a column {double[0]!r} of its own", column=double[0], hint="Rename yours.")


def _check_together(given: TauSafety, schema: Schema) -> None:
    for parts in given.together or ():
        unknown = [name for name in parts if name not in schema.sensitive]
        if unknown:
            raise ConfigError(
                f"together names {unknown[0]!r}, which is no sensitive column",
                column=unknown[0],
                hint=f"There are: {shown(schema.sensitive)}.",
            )
        joined = "+".join(name for name in schema.sensitive if name in parts)
        if joined in {column.name for column in schema.columns}:
            raise ConfigError(f"there is a column {joined!r} already", column=joined, hint="Rename yours.")


def promise_by_column(given: TauSafety, alone: Promise, joint: Schema, schema: Schema) -> Promise:
    """Return what is promised of several columns, from what is promised of one of them."""
    units = units_of(schema.sensitive, given.together or ())
    m: dict[str, int] = {name: int(of_column(given, name).m) for name in joint.sensitive}  # type: ignore[arg-type]
    bounds = {name: 1 / m_of for name, m_of in m.items()}
    fixed = {name: bool(of_column(given, name).fixed) for name in joint.sensitive}
    settings = {**alone.settings, "m": m, "fixed": fixed}
    if given.together:
        settings["together"] = [list(parts) for parts in given.together]
    if given.independent:
        settings["independent"] = True
    each = ", ".join(f"1/{m_of} ({name})" for name, m_of in m.items())
    claim = (
        "Over all the releases of this series together, nobody's sensitive value at any time is told with more than "
        f"{each}."
    )
    never = "Nobody's sensitive value ever changes."
    still = [name for name, is_fixed in fixed.items() if is_fixed]
    assumes = [word for word in alone.assumes if word != never]
    if still:
        assumes.append(f"Nobody's value ever changes in these columns: {', '.join(still)}.")
    uncovered = list(alone.not_covered)
    if len(m) > 1 and given.independent:
        uncovered.insert(0, TAKEN)
    elif len(m) > 1:
        assumes.append(UNRELATED)
    uncovered[:0] = [
        f"The value of {' or '.join(parts)} alone: what is bounded is the combination, and several combinations may "
        "have the same value of one of them."
        for parts in units.values()
        if len(parts) > 1
    ]
    most = max(bounds.values())
    return replace(
        alone,
        claim=claim,
        settings=frozen_object(settings),
        assumes=tuple(assumes),
        bound=most,
        bounds=FrozenObject(bounds),
        limits=stated(at_most(most, "value")),
        not_covered=tuple(uncovered),
    )


def check_binned_domains(given: TauSafety, schema: Schema) -> None:
    """Refuse a domain of numbers for a column that is published in bins: its values are the bins, all declared."""
    for name in schema.sensitive:
        domain = given.domain.get(name) if isinstance(given.domain, Mapping) else given.domain
        if domain and schema[name].bins is not None and not set(domain) <= set(schema[name].declared):
            raise ConfigError(
                f"domain names values that column {name!r} does not have: it is published in bins",
                column=name,
                hint="Take domain out, and declare the edges: with bins = [10, 20, 30] every bin counts as possible.",
            )
