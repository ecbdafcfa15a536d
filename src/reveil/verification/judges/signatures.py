"""What the judges of m-invariance and tau-safety share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from reveil.verification.arrays import Ints, marks_of, set_marks
from reveil.verification.judges.guarantee import GuaranteeJudge
from reveil.verification.judges.m_uniqueness import MUniqueness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.record import Books
    from reveil.verification.shown import Shown


class Signatures(GuaranteeJudge):
    """Every group has m different values, and people keep the set of values of their group."""

    remembers: ClassVar[bool] = True
    may_count: ClassVar[frozenset[str]] = frozenset(["withheld", "counterfeits"])

    @classmethod
    def demands(cls, told: Mapping[str, Any]) -> tuple[GroupJudge, ...]:
        """Ask for m different values in every group."""
        return MUniqueness.read({"m": told.get("m", 0)})


def sets_of(shown: Shown) -> Ints:
    """Return the mark of the set of values of each group."""
    group, mark, _ = shown.members
    return set_marks(group, mark, len(shown.groups.numbers))


def sets_in(books: Books) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return ``who`` and ``set``, and the ``value`` of each ``set``, as marks, that the vault's books have."""
    told, members = books.signatures()
    numbers, place = np.unique(members["signature"].to_numpy(), return_inverse=True)
    marks = marks_of(members["value"])
    own = set_marks(place, marks, len(numbers))
    known = pl.DataFrame({"signature": numbers.astype(np.int64), "set": own})
    pairs = told.cast({"signature": pl.Int64}).join(known, on="signature").select("who", "set")
    values = pl.DataFrame({"set": own[place], "value": marks}, schema={"set": pl.Int64, "value": pl.Int64})
    return pairs, values.unique()
