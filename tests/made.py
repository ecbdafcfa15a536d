"""A release of a guarantee without a series around it: decided, and put together in the one place that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.guarantees.assembly import Heading, Prepared, assemble
from reveil.guarantees.draft import Request
from reveil.guarantees.static.deciding import decide_static

if TYPE_CHECKING:
    from reveil.guarantees.base import Guarantee, Memory
    from reveil.tables.snapshot import Snapshot


def made(guarantee: Guarantee, snapshot: Snapshot, rng, method=None, memory: Memory | None = None) -> Prepared:
    """Prepare the next release of a guarantee."""
    draft = guarantee.decide(Request(snapshot, method, memory), rng.child("decision"))
    return assemble(draft, rng.child("assembly"), Heading(release=1 if memory is None else memory.release))


def made_alone(snapshot: Snapshot, model, method, rng, **more) -> Prepared:
    """Prepare a release under a model."""
    draft = decide_static(Request(snapshot, method), model, rng.child("decision"), **more)
    return assemble(draft, rng.child("assembly"))
