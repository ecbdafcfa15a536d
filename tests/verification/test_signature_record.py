"""The record of signatures beside the vault's books: people of whom both say one set are left out of the comparison."""

import numpy as np
import polars as pl
import pytest

from reveil.core.errors import VerificationError
from reveil.verification.arrays import different_rows, only_marks, room_for
from reveil.verification.judges.tau_safety import MEMBERS, SETS, TauSafety
from reveil.verification.promised import Promised
from reveil.verification.record import Entry, MemoryRecord

FAR = 1 << 40  # the number of somebody who was erased: no array goes that far


def record(pairs):
    found = MemoryRecord()
    found.apply((Entry(SETS, told(pairs)),))
    return found


def told(pairs):
    who, sets = zip(*pairs, strict=True) if pairs else ((), ())
    return SETS.frame(who=list(who), high=[0] * len(who), low=list(sets))


def compared(recorded, theirs, *, since=False):
    TauSafety.compare(record(recorded), (Entry(SETS, told(theirs)),), since=since)


@pytest.mark.parametrize("beside", [[], [(FAR, 9)]], ids=["near", "far"])
def test_what_was_told_is_what_is_recorded(beside):
    pairs = [(0, 1), (1, 1), (1, 2), (2, 5), *beside]
    compared(pairs, pairs[::-1])
    compared(pairs, [*pairs, (7, 3)])  # of whom nothing is recorded, nothing can be said
    compared(pairs, [*pairs, (2, 6)], since=True)
    for lost in range(len(pairs)):
        with pytest.raises(VerificationError, match="1 persons were told other signatures"):
            compared(pairs, pairs[:lost] + pairs[lost + 1 :])
    for wrong in ([*pairs, (0, 2)], [(0, 4), *pairs[1:]], [*pairs[:3], (2, 6), *beside]):
        with pytest.raises(VerificationError, match="1 persons were told other signatures"):
            compared(pairs, wrong)


@pytest.mark.parametrize("beside", [[], [(FAR, 9)]], ids=["near", "far"])
def test_the_rule_is_asked_of_everybody_whose_set_is_not_the_one_of_before(beside):
    before = [(0, 1), (1, 1), (1, 2), (2, 5), *beside]
    known = record(before)
    members = {1: [10, 11], 2: [12, 13], 5: [14, 15], 6: [15, 16], 7: [17, 18]}
    pairs = [(of, value) for of, values in members.items() for value in values]
    known.apply(
        (
            Entry(
                MEMBERS,
                MEMBERS.frame(
                    high=[0] * len(pairs),
                    low=[of for of, _ in pairs],
                    value_high=[0] * len(pairs),
                    value_low=[value for _, value in pairs],
                ),
            ),
        )
    )
    marks = pl.DataFrame(pairs, schema={"now": pl.Int64, "value": pl.Int64}, orient="row")
    promised = Promised.told({"kind": "tau-safety", "m": 2, "strict": True})

    def ruled(now):
        people = pl.DataFrame(now, schema={"who": pl.Int64, "now": pl.Int64}, orient="row")
        broken, new = TauSafety.rule_of_people(people, marks, promised, known, 2)
        return broken, sorted(new.rows())

    assert ruled([(0, 1), (1, 2), (2, 5)]) == (0, [])
    assert ruled([(0, 2), (1, 7), (2, 5), (3, 1)]) == (0, [(0, 2), (1, 7), (3, 1)])
    assert ruled([(0, 1), (2, 6)]) == (1, [(2, 6)])


def test_marks_of_persons_with_one_row():
    who, marks = np.array([3, 0, 3, 1]), np.array([5, 6, 7, 8])
    assert only_marks(who, marks, 5).tolist() == [6, 8, -1, -1, -1]
    assert room_for(who) == 4
    assert room_for(who, np.array([FAR])) == 0


@pytest.mark.parametrize("far", [1, FAR])
def test_different_rows(far):
    rows = pl.DataFrame({"who": [0, 0, 2, far, 0], "set": [1, 1, 1, 4, 2]})
    assert sorted(different_rows(rows).rows()) == sorted({(0, 1), (2, 1), (far, 4), (0, 2)})
