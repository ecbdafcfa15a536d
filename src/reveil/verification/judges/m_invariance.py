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

    @classmethod
    def meaning(cls, told: Promised) -> PromisedMeaning:
        """At most one m-th, of whoever stays: they keep their signature."""
        return PromisedMeaning("value", believed(1 / whole_in(told.settings["m"]), "value"), "events", "kept")

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:  # noqa: ARG003
        """Refuse a release in which somebody who was in the last one, with the same value, has another signature."""
        set_of_row = sets_of(shown)[shown.group]
        mark = shown.row_marks(shown.one_column)
        high, low = halves(set_of_row)
        value_high, value_low = halves(mark)
        who = shown.who[shown.real]
        now = LAST.frame(
            who=who,
            release=np.full(len(who), shown.number),
            high=high,
            low=low,
            value_high=value_high,
            value_low=value_low,
        )
        before = record.of(LAST, who).filter(pl.col("release") == shown.number - 1)
        stayed = now.join(before, on=["who", "value_high", "value_low"], how="semi")
        broken = stayed.join(before, on=["who", "high", "low"], how="anti")
        if broken.height:
            raise unsafe(f"{broken.height:,} persons who stayed would get another signature than they had")
        return (Entry(LAST, now, now.select("who")),)

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
    def compare(cls, record: Record, told: Update, *, since: bool = False) -> None:
        """Refuse books that know another last signature than was published; an adopted one takes its place."""
        if since:
            return
        keys = ["who", "high", "low"]
        recorded = record.rows(LAST)
        there = recorded.filter(pl.col("release") == recorded["release"].max())
        lost = there.join(told[0].rows, on=keys, how="anti").height
        if lost:
            raise forgotten(f"{lost:,} persons were told other signatures than it remembers")
