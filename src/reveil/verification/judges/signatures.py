"""What the judges of m-invariance and tau-safety share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.verification.arrays import Ints, marks_of, set_marks
from reveil.verification.judges.guarantee import GuaranteeJudge
from reveil.verification.judges.m_uniqueness import MUniqueness
from reveil.verification.record import Kept
from reveil.verification.shown import unsafe

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Entry, Record, Update
    from reveil.verification.shown import Shown


# The vault's own books of releases from elsewhere.
_PUBLISHED_ALONE = Kept("alone", keys=("value",))
_SPOILED = Kept("spoiled", keys=("signature", "value"), personal=False)


class Signatures(GuaranteeJudge):
    """Every group has m different values, and people keep the set of values of their group.

    The rule asks about each person by themselves (:meth:`rule_of_people`), so that some people can be judged at a time.
    """

    remembers: ClassVar[bool] = True
    may_count: ClassVar[frozenset[str]] = frozenset(["withheld", "counterfeits"])
    of_people: ClassVar[Kept]  # what is recorded of each person
    of_sets: ClassVar[Kept | None] = None  # what is recorded of sets, all together

    @classmethod
    def demands(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Ask for m different values in every group; where m is by column, each column is judged by itself."""
        return () if isinstance(told.get("m"), Mapping) else MUniqueness.read({"m": told.get("m", 0)})

    @classmethod
    @abstractmethod
    def rule_of_people(
        cls, now: pl.DataFrame, members: pl.DataFrame, promised: Promised, record: Record, number: int
    ) -> tuple[int, pl.DataFrame]:
        """Return of how many of some people the rule is broken, and the rows of ``now`` that are to be recorded.

        ``now`` has ``who``, the mark of the set they are in, and that of their ``value`` in release ``number``;
        ``members`` has the marks of the values of each set.
        """

    @classmethod
    @abstractmethod
    def refuse_broken(cls, persons: int) -> None:
        """Refuse a release that breaks the rule for some persons."""

    @classmethod
    @abstractmethod
    def recorded(cls, new: pl.DataFrame, promised: Promised, number: int) -> Entry:
        """Return what is to be recorded of people, by the rows that :meth:`rule_of_people` returned."""

    @classmethod
    def recorded_of_sets(cls, new: pl.Series, members: pl.DataFrame) -> Update:  # noqa: ARG003
        """Return what is to be recorded of sets that are new to somebody."""
        return ()

    @classmethod
    def keeping(cls, shown: Shown, books: Books) -> pl.DataFrame:  # noqa: ARG003
        """Return ``who`` has to keep a signature that they were told."""
        return pl.DataFrame({"who": shown.who[shown.real]})

    @classmethod
    def check_adopted(cls, shown: Shown, books: Books) -> None:
        """Refuse groups of a signature that somebody keeps beside others, and has to keep alone."""
        texts = books.codes(books.first_sensitive())
        alone = books.rows(_PUBLISHED_ALONE).join(texts, left_on="value", right_on="code", how="left")
        spoiled = books.rows(_SPOILED).join(texts, left_on="value", right_on="code", how="left")
        if not alone.height and not spoiled.height:
            return
        pairs, members = sets_in(books)
        values = pl.DataFrame({"who": alone["who"], "value": marks_of(alone["text"])})
        apart = pairs.join(members, on="set").join(values, on=["who", "value"], how="semi").select("who", "set")
        if spoiled.height:
            # A set that adopted releases crossed is kept alone by whoever was told it.
            numbers, place = np.unique(spoiled["signature"].to_numpy(), return_inverse=True)
            crossed = set_marks(place, marks_of(spoiled["text"]), len(numbers))
            apart = pl.concat([apart, pairs.filter(pl.Series(np.isin(pairs["set"].to_numpy(), crossed)))])
        people = pl.DataFrame({"who": shown.who[shown.real], "set": sets_of(shown)[shown.group]})
        crowded = people.filter(pl.Series(shown.group).is_duplicated()).join(
            cls.keeping(shown, books), on="who", how="semi"
        )
        met = crowded.join(apart, on=["who", "set"], how="semi")
        if met.height:
            raise unsafe(f"{met['who'].n_unique():,} persons would share a group that they have to be alone in")


def judge_of_signatures(asked: Promised) -> type[Signatures]:
    """Return the judge of a guarantee whose rule asks about each person by themselves."""
    if not issubclass(asked.judge, Signatures):
        raise TypeError(f"{asked.kind!r} is not judged in shards")
    return asked.judge


def sets_of(shown: Shown) -> Ints:
    """Return the mark of the set of values of each group."""
    group, mark, _ = shown.members
    return set_marks(group, mark, len(shown.groups.numbers))


def sets_in(books: Books) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return ``who`` and ``set``, and the ``value`` of each ``set``, as marks, that the vault's books have."""
    told, members = books.signatures()
    numbers, place = np.unique(members["signature"].to_numpy(), return_inverse=True)
    marks = marks_of(members["value"])
    set_of_signature = set_marks(place, marks, len(numbers))
    signature = told["signature"].to_numpy()
    at = np.minimum(np.searchsorted(numbers, signature), len(numbers) - 1)
    known = numbers[at] == signature if len(numbers) else np.zeros(len(signature), np.bool_)
    pairs = told.filter(pl.Series(known)).select("who", set=pl.Series(set_of_signature[at[known]], dtype=pl.Int64))
    values = pl.DataFrame({"set": set_of_signature[place], "value": marks}, schema={"set": pl.Int64, "value": pl.Int64})
    return pairs, values.unique()
