"""Refinement: every set of people that all the releases tell apart together keeps what is promised of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import halves, marks_of, number_of_name, whole
from reveil.verification.judges.guarantee import GuaranteeJudge
from reveil.verification.record import Entry, Kept
from reveil.verification.refinement.cells import CELL, COUNTS, NEXT, SIZES, TABLE, VALUE, PastCells
from reveil.verification.refinement.pieces import CellPieces, check_pieces
from reveil.verification.refinement.recording import recorded
from reveil.verification.shown import forgotten, unsafe

if TYPE_CHECKING:
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import Bools
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, Update
    from reveil.verification.shown import Shown

# The vault's own books of it.
_CELLS = Kept("cells", whole=("cell",))
_VALUES_TOLD = Kept("told_values", keys=("attribute", "release"), whole=("value",))
_SIZES = Kept("cell_sizes", keys=("cell",), whole=("size",), personal=False)
_COUNTS = Kept("cell_values", keys=("cell", "attribute", "release", "value"), whole=("number",), personal=False)
_SEALED = Kept("sealed_cells", keys=("cell",), whole=("state",), personal=False)
_CLOSED = 2  # nobody of the cell is published any more; else all at once
_TABLES = Kept("tables", keys=("attribute", "release", "value"), whole=("number",), personal=False)


class Refinement(GuaranteeJudge):
    """Judge the cells of the common refinement of all the releases."""

    kind: ClassVar[str] = "refinement"
    remembers: ClassVar[bool] = True
    own_settings: ClassVar[frozenset[str]] = frozenset(["dirty", "counterfeits", "blind", "slack"])
    fixed: ClassVar[tuple[str, ...]] = ("dirty", "counterfeits", "blind")
    may_count: ClassVar[frozenset[str]] = frozenset(["withheld", "dirty", "counterfeits"])

    @classmethod
    def check_counts(cls, manifest: Manifest, asked: Promised, schema: Schema, records: int) -> None:
        """Refuse dirty records and counterfeits that nobody allowed."""
        super().check_counts(manifest, asked, schema, records)
        if manifest.dirty and asked.settings.get("dirty", "allow") == "never":
            raise VerificationError("the manifest speaks of dirty records, which nobody allowed")
        if manifest.counterfeits.total and not asked.settings.get("counterfeits"):
            raise VerificationError("the manifest speaks of counterfeits, which nobody allowed")

    @classmethod
    def grades(cls, manifest: Manifest, told: Promised, asked: Promised) -> set[str]:
        """Blind where no choice looked at who has which value, and nothing was adopted."""
        method = told.settings.get("method")
        looks = isinstance(method, dict) and method.get("choose") == "gain"
        blind = asked.settings.get("blind") or not (told.reads_values or looks)
        return {"blind"} if blind and not manifest.adopted else {"counted"}

    @classmethod
    def needs_everybody(cls, promised: Promised) -> bool:  # noqa: ARG003
        """Who is nobody any more is in no set that could be followed."""
        return True

    @classmethod
    def excused(cls, shown: Shown, promised: Promised, record: Record) -> Bools:  # noqa: ARG003
        """Rows may show what their person was told with last, as many of the table as the manifest counts as stale."""
        same, stale = cls.told_last(shown, record)
        cls.check_stale(shown.release.manifest, int(stale.sum()))
        good = np.zeros(len(shown.who), np.bool_)
        good[shown.real] = same
        return good

    @classmethod
    def told_last(cls, shown: Shown, record: Record) -> tuple[Bools, Bools]:
        """Return which rows show what their person was told with last, and which another value than the table has."""
        who = shown.who[shown.real]
        same = np.ones(len(who), np.bool_)
        stale = np.zeros(len(who), np.bool_)
        last = record.of(VALUE, who).sort("release").group_by("who", "attribute", maintain_order=True).last()
        for name in shown.sensitive:
            mark = shown.row_marks(name)
            mine = last.filter(pl.col("attribute") == number_of_name(name))
            told = mine.select("who", told=pl.Series(whole(mine["high"].to_numpy(), mine["low"].to_numpy())))
            found = pl.DataFrame({"who": who}).join(told, on="who", how="left", maintain_order="left")["told"]
            same &= (found == pl.Series(mark)).fill_null(False).to_numpy()
            if shown.snapshot is not None:
                asked = who < shown.snapshot.frame.height
                raw = marks_of(canonical_text(shown.snapshot.frame[name]))
                stale[asked] |= raw[who[asked]] != mark[asked]
        return same, stale

    @classmethod
    def check_stale(cls, manifest: Manifest, stale: int) -> None:
        """Refuse more rows with another value than the table has than the manifest counts as stale."""
        counted = manifest.stale or 0
        if stale > (counted if isinstance(counted, int) else 0):
            raise VerificationError("more rows show another value than the table has than the manifest counts as stale")

    @classmethod
    def loose(cls, release: Release, promised: Promised) -> int:  # noqa: ARG003
        """As many rows as the manifest counts may show the value that was told last."""
        return release.manifest.stale or 0

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:
        """Refuse a release that cuts a cell into pieces of which one does not keep the promise, in some release."""
        past = PastCells.of(shown, record)
        pieces = CellPieces.of(shown, past)
        check_pieces(shown, past, pieces, promised.demands, record)
        return recorded(shown, past, pieces, promised.demands)

    @classmethod
    def check_adopted(cls, shown: Shown, books: Books) -> None:
        """Refuse people of closed cells, and cells that must stay whole of which not all members are in one group."""
        cells = books.of(_CELLS, shown.who[shown.real])
        sealed = books.rows(_SEALED, "cell", cells["cell"].unique().to_numpy())
        if not sealed.height:
            return
        people = pl.DataFrame({"who": shown.who[shown.real], "group": shown.group.astype(np.int64)})
        there = people.join(cells, on="who").join(sealed, on="cell")
        if (there["state"] == _CLOSED).any():
            raise unsafe("people of a set that is closed for good would be published")
        counted = there.group_by("cell").agg(
            here=pl.len(), groups=pl.col("group").n_unique(), group=pl.col("group").first()
        )
        counted = counted.join(books.rows(_SIZES, "cell", counted["cell"].to_numpy()), on="cell", how="left")
        fakes = pl.Series(shown.groups.fakes[counted["group"].to_numpy()])
        if counted.filter((pl.col("groups") > 1) | (pl.col("here") + fakes != pl.col("size"))).height:
            raise unsafe("a set of people that must stay whole would be cut")

    @classmethod
    def told_before(cls, books: Books, number: int) -> Update:
        """Return the cells, their sizes and values that the vault's books have."""
        cells, sizes = books.rows(_CELLS), books.rows(_SIZES)
        found = [
            Entry(CELL, CELL.frame(who=cells["who"], cell=cells["cell"])),
            Entry(SIZES, SIZES.frame(cell=sizes["cell"], size=sizes["size"])),
        ]
        following = int(max(int(cells["cell"].max() or 0), int(sizes["cell"].max() or 0))) + 1  # type: ignore[arg-type]
        found.append(Entry(NEXT, NEXT.frame(release=[number], next_cell=[following])))
        for theirs, kept in ((_VALUES_TOLD, VALUE), (_COUNTS, COUNTS), (_TABLES, TABLE)):
            parts = [kept.none()]
            rows = books.rows(theirs)
            for name in books.sensitive():
                mine = rows.filter(pl.col("attribute") == books.attribute(name))
                mine = mine.join(books.codes(name), left_on="value", right_on="code", how="left")
                high, low = halves(marks_of(mine["text"]))
                columns = {key: mine[key] for key in kept.schema if key in mine.columns and key != "attribute"}
                attribute = np.full(mine.height, number_of_name(name))
                parts.append(kept.frame(**columns, attribute=attribute, high=high, low=low))
            found.append(Entry(kept, pl.concat(parts)))
        return tuple(found)

    @classmethod
    def compare(cls, record: Record, told: Update, *, since: bool = False, number: int = 0) -> None:  # noqa: ARG003
        """Refuse books in which people who were told apart are in one cell, or people of one cell in two.

        Releases that were adopted ``since`` may have told people of one cell apart.
        """
        recorded, theirs = record.rows(CELL), told[0].rows
        both = recorded.join(theirs, on="who", how="left", suffix="_told")
        lost = both["cell_told"].null_count()
        if lost:
            raise forgotten(f"{lost:,} persons were told apart by a release that it does not remember")
        pairs = both.select("cell", "cell_told").unique()
        if pairs["cell_told"].is_duplicated().any() or (not since and pairs["cell"].is_duplicated().any()):
            raise forgotten("other sets of people were told apart than it remembers")
        if since:
            return
        sizes = pairs.join(record.rows(SIZES, "cell", pairs["cell"].to_numpy()), on="cell")
        sizes = sizes.join(told[1].rows, left_on="cell_told", right_on="cell", how="left", suffix="_told")
        if not (sizes["size"] == sizes["size_told"]).fill_null(False).all():
            raise forgotten("sets of people that were told apart have other sizes than it remembers")
