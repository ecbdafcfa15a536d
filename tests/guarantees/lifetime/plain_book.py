"""What a vault remembers for budgets, in dictionaries: enough to try the guarantee without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.randomness import Dice
from reveil.guarantees.base import Memory
from reveil.guarantees.comparing import check_promise
from reveil.guarantees.signatures.sets import Sets
from reveil.tables.snapshot import Snapshot, canonical_text
from reveil.verification import verify
from tests.judged import Judged
from tests.made import made

if TYPE_CHECKING:
    from reveil.guarantees.assembly import Prepared


class PlainBook:
    """Ledgers as dictionaries by person and keys; persons are numbered as they appear."""

    def __init__(self):
        self.ledgers: dict[str, dict[int, dict[tuple[int, ...], tuple[float, ...]]]] = {}
        self.persons: dict[object, int] = {}
        self.records: dict[int, int] = {}

    def look_at(self, persons) -> None:
        for who in persons:
            self.persons.setdefault(who, len(self.persons))
        self.records = {self.persons[who]: place for place, who in enumerate(persons)}

    def rows(self, ledger) -> pl.DataFrame:
        return self._rows(ledger, sorted(self.ledgers.get(ledger.name, {})))

    def of_records(self, ledger) -> pl.DataFrame:
        found = self._rows(ledger, [who for who in self.records if who in self.ledgers.get(ledger.name, {})])
        return found.drop("person").sort("record", *ledger.keys)

    def _rows(self, ledger, persons) -> pl.DataFrame:
        book = self.ledgers.get(ledger.name, {})
        found = [(self.records.get(who, -1), who, *row) for who in persons for _, row in sorted(book[who].items())]
        kinds = {name: pl.Float64 if name in ledger.real else pl.Int64 for name in ledger.columns}
        return pl.DataFrame(found, schema={"record": pl.Int32, "person": pl.Int32, **kinds}, orient="row")

    def write(self, entries) -> None:
        person = {place: number for number, place in self.records.items()}
        for own in entries:
            book = self.ledgers.setdefault(own.ledger.name, {})
            keys = len(own.ledger.keys)
            for record, *row in own.rows.select("record", *own.ledger.columns).iter_rows():
                book.setdefault(person[record], {})[tuple(row[:keys])] = tuple(row)


class PlainSeries:
    """A series without a vault; every release is verified, and its rule checked."""

    def __init__(self, guarantee, schema):
        self.guarantee, self.schema, self.book = guarantee, schema, PlainBook()
        self.values: list[str | None] = list(guarantee.traits.declared_in(schema))
        self.release = 0
        self.judged = Judged(guarantee)

    def memory(self, frame: pl.DataFrame) -> Memory:
        texts = canonical_text(frame[self.schema.sensitive[0]]).to_list()
        self.book.look_at(frame[self.schema.person].to_list())
        values = [*self.values, *(text for text in dict.fromkeys(texts) if text not in self.values)]
        nothing = np.zeros(frame.height, np.bool_)
        return Memory(
            release=self.release + 1,
            values=np.array([values.index(text) for text in texts], np.int32),
            texts=pl.Series(values, dtype=pl.String),
            known=np.arange(len(values), dtype=np.int32),
            declared=np.arange(len(self.guarantee.traits.declared_in(self.schema)), dtype=np.int32),
            seen=len(self.values),
            present=nothing,
            changed=nothing,
            sets=Sets.of([]),
            block_records=np.zeros(0, np.int32),
            block_sets=np.zeros(0, np.int32),
            book=self.book,
            stable_codes={},
        )

    def publish(self, frame: pl.DataFrame, seed: int = 0) -> Prepared:
        snapshot = Snapshot(frame, self.schema, "the frame", "polars")
        memory = self.memory(frame)
        rng = Dice.of_seed(seed).child("release", self.release)
        prepared = made(self.guarantee, snapshot, rng, memory=memory)
        own = prepared.draft.snapshot
        verify(prepared.release, own, prepared.draft.model, placement=prepared.placement)
        numbers = [self.book.persons[who] for who in frame[self.schema.person].to_list()]
        shown = self.judged.shown(prepared, numbers, self.release + 1, snapshot)
        self.judged.apply(self.judged.check(shown))
        check_promise(self.guarantee, prepared.release.manifest, self.schema, None)
        self.book.write(prepared.draft.remembered.entries)
        self.values = memory.texts.to_list()
        self.release += 1
        return prepared


def groups_of(prepared: Prepared, frame: pl.DataFrame, schema) -> list[tuple[tuple[object, ...], tuple[object, ...]]]:
    """Return the persons and the published values of each group."""
    persons = frame[schema.person].to_list()
    values = prepared.release.values.to_series().to_list()
    found: dict[int, tuple[list[object], list[object]]] = {}
    for group, record, value in zip(prepared.release.groups.tolist(), prepared.placement.tolist(), values, strict=True):
        found.setdefault(group, ([], []))
        found[group][0].append(persons[record])
        found[group][1].append(value)
    return [(tuple(members), tuple(values)) for members, values in found.values()]
