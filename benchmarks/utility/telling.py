"""What groups tell somebody who asks why they are so: the exact posterior of the publisher's own code, tiny tables.

The counted grade takes groups as given. Somebody who knows the program, and all but the dice, may go further: every
table that could be is published in every way the dice can fall, and the belief is counted by Bayes. ``quick`` is what
there was before efforts, ``normal`` exchanges records by published widths and chooses signatures by a linear program.

``python -m benchmarks.utility.telling`` stores the result in ``docs/evidence``; ``--fast`` stores nothing.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Hashable, Mapping

    from reveil.models.base import Model
    from reveil.testing.bayes import Posterior

M = 2
# Where the people of a table lie, and how many values there are.
TABLES = {
    "3 people, 3 values": ((20, 30, 60), 3),
    "3 people, 4 values": ((20, 30, 60), 4),
    "3 people alike, 3 values": ((40, 40, 40), 3),
}
FAST = 1  # so many of them
# Models of one release, each with at most half of a group alike.
STATIC = {"at most one in two alike": rv.FrequencyDiversity(2), "k 2, l 2": rv.KAnonymity(2) & rv.DistinctDiversity(2)}
PLACES, KINDS = (20, 30, 60, 70), 3


def told(ages: tuple[int, ...], values: int, effort: Effort) -> Posterior:
    """Publish every table of these people in every way, and return what each release tells."""
    schema = rv.Schema(person="pid", quasi="age", sensitive="value")
    people = list(range(len(ages)))
    frame = pl.DataFrame({"pid": people, "age": ages, "value": ["v"] * len(ages)})
    codes = encode(read_snapshot(frame, schema))
    space, search = space_of(codes), search_of(effort, codes)
    nothing, everything = np.zeros(0, np.int32), np.arange(values, dtype=np.int32)

    def publish(table: Mapping[Any, Any], dice: Any) -> Hashable:
        own = np.array([table[who] for who in people], np.int32)
        now = Situation(own, Sets.of([]), nothing, nothing, everything, np.zeros(len(own), np.bool_))
        groups = form_groups(now, space, M, dice, search)
        found = []
        for g in range(groups.size):
            rows = groups.group == g
            real = groups.record[rows]
            found.append((frozenset(real[real >= 0].tolist()), frozenset(groups.value[rows].tolist())))
        return frozenset(found)

    return posterior(all_tables(people, range(values)), publish, lambda table: dict(table.items()))


def told_once(model: Model, effort: Effort) -> Posterior:
    """Publish every table of four people that satisfies the model, once, in every way, and return what that tells."""
    schema = rv.Schema(quasi="age", sensitive="value")
    people = list(range(len(PLACES)))
    names = [f"v{value}" for value in range(KINDS)]
    fit = [
        table
        for table, _ in all_tables(people, names)
        if max(Counter(table.values()).values()) * 2 <= len(people)  # what both models ask of four people
    ]

    def publish(table: Mapping[Any, Any], dice: Any) -> Hashable:
        own = [table[who] for who in people]
        codes = encode(read_snapshot(pl.DataFrame({"age": PLACES, "value": own}), schema))
        groups = rv.Mondrian(effort=effort).group(codes, model, dice)
        members = [groups.order[a:b].tolist() for a, b in pairwise(groups.offsets.tolist())]
        return frozenset((frozenset(each), tuple(sorted(own[who] for who in each))) for each in members)

    return posterior([(table, Fraction(1, len(fit))) for table in fit], publish, lambda table: dict(table.items()))


def guessed(found: Posterior) -> tuple[Fraction, Fraction, Fraction]:
    """Return the strongest belief, how often somebody's value is certain, and how often the best guess is right."""
    certain, right = Fraction(0), Fraction(0)
    for output, chance in found.outputs.items():
        beliefs = [max(own.values()) for own in found.given(output).values()]
        certain += chance * Fraction(sum(belief == 1 for belief in beliefs), len(beliefs))
        right += chance * sum(beliefs) / len(beliefs)
    return found.highest()[0], certain, right


def run(fast: bool) -> Experiment:  # noqa: FBT001
    """Compare the efforts on each table."""
    rows: list[list[Any]] = []
    for name, (ages, values) in list(TABLES.items())[: FAST if fast else None]:
        for effort in (Effort.QUICK, Effort.NORMAL):
            highest, certain, right = guessed(told(ages, values, effort))
            rows.append(
                [f"tau-safety, m 2: {name}", str(effort), *(round(float(own), 3) for own in (highest, certain, right))]
            )
    for name, model in list(STATIC.items())[: FAST if fast else None]:
        for effort in (Effort.QUICK, Effort.NORMAL):
            highest, certain, right = guessed(told_once(model, effort))
            title = f"static, {name}: 4 people, {KINDS} values"
            rows.append([title, str(effort), *(round(float(own), 3) for own in (highest, certain, right))])
    head = ["table", "effort", "strongest belief", "people whose value is certain", "guesses that are right"]
    return Experiment(
        "utility_telling",
        "What groups tell somebody who asks why they are so",
        "our own question; the counted grade does not bound it, the blind grade does",
        [
            f"tau-safety with m = {M}, counted grade, one release; static releases of tables that satisfy the model.",
            "Every table in which each person has any of the values, all equally likely, is published in every way the",
            "dice can fall; the belief is exact.",
            f"Given the groups alone, every belief would be 1/{M} at most (k 2, l 2: by share of the group).",
            "Refinement, the global guarantee and possible worlds are not among these. (Exact posteriors of the blind",
            "grades of tau-safety, refinement and possible worlds are in the tests.)",
        ],
        [],
        [Table("Beliefs of somebody who knows the program, by effort", head, rows)],
    )


if __name__ == "__main__":
    raise SystemExit(main(run))
