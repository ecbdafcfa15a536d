"""Several sensitive columns in one release: each is grouped by itself, and all share the boxes.

What is one value, a column or several that are declared ``together``, is a *unit* here. A unit's groups are made of its
values, the quasi values and dice of its name, by the code that groups one column; no other column is looked at. Who
rests in one unit rests in all: who rests is decided by what was told, not by a value of today.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, InfeasibleError, RefusedError
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.guarantees.draft import Draft, DraftColumn, GivenColumn, Grouped, Left, Remembered, Rows
from reveil.guarantees.signatures.adopted import published_alone
from reveil.guarantees.signatures.deciding_pairs import check_pairs
from reveil.guarantees.signatures.forms import tight_partition
from reveil.models.m_uniqueness import MUniqueness
from reveil.tables.joint import joint_snapshot, split_values, units_of
from reveil.tables.notation import parsed
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.guarantees.base import Memory
    from reveil.guarantees.draft import Request
    from reveil.guarantees.signatures.situation import Situation
    from reveil.guarantees.signatures.tau_safety import TauSafety
    from reveil.models.encoding import Codes
    from reveil.tables.snapshot import Snapshot

WAYS_OUT = (  # coarser values would be fewer, and more people would have each of them
    "Leave the column out, make one value of several columns (together), take finer values or bins, or publish it "
    "under refinement or static in a series of its own people."
)
USUAL_COUNTERFEITS = 0.05  # for each record, that a column may need at first without being asked


@dataclass(frozen=True)
class UnitNow:
    """One unit of a snapshot: its guarantee, memory and situation, and who may be where."""

    name: str
    parts: tuple[str, ...]
    guarantee: TauSafety
    memory: Memory = field(repr=False)
    now: Situation = field(repr=False)


def decide_columns(guarantee: TauSafety, request: Request, memory: Memory, rng: Dice) -> Draft:
    """Form the groups of every unit, and boxes for all of them together."""
    snapshot = request.snapshot
    joint = joint_snapshot(snapshot, guarantee.together or ())
    check_numbers(snapshot)
    check_pairs(joint, independent=bool(guarantee.independent))
    units = [
        _situation(guarantee, name, parts, memory.of(name), joint)
        for name, parts in units_of(snapshot.schema.sensitive, guarantee.together or ()).items()
    ]
    resting = np.logical_or.reduce([unit.now.resting for unit in units])
    withheld = int(resting.sum())
    if withheld == len(resting):
        raise InfeasibleError(
            "nobody can be published: all the persons of this snapshot rest",
            hint="They were told so many values of some column that fewer than m are left.",
        )
    codes = replace(request.codes, sensitive=())  # no unit looks at another one's values
    made = [_grouped(unit, resting, snapshot, codes, rng.child("groups", unit.name)) for unit in units]
    records = np.flatnonzero(~resting).astype(np.int32)
    largest = max(unit.guarantee.m for unit in units if isinstance(unit.guarantee.m, int))
    partition = tight_partition(codes, records, largest, rng.child("classes"))
    plain = {name: GivenColumn(snapshot.frame[name], records) for name in snapshot.schema.plain}
    return Draft(
        Rows(records, records, None, plain),
        Grouped(codes, partition, BoxRecoder()),
        MUniqueness(largest),
        guarantee.promise(snapshot.schema, request.method),
        snapshot,
        request.codes,
        apart=True,
        left=Left(withheld=withheld),
        remembered=Remembered(
            pl.concat([told for _, told in made]) if len(made) > 1 else made[0][1].drop("column"),
            facts={
                "fewest_counterfeits": sum(column.fewest for column, _ in made),
                "counterfeits_by_column": {column.name: column.counterfeits for column, _ in made},
            },
        ),
        columns=tuple(column for column, _ in made),
        reached=_reached(tuple(column for column, _ in made)),
    )


def _situation(guarantee: TauSafety, name: str, parts: tuple[str, ...], memory: Memory, joint: Snapshot) -> UnitNow:
    of_column = guarantee.of_column(name)
    alone = joint.schema.with_columns(
        column for column in joint.schema.columns if column.role is not Role.SENSITIVE or column.name == name
    )
    try:
        now = of_column.checked_situation(memory, alone)
        if memory.release == 1:
            _check_crowd(now, of_column, guarantee.counterfeits)
    except InfeasibleError as error:
        raise InfeasibleError(
            f"column {name!r}: {error.message}", column=name, hint=f"{error.hint} {WAYS_OUT}"
        ) from None
    except RefusedError as error:
        raise RefusedError(f"column {name!r}: {error.message}", column=name, hint=error.hint) from None
    return UnitNow(name, parts, of_column, memory, now)


def _check_crowd(now: Situation, guarantee: TauSafety, allowed: float | None) -> None:
    """Refuse a column in which one value has so many people that too many counterfeits would stand beside them."""
    m = guarantee.m
    counts = np.bincount(now.values)
    most, people = int(counts.max(initial=0)), len(now.values)
    need = m * most / people - 1 if isinstance(m, int) else 0.0
    if need <= (USUAL_COUNTERFEITS if allowed is None else allowed):
        return
    fits = people // most
    way = f"The largest m that fits is {fits}." if fits >= 2 else "No m fits."
    raise InfeasibleError(
        f"one value has {most / people:.0%} of the people, more than 1/{m}: {need:.2f} counterfeits would be needed "
        "for each record",
        hint=f"{way} counterfeits = {np.ceil(need * 100) / 100:g} under [guarantee] allows that many.",
    )


def _grouped(
    unit: UnitNow, resting: np.ndarray, snapshot: Snapshot, codes: Codes, rng: Dice
) -> tuple[DraftColumn, pl.DataFrame]:
    """Return the groups of one unit, and what they tell."""
    now = replace(unit.now, resting=resting)
    groups = unit.guarantee.all_groups(now, published_alone(unit.memory), codes, rng, None)
    # Who keeps a signature was told it before.
    stays = np.append(now.usable >= 0, True)  # the last one stands for counterfeits
    new = np.flatnonzero(~stays[groups.record])
    texts = groups.sets.texts().gather(groups.signature[groups.group[new]])
    told = pl.DataFrame({"record": groups.record[new], "members": texts, "column": [unit.name] * len(new)})
    types = {name: snapshot.frame[name].dtype for name in unit.parts}
    joined = unit.memory.texts
    source = (
        pl.DataFrame([parsed(joined, next(iter(types.values()))).alias(unit.name)])
        if len(unit.parts) == 1
        else split_values(_only(joined, groups.value), types)
    )
    column = DraftColumn(unit.name, unit.parts, groups.record, groups.group, source, groups.value, int(groups.fewest))
    return column, told.cast({"record": pl.Int32, "column": pl.String})


def _only(texts: pl.Series, codes: np.ndarray) -> pl.Series:
    """Return the texts of some codes; others, which may be erased, are empty lists of values no more."""
    used = np.zeros(len(texts), np.bool_)
    used[codes] = True
    first = texts[int(np.flatnonzero(used)[0])] if used.any() else None
    return pl.select(pl.when(pl.Series(used)).then(texts).otherwise(pl.lit(first))).to_series()


def _reached(columns: tuple[DraftColumn, ...]) -> dict[str, JSON]:
    """Return the size of the smallest group of each column; all values of a group are different."""
    return {"m": {column.name: int(np.bincount(column.group).min()) for column in columns}}


def check_numbers(snapshot: Snapshot) -> None:
    """Refuse sensitive numbers as they are: by them rows could be followed from release to release."""
    for name in snapshot.schema.sensitive:
        dtype = snapshot.frame.schema[name]
        if dtype.is_numeric() or dtype.is_temporal():
            raise ConfigError(
                f"the sensitive column {name!r} has exact numbers or dates, by which rows could be followed",
                column=name,
                hint=f'Declare bins: {name} = {{ role = "sensitive", bins = [10, 20, 30] }}, or type = "text" where '
                "they are codes of something.",
            )
