"""What a vault remembers for signatures, in dictionaries: enough to try guarantees without one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.base import Memory
from reveil.guarantees.signatures.sets import Sets
from reveil.tables.joint import joint_schema, joint_snapshot
from reveil.tables.snapshot import Snapshot, canonical_text
from tests.made import made

if TYPE_CHECKING:
    from reveil.guarantees.assembly import Prepared


class NoLedgers:
    """A book in which nothing was written: signatures say it all until a release from elsewhere is adopted."""

    def of_records(self, ledger):
        return pl.DataFrame(schema={"record": pl.Int32, **dict.fromkeys(ledger.columns, pl.Int32)})

    def rows(self, ledger, column=None, among=None):
        return pl.DataFrame(schema=dict.fromkeys(ledger.columns, pl.Int32))


class PlainMemory:
    """Remembers values in the order in which they appear, and each person's signatures and last value."""

    def __init__(self, guarantee, schema):
        self.guarantee, self.schema = guarantee, schema
        self.values: list[str | None] = list(guarantee.traits.declared_in(schema))
        self.told: dict[object, list[str]] = {}
        self.last: dict[object, str | None] = {}
        self.present: set[object] = set()
        self.release = 0

    def memory(self, frame: pl.DataFrame) -> Memory:
        """Return what was told of the persons of a frame, whose values are known from now on."""
        persons = frame[self.schema.person].to_list()
        texts = canonical_text(frame[self.schema.sensitive[0]]).to_list()
        seen = len(self.values)
        self.values += [text for text in dict.fromkeys(texts) if text not in self.values]
        sets = list(dict.fromkeys(members for own in self.told.values() for members in own))
        pairs = [(i, sets.index(members)) for i, who in enumerate(persons) for members in self.told.get(who, [])]
        return Memory(
            release=self.release + 1,
            values=np.array([self.values.index(text) for text in texts], np.int32),
            texts=pl.Series(self.values, dtype=pl.String),
            known=np.arange(len(self.values), dtype=np.int32),
            declared=np.arange(len(self.guarantee.traits.declared_in(self.schema)), dtype=np.int32),
            seen=seen,
            present=np.array([who in self.present for who in persons]),
            changed=np.array(
                [who in self.last and self.last[who] != text for who, text in zip(persons, texts, strict=True)]
            ),
            sets=Sets.of([[int(code) for code in members.split(",")] for members in sets]),
            block_records=np.array([i for i, _ in pairs], np.int32),
            block_sets=np.array([s for _, s in pairs], np.int32),
            book=NoLedgers(),
            stable_codes={},
        )

    def remember(self, frame: pl.DataFrame, told: pl.DataFrame, *, replaces: bool) -> None:
        """Remember what was told: pairs of a record and the members of a signature."""
        persons = frame[self.schema.person].to_list()
        for record, members in told.select("record", "members").iter_rows():
            own = [] if replaces else self.told.get(persons[record], [])
            self.told[persons[record]] = list(dict.fromkeys([*own, members]))
        texts = canonical_text(frame[self.schema.sensitive[0]]).to_list()
        self.last |= dict(zip(persons, texts, strict=True))
        self.present = set(persons)
        self.release += 1

    def publish(self, frame: pl.DataFrame, rng) -> Prepared:
        snapshot = Snapshot(frame, self.schema, "the frame", "polars")
        prepared = made(self.guarantee, snapshot, rng, memory=self.memory(frame))
        remembered = prepared.draft.remembered
        self.remember(frame, remembered.told, replaces=remembered.replaces)
        return prepared


class PlainColumns:
    """The same for several sensitive columns, each of which is remembered by itself."""

    def __init__(self, guarantee, schema):
        self.guarantee, self.schema = guarantee, schema
        joint = joint_schema(schema, guarantee.together or ())
        self.columns = {
            name: PlainMemory(
                guarantee.of_column(name),
                joint.with_columns(own for own in joint.columns if own.name == name or own.name not in joint.sensitive),
            )
            for name in joint.sensitive
        }

    def publish(self, frame: pl.DataFrame, rng) -> Prepared:
        snapshot = Snapshot(frame, self.schema, "the frame", "polars")
        joint = joint_snapshot(snapshot, self.guarantee.together or ()).frame
        each = {name: own.memory(joint) for name, own in self.columns.items()}
        memory = replace(next(iter(each.values())), columns=each)
        prepared = made(self.guarantee, snapshot, rng, memory=memory)
        told = prepared.draft.remembered.told
        for name, own in self.columns.items():
            mine = told if "column" not in told.columns else told.filter(pl.col("column") == name)
            own.remember(joint, mine, replaces=False)
        return prepared


def groups_of(prepared: Prepared, frame: pl.DataFrame, schema) -> list[tuple[tuple[object, ...], tuple[object, ...]]]:
    """Return the persons and the published values of each group."""
    persons = frame[schema.person].to_list()
    groups, values = prepared.release.group_values()
    found: dict[int, tuple[list[object], list[object]]] = {}
    for group, value in zip(groups.tolist(), values.to_series().to_list(), strict=True):
        found.setdefault(group, ([], []))[1].append(value)
    for group, record in zip(prepared.release.groups.tolist(), prepared.placement.tolist(), strict=True):
        if record >= 0:
            found[group][0].append(persons[record])
    return [(tuple(members), tuple(values)) for members, values in found.values()]
