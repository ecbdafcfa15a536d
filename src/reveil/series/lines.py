"""How a release is shown: as a line of the history, and as the reason why nothing else is published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from reveil.core.errors import PendingError
from reveil.series.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.json_values import JSON
    from reveil.guarantees.base import Guarantee
    from reveil.releases.promise import Promise
    from reveil.series.release_context import ReleaseContext
    from reveil.vault import ReleaseRow


NEW_VAULT = "a new vault was made: from now on it must not be lost, and has to be backed up with its key"


def pending(row: ReleaseRow) -> PendingError:
    """Return the refusal to go on while a release is pending."""
    return PendingError(
        f"release {row.release} is pending: it was begun, and nobody knows whether it left the building",
        hint="Publish its snapshot again to finish it, or give it up (it stays told) with "
        f"reveil history --abandon {row.release}.",
    )


def remark(context: ReleaseContext, guarantee: Guarantee, *, began: bool) -> str | None:
    """Return what the owner should know of a release beside what the manifest says."""
    if began:
        return NEW_VAULT
    events = context.events
    if events is None:
        return None
    changed = [
        differs.sum()
        for name in context.submission.snapshot.schema.sensitive
        if (differs := events.differs.get(name)) is not None
    ]
    return cautioned(events, int(sum(changed)), guarantee)


def cautioned(events: Happened, changed: int, guarantee: Guarantee) -> str | None:
    """Return what the owner should know of what happened to people, of whom so many have another sensitive value."""
    before = events.count(Event.UNCHANGED) + events.count(Event.UPDATE)
    caution, counts = guarantee.traits.caution, {"before": before, "returned": events.count(Event.RETURN)}
    return all_new(events) or (None if caution is None else caution.warning(**counts, changed=changed))


def noted(*notes: str | None) -> str | None:
    """Put what the owner should know together, one note on a line."""
    return "\nnote: ".join(note for note in notes if note) or None


class Happened(Protocol):
    """How many people something happened to."""

    @property
    def deleted(self) -> int:
        """How many are gone."""

    def count(self, event: Event) -> int:
        """Return to how many persons this happened."""


def all_new(events: Happened) -> str | None:
    """Return a word of warning when nobody of the last release is in this one."""
    if not events.deleted or events.count(Event.UNCHANGED) or events.count(Event.UPDATE):
        return None
    return (
        f"none of the {events.deleted:,} persons of the last release is in this table; if that is not so, their ids "
        "are written in another way now, and everybody was told twice"
    )


def qualified(promise: Promise, adopted: Sequence[int]) -> Promise:
    """Say in a promise that some releases of the series were adopted: what they told is not bounded by anything here.

    They were not made blindly either, so the series is not blind.
    """
    which = f"release {adopted[0]}" if len(adopted) == 1 else "releases " + ", ".join(str(n) for n in adopted)
    uncovered = f"What {which} told, adopted from elsewhere, is not covered."
    return replace(
        promise,
        claim=f"{promise.claim} {uncovered}",
        assumes=(
            *promise.assumes,
            "Nobody who was held back since an adoption tells on those who were in a group with them.",
        ),
        grade="counted" if promise.grade == "blind" else promise.grade,
        not_covered=(uncovered, *promise.not_covered),
    )


def line(row: ReleaseRow) -> dict[str, JSON]:
    """Return one release as a history shows it."""
    facts = row.facts
    counts = ("persons", "inserted", "deleted", "updated", "returned", "counterfeits", "withheld", "dirty")
    return {
        "release": row.release,
        "created": row.created,
        "state": row.state,
        **{key: facts.get(key) for key in counts},
        "fewest_counterfeits": facts.get("fewest_counterfeits"),
        "guarantee": facts.get("guarantee"),
        "digest": row.digest,
        "path": row.path,
        # Under a guarantee that spends budgets: how many of those in it rest from the next release on.
        **({"rest_next": facts["rest_next"]} if "rest_next" in facts else {}),
    }
