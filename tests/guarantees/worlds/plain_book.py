"""What a vault remembers of possible worlds, in dictionaries: enough to try the guarantee without one."""

import numpy as np
import polars as pl

from reveil.guarantees.base import Memory
from reveil.guarantees.comparing import check_promise
from reveil.guarantees.signatures.sets import Sets
from reveil.tables.schema import Schema
from reveil.tables.snapshot import Snapshot, canonical_text
from reveil.verification import verify
from tests.judged import Judged
from tests.made import made


class PlainBook:
    """Ledgers as lists of rows, persons numbered as they come; ``publish`` cuts columns as a series does."""

    def __init__(self, guarantee, schema):
        self.guarantee, self.schema = guarantee, schema
        self.ledgers: dict[str, pl.DataFrame] = {}
        self.numbers: dict[object, int] = {}
        self.records: dict[int, int] = {}
        self.codes: dict[str, dict[object, int]] = {}
        self.told: dict[str, dict[int, int]] = {}
        self.release = 0
        self.judged = Judged(guarantee)

    def rows(self, ledger, column=None, among=None):
        found = self.ledgers.get(ledger.name)
        if found is None:
            owner = ("person",) if ledger.personal else ()
            found = pl.DataFrame(schema=dict.fromkeys((*owner, *ledger.columns), pl.Int32))
        if not ledger.personal:
            return found
        return found.with_columns(record=pl.Series([self.records.get(p, -1) for p in found["person"]], dtype=pl.Int32))

    def last(self, persons):
        return {name: np.array([own.get(int(p), -1) for p in persons], np.int32) for name, own in self.told.items()}

    def publish(self, frame: pl.DataFrame, rng, columns=None):
        whole = Snapshot(frame, self.schema, "the frame", "polars")
        kept = [c for c in self.schema.columns if columns is None or c.name in columns or c.role == "person"]
        names = [name for name in frame.columns if name in {c.name for c in kept}]
        snapshot = Snapshot(frame.select(names), Schema.of(kept, ()), "the frame", "polars")
        persons = frame[self.schema.person].to_list()
        for who in persons:
            self.numbers.setdefault(who, len(self.numbers))
        self.records = {self.numbers[who]: record for record, who in enumerate(persons)}
        stable_codes = {}
        for name in (*snapshot.schema.quasi, *snapshot.schema.sensitive):
            known = self.codes.setdefault(name, {})
            texts = canonical_text(frame[name]).to_list()
            stable_codes[name] = np.array([known.setdefault(text, len(known)) for text in texts], np.int32)
        none = np.zeros(0, np.int32)
        memory = Memory(
            release=self.release + 1,
            values=none,
            texts=pl.Series([], dtype=pl.String),
            known=none,
            declared=none,
            seen=0,
            present=np.zeros(0, np.bool_),
            changed=np.zeros(0, np.bool_),
            sets=Sets.of([]),
            block_records=none,
            block_sets=none,
            book=self,
            stable_codes=stable_codes,
            whole=whole,
        )
        prepared = made(self.guarantee, snapshot, rng, memory=memory)
        verify(prepared.release, snapshot, prepared.draft.model, placement=prepared.placement)
        numbers = [self.numbers[who] for who in persons]
        shown = self.judged.shown(prepared, numbers, self.release + 1, whole)
        self.judged.apply(self.judged.check(shown))
        check_promise(self.guarantee, prepared.release.manifest, self.schema, None)
        for entries in prepared.draft.remembered.entries:
            rows = entries.rows
            if entries.ledger.personal:
                person = [self.numbers[persons[record]] for record in rows["record"]]
                rows = rows.drop("record").with_columns(person=pl.Series(person, dtype=pl.Int32))
            rows = rows.cast(pl.Int32)
            before = self.ledgers.get(entries.ledger.name, rows.clear())
            self.ledgers[entries.ledger.name] = pl.concat([before, rows.select(before.columns)])
        for name, own in stable_codes.items():
            known_of = self.told.setdefault(name, {})
            known_of |= {self.numbers[who]: int(code) for who, code in zip(persons, own, strict=True)}
        self.release += 1
        return prepared
