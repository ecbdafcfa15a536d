"""An index over a table: filed once, cut for any threshold, changed record by record.

The index is the owner's: it holds the raw table. Only what :meth:`BangIndex.cut` returns is meant for others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, DataError, InputError
from reveil.core.randomness import Dice
from reveil.grouping.bang.file import BangFile
from reveil.grouping.bang.index import Filed, in_cell_order
from reveil.grouping.bang.keys import KeyArray, interleaved
from reveil.grouping.bang.scales import Scales
from reveil.grouping.groupers.bang import Cut
from reveil.guarantees.assembly import assemble
from reveil.guarantees.draft import Request
from reveil.guarantees.static.deciding import KIND, decide_static
from reveil.models.base import Model
from reveil.models.encoding import Codes, encode
from reveil.models.k_anonymity import KAnonymity
from reveil.releases.answers import Count
from reveil.releases.respelling import spelled
from reveil.series.column_types import in_known_types, types_of, with_known_types
from reveil.tables.expressions import matches
from reveil.tables.snapshot import Snapshot, canonical_text, read_snapshot
from reveil.verification import Promised, verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.arrays import CodeArray
    from reveil.grouping.groupers.bang import BangA
    from reveil.models.statistics import Partition
    from reveil.releases.release import Release
    from reveil.releases.table import Cells
    from reveil.tables.expressions import Expression
    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class _PublishedCut:
    """The boxes of one cut: the class of each record, records by id ascending, and the cells of the classes."""

    ids: CodeArray
    classes: CodeArray
    cells: Mapping[str, Cells]
    levels: CodeArray | None


class BangIndex:
    """The blocks of a table and the tree over them; made by :meth:`reveil.BangA.fit`.

    :meth:`cut` gives a verified release for any k or model; of the tree it reads sizes, and histograms where the model
    reads values. :meth:`insert` and :meth:`delete` are local: a block that is split becomes a node over two blocks, a
    block that disappears is replaced by its sibling in the tree, and all else stays. So after an insertion the groups
    without a touched block are the same as before under every model that is monotone: their sizes have not changed, and
    those of the nodes above them have not become smaller. A deletion can leave a node too small, and then its sibling
    loses its own groups, too. The tree keeps the shape it had, and where much has come and gone another would be
    better: :meth:`renew` merges the present blocks anew, at the price of many other groups.

    Guarantee: each cut alone satisfies its model (the static guarantee).
    Assumes: what that guarantee assumes.
    Does not protect against: whoever compares cuts of the same people, at different thresholds or times (use a series
    for that). The tree also remembers who came and went: two tables with the same records may be cut differently.
    Source: thesis 000, 3.6.2 and 3.8.3.
    """

    def __init__(self, grouper: BangA, snapshot: Snapshot, codes: Codes) -> None:
        self.grouper, self.schema = grouper, snapshot.schema
        self._types = types_of(snapshot, {})
        self._snapshot = snapshot
        self._ids: CodeArray = np.arange(codes.n, dtype=np.int32)
        self._next = codes.n
        self._scales = Scales.of(codes, grouper.scales, quantile=grouper.quantile)
        self._file = BangFile.build(self._keys(codes), self._scales.bits, grouper.block)
        self._filed: Filed | None = self._file_of(codes)
        self._tree = self._filed.dendrogram()
        self._told: list[_PublishedCut] = []

    @classmethod
    def of(cls, grouper: BangA, frame: object, schema: Schema) -> BangIndex:
        """Index a table."""
        snapshot = read_snapshot(frame, schema)
        return cls(grouper, snapshot, encode(snapshot))

    def __repr__(self) -> str:
        """Say what it is, not what is in it: a repr ends up in logs."""
        return f"<BangIndex: {len(self._ids):,} records in {len(self._file.regions):,} blocks>"

    def __len__(self) -> int:
        return len(self._ids)

    def cut(self, model: int | Model, *, seed: int | None = None) -> Release:
        """Publish the table so that every group satisfies a model; a number is a k. Verified before it is returned.

        The blocks were made without the model. Where it reads values, :func:`reveil.anonymize` may find smaller
        groups: there the splits know it, too. The same ``seed`` gives the same bytes.
        """
        asked = _asked(model)
        codes, snapshot = self._current().codes, self._whole()
        rng = Dice.of_seed(seed)
        request = Request(snapshot, self._method(), given=codes)
        prepared = assemble(decide_static(request, asked, rng.child("decision")), rng.child("assembly"))
        verify(prepared.release, snapshot, Promised.of_model(asked, KIND), placement=prepared.placement)
        classes = np.full(codes.n, -1, np.int32)
        classes[prepared.placement] = prepared.release.classes
        told = _PublishedCut(self._ids, classes, prepared.release.cells, prepared.release.levels)
        self._told = [*self._told[-1:], told]
        return prepared.release

    def groups(self, model: int | Model) -> Partition:
        """Return the groups that :meth:`cut` would publish, as places in the table; for the owner's eyes only."""
        return self._method().group(self._current().codes, _asked(model), Dice.of_seed(0))

    def insert(self, frame: object) -> None:
        """Add records. Only the blocks they fall into change. No sensitive value is looked at.

        Columns must be as before; a person who is in the index already is refused.
        """
        read = read_snapshot(frame, spelled(with_known_types(self.schema, self._types), self._snapshot.frame))
        snapshot = in_known_types(replace(read, schema=self.schema), self._types)
        before = self._snapshot.frame
        new = snapshot.frame.select(before.columns)
        self._refuse_others(before, new)
        if self.schema.person is not None:
            known = canonical_text(new[self.schema.person]).is_in(self._persons().implode()).sum()
            if known:
                raise DataError(
                    f"{known:,} of these persons are in the index already",
                    column=self.schema.person,
                    hint="Delete them first; a person has one record.",
                )
        codes = encode(snapshot)
        fresh = np.arange(self._next, self._next + codes.n, dtype=np.int32)
        self._file.insert(self._keys(codes), fresh)
        self._next += codes.n
        self._ids = np.concatenate([self._ids, fresh])
        self._snapshot = replace(self._snapshot, frame=pl.concat([before, new], how="vertical_relaxed", rechunk=False))
        self._follow()

    def delete(self, persons: Iterable[object] | pl.Series) -> None:
        """Take the records of some persons out; a person who is not in the index is refused, and nothing changes."""
        if self.schema.person is None:
            raise ConfigError("records can be deleted by person only", hint="Declare a person column in the schema.")
        given = persons if isinstance(persons, pl.Series) else pl.Series(list(persons))
        wanted = canonical_text(given).cast(pl.String).unique()
        going = self._persons().is_in(wanted.implode()).to_numpy()
        strange = len(wanted) - int(going.sum())
        if strange:
            raise DataError(
                f"{strange:,} of these persons are not in the index",
                column=self.schema.person,
                hint="Delete only who is there.",
            )
        self._file.delete(self._ids[going])
        self._ids = self._ids[~going]
        self._snapshot = replace(self._snapshot, frame=self._snapshot.frame.filter(pl.Series(~going)))
        self._follow()

    def renew(self) -> None:
        """Merge the present blocks into a new tree; the blocks stay as they are. No sensitive value is looked at."""
        self._tree = self._current().dendrogram().numbered(self._file.numbers)

    def count(self, expression: str | Expression) -> Count:
        """Count the records that satisfy an expression, exactly, in the raw table; for the owner's eyes only.

        ``release.count`` answers the same of what was published.
        """
        found = int(matches(expression, self._snapshot.frame, self.schema).sum())
        return Count(float(found), found, found)

    def churn(self) -> float:
        """Return the share of the records of both of the last two cuts whose box changed, though they did not.

        Records that came or went in between do not count. Small churn is what makes series of releases readable; it is
        no privacy measure.
        """
        if len(self._told) < 2:
            raise InputError("churn compares two cuts", hint="Cut, change the table and cut again.")
        one, two = self._told
        _, first, second = np.intersect1d(one.ids, two.ids, assume_unique=True, return_indices=True)
        if not len(first):
            return 0.0
        before, after = one.classes[first].astype(np.int64), two.classes[second].astype(np.int64)
        pairs, many = np.unique(before * (int(after.max()) + 1) + after, return_counts=True)
        before, after = np.divmod(pairs, int(after.max()) + 1)
        same = np.ones(len(pairs), np.bool_)
        for name, cells in one.cells.items():
            other = two.cells[name]
            same &= cells.text.gather(cells.index[before]).eq_missing(other.text.gather(other.index[after])).to_numpy()
        if one.levels is not None and two.levels is not None:
            same &= one.levels[before] == two.levels[after]
        return float(many[~same].sum() / many.sum())

    def _method(self) -> Cut:
        """Return the present blocks as a method; their numbers are those of the regions in their order."""
        return Cut(self.grouper, self._current(), replace(self._tree, leaves=self._tree.leaves[self._file.numbers]))

    def _keys(self, codes: Codes) -> KeyArray:
        return interleaved(self._scales.cells(codes), self._scales.bits)

    def _persons(self) -> pl.Series:
        return canonical_text(self._snapshot.frame[self.schema.person or ""]).cast(pl.String)

    def _whole(self) -> Snapshot:
        """Return the present table; inserted parts are put together when somebody needs them to be."""
        if self._snapshot.frame.n_chunks() > 1:
            self._snapshot = replace(self._snapshot, frame=self._snapshot.frame.rechunk())
        return self._snapshot

    def _current(self) -> Filed:
        """Return the present records in their blocks. Codes are ranks, and new values change them."""
        if not len(self._ids):
            raise DataError("there is no record in the index", hint="Insert some.")
        if self._filed is None:
            self._filed = self._file_of(in_cell_order(encode(self._whole()), self._scales))
        return self._filed

    def _file_of(self, codes: Codes) -> Filed:
        ids, offsets = self._file.records()
        place = np.empty(self._next, np.int32)
        place[self._ids] = np.arange(len(self._ids), dtype=np.int32)
        return Filed(codes, self._scales, self._file.regions, place[ids], offsets)

    def _follow(self) -> None:
        """Change the tree as the file has changed."""
        for change in self._file.take_log():
            self._tree = self._tree.split(change.a, change.b) if change.split else self._tree.without(change.a)
        self._filed = None

    def _refuse_others(self, before: pl.DataFrame, new: pl.DataFrame) -> None:
        """Refuse columns that cannot stand under those of the table."""
        for name in before.columns:
            one, two = before.schema[name], new.schema[name]
            if one != two and not (one.is_numeric() and two.is_numeric()):
                raise DataError(
                    f"column {name!r} has another type than the records in the index",
                    column=name,
                    hint="Give it the type it had.",
                )


def _asked(model: object) -> Model:
    """Return the model that somebody asked for; a number is a k."""
    if isinstance(model, int | np.integer):
        return KAnonymity(int(model) if isinstance(model, np.integer) else model)
    if not isinstance(model, Model):
        raise ConfigError("a cut needs a k or a model", hint="For example 10 or rv.KAnonymity(10).")
    return model
