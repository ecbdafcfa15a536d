"""m-invariance: whoever stays keeps the signature they had."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.json_values import whole_in
from reveil.verification.arrays import halves, marks_of
from reveil.verification.judges.signatures import Signatures, sets_in, sets_of
from reveil.verification.meaning import PromisedMeaning, believed
from reveil.verification.record import Entry, Kept
from reveil.verification.shown import forgotten, unsafe

if TYPE_CHECKING:
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, Update
    from reveil.verification.shown import Shown

# Of everybody the release they were in last, the signature, and the value; of a release from elsewhere every signature
# that they may have had.
# It is their own: a tombstone does not keep it.
LAST = Kept("judged_last", keys=("high", "low"), whole=("release", "value_high", "value_low"), outlives=False)


class MInvariance(Signatures):
    """Judge the releases of a series in which people only come and go."""

    kind: ClassVar[str] = "m-invariance"
    of_people: ClassVar[Kept] = LAST

    @classmethod
    def meaning(cls, told: Promised) -> PromisedMeaning:
        """At most one m-th, of whoever stays: they keep their signature."""
        return PromisedMeaning("value", believed(1 / whole_in(told.settings["m"]), "value"), "events", "kept")

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:
        """Refuse a release in which somebody who was in the last one, with the same value, has another signature."""
        marks = {"now": sets_of(shown)[shown.group], "value": shown.row_marks(shown.one_column)}
        now = pl.DataFrame({"who": shown.who[shown.real], **marks})
        broken, new = cls.rule_of_people(now, now.clear(), promised, record, shown.number)
        cls.refuse_broken(broken)
        return (cls.recorded(new, promised, shown.number),)

    @classmethod
    def rule_of_people(
        cls,
        now: pl.DataFrame,
        members: pl.DataFrame,  # noqa: ARG003
        promised: Promised,
        record: Record,
        number: int,
    ) -> tuple[int, pl.DataFrame]:
        """Return how many people who stayed have another signature; of everybody the last one is recorded."""
        before = record.of(LAST, now["who"].to_numpy()).filter(pl.col("release") == number - 1)
        told = cls.recorded(now, promised, number).rows
        stayed = told.join(before, on=["who", "value_high", "value_low"], how="semi")
        return stayed.join(before, on=["who", "high", "low"], how="anti").height, now

    @classmethod
    def refuse_broken(cls, persons: int) -> None:
        """Refuse a release in which people who stayed have another signature."""
        if persons:
            raise unsafe(f"{persons:,} persons who stayed would get another signature than they had")

    @classmethod
    def recorded(cls, new: pl.DataFrame, promised: Promised, number: int) -> Entry:  # noqa: ARG003
        """Return in which set people are with which value, in the place of what was recorded before."""
        high, low = halves(new["now"].to_numpy())
        value_high, value_low = halves(new["value"].to_numpy())
        marks = {"high": high, "low": low, "value_high": value_high, "value_low": value_low}
        rows = LAST.frame(who=new["who"], release=np.full(new.height, number), **marks)
        return Entry(LAST, rows, rows.select("who"))

    @classmethod
    def keeping(cls, shown: Shown, books: Books) -> pl.DataFrame:
        """Return who was in the last release with the value they have now: all others count as new."""
        last = books.last().filter("present")
        before = last.select("who", value=pl.Series(marks_of(last["value"])))
        now = pl.DataFrame({"who": shown.who[shown.real], "value": shown.row_marks(shown.one_column)})
        return now.join(before, on=["who", "value"], how="semi").select("who")

    @classmethod
    def told_before(cls, books: Books, number: int) -> Update:
        """Return the signatures that the vault says people had last, with their values, of those who are there."""
        pairs, _ = sets_in(books)
        last = books.last().filter("present")
        high, low = halves(pairs["set"].to_numpy())
        found = pairs.with_columns(high=pl.Series(high), low=pl.Series(low)).join(last, on="who")
        value_high, value_low = halves(marks_of(found["value"]))
        rows = LAST.frame(
            who=found["who"],
            release=np.full(found.height, number),
            high=found["high"],
            low=found["low"],
            value_high=value_high,
            value_low=value_low,
        )
        return (Entry(LAST, rows.unique()),)

    @classmethod
    def compare(cls, record: Record, told: Update, *, since: bool = False, number: int = 0) -> None:
        """Refuse books that know another last signature than was published; an adopted one takes its place."""
        if since:
            return
        keys = ["who", "high", "low"]
        there = record.rows(LAST).filter(pl.col("release") == number)
        lost = there.join(told[0].rows, on=keys, how="anti").height
        if lost:
            raise forgotten(f"{lost:,} persons were told other signatures than it remembers")
