"""A series without a vault: ledgers in frames, enough to try guarantees that keep books quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.randomness import Dice
from reveil.guarantees.base import Memory
from reveil.guarantees.signatures.sets import Sets
from reveil.models.encoding import encode
from reveil.releases.foreign import read_release
from reveil.releases.membership import membership
from reveil.tables.snapshot import Snapshot, canonical_text
from tests.judged import Judged
from tests.made import made

if TYPE_CHECKING:
    import reveil as rv
    from reveil.guarantees.assembly import Prepared
    from reveil.guarantees.base import Adoption
    from reveil.vault.protocol import Entries, Ledger


class PlainBook:
    """The book of one release; persons are numbered in the order of their first appearance."""

    def __init__(self, series: PlainSeries, persons: list[object]) -> None:
        self.series = series
        known = {series.persons[p]: r for r, p in enumerate(persons) if p in series.persons}
        self.records = pl.DataFrame(
            {"person": list(known), "record": list(known.values())}, schema={"person": pl.Int32, "record": pl.Int32}
        )

    def of_records(self, ledger: Ledger) -> pl.DataFrame:
        rows = self.rows(ledger).filter(pl.col("record") >= 0)
        return rows.drop("person").sort("record", *ledger.keys)

    def rows(self, ledger: Ledger, column: str | None = None, among: object = None) -> pl.DataFrame:
        rows = self.series.ledger(ledger)
        if column is not None:
            rows = rows.filter(pl.col(column).is_in(np.asarray(among).tolist()))
        if not ledger.personal:
            return rows.sort(*ledger.keys) if ledger.keys else rows
        found = rows.join(self.records, on="person", how="left")
        return found.select(pl.col("record").fill_null(-1), *rows.columns).sort("person", *ledger.keys)

    def last(self, persons: object) -> dict[str, object]:
        names = [*self.series.schema.quasi, *self.series.schema.sensitive]
        rows = [self.series.last.get(int(p), {}) for p in np.asarray(persons)]
        return {name: np.array([row.get(name, -1) for row in rows], np.int32) for name in names}

    def texts(self, attribute: str) -> pl.Series:
        return pl.Series(self.series.words[attribute], dtype=pl.String)

    def values(self, attribute: str) -> pl.DataFrame:
        texts = self.texts(attribute)
        return pl.DataFrame({"code": np.arange(len(texts), dtype=np.int32), "value": texts})

    def number(self, attribute: str) -> int:
        return list(self.series.words).index(attribute)


class PlainSeries:
    """Publishes with a guarantee, checks its rule, and keeps what it says."""

    def __init__(self, schema: rv.Schema, guarantee, seed: int = 0, method=None, *, check: bool = True) -> None:
        self.schema, self.guarantee, self.method = schema, guarantee, method
        self.check = check
        self.rng = Dice.of_seed(seed)
        self.persons: dict[object, int] = {}
        self.last: dict[int, dict[str, int]] = {}
        self.words: dict[str, list[str | None]] = {name: [] for name in (*schema.quasi, *schema.sensitive)}
        if schema.sensitive:
            self.words[schema.sensitive[0]] += guarantee.traits.declared_in(schema)
        self.ledgers: dict[str, pl.DataFrame] = {}
        self.told: dict[int, list[str]] = {}
        self.present: set[object] = set()
        self.release = 0
        self.judged, self.update = Judged(guarantee), ()

    def ledger(self, ledger: Ledger) -> pl.DataFrame:
        owner = {"person": pl.Int32} if ledger.personal else {}
        types = {name: pl.Float64 if name in ledger.real else pl.Int32 for name in ledger.columns}
        return self.ledgers.get(ledger.name, pl.DataFrame(schema={**owner, **types}))

    def memory(self, frame: pl.DataFrame) -> Memory:
        """Return what was told of the persons of a frame, whose words are known from now on."""
        people = frame[self.schema.person].to_list()
        seen = {name: len(words) for name, words in self.words.items()}
        stable_codes = {}
        for name, words in self.words.items():
            if name not in frame.columns:
                continue
            texts = canonical_text(frame[name]).to_list()
            words += [text for text in dict.fromkeys(texts) if text not in words]
            place = {text: code for code, text in enumerate(words)}
            stable_codes[name] = np.array([place[text] for text in texts], np.int32)
        first = next(iter(self.schema.sensitive), None)
        told = [(r, text) for r, p in enumerate(people) for text in self.told.get(self.persons.get(p, -1), [])]
        texts = list(dict.fromkeys(text for _, text in told))
        before = [self.last.get(self.persons.get(p, -1), {}) for p in people]
        return Memory(
            release=self.release + 1,
            values=stable_codes.get(first, np.full(len(people), -1, np.int32)),
            texts=pl.Series(self.words.get(first, []), dtype=pl.String),
            known=np.arange(len(self.words.get(first, [])), dtype=np.int32),
            declared=np.arange(len(self.guarantee.traits.declared_in(self.schema)), dtype=np.int32),
            seen=seen.get(first, 0),
            present=np.array([p in self.present for p in people], np.bool_),
            changed=np.array(
                [
                    first in row and row[first] != now
                    for row, now in zip(before, stable_codes.get(first, ()), strict=True)
                ]
                if first in stable_codes
                else [False] * len(people),
                np.bool_,
            ),
            sets=Sets.of([[int(code) for code in text.split(",")] for text in texts]),
            block_records=np.array([r for r, _ in told], np.int32),
            block_sets=np.array([texts.index(text) for _, text in told], np.int32),
            book=PlainBook(self, people),
            stable_codes=stable_codes,
        )

    def prepare(self, frame: pl.DataFrame, rng=None) -> tuple[Prepared, Memory]:
        """Prepare the next release and check its rule; nothing is remembered."""
        snapshot, memory = Snapshot(frame, self.schema, "the frame", "polars"), self.memory(frame)
        prepared = made(
            self.guarantee, snapshot, rng or self.rng.child("release", self.release + 1), self.method, memory
        )
        if self.check:
            people = frame[self.schema.person].to_list()
            new = (p for p in people if p not in self.persons)
            numbers = self.persons | {p: len(self.persons) + at for at, p in enumerate(new)}
            shown = self.judged.shown(prepared, [numbers[p] for p in people], self.release + 1, snapshot)
            self.update = self.judged.check(shown)
        return prepared, memory

    def publish(self, frame: pl.DataFrame, rng=None) -> Prepared:
        """Prepare the next release and remember what it tells."""
        prepared, memory = self.prepare(frame, rng)
        told = prepared.draft.remembered
        self._remember(frame, memory, told.entries, told.told, replaces=told.replaces)
        return prepared

    def adopt(self, frame: pl.DataFrame, table: pl.DataFrame) -> Adoption:
        """Take a release from elsewhere as told."""
        types = {name: frame.schema[name] for name in self.schema.sensitive}
        snapshot, memory = Snapshot(frame, self.schema, "the frame", "polars"), self.memory(frame)
        release = read_release(table, self.schema, types=types)
        found = self.guarantee.adopt(memory, snapshot, release, membership(release, encode(snapshot)))
        if found.more is not None:
            self.words[self.schema.sensitive[0]] += found.more.to_list()
        self._remember(frame, memory, found.entries, found.told, replaces=found.replaces)
        self.check = False  # of releases from elsewhere the judge knows what a vault's books say, and there is none
        return found

    def _remember(self, frame: pl.DataFrame, memory: Memory, written, told, *, replaces: bool) -> None:
        people = frame[self.schema.person].to_list()
        for person in people:
            self.persons.setdefault(person, len(self.persons))
        numbers = np.array([self.persons[p] for p in people], np.int32)
        for entries in written:
            self._write(entries, numbers)
        rows = [] if told is None else [(int(numbers[r]), text) for r, text in told.iter_rows()]
        for number in {number for number, _ in rows} if replaces else ():
            self.told[number] = []
        for number, text in rows:
            if text not in self.told.setdefault(number, []):
                self.told[number].append(text)
        for record, number in enumerate(numbers.tolist()):
            self.last.setdefault(number, {}).update(
                {name: int(codes[record]) for name, codes in memory.stable_codes.items()}
            )
        self.judged.apply(self.update)
        self.update = ()
        self.present = set(people)
        self.release += 1

    def _write(self, entries: Entries, numbers: np.ndarray) -> None:
        ledger = entries.ledger
        rows = self.ledger(ledger)
        owner = ["person"] if ledger.personal else []
        if entries.cleared is not None and entries.cleared.height:
            gone = _owned(entries.cleared, numbers) if ledger.personal else entries.cleared
            keys = owner or list(ledger.keys)
            rows = rows.join(gone.select(pl.col(keys).cast(pl.Int32)), on=keys, how="anti")
        added = _owned(entries.rows, numbers) if ledger.personal else entries.rows
        added = added.select(rows.columns).cast(dict(rows.schema))
        keys = [*owner, *ledger.keys]
        assert not added.select(keys).is_duplicated().any()
        self.ledgers[ledger.name] = pl.concat([rows.join(added, on=keys, how="anti"), added])

    def placed(self, prepared: Prepared, people: list[object]) -> dict[object, tuple[int, int]]:
        """Return the row and the group of everybody who is published; dirty ones, too."""
        names = {number: person for person, number in self.persons.items()}
        asked = len(people)
        release = prepared.release
        groups = release.classes if release.groups is None else release.groups
        found = {}
        for row, record in enumerate(prepared.placement.tolist()):
            if record >= 0:
                who = people[record] if record < asked else names[int(prepared.draft.dirty[record - asked])]
                found[who] = (row, int(groups[row]))
        return found


def _owned(rows: pl.DataFrame, numbers: np.ndarray) -> pl.DataFrame:
    if "record" not in rows.columns:
        return rows
    record = rows["record"].to_numpy()
    own = numbers[np.maximum(record, 0)] if len(numbers) else record
    if "person" in rows.columns:
        own = np.where(record >= 0, own, rows["person"].to_numpy())
    return rows.with_columns(person=pl.Series(own, dtype=pl.Int32))
