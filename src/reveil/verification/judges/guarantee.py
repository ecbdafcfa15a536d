"""The judge of a guarantee: what its manifest may say, and the rule of its series."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.errors import VerificationError
from reveil.verification.judges.base import other_promise
from reveil.verification.meaning import PromisedMeaning, of_groups
from reveil.verification.promised import Promised, group_demands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import Bools
    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.record import Books, Record, Update
    from reveil.verification.shown import Shown

LEFT_OUT = {"suppressed": "suppressed records", "withheld": "records held back", "dirty": "dirty records"}


class GuaranteeJudge:
    """What is checked of every guarantee; a judge of one says what is special about it.

    To add one: a file in this folder and a line under ``[project.entry-points."reveil.judges"]``.
    """

    kind: ClassVar[str]
    remembers: ClassVar[bool] = False  # whether a release depends on those before it
    by_person: ClassVar[bool] = False  # whether books are compared with its record person by person
    own_settings: ClassVar[frozenset[str]] = frozenset()  # settings beside those of groups
    fixed: ClassVar[tuple[str, ...]] = ()  # settings that a manifest must repeat
    may_count: ClassVar[frozenset[str]] = frozenset()  # of suppressed, withheld, dirty, counterfeits

    @classmethod
    def demands(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what the promise asks of every group of every release."""
        return group_demands(told)

    @classmethod
    def check_manifest(cls, manifest: Manifest, told: Promised, asked: Promised, schema: Schema, records: int) -> None:
        """Refuse a manifest that promises something else, or counts what the guarantee does not have."""
        if told.kind != asked.kind:
            raise other_promise(f"a guarantee {asked.kind!r}")
        told.check_covers(asked)
        for key in cls.fixed:
            wanted = json.loads(json.dumps(asked.settings.get(key), default=str))
            if key in asked.settings and told.settings.get(key) != wanted:
                raise other_promise(f"another {key}")
        cls.check_counts(manifest, asked, schema, records)
        allowed = cls.grades(manifest, told, asked)
        if not asked.settings.get("blind"):
            allowed = allowed | ({"counted"} if "blind" in allowed else set())  # it claims less than it could
        if told.grade not in allowed:
            raise VerificationError(
                f"the manifest claims the grade {told.grade!r}, and this release is {' or '.join(sorted(allowed))}"
            )
        if not cls.states(manifest.promise.claim, told):
            raise VerificationError("the claim in words is not what the manifest promises in numbers")
        cls.meaning(told).check(manifest.promise)

    @classmethod
    def check_counts(cls, manifest: Manifest, asked: Promised, schema: Schema, records: int) -> None:  # noqa: ARG003
        """Refuse counts of records that this guarantee neither leaves out nor adds."""
        for key, what in LEFT_OUT.items():
            if key not in cls.may_count and manifest[key] != 0:
                raise VerificationError(f"the manifest speaks of {what}, which this guarantee does not have")
        if "counterfeits" not in cls.may_count and manifest.counterfeits.total:
            raise VerificationError("the manifest speaks of counterfeits, which this guarantee does not have")

    @classmethod
    def grades(cls, manifest: Manifest, told: Promised, asked: Promised) -> set[str]:  # noqa: ARG003
        """Return the grades that a release may claim."""
        return {"counted"}

    @classmethod
    def states(cls, claim: str, told: Promised) -> bool:
        """Return whether the claim in words has the numbers of the promise."""
        return all(demand.states(claim) for demand in told.demands)

    @classmethod
    def meaning(cls, told: Promised) -> PromisedMeaning:
        """Return what follows from the parameters for those who attack releases; by default, what groups are like."""
        return PromisedMeaning("people", of_groups(told.demands, "series" if cls.remembers else "release"))

    # The rule of the series

    @classmethod
    def needs_everybody(cls, promised: Promised) -> bool:  # noqa: ARG003
        """Return whether a series cannot be replayed once people were erased from it."""
        return False

    @classmethod
    def excused(cls, shown: Shown, promised: Promised, record: Record) -> Bools:  # noqa: ARG003
        """Return which rows may show another sensitive value than the snapshot has, because of what was told before."""
        return np.zeros(len(shown.who), np.bool_)

    @classmethod
    def loose(cls, release: Release, promised: Promised) -> int:  # noqa: ARG003
        """Return how many rows may show another value than the snapshot, where nobody says which row is whose."""
        return 0

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:  # noqa: ARG003
        """Refuse a release that breaks the rule of its series; return what is to be recorded of it."""
        return ()

    @classmethod
    def check_adopted(cls, shown: Shown, books: Books) -> None:
        """Refuse a release that does not keep what was decided when releases from elsewhere were adopted.

        Nobody can know who was in which of their groups: what was decided is in the vault's books alone.
        """

    @classmethod
    def told_before(cls, books: Books, number: int) -> Update:  # noqa: ARG003
        """Return what the vault's own books say was told up to a release, in the shape of the record."""
        return ()

    @classmethod
    def compare(cls, record: Record, told: Update, *, since: bool = False, number: int = 0) -> None:  # noqa: ARG003
        """Refuse books in which something else was told than the judge recorded, up to release ``number``.

        ``since``: more was told, by others.
        """
        return
