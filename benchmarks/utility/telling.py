"""What groups tell somebody who asks why they are so: the exact posterior of the publisher's own code, tiny tables.

The counted grade takes groups as given. Somebody who knows the program, and all but the dice, may go further: every
table that could be is published in every way the dice can fall, and the belief is counted by Bayes. ``quick`` is what
there was before efforts, ``normal`` exchanges records by published widths and chooses signatures by a linear program.

``python -m benchmarks.utility.telling`` stores the result in ``docs/evidence``; ``--fast`` stores nothing.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.papers.common import Experiment, Table, main
from reveil.core.effort import Effort
from reveil.guarantees.signatures.machine import form_groups
from reveil.guarantees.signatures.searching import search_of
from reveil.guarantees.signatures.sets import Sets
from reveil.guarantees.signatures.signature_based import space_of
from reveil.guarantees.signatures.situation import Situation
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing.bayes import all_tables, posterior

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.testing.bayes import Posterior

M = 2


def _frame(ages: tuple[int, ...], values: list[str]) -> Codes:
    frame = pl.DataFrame({"pid": range(len(ages)), "age": ages, "value": values})
    return encode(read_snapshot(frame, rv.Schema(person="pid", quasi="age", sensitive="value")))


def by_signatures(ages: tuple[int, ...], values: int, effort: Effort, *, linked: bool = False) -> Posterior:
    """Publish every table of these people in every way under tau-safety, and return what each release tells."""
    people = list(range(len(ages)))
    codes = _frame(ages, ["v"] * len(ages))
    space, search = space_of(codes), search_of(effort, codes, linked=linked)
    nothing, everything = np.zeros(0, np.int32), np.arange(values, dtype=np.int32)

    def publish(table: Mapping[Any, Any], dice: Any) -> Hashable:
        own = np.array([table[who] for who in people], np.int32)
        now = Situation(own, Sets.of([]), nothing, nothing, everything, np.zeros(len(own), np.bool_))
        groups = form_groups(now, space, M, dice, search)
        found = []
        for g in range(groups.size):
            rows = groups.group == g
            real = groups.record[rows]
            found.append((frozenset(real[real >= 0].tolist()), tuple(sorted(groups.value[rows].tolist()))))
        return frozenset(found)

    return posterior(all_tables(people, range(values)), publish, lambda table: dict(table.items()))


def by_cuts(ages: tuple[int, ...], values: int, effort: Effort, model: Model) -> Posterior:
    """Publish every table of these people once, with Mondrian; a refusal is told, too."""
    people = list(range(len(ages)))

    def publish(table: Mapping[Any, Any], dice: Any) -> Hashable:
        codes = _frame(ages, [f"v{table[who]}" for who in people])
        try:
            groups = rv.Mondrian(effort=effort).group(codes, model, dice)
        except rv.InfeasibleError:
            return frozenset()
        members = [groups.order[one:other].tolist() for one, other in pairwise(groups.offsets.tolist())]
        return frozenset((frozenset(own), tuple(sorted(table[who] for who in own))) for own in members)

    return posterior(all_tables(people, range(values)), publish, lambda table: dict(table.items()))


TWO_DIVERSE, HALF = rv.KAnonymity(2) & rv.DistinctDiversity(2), rv.FrequencyDiversity(2)
# Where the people of a table lie, how many values there are, and how it is published.
TRIALS: dict[str, tuple[tuple[int, ...], int, Callable[..., Posterior]]] = {
    "tau-safety, m 2: 3 people, 3 values": ((20, 30, 60), 3, by_signatures),
    "tau-safety, m 2: 3 people, 4 values": ((20, 30, 60), 4, by_signatures),
    "tau-safety, m 2: 3 people alike, 3 values": ((40, 40, 40), 3, by_signatures),
    "tau-safety, m 2, two tables: 3 people, 3 values": ((20, 30, 60), 3, partial(by_signatures, linked=True)),
    "k 2, l 2: 4 people, 3 values": ((20, 21, 40, 60), 3, partial(by_cuts, model=TWO_DIVERSE)),
    "at most one in two alike: 4 people, 3 values": ((20, 21, 40, 60), 3, partial(by_cuts, model=HALF)),
}
FAST = 1  # so many of them


class Guessed(NamedTuple):
    """The strongest belief; how often a value is certain, and the best guess right; and right by the groups alone."""

    highest: Fraction
    certain: Fraction
    right: Fraction
    by_groups: Fraction


def guessed(found: Posterior) -> Guessed:
    """Return what somebody knows who knows the program, over all tables and dice; refusals are left out."""
    published = {output: chance for output, chance in found.outputs.items() if output}
    total = sum(published.values())
    highest, certain, right, alone = (Fraction(0),) * 4
    for output, chance in published.items():
        beliefs = [max(own.values()) for own in found.given(output).values()]
        highest = max(highest, *beliefs)
        certain += chance / total * Fraction(sum(belief == 1 for belief in beliefs), len(beliefs))
        right += chance / total * sum(beliefs) / len(beliefs)
        for members, values in output:
            most = max(values.count(value) for value in values)
            alone += chance / total * Fraction(len(members) * most, len(values) * len(beliefs))
    return Guessed(highest, certain, right, alone)


def run(fast: bool) -> Experiment:  # noqa: FBT001
    """Compare the efforts on each table."""
    rows: list[list[Any]] = []
    for name, (ages, values, tell) in list(TRIALS.items())[: FAST if fast else None]:
        for effort in (Effort.QUICK, Effort.NORMAL):
            numbers = guessed(tell(ages, values, effort=effort))
            rows.append([name, str(effort), *(round(float(own), 3) for own in numbers)])
    head = [
        "table", "effort", "strongest belief", "people whose value is certain", "guesses that are right",
        "right by the groups alone",
    ]  # fmt: skip
    return Experiment(
        "utility_telling",
        "What groups tell somebody who asks why they are so",
        "our own question; the counted grade does not bound it, the blind grade does",
        [
            "Counted grade, one release. Every table in which each person has any of the values, all equally likely,",
            "is published in every way the dice can fall; the belief is exact. Beside it how many guesses would be",
            f"right if only the groups were known: under tau-safety with m = {M} one in {M}. Tables that are refused",
            "are left out.",
        ],
        [],
        [Table("Beliefs of somebody who knows the program, by effort", head, rows)],
    )


if __name__ == "__main__":
    raise SystemExit(main(run))
