"""Possible worlds: one table, released again and again with other columns, to other recipients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import ConfigError, InfeasibleError, RefusedError
from reveil.guarantees.base import Adoption, Guarantee, Memory
from reveil.guarantees.checks import check_memory, check_no_method, check_one_sensitive, check_person
from reveil.guarantees.draft import Covering, Draft, GivenColumn, Remembered, Rows, Witness
from reveil.guarantees.explained import TOGETHER, Explained
from reveil.guarantees.promising import promise_of
from reveil.guarantees.settings import settings_of
from reveil.guarantees.traits import Traits
from reveil.guarantees.worlds.buckets import largest_l
from reveil.guarantees.worlds.drawing import draw_worlds, sources_of
from reveil.guarantees.worlds.matching import better, matched
from reveil.guarantees.worlds.projection import projected
from reveil.guarantees.worlds.world_ledgers import MOST_WORLDS, Drawn, remembered
from reveil.models.any_group import AnyGroup
from reveil.models.encoding import Codes, encode, encode_sensitive
from reveil.models.limits import keeping_values
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.draft import Request
    from reveil.guarantees.worlds.drawing import Tokens
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

_TOGETHER = "Over all the releases of this series together"
_KNOWS = "Others may know who is in the table and everybody's quasi values, all the releases, and nobody's value."
_STAYS = (
    "Nobody leaves the table, and no quasi or sensitive value of anybody changes from release to release; nobody knows "
    "whose plain values did."
)
_BEFOREHAND = (
    "l, and who is in which batch, were settled without looking at sensitive values, and nobody learns of a refusal: a "
    "smaller l that was taken because a larger one was refused, or a batch that had to wait, tells something."
)
_DEALT = (
    "Beforehand, every way to deal the values of neighbours to them, each with its plain columns, is equally likely; "
    "the adversary may know the program and everything but the dice."
)
_BUCKETS = (
    "The buckets, the sets of people whose values change places among them, count as settled beforehand: nobody asks "
    "why they are as they are. Their boundaries follow the values, and tell whoever does more, up to certainty "
    "(blind = true prevents that)."
)
_EARLIER = ", up to what the boundaries of the buckets tell."  # the same promise, as it was worded before


@dataclass(frozen=True)
class PossibleWorlds(Guarantee):
    """Every release is consistent with the same l worlds, of which the table is one, and in which all values differ.

    The worlds are drawn once (:mod:`reveil.guarantees.worlds.drawing`): tables with the same persons and quasi values,
    in which the sensitive values, and with them all plain columns, have changed places between neighbours. A release
    has a box for each row, wide enough that each of the l worlds could have led to it
    (:mod:`reveil.guarantees.worlds.matching`). It may have any columns, in any order, and costs what the first did.
    Columns that come later follow the permutations already drawn. People who come later get worlds of their own,
    l-diverse by themselves.

    Guarantee: over all the releases together, whoever knows all quasi values, all the releases and this code believes
    no link between a person and a sensitive value with more than 1/l. Proof: :mod:`reveil.guarantees.worlds.drawing`.
    By default in the grade *worlds*: given the buckets, which follow the values. Every way to deal the values of each
    bucket to its persons is equally likely beforehand, and each is as likely afterwards as this code, run on it with
    these buckets, is to publish what was published. With ``blind`` the buckets follow quasi values alone, and the bound
    needs no such word. It is *not* true that at most 1/l of all the worlds that agree with the releases have a link:
    other worlds than the l may agree, too, and seven of eight may say the same. Whoever counts them all counts worlds
    that the algorithm does not hold equally likely.

    ``placement="greedy"`` is the source's algorithm, for comparison: the truth is always the same one of the l worlds,
    and records are placed nearest first. Whoever runs it on each of the worlds finds the truth, often with certainty;
    all that is claimed is that everybody is linked with at least l values by worlds that agree with the releases.

    ``project`` is the source's alternative that needs no matching: each row covers all who have its values in some
    world, whichever columns are published. ``p`` is how many rows are matched at once.

    Assumes: one record per person; before the releases, every way to deal the values of a bucket (each with its plain
    columns) to its persons is equally likely; all that others may know of a person is declared as quasi; nobody is
    deleted and nothing changes.
    Does not protect against: knowing some people's values (in an unlucky set of worlds one value tells the others);
    values that are likelier for some than for others; other publishers' data. It does not hide who is in the table:
    exact quasi values are published wherever no other column asks for more.
    Source: 003 (Shmueli and Tassa 2015), Algorithms 1 and 2, mended.
    """

    kind: ClassVar[str] = "worlds"
    explained: ClassVar[Explained] = Explained(
        about="value",
        plain=(
            (
                f"{TOGETHER} All of it fits several stories equally well, the true one among them, and they can link "
                "nobody with a sensitive value by more than a chance of {bound}."
            ),
            (
                "Other columns of the same people may be published later; people may be added, but nobody may change "
                "or leave."
            ),
        ),
        uncovered=(
            (
                "Somebody who knows the value of a person in the table: it can single out one of the stories, and with "
                "it the values of others."
            ),
        ),
    )
    l: int
    _: KW_ONLY
    p: int = 100
    project: bool = False
    blind: bool = False
    placement: Literal["blind", "greedy"] = "blind"

    def __post_init__(self) -> None:
        for key, least in (("l", 2), ("p", 1)):
            number = getattr(self, key)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise ConfigError(f"{key} must be a whole number from {least} up, not {number!r}")
        if self.l > MOST_WORLDS:
            raise ConfigError(f"l must be at most {MOST_WORLDS}", hint="The vault keeps one number per world.")
        for key in ("project", "blind"):
            if not isinstance(getattr(self, key), bool):
                raise ConfigError(f"{key} must be true or false")
        if self.placement not in ("blind", "greedy"):
            raise ConfigError(f"unknown placement {self.placement!r}", hint="Known: blind, greedy.")
        if self.blind and self.placement == "greedy":
            raise ConfigError(
                "blind = true needs placement = 'blind': greedy placement tells the truth from the other worlds",
                hint="Take placement = 'greedy' out.",
            )

    @property
    def traits(self) -> Traits:
        """What a series has to know of it: how rows are matched may change, what the worlds are may not."""
        worlds = self.placement == "blind" and not self.blind
        return Traits(
            settings_of(self),
            remembers=True,
            whole_table=True,
            any_columns=True,
            making=frozenset(["p", "project"]),
            worded_before=(self._claim(_EARLIER),) if worlds else (),
            usual={"l": (2, 3, 4)},
        )

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        check_no_method(self.kind, method)
        check_person(self.kind, schema)
        column = check_one_sensitive(
            self.kind, schema, "Declare one as sensitive. Others that nobody can know may be plain: they move with it."
        )
        declared = column.taxonomy.leaves if column.taxonomy is not None else column.order
        if declared is not None and len(declared) + 1 < self.l:  # a missing value is one, too
            raise InfeasibleError(
                f"l = {self.l} needs so many different values, and {len(declared)} are declared",
                column=column.name,
                hint=f"l = {len(declared)} is the largest that can do.",
            )

    def model_for(self, schema: Schema) -> AnyGroup:  # noqa: ARG002
        """Return what every group satisfies: nothing. Rows have boxes of their own, and the worlds are judged."""
        return AnyGroup()

    def _claim(self, ending: str) -> str:
        return f"{_TOGETHER}, nobody's sensitive value is told with more than 1/{self.l}{ending}"

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:  # noqa: ARG002
        """Return what every release of these settings promises: a number, unless records are placed greedily.

        What it limits is that everybody keeps l values: the share of all worlds that agree is no part of it.
        """
        if self.placement == "greedy":
            claim = (
                f"{_TOGETHER}, everybody may have at least {self.l} different sensitive values; how strongly each may "
                "be believed is not bounded."
            )
            grade, bound, assumes = "none", None, (_KNOWS, _STAYS)
        else:
            claim = self._claim("." if self.blind else ", given the buckets in which values change places.")
            grade, bound = "blind" if self.blind else "worlds", 1 / self.l
            assumes = (_KNOWS, _DEALT, _STAYS, _BEFOREHAND, *(() if self.blind else (_BUCKETS,)))
        return promise_of(
            self.kind,
            self.explained,
            claim,
            assumes,
            grade=grade,
            settings=settings_of(self),
            bound=bound,
            limits=keeping_values(None if bound is None else self.l),
        )

    def decide(self, request: Request, rng: Dice) -> Draft:
        """Draw the worlds of who is new, and decide whom each row covers, so that it fits all the worlds."""
        memory, snapshot = check_memory(self.kind, request.memory), request.snapshot
        whole = memory.whole or snapshot
        self.check(whole.schema, request.method)
        codes = request.codes
        name = whole.schema.sensitive[0]
        values = encode_sensitive(whole.frame[name], whole.schema[name]).codes
        drawn = self._drawn(whole, values, memory, rng.child("worlds"))
        sources = sources_of(drawn.tokens, drawn.truth)
        drawn.check_values(values[sources])
        rows = self._rows(snapshot, codes, drawn.tokens, sources, rng.child("rows"))
        record = rows[drawn.truth]
        names = snapshot.schema.names(Role.SENSITIVE, Role.PLAIN)
        return Draft(
            Rows(
                record,
                np.arange(codes.n, dtype=np.int32),
                None,
                {n: GivenColumn(snapshot.frame[n], record) for n in names},
            ),
            Covering(codes, rows),
            self.model_for(whole.schema),
            self.promise(whole.schema, request.method),
            snapshot,
            codes,
            remembered=Remembered(entries=drawn.entries),
            witness=Witness(sources, rows),
        )

    def adopt(
        self,
        memory: Memory,  # noqa: ARG002
        snapshot: Snapshot,  # noqa: ARG002
        release: Release,  # noqa: ARG002
        members: Membership,  # noqa: ARG002
    ) -> Adoption:
        """Refuse: a release from elsewhere fits the truth and none of the other worlds."""
        raise RefusedError(
            "a release from elsewhere does not fit the worlds of this series: whoever holds both can tell the truth "
            "from them",
            hint="Nothing bounds what both tell together. kind = 'tau-safety' or 'refinement' can go on from a release "
            "that was made elsewhere.",
        )

    def _drawn(self, whole: Snapshot, values: CodeArray, memory: Memory, rng: Dice) -> Drawn:
        """Return the worlds of everybody: remembered, or drawn now for those who are new."""
        known = remembered(memory, whole.schema, self.l, len(values))
        new = np.flatnonzero(known.tokens[0] < 0)
        if not len(new):
            return known
        most = largest_l(values[new])
        if most < self.l:
            who = f"the {len(new):,} new persons" if known.batches else "the table"
            way = f"l = {most} would do. " if most >= 2 else ""
            raise InfeasibleError(
                f"some value has more than one in {self.l} of {who}",
                hint=(
                    f"{way}A later batch must be diverse by itself: settle how large batches are beforehand (a batch "
                    "that had to wait tells something), or begin a series of their own."
                    if known.batches
                    else f"{way}Or merge values, so that none is so frequent."
                ),
            )
        codes = encode(whole).take(new)
        greedy = self.placement == "greedy"
        truth = known.truth if known.batches else None
        worlds = draw_worlds(codes, values[new], self.l, rng, blind=self.blind, greedy=greedy, truth=truth)
        return known.extended(new, worlds.tokens, worlds.truth)

    def _rows(
        self, snapshot: Snapshot, codes: Codes, tokens: Tokens, sources: Tokens, rng: Dice
    ) -> npt.NDArray[np.int32]:
        """Return whom each row covers in each world."""
        rows = projected(tokens)
        if not self.project:
            names = snapshot.schema.names(Role.SENSITIVE, Role.PLAIN)
            kinds = np.zeros(codes.n, np.int32)
            if names:
                kinds = snapshot.frame.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int32)
            rows = better(codes, kinds[sources], matched(codes, kinds[sources], self.p, rng), rows)
        return rows
