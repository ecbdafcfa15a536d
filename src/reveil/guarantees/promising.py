"""From a guarantee, its settings and its words to the promise that a manifest states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.json_values import frozen_object
from reveil.models.limits import at_most
from reveil.releases.limits import stated
from reveil.releases.promise import Promise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.explained import Explained
    from reveil.models.limits import Limit
    from reveil.releases.promise import Against, Signatures


def promise_of(
    kind: str,
    explained: Explained,
    claim: str,
    assumes: Iterable[str],
    *,
    grade: str,
    settings: Mapping[str, JSON],
    bound: float | None = None,
    limits: Iterable[Limit] | None = None,
    against: Against = "presence",
    signatures: Signatures | None = None,
) -> Promise:
    """Return a promise, with its claim in one sentence and what that assumes.

    ``limits`` say of which attacks it speaks, and how far they may get: what an audit judges releases by. By default
    the bound, on what is believed of a value by comparing any releases. ``against`` is what the adversary knows.
    """
    return Promise(
        kind,
        claim,
        grade,
        frozen_object(settings),
        tuple(assumes),
        bound,
        explained.about,
        against,
        stated(at_most(bound, "value") if limits is None else limits),
        explained.not_covered,
        signatures,
    )


def made_by(method: Grouper | None) -> dict[str, JSON]:
    """Return the setting that names a method, where there is one."""
    return {} if method is None else {"method": {"kind": method.name, **method.parameters()}}
