"""From what was told to who is published, with whom, and who is held back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.guarantees.refinement.absent import Absent, absent_of, helpers
from reveil.guarantees.refinement.judging import Judge
from reveil.guarantees.refinement.repair import Fate, first_fates
from reveil.models.base import Model, ValueModel
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import GroupStats, Histogram, Partition
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.refinement.past import Past
    from reveil.guarantees.refinement.reading import Reading
    from reveil.models.encoding import Codes, SensitiveAttribute
    from reveil.vault.protocol import Book


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
    # Whom dice put first: their order says nothing.
    chosen = helpers(judge, present, some, absent, rng.child("helpers").permutation(absent.size))
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
    size = np.array([int(fresh.sum())], np.int64)
    if not size[0]:
        return True
    for part in model.parts:
        if not isinstance(part, ValueModel):
            if not part.verdict(GroupStats(size))[0]:
                return False
            continue
        for coding in reading.codings:
            attribute = coding.attribute
            if not part.concerns(attribute.name):
                continue
            reference = attribute.reference()
            counts = Histogram.of(np.zeros(size[0], np.int64), attribute.codes[fresh], 1, attribute.domain)
            if not part.verdict(GroupStats(size, {attribute.name: counts}, {attribute.name: reference}))[0]:
                return False
    return True


def grouped(
    reading: Reading,
    decided: Decided,
    rules: Rules,
    codes: Codes,
    extra: CodeArray,
    method: Grouper,
    rng: Dice,
) -> Partition:
    """Group those who are published: people who are new, and the members of each cell that nobody was added to.

    ``codes`` has the records and behind them extra rows, whose cells are ``extra``. A cell with others in it stays one
    group, and so does one that must not be cut, and every cell under a model that compares with the table: its pieces
    would have to be close to the tables of all releases at once.
    """
    past = reading.past
    cell = np.concatenate([past.cell, extra]).astype(np.int64)
    shown = np.append(decided.fate > Fate.HELD_BACK, False)
    member = np.concatenate([decided.published(past, ~reading.rests), np.ones(len(extra), np.bool_)])
    member &= shown[cell] | (cell < 0)
    compares = any(isinstance(part, TCloseness) for part in rules.model.parts)
    sizes = past.count(~reading.rests)
    open_cells = (decided.fate == Fate.CLEAN) & (sizes >= 2 * rules.least) & (not compares) & (past.sealed == 0)
    is_open = member & ((cell < 0) | np.append(open_cells, False)[cell])
    model = rules.model & KAnonymity(rules.least) if rules.least > 1 else rules.model
    inside = codes if not past.versions else _with_versions(codes, reading, is_open)
    parts = _parts(cell, is_open, codes.n)
    cut = method.refine(inside, model, rng, parts, table=codes.references(), blind=rules.blind)
    closed = _parts(cell, member & ~is_open, codes.n)
    order = np.concatenate([cut.order, closed.order])
    offsets = np.concatenate([cut.offsets, closed.offsets[1:] + len(cut.order)])
    return Partition(order, offsets.astype(np.int64), codes.n)


def _parts(cell: IntArray, chosen: BoolArray, n: int) -> Partition:
    """Return the chosen records cell by cell."""
    records = np.flatnonzero(chosen).astype(np.int32)
    order = records[np.argsort(cell[records], kind="stable")]
    first = np.flatnonzero(np.diff(cell[order], prepend=-2)) if len(order) else np.zeros(0, np.int64)
    return Partition(order, np.append(first, len(order)).astype(np.int64), n)


def _with_versions(codes: Codes, reading: Reading, is_open: BoolArray) -> Codes:
    """Add to the values of today those of every version, as attributes of their own: each must be valid, too.

    A cell with fewer versions than others repeats today's.
    """
    more: list[SensitiveAttribute] = []
    for versions in reading.past.versions:
        places = np.flatnonzero(is_open[versions.record])
        turn = versions.version[places] - versions.offsets[versions.cell[versions.version[places]]]
        today = versions.release[versions.version[places]] == versions.today
        for step in range(int(turn[~today].max(initial=-1)) + 1):
            at = places[(turn == step) & ~today]
            # A version in which nobody had another value than today says nothing new.
            if np.array_equal(versions.value[at], versions.attribute.codes[versions.record[at]]):
                continue
            values = np.zeros(codes.n, np.int32)
            values[: len(versions.attribute.codes)] = versions.attribute.codes
            values[versions.record[at]] = versions.value[at]
            meaning = replace(versions.attribute.meaning, name=f"{versions.name} {step}")
            more.append(replace(versions.attribute, meaning=meaning, codes=values))
    return replace(codes, sensitive=(*codes.sensitive, *more))
