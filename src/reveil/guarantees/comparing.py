"""Whether a manifest promises what the settings of a config ask for, word for word.

The judge reads promises with code of its own, and asks whether a manifest promises enough and counts what it may. Here
the publisher's words are compared: the claim, the settings, and the limits by which an audit judges.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from reveil.core.errors import ConfigError, VerificationError
from reveil.core.json_values import thawed
from reveil.guarantees.static.automatic_k import AUTO, LEAST

if TYPE_CHECKING:
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.releases.manifest import Manifest
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema

G = TypeVar("G", bound="Guarantee")


def other_promise() -> VerificationError:
    """Return the refusal of a manifest that belongs to other settings."""
    return VerificationError(
        "the manifest promises something else than the config asks for",
        hint="Is this the config that the release was published with?",
    )


def as_chosen(guarantee: G, manifest: Manifest) -> G:
    """Return a guarantee with the settings that a release was left to choose, as its manifest promises them."""
    given = {setting.name: getattr(guarantee, setting.name) for setting in fields(guarantee)}  # type: ignore[arg-type]
    left = [key for key, value in given.items() if isinstance(value, str) and value == AUTO]
    chosen = {key: manifest.promise.settings.get(key) for key in left}
    if any(isinstance(value, bool) or not isinstance(value, int) or value < LEAST for value in chosen.values()):
        raise other_promise()
    try:
        return replace(guarantee, **chosen) if chosen else guarantee  # type: ignore[type-var]
    except ConfigError:
        raise other_promise() from None


def check_promise(guarantee: Guarantee, manifest: Manifest, schema: Schema, method: Grouper | None) -> None:
    """Refuse a manifest that says something else of its promise than these settings do: in words, settings or limits.

    Of the method nothing is compared, nor the grade, which may follow it: the judge knows which one a release has.
    Where releases were adopted, the claim goes on to say what it does not cover.
    """
    traits, told = guarantee.traits, manifest.promise
    promised = as_chosen(guarantee, manifest).promise(schema, method)
    words = (promised.claim, *traits.worded_before)
    if not (told.claim.startswith(words) if manifest.adopted else told.claim in words) or told.kind != promised.kind:
        raise other_promise()
    asked = promised.settings.keys() - traits.making - {"method"}
    if any(thawed(told.settings.get(key)) != thawed(promised.settings[key]) for key in asked):
        raise other_promise()
    check_limits(told, promised)


def check_limits(told: Promise, promised: Promise) -> None:
    """Refuse a promise with other limits than the own one; a manifest of the first format states none.

    What is not covered may be more: what adopted releases told.
    """
    if told.limits is None:
        return
    facts = [(one.bound, one.about, one.against, one.signatures, one.limits) for one in (told, promised)]
    if facts[0] != facts[1] or not set(promised.not_covered) <= set(told.not_covered):
        raise other_promise()
