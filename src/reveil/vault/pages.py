"""Reading a vault some people at a time: what a table that is worked on in shards is joined with.

Numbers of persons are given in order and never again, so that a page is a range of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.vault import ledgers, settings
from reveil.vault.bridge import columns, integers
from reveil.vault.writing import attribute_numbers

if TYPE_CHECKING:
    from reveil.vault.bridge import Connection
    from reveil.vault.protocol import Ledger


def next_person(connection: Connection) -> int:
    """Return the number that the next new person gets: all numbers of persons are below."""
    return int(settings.get(connection, settings.NEXT_PERSON) or 0)


def persons(connection: Connection, first: int, end: int) -> pl.DataFrame:
    """Return what is known of the persons with these numbers.

    The columns are ``person``, ``high``, ``low``, ``present``, and of the last record ``a0``, ``a1`` ... by the number
    of each attribute, -1 where nothing is kept.
    """
    names = [f"a{number}" for number in attribute_numbers(connection).values()]
    codes = "".join(f", COALESCE({name}, -1) AS {name}" for name in names)
    found = columns(
        connection,
        f"SELECT person, high, low, present{codes} FROM persons WHERE person >= ? AND person < ?",  # noqa: S608 -- names are a<number>
        [first, end],
    )
    return pl.DataFrame(
        {
            "person": integers(found["person"]),
            **{name: np.ascontiguousarray(np.ma.getdata(found[name]), np.int64) for name in ("high", "low")},
            "present": np.asarray(found["present"], np.bool_),
            **{name: integers(found[name]) for name in names},
        }
    )


def ledger(connection: Connection, kept: Ledger, first: int, end: int) -> pl.DataFrame:
    """Return the rows of a personal ledger that belong to the persons with these numbers, in no particular order."""
    return ledgers.read_range(connection, kept, first, end)
