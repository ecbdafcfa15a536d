"""Possible worlds: one table, released again and again with other columns, to other recipients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import ConfigError, InfeasibleError, RefusedError, VerificationError
from reveil.core.randomness import shuffled
from reveil.grouping.recoders.boxes import boxed
from reveil.guarantees.assembly import (
    check_memory,
    check_no_method,
    check_one_sensitive,
    check_person,
    check_same_promise,
    describe_columns,
    published_names,
)
from reveil.guarantees.base import Adoption, Guarantee, Memory, Prepared
from reveil.guarantees.counted import group_statistics
from reveil.guarantees.explained import TOGETHER, Explained
from reveil.guarantees.worlds.buckets import largest_l
from reveil.guarantees.worlds.drawing import draw_worlds, sources_of
from reveil.guarantees.worlds.matching import better, matched
from reveil.guarantees.worlds.projection import projected
from reveil.guarantees.worlds.world_ledgers import MOST_WORLDS, Drawn, remembered
from reveil.models.any_group import AnyGroup
from reveil.models.encoding import Codes, encode, encode_sensitive
from reveil.models.limits import Limit, keeping_values
from reveil.releases.manifest import make_manifest
from reveil.releases.release import Release, release_of, taken
from reveil.releases.table import PublishedTable
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.worlds.drawing import Tokens
    from reveil.releases.manifest import Manifest
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

_KNOWS = "Others may know who is in the table and everybody's quasi values, all the releases, and nobody's value."
_STAYS = (
    "Nobody leaves the table, and no quasi or sensitive value of anybody changes from release to release; nobody knows "
    "whose plain values did."
)
_BEFOREHAND = (
    "l, and who is in which batch, were settled without looking at sensitive values, and nobody learns of a refusal: a "
    "smaller l that was taken because a larger one was refused, or a batch that had to wait, tells something."
)
_BUCKETS = (
    "The buckets, the sets of people whose values change places among them, count as settled beforehand: nobody asks "
    "why they are as they are. Their boundaries follow the values, and tell whoever does more, up to certainty "
    "(blind = true prevents that)."
)
_EARLIER = ("counted", ", up to what the boundaries of the buckets tell.")  # the same promise, as it was worded before


@dataclass(frozen=True)
class Witness:
    """What shows that a release fits worlds.

    In world i the person of record r has what the record ``sources[i, r]`` has in the table, and the published row n
    is that of the record ``rows[i, n]``.
    """

    sources: npt.NDArray[np.integer] = field(repr=False)
    rows: npt.NDArray[np.integer] = field(repr=False)


@dataclass(frozen=True)
class PreparedWorlds(Prepared):
    """A release with what shows that it fits every world: for verification, and never written anywhere."""

    witness: Witness | None = field(default=None, repr=False)


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
    remembers: ClassVar[bool] = True
    whole_table: ClassVar[bool] = True
    any_columns: ClassVar[bool] = True

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
    def bound(self) -> float | None:
        """One l-th, in all the releases together; nothing with the source's placement."""
        return 1 / self.l if self.placement == "blind" else None

    def limits(self) -> tuple[Limit, ...]:
        """Return that everybody keeps l values: the share of all worlds that agree is no part of the promise."""
        return keeping_values(self.l if self.bound is not None else None)

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

    def may_change(self, key: str, before: object, after: object) -> bool:  # noqa: ARG002
        """Return whether a setting may change: how rows are matched may, what the worlds are may not."""
        return key in ("p", "project")

    def promise(self) -> Promise:
        """Return what every release of these settings promises."""
        grade = "none" if self.placement == "greedy" else "blind" if self.blind else "worlds"
        together = "Over all the releases of this series together"
        if self.placement == "greedy":
            claim = (
                f"{together}, everybody may have at least {self.l} different sensitive values; how strongly each may "
                "be believed is not bounded."
            )
            return self.state(claim, (_KNOWS, _STAYS), grade=grade, settings=self.settings())
        claim = f"{together}, nobody's sensitive value is told with more than 1/{self.l}"
        claim += "." if self.blind else ", given the buckets in which values change places."
        how = (
            "Beforehand, every way to deal the values of neighbours to them, each with its plain columns, is equally "
            "likely; the adversary may know the program and everything but the dice."
        )
        assumes = (_KNOWS, how, _STAYS, _BEFOREHAND, *(() if self.blind else (_BUCKETS,)))
        return self.state(claim, assumes, grade=grade, settings=self.settings())

    def check_promise(self, manifest: Manifest, schema: Schema, records: int) -> None:  # noqa: ARG002
        """Refuse a manifest that does not promise what these settings ask for."""
        own = self.promise()
        if own.grade == "worlds" and manifest.promise.grade == _EARLIER[0]:
            claim = own.claim.partition(", given the buckets")[0] + _EARLIER[1]
            own = replace(own, grade=_EARLIER[0], claim=claim)
        check_same_promise(manifest.promise, own, [key for key in own.settings if not self.may_change(key, None, None)])
        if manifest.suppressed or manifest.withheld or manifest.dirty or manifest.counterfeits.total:
            raise VerificationError("the manifest speaks of records left out or added, which this guarantee has not")

    def prepare(
        self,
        snapshot: Snapshot,
        method: Grouper | None,
        rng: np.random.Generator,
        *,
        series: str | None,
        memory: Memory | None = None,
        codes: Codes | None = None,
    ) -> Prepared:
        """Draw the worlds of who is new, and make a release that fits all the worlds."""
        memory = check_memory(self.kind, memory)
        whole = memory.whole or snapshot
        self.check(whole.schema, method)
        codes = encode(snapshot) if codes is None else codes
        name = whole.schema.sensitive[0]
        values = encode_sensitive(whole.frame[name], whole.schema[name]).codes
        drawn = self._drawn(whole, values, memory, rng)
        sources = sources_of(drawn.tokens, drawn.truth)
        drawn.check_values(values[sources])
        rows = self._rows(snapshot, codes, drawn.tokens, sources, rng)
        table, placement = self._table(snapshot, codes, rows, drawn.truth), rows[drawn.truth]
        model = self.model_for(whole.schema)
        manifest = make_manifest(
            series=series,
            release=memory.release,
            promise=self.promise(),
            columns=describe_columns(snapshot, codes, two_tables=False, groups=False),
            rows=codes.n,
            groups=int(table.classes.max()) + 1,
            achieved=model.achieved(group_statistics(table, {}, {}, placed=True)),
        )
        return PreparedWorlds(
            release_of(table, manifest),
            placement,
            codes,
            model,
            entries=drawn.entries,
            witness=Witness(sources, rows),
        )

    def adopted(
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

    def _drawn(self, whole: Snapshot, values: CodeArray, memory: Memory, rng: np.random.Generator) -> Drawn:
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
        self, snapshot: Snapshot, codes: Codes, tokens: Tokens, sources: Tokens, rng: np.random.Generator
    ) -> npt.NDArray[np.int32]:
        """Return whom each row covers in each world; the rows in an order drawn by dice."""
        rows = projected(tokens)
        if not self.project:
            names = snapshot.schema.names(Role.SENSITIVE, Role.PLAIN)
            kinds = np.zeros(codes.n, np.int32)
            if names:
                kinds = snapshot.frame.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int32)
            rows = better(codes, kinds[sources], matched(codes, kinds[sources], self.p, rng), rows)
        return rows[:, shuffled(rng, np.arange(codes.n, dtype=np.int32))]

    def _table(self, snapshot: Snapshot, codes: Codes, rows: npt.NDArray[np.int32], truth: int) -> PublishedTable:
        """Give each row the box of all it covers, and its values."""
        offsets = np.arange(0, rows.size + 1, len(rows), dtype=np.int64)
        cells, classes, _ = boxed(codes, codes.columns(rows.T.ravel()), offsets)
        names = published_names(snapshot, two_tables=False)
        values = {n: taken(snapshot.frame[n], rows[truth]) for n in names if n not in cells}
        return PublishedTable(names, cells, classes, pl.DataFrame(values), snapshot.native)
