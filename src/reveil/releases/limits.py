"""Limits as a manifest states them, and as whoever attacks a release uses them: with their models made again."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from reveil.core import registry
from reveil.core.errors import ConfigError, DataError
from reveil.core.json_values import JSON, FrozenObject
from reveil.models.base import Model, plain_number
from reveil.models.limits import Limit
from reveil.releases import format_one
from reveil.releases.promise import StatedLimit, StatedModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.releases.promise import Against, Promise, Signatures


def stated(limits: Iterable[Limit]) -> tuple[StatedLimit, ...]:
    """Return limits as a manifest states them."""
    return tuple(
        StatedLimit(
            limit.about,
            limit.over,
            limit.says,
            limit.at_most,
            None if limit.model is None else _stated_model(limit.model),
            limit.attack,
            limit.harmless,
            limit.permanent,
        )
        for limit in limits
    )


def limits_of(promise: Promise) -> tuple[Limit, ...] | None:
    """Return the limits that a promise states; None where it states none, and nobody knows which follow from it."""
    if promise.limits is None:
        return format_one.limits_of(promise.guarantee())
    return tuple(
        Limit(
            limit.about,  # type: ignore[arg-type]  # words that were checked when it was read
            limit.over,  # type: ignore[arg-type]
            limit.says,
            limit.at_most,
            None if limit.model is None else _model(limit.model),
            limit.attack,
            limit.harmless,
            limit.permanent,
        )
        for limit in promise.limits
    )


def against(promise: Promise) -> Against | None:
    """Return what the adversary knows whom a promise is against; None if it does not say."""
    return promise.against or (None if promise.limits is not None else format_one.against(promise.guarantee()))


def signatures(promise: Promise) -> Signatures | None:
    """Return the rule that everybody's sets of values follow from release to release; None if there is none."""
    known = promise.limits is not None
    return promise.signatures if known else format_one.signatures(promise.guarantee())


def _stated_model(model: object) -> StatedModel:
    """Return a model by its registered name and the parameters it was made with."""
    name = type(model).__name__
    if not is_dataclass(model):
        raise ConfigError(f"the model {name!r} cannot be stated in a manifest", hint="Make it a dataclass.")
    given = {setting.name: _plain(getattr(model, setting.name)) for setting in fields(model) if setting.init}
    return StatedModel(name, FrozenObject(given))


def _plain(value: object) -> JSON:
    """Return a parameter as JSON has it."""
    if isinstance(value, np.generic):
        value = value.item()
    return plain_number(value) if isinstance(value, Fraction) else cast("JSON", value)


def _model(told: StatedModel) -> Model:
    """Make a model again; one that is not installed, or not made so, is refused."""
    try:
        made: object = registry.find("models", told.name)(**told.parameters)
    except (ConfigError, TypeError, ValueError):
        made = None
    if isinstance(made, Model):
        return made
    raise DataError(
        f"a manifest promises the model {told.name!r}, which cannot be made from what it says",
        hint="Install the package that brings it, or use the manifest that Reveil wrote.",
    )
