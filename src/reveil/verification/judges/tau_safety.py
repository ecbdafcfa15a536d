"""tau-safety: the signatures of a person are equal or share nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import whole_in
from reveil.verification.arrays import different_rows, halves, only_marks, room_for, whole
from reveil.verification.judges.base import other_promise
from reveil.verification.judges.signatures import Signatures, sets_in, sets_of
from reveil.verification.meaning import PromisedMeaning, believed
from reveil.verification.record import Entry, Kept
from reveil.verification.shown import forgotten, unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import Bools
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, Update
    from reveil.verification.shown import Shown

# Sets and values by their marks, in halves.
SETS = Kept("judged_sets", keys=("high", "low"))
MEMBERS = Kept("judged_members", keys=("high", "low", "value_high", "value_low"), personal=False)

_AT_ONCE = 1 << 20  # rows whose people are looked up in the record at once
_SHOWN = "Who is in the table is shown"


def _form(settings: Mapping[str, JSON]) -> str:
    """Return the form of a release; manifests of old, and all but the exact ones, say it by the key angelize."""
    return str(settings.get("form") or ("angelized" if settings.get("angelize") else "boxes"))


def _broken(now: pl.DataFrame, before: pl.DataFrame, members: pl.DataFrame, record: Record) -> int:
    """Count the persons whose set shares some values, and not all, with one that they were told."""
    both = now.join(before, on="who")
    pairs = both.filter(pl.col("now") != pl.col("before")).group_by("now", "before").len("persons")
    if not pairs.height:
        return 0
    known = record.rows(MEMBERS, "high", halves(pairs["before"].to_numpy())[0])
    known = known.select(
        before=pl.Series(whole(known["high"].to_numpy(), known["low"].to_numpy())),
        value=pl.Series(whole(known["value_high"].to_numpy(), known["value_low"].to_numpy())),
    )
    shared = pairs.join(known, on="before").join(members, on=["now", "value"], how="semi")
    return int(shared.unique(["now", "before"])["persons"].sum())


def _as_before(now: pl.DataFrame, before: pl.DataFrame) -> Bools:
    """Return of which rows the person was told one set, and that is the set they are in."""
    who, told = now["who"].to_numpy(), before["who"].to_numpy()
    room = room_for(who, told)
    if not room:
        return np.zeros(len(who), np.bool_)
    same: Bools = only_marks(told, before["before"].to_numpy(), room)[who] == now["now"].to_numpy()
    return same


def _told_otherwise(recorded: pl.DataFrame, theirs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Leave out the people of whom both say one set, and the same one."""
    mine, other = recorded["who"].to_numpy(), theirs["who"].to_numpy()
    room = room_for(mine, other)
    if not room:
        return recorded, theirs
    one = only_marks(mine, whole(recorded["high"].to_numpy(), recorded["low"].to_numpy()), room)
    same = (one >= 0) & (one == only_marks(other, whole(theirs["high"].to_numpy(), theirs["low"].to_numpy()), room))
    return recorded.filter(pl.Series(~same[mine])), theirs.filter(pl.Series(~same[other]))


class TauSafety(Signatures):
    """Judge the releases of a series in which people come, go, return and change."""

    kind: ClassVar[str] = "tau-safety"
    by_person: ClassVar[bool] = True
    of_people: ClassVar[Kept] = SETS
    of_sets: ClassVar[Kept | None] = MEMBERS
    own_settings: ClassVar[frozenset[str]] = frozenset(
        ["angelize", "form", "strict", "blind", "fixed", "together", "independent"]
    )
    fixed: ClassVar[tuple[str, ...]] = ("strict", "blind", "fixed", "angelize")

    @classmethod
    def check_manifest(cls, manifest: Manifest, told: Promised, asked: Promised, schema: Schema, records: int) -> None:
        """Refuse a release in another form than was asked for, and one that does not look like its form."""
        super().check_manifest(manifest, told, asked, schema, records)
        if _form(told.settings) != _form(asked.settings):
            raise other_promise("another form")
        if (_form(told.settings) == "boxes") == any(column.table is not None for column in manifest.columns):
            raise VerificationError("the release has another number of tables than its form")
        if (_form(told.settings) == "exact") != any(word.startswith(_SHOWN) for word in manifest.promise.not_covered):
            raise VerificationError("the promise does not say whether quasi values are published as they are")

    @classmethod
    def grades(cls, manifest: Manifest, told: Promised, asked: Promised) -> set[str]:  # noqa: ARG003
        """Blind where it was asked for and nothing was adopted; without the strict rule, none."""
        if not asked.settings.get("strict", True):
            return {"none"}
        return {"blind"} if asked.settings.get("blind") and not manifest.adopted else {"counted"}

    @classmethod
    def states(cls, claim: str, told: Promised) -> bool:
        """Without the strict rule the claim is that nothing is bounded."""
        if not told.settings.get("strict", True):
            return claim.startswith("No bound holds")
        return super().states(claim, told)

    @classmethod
    def meaning(cls, told: Promised) -> PromisedMeaning:
        """At most one m-th, of everybody at any time; nothing without the strict rule."""
        if told.settings.get("strict") is False:
            return PromisedMeaning("value", (), "events")
        return PromisedMeaning("value", believed(1 / whole_in(told.settings["m"]), "value"), "events", "apart")

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:
        """Refuse a release in which somebody's new signature shares some values, and not all, with an earlier one.

        Where quasi values have boxes of their own, those hold m rows at least, or everybody.
        """
        if _form(promised.settings) == "angelized":
            sizes = np.unique(shown.release.classes, return_counts=True)[1]
            if (sizes < min(promised.settings["m"], sizes.sum())).any():
                raise unsafe("a box of the first table has fewer rows than m")
        set_of_group = sets_of(shown)
        group, mark, _ = shown.members
        members = pl.DataFrame({"now": set_of_group[group], "value": mark}).unique()
        broken, found = 0, []
        for start in range(0, len(shown.real), _AT_ONCE):
            rows = shown.real[start : start + _AT_ONCE]
            now = pl.DataFrame({"who": shown.who[rows], "now": set_of_group[shown.groups.of_row[rows]]})
            some, more = cls.rule_of_people(now, members, promised, record, shown.number)
            broken += some
            found.append(more)
        cls.refuse_broken(broken)
        new = pl.concat(found) if found else pl.DataFrame(schema={"who": pl.Int64, "now": pl.Int64})
        return (cls.recorded(new, promised, shown.number), *cls.recorded_of_sets(new["now"], members))

    @classmethod
    def rule_of_people(
        cls,
        now: pl.DataFrame,
        members: pl.DataFrame,
        promised: Promised,
        record: Record,
        number: int,  # noqa: ARG003
    ) -> tuple[int, pl.DataFrame]:
        """Return of how many of some people the rule is broken, and the sets that are new to them."""
        before = record.of(SETS, now["who"].to_numpy())
        before = before.select("who", before=pl.Series(whole(before["high"].to_numpy(), before["low"].to_numpy())))
        now = now.filter(pl.Series(~_as_before(now, before)))  # of most people nothing more has to be asked
        broken = _broken(now, before, members, record) if promised.settings.get("strict", True) else 0
        return broken, now.join(before.rename({"before": "now"}), on=["who", "now"], how="anti").unique()

    @classmethod
    def refuse_broken(cls, persons: int) -> None:
        """Refuse a release that breaks the rule for some persons."""
        if persons:
            raise unsafe(
                f"{persons:,} persons would get a signature that is neither equal to one they were told nor shares "
                "nothing with it"
            )

    @classmethod
    def recorded(cls, new: pl.DataFrame, promised: Promised, number: int) -> Entry:  # noqa: ARG003
        """Return that people were told sets; without the strict rule nothing else afterwards."""
        strict = promised.settings.get("strict", True)
        high, low = halves(new["now"].to_numpy())
        return Entry(SETS, SETS.frame(who=new["who"], high=high, low=low), None if strict else new.select("who"))

    @classmethod
    def recorded_of_sets(cls, new: pl.Series, members: pl.DataFrame) -> Update:
        """Return the values of sets that are new to somebody."""
        told = members.join(new.unique().alias("now").to_frame(), on="now", how="semi")
        high, low = halves(told["now"].to_numpy())
        value_high, value_low = halves(told["value"].to_numpy())
        return (Entry(MEMBERS, MEMBERS.frame(high=high, low=low, value_high=value_high, value_low=value_low)),)

    @classmethod
    def told_before(cls, books: Books, number: int) -> Update:  # noqa: ARG003
        """Return the signatures that the vault says people were told."""
        pairs, members = sets_in(books)
        high, low = halves(pairs["set"].to_numpy())
        set_high, set_low = halves(members["set"].to_numpy())
        value_high, value_low = halves(members["value"].to_numpy())
        return (
            Entry(SETS, different_rows(SETS.frame(who=pairs["who"], high=high, low=low))),
            Entry(MEMBERS, MEMBERS.frame(high=set_high, low=set_low, value_high=value_high, value_low=value_low)),
        )

    @classmethod
    def compare(cls, record: Record, told: Update, *, since: bool = False, number: int = 0) -> None:  # noqa: ARG003
        """Refuse books that know other signatures of somebody than were published.

        ``since`` more was told than is recorded: by adopted releases, or to people who were erased and came back.
        """
        recorded, theirs = _told_otherwise(record.rows(SETS), told[0].rows)
        keys = ["who", "high", "low"]
        lost, more = recorded.join(theirs, on=keys, how="anti"), theirs.join(recorded, on=keys, how="anti")
        # Of whom nothing is recorded, nothing can be said.
        more = more.clear() if since else more.join(recorded, on="who", how="semi")
        if lost.height or more.height:
            many = pl.concat([lost["who"], more["who"]]).n_unique()
            raise forgotten(f"{many:,} persons were told other signatures than it remembers")
