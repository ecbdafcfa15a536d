"""The people of a table in shards as refinement takes them: those who are there, and those who share a cell with them.

Everybody is in the file of the bucket of their pseudonym. What an absent person was last is in the vault's codes, and
so is what everybody was told; nothing else is needed of who is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.guarantees.refinement.bucket_book import (
    CELL,
    HOME,
    NUMBER,
    PERSON,
    SEAT,
    TIE,
    KeptColumns,
    plain_value,
    quasi_code,
    told_in,
    told_values,
    value_code,
)
from reveil.guarantees.refinement.ledgers import CELLS, TOLD_VALUES
from reveil.guarantees.static.in_shards import signed
from reveil.series.in_shards.comparing import COMPARED, ComparedBucket, coded_path
from reveil.series.in_shards.recalled import PERSONS

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.models.encoding import Domains
    from reveil.series.in_shards.ordered import Listed
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.series.stable_codes import StableMeanings
    from reveil.tables.snapshot import Snapshot


@dataclass(frozen=True)
class CompareMembers:
    """Work: compare the buckets that a shard lists; leave the files of their people, return what is counted."""

    example: Snapshot
    domains: Domains
    stable: StableMeanings
    recalled: RecalledShards
    words: KeptColumns
    decision: Dice
    assembly: Dice
    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Compare the buckets."""
        found = [self._compared(bucket) for bucket in table.iter_rows(named=True)]
        return pl.DataFrame(found, schema=COMPARED, orient="row")

    def _compared(self, bucket: Listed) -> tuple[int, ...]:
        found = ComparedBucket.of(self.example, self.domains, self.stable, self.recalled, bucket, self.folder)
        people = pl.concat([self._present(found, int(bucket["number"])), self._absent(found)])
        cells = self.recalled.read(CELLS.name, found.number).select(PERSON, CELL)
        people = people.join(cells, on=PERSON, how="left", maintain_order="left")
        people = people.with_columns(pl.col(CELL).fill_null(-1))
        # Of who is not there, only those are needed who share a cell with others.
        people = people.filter((pl.col(NUMBER) >= 0) | (pl.col(CELL) >= 0))
        people = self._with_told(people, found.number).with_columns(pl.lit(found.number, pl.Int32).alias(HOME))
        written(people.select(self.words.members.names()), coded_path(Path(self.folder), found.number))
        return found.counted(0)

    def _present(self, found: ComparedBucket, first: int) -> pl.DataFrame:
        words, size = self.words, len(found.recall.person)
        numbers = np.arange(first, first + size)
        ties = self.decision.child("groups").child("ties").bits(numbers)
        seats = self.assembly.child("seats").bits(numbers)
        columns: dict[str, object] = {NUMBER: numbers, PERSON: found.recall.person}
        columns |= {TIE: signed(ties), SEAT: signed(seats)}
        columns |= {quasi_code(a): found.lasting[name] for a, name in enumerate(words.quasi)}
        columns |= {value_code(s): found.lasting[name] for s, name in enumerate(words.sensitive)}
        columns |= {plain_value(p): found.snapshot.frame[name] for p, name in enumerate(words.plain)}
        return pl.DataFrame(columns, schema=self._schema)

    def _absent(self, found: ComparedBucket) -> pl.DataFrame:
        """Return everybody whom the vault knows in a bucket and who has no record."""
        gone = found.recall.persons.filter(pl.col("record") < 0).select(PERSON)
        known = self.recalled.read(PERSONS, found.number).join(gone, on=PERSON, how="semi")
        size, attributes = known.height, self.recalled.attributes
        nothing = np.full(size, -1, np.int32)
        columns: dict[str, object] = {NUMBER: np.full(size, -1), PERSON: known[PERSON]}
        columns |= {TIE: np.zeros(size, np.int64), SEAT: np.zeros(size, np.int64)}
        for a, name in enumerate(self.words.quasi):
            kept = name in attributes
            columns[quasi_code(a)] = known[f"a{attributes.index(name)}"] if kept else nothing
        columns |= {value_code(s): nothing for s in range(len(self.words.sensitive))}
        columns |= {
            plain_value(p): pl.Series([None] * size, dtype=kind) for p, kind in enumerate(self.words.plain_types)
        }
        return pl.DataFrame(columns, schema=self._schema)

    @property
    def _schema(self) -> pl.Schema:
        """The columns of people without what was told of them."""
        told = {HOME, CELL} | {f(s) for s in range(len(self.words.sensitive)) for f in (told_in, told_values)}
        return pl.Schema({name: dtype for name, dtype in self.words.members.items() if name not in told})

    def _with_told(self, people: pl.DataFrame, bucket: int) -> pl.DataFrame:
        """Add the values with which people were told, from which release on."""
        told = self.recalled.read(TOLD_VALUES.name, bucket)
        for s, name in enumerate(self.words.sensitive):
            mine = told.filter(pl.col("attribute") == self.words.numbers[name]).sort(PERSON, "release")
            lists = mine.group_by(PERSON, maintain_order=True).agg(
                pl.col("release").alias(told_in(s)), pl.col("value").alias(told_values(s))
            )
            lists = lists.cast({PERSON: pl.Int32, told_in(s): pl.List(pl.Int32), told_values(s): pl.List(pl.Int32)})
            people = people.join(lists, on=PERSON, how="left", maintain_order="left")
        return people
