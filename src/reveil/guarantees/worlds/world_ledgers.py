"""What a vault keeps of possible worlds: an integer for each person and world, and which world is the truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import RefusedError
from reveil.vault.protocol import Entries, Ledger

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.guarantees.base import Memory
    from reveil.guarantees.worlds.drawing import Tokens
    from reveil.tables.schema import Schema

BATCHES = Ledger("batches", keys=("batch",), whole=("persons", "truth"), personal=False)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_WORLDS = 27 * 26  # as many columns as there are names
_ANOTHER = (
    "People who leave, return or change are for kind = 'tau-safety', in a vault of its own into which every release so "
    "far is adopted first."
)


def world_ledger(l: int) -> Ledger:
    """Return the ledger of the persons: a column for each world, with the token that the person holds there."""
    pairs = [first + second for first in ("", *_LETTERS) for second in _LETTERS]
    return Ledger("worlds", whole=tuple(f"world_{name}" for name in pairs[:l]))


@dataclass(frozen=True)
class Drawn:
    """The tokens of everybody in a table, -1 for who has none yet; ``entries`` are to be remembered."""

    tokens: Tokens = field(repr=False)
    truth: int = field(repr=False)
    persons: int
    batches: int
    entries: tuple[Entries, ...] = field(default=(), repr=False)

    def extended(self, new: npt.NDArray[np.integer], tokens: Tokens, truth: int) -> Drawn:
        """Return the worlds with those of a new batch beside them, the true ones together."""
        both = self.tokens.copy()
        both[:, new] = tokens + np.int32(self.persons)
        ledger = world_ledger(len(tokens))
        rows = pl.DataFrame({"record": new.astype(np.int32), **dict(zip(ledger.whole, both[:, new], strict=True))})
        batch = pl.DataFrame({"batch": [self.batches + 1], "persons": [len(new)], "truth": [truth]})
        return replace(
            self,
            tokens=both,
            truth=truth,
            persons=self.persons + len(new),
            batches=self.batches + 1,
            entries=(Entries(ledger, rows), Entries(BATCHES, batch)),
        )

    def check_values(self, values: CodeArray) -> None:
        """Refuse values of which somebody has one in two worlds: then values changed since the worlds were drawn."""
        told = np.sort(values, axis=0)
        if (told[1:] == told[:-1]).any():
            raise RefusedError(
                "sensitive values are not what they were when the worlds of this series were drawn", hint=_ANOTHER
            )


def remembered(memory: Memory, schema: Schema, l: int, records: int) -> Drawn:
    """Return the worlds that were drawn before; refuse a table from which somebody is missing, or a changed value.

    The worlds are about one table. A row that is missing, or has other quasi values, would have to be missing or other
    in all of them at once, and the releases before it tell which rows can be meant.
    """
    ledger = world_ledger(l)
    rows, batches = memory.book.rows(ledger), memory.book.rows(BATCHES)
    here = rows.filter(pl.col("record") >= 0)
    gone = rows.height - here.height
    if gone:
        raise RefusedError(
            f"{gone:,} persons of earlier releases are not in this table, and possible worlds know no deletions",
            hint=f"Publish everybody again, without --where: columns may be left out, persons not. {_ANOTHER}",
        )
    persons = int(batches["persons"].sum())
    if rows.height != persons:
        raise RefusedError(
            f"{persons - rows.height:,} persons of earlier releases were erased from the vault, and the worlds of this "
            "series are not complete without them",
            hint=f"Begin a series of other people, in another vault. {_ANOTHER}",
        )
    _check_changes(memory, schema, here)
    tokens = np.full((l, records), -1, np.int32)
    tokens[:, here["record"].to_numpy()] = here.select(ledger.whole).to_numpy().T
    return Drawn(tokens, int(batches["truth"][0]) if len(batches) else 0, persons, len(batches))


def _check_changes(memory: Memory, schema: Schema, here: pl.DataFrame) -> None:
    """Refuse another value than a person had, in any column that is published now and was before."""
    if not here.height:
        return
    records = here["record"].to_numpy()
    last = memory.book.last(here["person"].to_numpy())
    for name, now in memory.stable_codes.items():
        if name not in last:
            continue
        changed = int(((last[name] >= 0) & (last[name] != now[records])).sum())
        if changed and name in schema.sensitive:
            raise RefusedError(
                f"{changed:,} persons have another sensitive value than before, and possible worlds know no changes",
                column=name,
                hint=f"Mend the file, if it is a mistake. {_ANOTHER}",
            )
        if changed:
            raise RefusedError(
                f"{changed:,} persons have another value of {name!r} than before, and the worlds are about one table",
                column=name,
                hint="That holds for columns that are left out now, too. Publish from a table in which it does not "
                f"change (the year of birth, not the age). {_ANOTHER}",
            )
