"""Refinement: releases of any part of a table, which together tell no set of people apart that a model refuses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from reveil.core.defaults import in_force, kept_default
from reveil.core.errors import ConfigError, RefusedError
from reveil.core.json_values import number_in
from reveil.grouping.groupers.base import Grouper, check_plan
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.guarantees.base import Adoption, Guarantee, Memory
from reveil.guarantees.checks import check_memory, check_names, check_no_bins, check_person
from reveil.guarantees.draft import Draft, Grouped, Left, Remembered
from reveil.guarantees.explained import EVER, TOGETHER, Explained
from reveil.guarantees.promising import made_by, promise_of
from reveil.guarantees.refinement.absent import absent_of
from reveil.guarantees.refinement.adopted import fitted, shown_by
from reveil.guarantees.refinement.entries import Pieces, entries_of, table_entries
from reveil.guarantees.refinement.extras import box_entries
from reveil.guarantees.refinement.making import MadeRelease, make, without_shapes
from reveil.guarantees.refinement.plan import Rules
from reveil.guarantees.refinement.reading import Reading, read
from reveil.guarantees.refinement.slack import LEAN, ROOMY, Room, slack_for
from reveil.guarantees.settings import settings_of
from reveil.guarantees.static.static import Static
from reveil.guarantees.traits import Refusal, Traits
from reveil.models.base import Model, exact_number
from reveil.models.statistics import GroupStats, Histogram
from reveil.models.t_closeness import TCloseness
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import IntArray
    from reveil.core.randomness import Dice
    from reveil.guarantees.draft import Request, Rows
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Entries

_KNOWS = (
    "Others may know who is in which release, with which quasi values and in which group, and may follow each record "
    "from release to release."
)
_CHANGES = (
    "Nobody knows from elsewhere whose sensitive value changed, or did not: whoever does looks at the records that did "
    "only (tau-safety is for that)."
)
_DIRTY = (
    "Some records may be of people who were not asked for or are no longer in the table (dirty), and records beside "
    "them may show a sensitive value that has changed since (stale): as they were published last."
)
_FAKES = (
    "Nobody knows who is in the table: counterfeits stand in for people who left, and whoever knows that they left is "
    "not bounded."
)

_ERASURE = Refusal(  # the cell of whoever was erased would not be known when they come back
    "under refinement an erasure must leave a tombstone: somebody who came back as if they were new would be alone in "
    "their cell, and so would a newcomer beside them",
    "Forget them with --tombstone: a pseudonym and the number of a cell stay, nothing else.",
)


@dataclass(frozen=True, kw_only=True)
class Refinement(Guarantee):
    """Whatever the releases tell apart together is a set of people that satisfies the model.

    The *cell* of a person are the people who were in the same group, or absent, in every release so far. Everything
    that can be inferred from who is where (intersections and differences of groups of any releases) is a union of
    cells. So for a model that survives disjoint unions,

        the series is safe if and only if every cell is valid, with the values of every release it was in.

    (If: a union of valid sets is valid. Only if: each cell is itself an intersection of groups and differences of
    groups, which somebody who follows records can single out.) A release cuts cells into pieces, one for each group and
    one for those who are not published, and every piece must be valid or empty. Where one is not, others help: those
    who are absent are published again as they were last told (*dirty* records), as few as are needed, and then the
    others of the cell, too (*stale* ones: a row that changes beside one that cannot would be told apart from it); or
    the whole cell is held back, which is always possible. Groups lie inside cells, so what is told only ever gets
    finer. Cells are born larger than they must be (``slack``: a number of times, or ``lean`` or ``roomy``, which follow
    how many people leave; :mod:`reveil.guarantees.refinement.slack`), because they never grow and people leave.

    Guarantee: in every set of people that the releases tell apart, the model holds: for ``k``, at least k people; for
    ``l``, at least l (distinct) values, or none more often than 1/l (frequency), and so on; in every release.
    Assumes: one record per person and snapshot; persons are named alike in all of them; nobody knows from elsewhere
    whose value changed; all that others may know of a person is declared as quasi.
    Does not protect against: somebody who knows whose value changed (tau-safety); "did this person ever have v?" when
    values change (the global guarantee); related persons; other publishers' data; in the counted grade, somebody who
    asks why groups are as they are. With ``counterfeits``, somebody who knows who left. It does not hide who is in the
    table. With several sensitive columns each is protected by itself: whoever knows one value may find the row by it.
    ``blind``: cuts and repairs depend on sizes and on the values of whole cells only, and values must not change. A
    release is then equally likely for every way in which the values of a cell could belong to its members (all choices
    are the same), so whoever knows this code believes no more than the shares of a cell say. Newcomers whose values
    are in the way as a whole are never published.
    Source: Barbosa, Pinto, Gomes 2012 (BPG), mended.
    """

    kind: ClassVar[str] = "refinement"
    explained: ClassVar[Explained] = Explained(
        about="people",
        plain=(
            f"{TOGETHER} Whatever crowd of people they can single out that way still has {{part}}.",
            (
                "To keep that word, some people may be published again as they were last told (dirty records), or be "
                "held back for a while."
            ),
        ),
        uncovered=(
            "Somebody who knows from elsewhere whose value changed, or, where counterfeits are added, who left.",
            EVER,
        ),
    )
    k: int | None = None
    l: float | None = None
    diversity: Literal["distinct", "frequency", "entropy", "recursive"] = "distinct"
    c: float | None = None
    t: float | Mapping[str, float] | None = None
    distance: Literal["ordered", "equal", "taxonomy"] | None = None
    dirty: Literal["allow", "never"] = "allow"
    counterfeits: bool = False
    slack: float | Room | None = kept_default(LEAN, before=ROOMY)
    blind: bool = False

    def __post_init__(self) -> None:
        if self.dirty not in ("allow", "never"):
            raise ConfigError(f"unknown dirty {self.dirty!r}", hint='dirty = "allow" or "never".')
        for key in ("counterfeits", "blind"):
            if not isinstance(getattr(self, key), bool):
                raise ConfigError(f"{key} must be true or false")
        if isinstance(self.slack, str):
            if self.slack not in get_args(Room):
                raise ConfigError(
                    f"unknown slack {self.slack!r}", hint='slack = "lean", "roomy" or a number from 1 up.'
                )
        elif self.slack is not None and exact_number("slack", self.slack) < 1:
            raise ConfigError(f"slack must be a number from 1 up, not {self.slack!r}")
        model = self.model  # parameters are judged when they are given, not when data arrives
        if self.blind:
            none = np.zeros(0, np.int64)
            for part in model.parts:  # a model that cannot be kept blindly says so
                name = getattr(part, "attribute", None) or ""
                part.surely(none, GroupStats(none, {name: Histogram.empty(0, 1)}))

    @property
    def model(self) -> Model:
        """The model that every cell satisfies."""
        return Static(k=self.k, l=self.l, diversity=self.diversity, c=self.c, t=self.t, distance=self.distance).model

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        method = method or Mondrian()
        model = self.model_for(schema)
        check_plan(method, model)
        if method.recode != "boxes" or method.suppresses:
            raise ConfigError(
                f"the guarantee {self.kind!r} publishes boxes of everybody in a group, and {method.name!r} does not",
                hint="Use the method 'mondrian' as it is.",
            )
        if self.blind and method.parameters().get("choose") == "gain":
            raise ConfigError("choose = 'gain' looks at who has which value", hint="blind = true needs another.")
        check_person(self.kind, schema)
        check_no_bins(self.kind, schema)
        if schema.plain and (self.dirty == "allow" or self.counterfeits):
            raise ConfigError(
                f"column {schema.plain[0]!r} is plain, and the vault does not keep it for records of people who left",
                column=schema.plain[0],
                hint='Make it quasi, drop it (identifier), or set dirty = "never" without counterfeits.',
            )
        if self.counterfeits and any(isinstance(part, TCloseness) for part in model.parts):
            raise ConfigError("counterfeits change the table that t compares with", hint="Take t or counterfeits out.")
        check_names(schema, two_tables=False)

    def model_for(self, schema: Schema) -> Model:
        """Return the model, checked against the schema."""
        self.model.check(schema)
        return self.model

    @property
    def traits(self) -> Traits:
        """What a series has to know of it: how cells are born and repaired may change, not what they promise."""
        return Traits(
            settings_of(self, unset=False),
            remembers=True,
            making=frozenset(["slack", "dirty"]),
            erasure=_ERASURE,
            usual_method=Mondrian(),  # which keeps every model
            usual={"k": (5, 10, 20), "l": (2, 3)},
        )

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:  # noqa: ARG002
        """Return what every release promises that this method makes.

        A number only where the model limits how frequent a value may be: one l-th.
        """
        method = method or Mondrian()
        blind = not method.reads_values(self.model) or self.blind
        settings = {key: getattr(self, key) for key in ("dirty", "counterfeits", "blind")}
        stated = {
            **self.model.parameters(),
            **settings,
            "slack": in_force(self, "slack"),
            **made_by(method),
        }
        claim = (
            "In this release, and in every set of people that all the releases of this series so far tell apart "
            f"together: {self.model.sentence()}."
        )
        how = (
            "The adversary may know the program: no choice looked at who has which value."
            if blind
            else "The adversary does not reason about why the groups are as they are."
        )
        more = [_DIRTY] if self.dirty == "allow" else []
        assumes = (_KNOWS, _CHANGES, how, *more, *([_FAKES] if self.counterfeits else []))
        return promise_of(
            self.kind,
            self.explained,
            claim,
            assumes,
            grade="blind" if blind else "counted",
            settings=stated,
            bound=1 / float(self.l) if self.l is not None and self.diversity == "frequency" else None,
            limits=self.model.limits("series"),
        )

    def decide(self, request: Request, rng: Dice) -> Draft:
        """Decide about every cell, and group who is published in the next release of a series."""
        snapshot, method = request.snapshot, request.method or Mondrian()
        self.check(snapshot.schema, method)
        memory = check_memory(self.kind, request.memory)
        model, book = self.model_for(snapshot.schema), memory.book
        reading = _read(snapshot, model, memory)
        rules, slack = self.rules_for(model, reading.asked, reading.stayed)
        if self.blind and model.tags.reads_values and (moved := int((reading.past.changed & ~reading.rests).sum())):
            raise RefusedError(
                f"{moved:,} persons have another sensitive value than they were published with, and blind = true is "
                "for values that do not change",
                hint="Whether a changed value can be published depends on it, and so would tell it. Mend the file, or "
                "use kind = 'tau-safety' in a vault of its own into which every release so far is adopted first.",
            )
        made = make(snapshot, reading, rules, book, method, rng, memory.stable_codes, request.given)
        apart = [name for name in snapshot.frame.columns if snapshot.schema[name].role in (Role.SENSITIVE, Role.PLAIN)]
        rows = made.rows(book, tuple(apart), rng)
        stale = int(made.decided.frozen.sum())
        whole, known = without_shapes(made)
        return Draft(
            rows,
            Grouped(made.codes, made.partition, BoxRecoder()),
            model,
            self.promise(snapshot.schema, method),
            whole,
            known,
            left=Left(
                withheld=snapshot.frame.height - int((made.cut.group >= 0).sum()),
                dirty=made.extras.dirty,
                # People asked for who are shown as they were told last, changed or not: how many did change would tell.
                stale=stale,
            ),
            remembered=Remembered(
                entries=self._entries(made, rows, memory), facts={"stale": stale, "slack": round(slack, 3)}
            ),
            altered=True,
            dirty=made.decided.absent.person[made.decided.beside],
        )

    def rules_for(self, model: Model, asked: IntArray, stayed: IntArray) -> tuple[Rules, float]:
        """Return what may be done in a release, and how many times the smallest size new cells have.

        For ``asked`` and ``stayed`` see :func:`~reveil.guarantees.refinement.slack.slack_for`.
        """
        given = in_force(self, "slack")
        if isinstance(given, str):
            slack = slack_for(asked, stayed, given, dirty=self.dirty == "allow")
        else:
            slack = number_in(given)
        least = math.ceil(model.minimum_size * slack)
        return Rules(model, least, self.dirty == "allow", self.counterfeits, self.blind), float(slack)

    def reason_against_shards(self, method: Grouper | None) -> str | None:
        """Say why a release is made in one memory, or None where cells may be worked on bucket by bucket."""
        if self.t is not None:
            return "t compares groups with the table, which changes with everybody who is held back"
        if self.counterfeits:
            return "counterfeits get values and boxes that cells have shown before"
        if self.blind:
            return "blind = true tells newcomers apart from those who are lost for good, all of them together"
        if not isinstance(method or Mondrian(), Mondrian):
            return f"the method {method.name!r} refines all cells at once" if method else None
        return (method or Mondrian()).reason_against_cells()

    def _entries(self, made: MadeRelease, rows: Rows, memory: Memory) -> tuple[Entries, ...]:
        """Return what the vault has to remember."""
        reading, cut = made.reading, made.remembered
        found = list(entries_of(reading, cut, made.decided.absent))
        found += _tables(reading, rows, memory)
        if self.counterfeits:
            numbers = Pieces.of(reading, cut, made.decided.absent).number
            more = made.extras.quasi
            stable_codes = {name: np.concatenate([memory.stable_codes[name], codes]) for name, codes in more.items()}
            found.append(box_entries(made.codes, made.partition, stable_codes, numbers, memory.book))
        return tuple(found)

    def adopt(self, memory: Memory, snapshot: Snapshot, release: Release, members: Membership) -> Adoption:
        """Take the groups of a release from elsewhere as cuts: what they told apart stays apart.

        Groups that nobody can tell apart become one cell that is never cut
        (:mod:`reveil.guarantees.refinement.adopted`).
        """
        model = self.model_for(snapshot.schema)
        reading = _read(snapshot, model, memory)
        groups, values = release.group_values()
        shown = shown_by(memory.book, reading, np.searchsorted(members.numbers, groups), values)
        found = fitted(reading, model, members, shown)
        nobody = absent_of(memory.book, reading, np.zeros(0, np.int64), snapshot.schema.quasi)
        entries = [*entries_of(reading, found.cut, nobody), found.sealed(reading, nobody)]
        for coding in reading.codings:
            name = coding.attribute.name
            if name in reading.tables:
                known = values[name].filter(pl.Series(shown[name] >= 0))
                entries.append(table_entries(coding, known, memory.book, memory.release))
        return Adoption(tuple(entries), found.unsafe_groups, found.held_back, merged=found.merged, cells=found.cells)


def _read(snapshot: Snapshot, model: Model, memory: Memory) -> Reading:
    """Read what was told of the persons of a snapshot and of their cells."""
    columns = {name: (snapshot.schema[name], snapshot.frame.schema[name]) for name in snapshot.schema.sensitive}
    return read(memory.book, memory.stable_codes, columns, model, memory.release, memory.present)


def _tables(reading: Reading, rows: Rows, memory: Memory) -> list[Entries]:
    """Return the whole table of today, where the model compares with it."""
    return [
        table_entries(coding, rows.values[coding.attribute.name].source, memory.book, memory.release)
        for coding in reading.codings
        if coding.attribute.name in reading.tables
    ]
