"""Possible worlds: every release fits the same l worlds, of which the table is one, and in which all values differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.json_values import whole_in
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import marks_of
from reveil.verification.cells import line_of
from reveil.verification.judges.base import other_promise
from reveil.verification.judges.guarantee import GuaranteeJudge
from reveil.verification.meaning import Bound, PromisedMeaning
from reveil.verification.record import Entry, Kept
from reveil.verification.shown import forgotten, unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema
    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, Update
    from reveil.verification.shown import Shown

# A number for everybody, how many each release added, and whose values each has in each world, by these numbers.
PEOPLE = Kept("judged_people", whole=("number",))
COUNT = Kept("judged_batches", keys=("release",), whole=("people",), personal=False)
WORLD = Kept("judged_worlds", keys=("world",), whole=("source",))
_BATCHES = Kept("batches", keys=("batch",), whole=("persons", "truth"), personal=False)  # the vault's own


class Worlds(GuaranteeJudge):
    """Judge the worlds that a release fits."""

    kind: ClassVar[str] = "worlds"
    remembers: ClassVar[bool] = True
    own_settings: ClassVar[frozenset[str]] = frozenset(["l", "p", "project", "blind", "placement"])
    fixed: ClassVar[tuple[str, ...]] = ("blind", "placement")

    @classmethod
    def demands(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:  # noqa: ARG003
        """Ask nothing of groups: rows have boxes of their own."""
        return ()

    @classmethod
    def check_counts(cls, manifest: Manifest, asked: Promised, schema: Schema, records: int) -> None:
        """Refuse fewer worlds than were asked for."""
        super().check_counts(manifest, asked, schema, records)
        least = manifest.promise.settings.get("l")
        if not isinstance(least, int) or least < whole_in(asked.settings["l"]):
            raise other_promise("more worlds")

    @classmethod
    def grades(cls, manifest: Manifest, told: Promised, asked: Promised) -> set[str]:  # noqa: ARG003
        """None with the source's placement; blind where boundaries follow no value; else given the buckets.

        Releases from before that grade had its name say *counted*, and what they leave out.
        """
        if asked.settings.get("placement", "blind") == "greedy":
            return {"none"}
        if asked.settings.get("blind"):
            return {"blind"}
        return {"counted"} if "up to what the boundaries of the buckets tell" in manifest.promise.claim else {"worlds"}

    @classmethod
    def states(cls, claim: str, told: Promised) -> bool:
        """Return whether the claim has l."""
        l = told.settings.get("l")
        if told.settings.get("placement") == "greedy":
            return f"at least {l} different sensitive values" in claim
        return f"more than 1/{l}" in claim

    @classmethod
    def meaning(cls, told: Promised) -> PromisedMeaning:
        """Everybody keeps l values in worlds that fit all the releases; greedy placement bounds nothing."""
        most = 1 / whole_in(told.settings["l"]) if told.settings.get("placement") == "blind" else None
        return PromisedMeaning("value", (Bound("value", "series", most, attack="sequential"),))

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:
        """Refuse a release that does not fit l worlds, or other worlds than those before it.

        Without a witness, as when a series is replayed, nothing is found out here: the vault's books are compared.
        """
        if shown.witness is None or shown.snapshot is None or shown.persons is None:
            if shown.snapshot is None and shown.witness is None:
                return ()
            raise unsafe("nothing shows that the release fits the worlds")
        l = whole_in(promised.settings["l"])
        check_witness(shown, l)
        who = shown.persons
        known = record.of(PEOPLE, who).rename({"number": "own"})
        place = pl.DataFrame({"who": who}).join(known, on="who", how="left", maintain_order="left")["own"]
        new = np.flatnonzero(place.is_null().to_numpy())
        everybody = record.rows(COUNT)["people"].sum()
        number = place.fill_null(-1).to_numpy().astype(np.int64).copy()
        number[new] = int(everybody) + np.arange(len(new))
        sources = number[np.asarray(shown.witness.sources)]
        told = record.of(WORLD, who)
        at = pl.DataFrame({"who": who}).with_row_index("at")
        told = told.join(at, on="who")
        if len(told) != l * (len(who) - len(new)):
            raise unsafe("there are other worlds of somebody than before")
        if (sources[told["world"].to_numpy(), told["at"].to_numpy()] != told["source"].to_numpy()).any():
            raise unsafe("the worlds that this release fits are not those that the releases before it fit")
        world = np.repeat(np.arange(l), len(new))
        return (
            Entry(PEOPLE, PEOPLE.frame(who=who[new], number=number[new])),
            Entry(COUNT, COUNT.frame(release=[shown.number], people=[len(new)])),
            Entry(WORLD, WORLD.frame(who=np.tile(who[new], l), world=world, source=sources[:, new].ravel())),
        )

    @classmethod
    def told_before(cls, books: Books, number: int) -> Update:
        """Return whose value each person has in each world, by the tokens that the vault's books have."""
        names = books.columns("worlds")
        rows = books.rows(Kept("worlds", whole=names))
        truth = books.rows(_BATCHES)["truth"]
        none = (Entry(PEOPLE, PEOPLE.none()), Entry(COUNT, COUNT.none()), Entry(WORLD, WORLD.none()))
        if not rows.height or not len(truth):
            return none
        # A token is a row of the table: it is held by its own person in the true world.
        tokens = rows.select(names).to_numpy().T
        true = tokens[int(truth[0])]
        owner = np.full(int(tokens.max()) + 1, -1, np.int64)
        owner[true] = true
        return (
            Entry(PEOPLE, PEOPLE.frame(who=rows["who"], number=true)),
            Entry(COUNT, COUNT.frame(release=[number], people=[rows.height])),
            Entry(
                WORLD,
                WORLD.frame(
                    who=np.tile(rows["who"].to_numpy(), len(names)),
                    world=np.repeat(np.arange(len(names)), rows.height),
                    source=tokens.ravel(),
                ),
            ),
        )

    @classmethod
    def compare(cls, record: Record, told: Update, *, since: bool = False, number: int = 0) -> None:  # noqa: ARG003
        """Refuse books in which somebody's worlds are others: the same people must hold each other's values."""
        recorded, theirs = record.rows(PEOPLE), told[0].rows
        both = recorded.join(theirs, on="who", how="left", suffix="_told")
        if both["number_told"].null_count():
            raise forgotten(f"{both['number_told'].null_count():,} persons have worlds that it does not remember")
        names = both.select("number", "number_told")
        sources = record.rows(WORLD).join(names, left_on="source", right_on="number")
        same = sources.join(told[2].rows, on=["who", "world"], how="left", suffix="_told")
        if not (same["number_told"] == same["source_told"]).fill_null(False).all():
            raise forgotten("the worlds of somebody are others than it remembers")


def check_witness(shown: Shown, l: int) -> None:
    """Refuse a witness that does not show l worlds, one of them the table, with different values, that fit the rows."""
    snapshot, release = shown.snapshot, shown.release
    witness = shown.witness
    assert snapshot is not None  # noqa: S101 -- asked before
    assert witness is not None  # noqa: S101
    n = snapshot.frame.height
    everybody = np.arange(n)
    sources, rows = np.asarray(witness.sources), np.asarray(witness.rows)
    if sources.shape != (l, n) or rows.shape != (l, len(release.classes)):
        raise unsafe(f"there are not {l} worlds of {n:,} persons and as many rows")
    for what in (sources, rows):
        if what.shape[1] != n or (np.sort(what, axis=1) != everybody).any():
            raise unsafe("a world gives something to nobody or to two persons")
    truth = np.flatnonzero((sources == everybody).all(axis=1))
    if not len(truth):
        raise unsafe("none of the worlds is the table")
    if not any((shown.who == shown.persons[rows[at]]).all() for at in truth):  # type: ignore[index]
        raise unsafe("the rows of the true world are not whose they are said to be")
    name = snapshot.schema.sensitive[0]
    value = marks_of(canonical_text(snapshot.frame[name]))
    told = np.sort(value[sources], axis=0)
    same = (told[1:] == told[:-1]).any(axis=0)
    if same.any():
        raise unsafe(f"{int(same.sum()):,} persons have a value in two of the worlds")
    for column, cells in release.cells.items():
        line = line_of(snapshot.frame[column], snapshot.schema[column], cells)
        cell_of_row = cells.index[release.classes]
        if not all(line.admits(cell_of_row, line.codes[place]).all() for place in rows):
            raise unsafe(f"a row is outside its box in column {column!r} in one of the worlds")
    for column in release.values.columns:
        published, raw = release.values[column], snapshot.frame[column]
        for source, place in zip(sources, rows, strict=True):
            if not published.equals(raw.gather(source[place]), null_equal=True):
                raise unsafe(f"column {column!r} has another value in one of the worlds")
