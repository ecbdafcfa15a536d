"""Mondrian: cut the table in two along one attribute, again and again, while both halves stay valid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from reveil.core.defaults import in_force, kept_default
from reveil.core.effort import Effort
from reveil.core.errors import ConfigError
from reveil.grouping.groupers._cutting import Cell, Forest
from reveil.grouping.groupers.base import Grouper
from reveil.models.statistics import Partition, Reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.models.base import Model
    from reveil.models.encoding import Codes

Cut = Literal["strict", "relaxed"]
Choose = Literal["width", "degeneracy", "gain", "loss"]


@dataclass(frozen=True, kw_only=True)
class Mondrian(Grouper):
    """Cuts in many dimensions, and records exchanged between neighbouring groups afterwards.

    A node is cut along the first attribute, in the order of ``choose``, whose cut leaves two valid halves; a node
    that no attribute can cut is a group. ``cut="strict"`` sends equal values to the same side; ``"relaxed"`` splits
    the records of the median value between the halves at random.

    ``choose``: ``loss`` takes the attribute and the boundary at which published cells become narrowest, each column
    counted by its weight. The others cut at the median, and attributes with a taxonomy between the children of the
    lowest node that covers the group where they can, so that labels get narrower: ``width`` takes the attribute that is
    widest relative to the table; ``degeneracy`` the one whose most frequent value has the smallest share of the node;
    ``gain`` the one whose cut tells most about the (first) sensitive attribute, which suits analysts who predict it.
    Where nothing is said it is ``loss``; ``width`` with ``effort="quick"`` or relaxed cuts.

    ``effort``: ``quick`` ends with the cuts. ``normal`` and ``thorough`` then exchange records between neighbouring
    groups where published cells become narrower and the model is kept; and where a share of values is bounded, they
    form groups of near records with different values.

    Guarantee: every group satisfies the model; nothing else.
    Assumes: the model is judged on the statistics of a group and is union-closed.
    Does not protect against: an adversary who knows the algorithm and asks why a cut was *not* made, or why two records
    did not change places, when the model or ``gain`` reads sensitive values (the *counted* grade). With a model on
    sizes alone, and ``choose`` other than ``gain``, no choice looks at a sensitive value (*blind*).
    Source: LeFevre, DeWitt, Ramakrishnan 2006; thesis 000, chapter 2.
    """

    name: ClassVar[str] = "mondrian"
    cut: Cut = "strict"
    choose: Choose | None = None
    effort: Effort | None = kept_default(Effort.NORMAL, before=Effort.QUICK)
    recode: str = "boxes"

    def __post_init__(self) -> None:
        self.check_recode()
        for key, known in (("cut", get_args(Cut)), ("choose", (*get_args(Choose), None)), ("effort", (*Effort, None))):
            if getattr(self, key) not in known:
                names = ", ".join(name for name in known if name is not None)
                raise ConfigError(f"mondrian: unknown {key} {getattr(self, key)!r}", hint=f"Known: {names}.")
        if self.cut == "relaxed" and self.choose == "loss":
            raise ConfigError(
                "mondrian: choose = 'loss' finds its own boundaries, and cut = 'relaxed' is for medians",
                hint="Take one of the two out.",
            )

    @classmethod
    def examples(cls) -> tuple[Mondrian, ...]:
        """Return what is done where nothing is said, every combination of ``cut`` and ``choose``, and every effort."""
        medians = tuple(choose for choose in get_args(Choose) if choose != "loss")
        quick = tuple(cls(cut=cut, choose=choose, effort=Effort.QUICK) for cut in get_args(Cut) for choose in medians)
        return (
            cls(), *quick, cls(effort=Effort.THOROUGH), cls(choose="loss", effort=Effort.QUICK), cls(cut="relaxed"),
            cls(choose="gain"),
        )  # fmt: skip

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""
        return {"cut": self.cut, "choose": self.chosen, "recode": self.recode, "effort": str(in_force(self, "effort"))}

    @property
    def chosen(self) -> Choose:
        """How attributes are chosen: what was asked for, or what the effort allows."""
        if self.choose is not None:
            return self.choose
        return "width" if in_force(self, "effort") == Effort.QUICK or self.cut == "relaxed" else "loss"

    def reads_values(self, model: Model) -> bool:
        """Return whether any choice depends on sensitive values."""
        return self.choose == "gain" or model.tags.reads_values

    def unsearched(self) -> Grouper | None:
        """Return cuts in the middle of the widest attribute and no exchanges, unless that is what it does."""
        plain = replace(self, choose="width" if self.chosen == "loss" else self.choose, effort=Effort.QUICK)
        return None if in_force(self, "effort") == Effort.QUICK and self.chosen != "loss" else plain

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:
        """Cut until nothing can be cut."""
        everybody = Partition(np.arange(codes.n, dtype=np.int32), np.array([0, codes.n], np.int64), codes.n)
        forest = Forest(codes, model, self, rng, everybody, None, blind=False)
        return forest.partition()

    def reason_against_cells(self) -> str | None:
        """Strict cuts depend on how often each code occurs, and so can be found by counting."""
        if self.cut == "relaxed":
            return "relaxed cuts deal the records of one value to both sides, which counting does not show"
        if self.recode != "boxes":
            return f"recode = {self.recode!r} is not put together from cells of the table"
        return None

    def group_cell(
        self, codes: Codes, model: Model, rng: Dice, cell: Cell, table: Mapping[str, Reference]
    ) -> Partition:
        """Cut a cell of a larger table to the end; the groups are those that the whole table would give."""
        everybody = Partition(np.arange(codes.n, dtype=np.int32), np.array([0, codes.n], np.int64), codes.n)
        return Forest(codes, model, self, rng, everybody, table, blind=False, cell=cell).partition()

    def refine(
        self,
        codes: Codes,
        model: Model,
        rng: Dice,
        start: Partition,
        *,
        table: Mapping[str, Reference] | None = None,
        blind: bool = False,
    ) -> Partition:
        """Cut every group of a partition until nothing can be cut, all of them level by level together.

        Blind: a cut is made where every part of these sizes would be valid, whoever has which value in the group that
        is cut. So of all that the values say, each choice depends on what whole groups have, all of which are unions
        of published ones.
        """
        if blind and self.choose == "gain":
            raise ConfigError("choose = 'gain' looks at who has which value", hint="blind = true needs another.")
        if not len(start.order):
            return start
        return Forest(codes, model, self, rng, start, table, blind=blind).partition()

    def refine_cells(self, codes: Codes, model: Model, rng: Dice, start: Partition, cell: Cell) -> Partition:
        """Cut every group of a partition of some records of a table, as :meth:`refine` does for all of them."""
        if not len(start.order):
            return start
        return Forest(codes, model, self, rng, start, None, blind=False, cell=cell).partition()
