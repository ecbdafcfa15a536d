"""What an adversary holds: the releases as they see them, the people they know, and what they know about them.

Everything an attack may use is in :class:`Evidence`. It is made of published tables, their manifests, the schema, and
the background tables that the caller hands over (:mod:`reveil.adversary.gathering`); nothing in it comes from a vault.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.tables.alike import folded

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.adversary.attacks.program import KnownProgram
    from reveil.adversary.known_values import Known
    from reveil.adversary.pairs import KnownPairs
    from reveil.adversary.priors import Beforehand
    from reveil.adversary.view import View
    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.models.limits import Limit
    from reveil.tables.schema import Schema

    ChangeArray = npt.NDArray[np.int8]

KNOWN = ("nothing", "presence", "events", "ids", "values")


@dataclass(frozen=True)
class Evidence:
    """All that the adversary knows.

    ``values`` are the sensitive values as texts, null being a value. ``known`` is what they know of people:
    ``nothing`` (who could be in the tables), ``presence`` (who is in which), ``events`` (also whether a value changed),
    ``ids`` (also which rows are the same record); ``values`` (who is in which, and other sensitive values of whomever
    they look for, which ``others`` has). ``changed[t]`` has a number for each person present in view t: 0 the
    value is that of their last attendance before, 1 it is another, -1 that is unknown or they were never there.
    ``limits`` are what the series promises of all releases together, and ``bound`` the belief that nobody's value may
    exceed by these, None where no number is promised.
    """

    views: tuple[View, ...]
    persons: pl.Series = field(repr=False)
    values: pl.Series = field(repr=False)
    known: str
    changed: tuple[ChangeArray, ...] = field(repr=False)
    bound: float | None
    column: str = ""
    schema: Schema | None = field(default=None, repr=False)
    others: Known | None = field(default=None, repr=False)
    restless: frozenset[str] = frozenset()  # plain columns in which somebody changed, where the snapshots are given
    limits: tuple[Limit, ...] = ()
    notes: tuple[str, ...] = ()  # what could not be read, and how it was taken
    unread: tuple[str, ...] = ()  # the columns with labels that stand for anything because nobody explains them
    sample: BoolArray | None = field(default=None, repr=False)  # the persons who are attacked; None: everybody
    prior: Beforehand | None = field(default=None, repr=False)  # what is believed of people before reading
    states: int | None = None  # steps in which larger pieces may be counted; None: as many as one attack may make
    pairs: KnownPairs | None = field(default=None, repr=False)  # which values go with which of other columns
    households: tuple[CodeArray | None, ...] = field(default=(), repr=False)  # of those present, -1 for none
    program: KnownProgram | None = field(default=None, repr=False)  # the publisher, to be tried on other tables

    @property
    def last_alone(self) -> Evidence:
        """The same with the last release only."""
        view = replace(self.views[-1], number=0)
        return replace(
            self,
            views=(view,),
            changed=(np.full(len(view.present), -1, np.int8),),
            prior=None,
            pairs=None,
            program=None,
            households=self.households[-1:],
            others=None if self.others is None else replace(self.others, releases=self.others.releases[-1:]),
        )

    def declared(self, key: str) -> CodeArray:
        """Return the values that every limit of the series declares as ``harmless``, say, or ``permanent``."""
        lists = [getattr(limit, key) for limit in self.limits]
        common = sorted(set.intersection(*map(set, lists))) if lists else []
        values, listed = self.values, pl.Series(common, dtype=pl.String)
        if self.schema is not None and self.schema[self.column].folds:
            values, listed = folded(values), folded(listed)
        return np.flatnonzero(values.is_in(listed.implode()).fill_null(False).to_numpy()).astype(np.int32)
