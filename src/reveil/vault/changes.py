"""What one release changes in a vault: its row, the records of its persons, ledgers, settings, the archive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.vault.protocol import Entries, ReleaseRow


@dataclass(frozen=True)
class Records:
    """What a snapshot says of its persons; nothing for a series that follows none.

    ``types`` are the attributes to know from now on, ``dictionary`` the new values of each, which get the codes from
    :meth:`Vault.next_code` on. ``person`` is what :class:`~reveil.vault.protocol.Recall` said: who is new there gets
    the next number. ``changed`` marks the records to be written (new persons always are), and ``codes`` has what they
    are, by attribute, -1 for nothing to keep; an attribute that is not among them keeps what it had. ``gone`` are the
    numbers of persons.
    """

    high: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    low: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    person: CodeArray = field(default_factory=lambda: np.zeros(0, np.int32))
    changed: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))
    codes: Mapping[str, CodeArray] = field(default_factory=dict)
    gone: CodeArray = field(default_factory=lambda: np.zeros(0, np.int32))
    types: Mapping[str, str] = field(default_factory=dict)
    dictionary: Mapping[str, pl.Series] = field(default_factory=dict)


@dataclass(frozen=True)
class Portion:
    """What a release changes of some persons: their records, what they are told, and where they are.

    ``record`` in entries and placements is a place among these records. Attributes and dictionaries are those of the
    change.
    """

    records: Records
    entries: tuple[Entries, ...] = ()
    placements: pl.DataFrame | None = None


@dataclass(frozen=True)
class Change:
    """All that one release changes in the vault, in one transaction.

    ``portions`` are further persons, who are asked for one portion after the other while the transaction is open: no
    two have the same person, and nobody has to hold all of them at once.

    ``placements`` (``record``, ``place``, ``grp``; a ``person`` where the record is -1) go into the archive, in which
    so many releases are kept as ``archive`` says, the last ones; None: all of them.
    """

    row: ReleaseRow
    records: Records = field(default_factory=Records)
    entries: tuple[Entries, ...] = ()
    settings: Mapping[str, JSON] = field(default_factory=dict)
    placements: pl.DataFrame | None = None
    archive: int | None = None
    portions: Iterable[Portion] = ()
