"""From what was told to who is published, with whom, and who is held back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.grouping.groupers.mondrian import Mondrian
from reveil.guarantees.refinement.absent import Absent, absent_of, helpers
from reveil.guarantees.refinement.judging import Judge
from reveil.guarantees.refinement.repair import Fate, first_fates
from reveil.models.base import Model, ValueModel
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import GroupStats, Histogram, Partition, Reference
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers._cutting import Cell
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.refinement.past import CellVersions, Past
    from reveil.guarantees.refinement.reading import Reading
    from reveil.models.encoding import Codes, SensitiveAttribute
    from reveil.vault.protocol import Book

    Steps = frozenset[tuple[int, int]]  # the place of a sensitive column, and a turn of the versions of cells


@dataclass(frozen=True)
class Rules:
    """What may be done: the model, how large cells are born, and who may be published beside those asked for."""

    model: Model
    least: int  # no group is cut into smaller ones than this
    dirty: bool
    counterfeits: bool
    blind: bool


@dataclass(frozen=True)
class Decided:
    """What becomes of the touched cells and of those who are new.

    ``fate`` is that of each cell, ``fresh`` are the records of people who were never published and now are, and
    ``lost`` those of people who are held back together, for good. ``frozen`` are published as they were told last.
    ``absent`` are the absent members of cells that need them: ``beside`` who of them is published, ``shapes`` whose
    place a counterfeit takes, and ``stand_ins`` how many counterfeits each cell gets.
    """

    fate: CodeArray = field(repr=False)
    fresh: BoolArray = field(repr=False)
    lost: BoolArray = field(repr=False)
    frozen: BoolArray = field(repr=False)
    absent: Absent
    beside: BoolArray = field(repr=False)
    shapes: BoolArray = field(repr=False)
    stand_ins: IntArray = field(repr=False)

    def published(self, past: Past, present: BoolArray) -> BoolArray:
        """Return which records are published."""
        shown = np.append(self.fate > Fate.HELD_BACK, False)
        return np.asarray(self.fresh | (present & (past.cell >= 0) & shown[past.cell]), np.bool_)


def decide(
    reading: Reading,
    rules: Rules,
    book: Book,
    quasi: Iterable[str],
    rng: Dice,
    held: BoolArray,
    waiting: BoolArray,
) -> Decided:
    """Decide what becomes of each cell, and of those who are new.

    ``held`` are cells, and ``waiting`` new people, that have to be held back for other reasons.
    """
    past = reading.past
    present = ~reading.rests
    judge = Judge(rules.model, past, rules.blind, reading.tables)
    fate, wanting = first_fates(judge, present)
    if not rules.dirty:
        fate[fate == Fate.STALE] = Fate.HELD_BACK
    fate[held], wanting = Fate.HELD_BACK, wanting & ~held
    here = past.count(present)
    missing = past.sizes - here
    whole = (fate == Fate.ALL) & (missing > 0)
    some = wanting & rules.dirty
    absent = absent_of(book, reading, np.flatnonzero(whole | some), quasi)
    # Whom dice put first: their order says nothing. The die of a person is theirs, whoever else is looked at.
    chosen = helpers(judge, present, some, absent, rng.child("helpers").bits(absent.person))
    partly = np.zeros(past.n_cells, np.bool_)
    partly[absent.cell[chosen]] = True
    fate[partly] = Fate.SOME
    whole &= ~partly
    able = absent.able & whole[absent.cell] if rules.dirty else np.zeros(absent.size, np.bool_)
    lacking = np.where(whole, missing - np.bincount(absent.cell[able], minlength=past.n_cells), 0)
    if not rules.counterfeits:
        fate[lacking > 0] = Fate.HELD_BACK
        lacking = np.zeros_like(lacking)
    published = fate == Fate.ALL
    shapes = ~able & absent.able & published[absent.cell]
    fresh, lost = _newcomers(reading, rules, (past.cell < 0) & present & ~waiting)
    as_told = np.append(fate > Fate.CLEAN, False)
    frozen = present & (past.cell >= 0) & as_told[past.cell]
    beside = (able & published[absent.cell]) | chosen
    return Decided(fate, fresh, lost, frozen, absent, beside, shapes, np.where(published, lacking, 0))


def _newcomers(reading: Reading, rules: Rules, fresh: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return who of the people who are new is published, and who is lost.

    If they are too few, they wait for others. If their values are in the way they wait, too; but blindly that would
    tell: with whom they are published later would say why they had to wait. So then they are a cell that is never
    published, and to make that rare, they wait until they are enough for a cell with slack.
    """
    nobody = np.zeros_like(fresh)
    if not rules.blind:
        return (fresh if _valid_together(rules.model, reading, fresh) else nobody), nobody
    enough = rules.least if reading.next_cell > 0 else rules.model.minimum_size
    if int(fresh.sum()) < enough:
        return nobody, nobody
    return (fresh, nobody) if _valid_together(rules.model, reading, fresh) else (nobody, fresh)


def _valid_together(model: Model, reading: Reading, fresh: BoolArray) -> bool:
    """Return whether the people who are new are a valid group, all together."""
    attributes = [coding.attribute for coding in reading.codings]
    counts = {a.name: np.bincount(a.codes[fresh], minlength=a.domain).astype(np.int64) for a in attributes}
    return valid_group(model, int(fresh.sum()), counts)


def valid_group(model: Model, size: int, values: Mapping[str, IntArray]) -> bool:
    """Return whether so many people are a valid group, or none; ``values`` is how often each value occurs, by code."""
    sizes = np.array([size], np.int64)
    for part in model.parts if size else ():
        if not isinstance(part, ValueModel):
            if not part.verdict(GroupStats(sizes))[0]:
                return False
            continue
        for name, many in values.items():
            if part.concerns(name):
                codes = np.flatnonzero(many)
                counts = Histogram.of_counts(np.zeros(len(codes), np.int64), codes, many[codes], 1, len(many))
                reference = Reference(many, ordered=False, levels=None)
                if not part.verdict(GroupStats(sizes, {name: counts}, {name: reference}))[0]:
                    return False
    return True


@dataclass(frozen=True)
class AllOfRelease:
    """What records have to know of the whole release where they are a part of it.

    ``cell`` is what :class:`~reveil.grouping.groupers._cutting.Cell` says, ``steps`` are the turns of versions that say
    something (:func:`steps_told`).
    """

    cell: Cell
    steps: Steps


def grouped(
    reading: Reading,
    decided: Decided,
    rules: Rules,
    codes: Codes,
    extra: CodeArray,
    method: Grouper,
    rng: Dice,
    among: AllOfRelease | None = None,
) -> Partition:
    """Group those who are published: people who are new, and the members of each cell that nobody was added to.

    ``codes`` has the records and behind them extra rows, whose cells are ``extra``. A cell with others in it stays one
    group, and so does one that must not be cut, and every cell under a model that compares with the table: its pieces
    would have to be close to the tables of all releases at once. ``among``: the records are a part of the release.
    """
    cell = np.concatenate([reading.past.cell, extra]).astype(np.int64)
    member, is_open = _members(reading, decided, rules, cell)
    model = rules.model & KAnonymity(rules.least) if rules.least > 1 else rules.model
    inside = codes
    if reading.past.versions:
        inside = _with_versions(codes, reading, is_open, among.steps if among else _steps(reading, is_open))
    parts = _parts(cell, is_open, codes.n)
    if among is None:
        cut = method.refine(inside, model, rng, parts, table=codes.references(), blind=rules.blind)
    else:
        if not isinstance(method, Mondrian):
            raise TypeError(f"the method {method.name!r} cuts no part of a release")
        cut = method.refine_cells(inside, model, rng, parts, among.cell)
    closed = _parts(cell, member & ~is_open, codes.n)
    order = np.concatenate([cut.order, closed.order])
    offsets = np.concatenate([cut.offsets, closed.offsets[1:] + len(cut.order)])
    return Partition(order, offsets.astype(np.int64), codes.n)


def _members(reading: Reading, decided: Decided, rules: Rules, cell: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return which records and extra rows are published, and which of them in cells that may be cut."""
    past = reading.past
    extra = len(cell) - len(past.cell)
    shown = np.append(decided.fate > Fate.HELD_BACK, False)
    member = np.concatenate([decided.published(past, ~reading.rests), np.ones(extra, np.bool_)])
    member &= shown[cell] | (cell < 0)
    compares = any(isinstance(part, TCloseness) for part in rules.model.parts)
    sizes = past.count(~reading.rests)
    open_cells = (decided.fate == Fate.CLEAN) & (sizes >= 2 * rules.least) & (not compares) & (past.sealed == 0)
    return member, member & ((cell < 0) | np.append(open_cells, False)[cell])


def _parts(cell: IntArray, chosen: BoolArray, n: int) -> Partition:
    """Return the chosen records cell by cell."""
    records = np.flatnonzero(chosen).astype(np.int32)
    order = records[np.argsort(cell[records], kind="stable")]
    first = np.flatnonzero(np.diff(cell[order], prepend=-2)) if len(order) else np.zeros(0, np.int64)
    return Partition(order, np.append(first, len(order)).astype(np.int64), n)


def steps_told(reading: Reading, decided: Decided, rules: Rules) -> Steps:
    """Return in which turns of versions, by column, somebody who may be cut off had another value than today."""
    return _steps(reading, _members(reading, decided, rules, reading.past.cell.astype(np.int64))[1])


def _steps(reading: Reading, is_open: BoolArray) -> Steps:
    found = set()
    for at, versions in enumerate(reading.past.versions):
        places, turn = _turns(versions, is_open)
        other = versions.value[places] != versions.attribute.codes[versions.record[places]]
        found |= {(at, int(step)) for step in np.unique(turn[other])}
    return frozenset(found)


def _turns(versions: CellVersions, is_open: BoolArray) -> tuple[IntArray, IntArray]:
    """Return where values stand of records that may be cut off in earlier versions, and the turn of each version."""
    places = np.flatnonzero(is_open[versions.record])
    places = places[versions.release[versions.version[places]] != versions.today]
    return places, versions.version[places] - versions.offsets[versions.cell[versions.version[places]]]


def _with_versions(codes: Codes, reading: Reading, is_open: BoolArray, steps: Steps) -> Codes:
    """Add to the values of today those of every version, as attributes of their own: each must be valid, too.

    A cell with fewer versions than others repeats today's. A version in which nobody had another value than today says
    nothing new, and is left out.
    """
    more: list[SensitiveAttribute] = []
    for number, step in sorted(steps):
        versions = reading.past.versions[number]
        places, turn = _turns(versions, is_open)
        at = places[turn == step]
        values = np.zeros(codes.n, np.int32)
        values[: len(versions.attribute.codes)] = versions.attribute.codes
        values[versions.record[at]] = versions.value[at]
        meaning = replace(versions.attribute.meaning, name=f"{versions.name} {step}")
        more.append(replace(versions.attribute, meaning=meaning, codes=values))
    return replace(codes, sensitive=(*codes.sensitive, *more))
