"""tau-safety: signatures that last, for tables in which people come, go, return and change."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.errors import ConfigError, DataError, InfeasibleError, RefusedError
from reveil.grouping.groupers.bang import BangA
from reveil.guarantees.explained import EVER, RETURN, TOGETHER, Explained
from reveil.guarantees.promising import made_by, promise_of
from reveil.guarantees.settings import settings_of
from reveil.guarantees.signatures import blind as blind_grade
from reveil.guarantees.signatures.machine import form_groups
from reveil.guarantees.signatures.signature_based import COUNTED, SignatureGuarantee, points_of, space_of
from reveil.guarantees.signatures.situation import Situation, exhausted
from reveil.guarantees.traits import Traits
from reveil.tables.hierarchy import value_text

if TYPE_CHECKING:
    from reveil.grouping.bang.keys import KeyArray
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Memory
    from reveil.guarantees.signatures.machine import Groups
    from reveil.models.encoding import Codes
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema

_KNOWS = (
    "Others may know of everybody who is in which release and in which group, with which quasi values, and when the "
    "value changed."
)
_STAY = "Nobody who was erased from the vault without a tombstone comes back."


@dataclass(frozen=True)
class TauSafety(SignatureGuarantee):
    """Everybody keeps their signature, over deletions, returns and changes, for as long as their value is in it.

    Every group has at least m records, all with different sensitive values; its set of values is the signature of the
    persons in it. The signatures of one person, over all releases, are equal or share nothing.

    Guarantee: for every person and every release, each sensitive value is held by at most one m-th of the worlds that
    agree with all the releases together, with who was in which group when, and with whose value changed when. (An
    adversary who does not know the groups, but counts every way in which people can be in them under this rule, is
    bounded, too: by a mixture of such worlds. Counting tables regardless of the groups means nothing: where boxes
    overlap, a table that can be grouped in two ways would count like one that can be grouped in one.)

    Proof (renaming). Take a signature S and a permutation of its values. In a world that agrees with all releases,
    rename the values of everybody whenever their group has the signature S, in all the releases at once. Each such
    group still has every value of S once, so the world agrees with every table. A person known not to have changed
    between two releases had the same signature in both (two different ones share nothing), and is renamed in both or
    in neither; a person known to have changed had two different values of S, which stay different, or two values of
    different signatures, which share nothing and stay different. So renaming is a bijection of the worlds, and each of
    the at least m values of S has the same share of them for everybody who was in S. (The source treats a changed
    value as a deletion and a new person, which breaks this: {a, b} before and {b, c} after give a two worlds of three
    at the first time. ``strict=False`` does so, for comparison.)

    ``blind``: the same bound for the exact posterior of somebody who knows this code and everything but the dice,
    when beforehand every value of the domain is equally likely for everybody (:mod:`reveil.guarantees.signatures.blind`
    has the proof). It needs a declared domain, and costs counterfeits.

    Who has fewer than m values left outside all their signatures rests: they are not published any more, whatever
    their value is; absence that depended on the value would tell it.

    With the method ``bang`` the groups of a signature follow the regions of a BANG file, whose scales are fixed by the
    first release: where nobody comes, goes or moves, everybody keeps their box. (Groups are then formed by place alone
    inside a signature, as before, and the proof is the same.)

    ``angelize`` publishes two tables: boxes made for tightness alone, in classes of at least m rows, and the values of
    each group. ``fixed`` declares that nobody's value ever changes; a snapshot in which one does is refused.

    Assumes: one record per person and snapshot; persons are named alike in all of them; nobody's value is related to
    another's; all that others may know of a person is declared as quasi; nobody comes back who was erased without a
    tombstone (their group-mates of then and now would tell on each other).
    Does not protect against: "did this person ever have v?" (after r known changes within a signature of m values the
    answer is yes with 1 - (m-1)/m ((m-2)/(m-1))^r; use the global guarantee); values that are likelier than others
    beforehand; related persons; other publishers' data; in the counted grade, somebody who asks why the groups are as
    they are. It does not hide who is in the table.
    Source: thesis 000, chapter 4 and 5.3, mended; Xiao and Tao 2007.
    """

    kind: ClassVar[str] = "tau-safety"
    explained: ClassVar[Explained] = Explained(
        about="value",
        plain=(
            (
                f"{TOGETHER} Even if they know who was in the table when, and whose value changed when, they can link "
                "nobody with a sensitive value by more than a chance of {bound}."
            ),
            (
                "To keep that word, made-up rows (counterfeits) may stand among the real ones; how many there are in "
                "each group is told, which ones they are is not. What was added is counted below."
            ),
        ),
        uncovered=(EVER, RETURN),
    )

    m: int
    _: KW_ONLY
    angelize: bool = False
    strict: bool = True
    blind: bool = False
    fixed: bool = False
    domain: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._check_m()
        for key in ("angelize", "strict", "blind", "fixed"):
            if not isinstance(getattr(self, key), bool):
                raise ConfigError(f"{key} must be true or false")
        if self.blind and not self.strict:
            raise ConfigError("blind needs strict signatures", hint="Take strict = false out.")
        if self.domain is not None:
            given: object = self.domain
            if not isinstance(given, list | tuple) or not all(isinstance(v, str | int | float) for v in given):
                raise ConfigError("domain must be a list of values", hint='domain = ["flu", "gout", ...]')
            texts = tuple(value_text(value) for value in self.domain)
            if len(set(texts)) != len(texts):
                raise ConfigError("domain names a value twice")
            object.__setattr__(self, "domain", texts)

    @property
    def traits(self) -> Traits:
        """What a series has to know of it; values may be added to the domain, and fixed may not be declared late."""
        return Traits(
            settings_of(self),
            remembers=True,
            free=frozenset(["angelize"]),
            grow=frozenset() if self.blind else frozenset(["domain"]),
            declared=self.domain,
        )

    @property
    def _last_only(self) -> bool:
        """Whether a person's earlier signatures are forgotten: the source's rule."""
        return not self.strict

    @property
    def _bounds(self) -> bool:
        """Nothing is promised without the strict rule."""
        return self.strict

    @property
    def _two_tables(self) -> bool:
        return self.angelize

    def check(self, schema: Schema, method: object) -> None:
        """Refuse, before any data is read, what cannot work."""
        super().check(schema, method)  # type: ignore[arg-type]  # judged there
        declared = self.traits.declared_in(schema)
        if self.blind and not declared:
            raise ConfigError(
                "blind needs the domain of the sensitive column: possible values must not be read off the data",
                column=schema.sensitive[0],
                hint="Set domain = [...] under [guarantee], or give the column an order or a hierarchy.",
            )
        if declared:
            self._check_domain(len(declared))

    def _check_method(self, method: object) -> None:
        """Refuse any method but BANG regions, and these where they would decide nothing."""
        if method is None:
            return
        if not isinstance(method, BangA):
            raise ConfigError(
                f"the guarantee {self.kind!r} groups by itself",
                hint="Take the section [method] out, or use kind = 'bang', which keeps groups where nothing happens.",
            )
        if self.blind or self.angelize:
            raise ConfigError(
                f"{'blind' if self.blind else 'angelize'} = true forms its boxes in a way of its own, without a method",
                hint="Take the section [method] out.",
            )
        if (method.block, method.form) != (BangA().block, BangA().form):
            raise ConfigError(
                f"the groups of {self.kind!r} are as large as their signatures, and are published as boxes",
                hint="Take block and form out of the section [method]; scales and quantile count.",
            )

    def _check_domain(self, size: int) -> None:
        needed = self.m if self.fixed or not self.strict else 3 * self.m - 1
        if size < needed:
            most = size if self.fixed or not self.strict else (size + 1) // 3
            way = f"The largest m that fits is {most}." if most >= 2 else "No m fits."
            more = "" if self.fixed else " If nobody's value ever changes, fixed = true needs m values only."
            raise InfeasibleError(
                f"m = {self.m} needs {needed} possible values of the sensitive column, and {size} are known",
                hint=f"{way} Declare values that did not occur yet with domain = [...].{more}",
            )

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:  # noqa: ARG002
        """Return what every release of these settings promises."""
        grade = "blind" if self.blind else "counted" if self.strict else "none"
        settings = {key: getattr(self, key) for key in ("m", "angelize", "strict", "blind", "fixed")} | made_by(method)
        if not self.strict:
            claim = (
                "No bound holds: a changed value is treated as that of a new person, and whoever knows that it changed "
                f"can do better than 1/{self.m}."
            )
            return promise_of(
                self.kind, self.explained, claim, (_KNOWS,), grade=grade, settings=settings, against="events"
            )
        told = "over all the releases of this series together, nobody's sensitive value at any time is told"
        claim = f"{told[0].upper()}{told[1:]} with more than 1/{self.m}."
        if self.blind:
            how = (
                "Beforehand, every value of the declared domain is equally likely for everybody; the adversary may "
                "know the program and everything but the dice."
            )
        else:
            how = COUNTED
        ever = "Nothing is bounded about whether a person ever had a value: changes that are known add up."
        apart = "Persons are not related to each other, and nobody else publishes about them."
        seen = "Who is in the table is not hidden: a group of few real people shows their quasi values nearly exactly."
        fixed = ("Nobody's sensitive value ever changes.",) if self.fixed else ()
        assumes = (_KNOWS, how, ever, apart, seen, _STAY, *fixed)
        return promise_of(
            self.kind,
            self.explained,
            claim,
            assumes,
            grade=grade,
            settings=settings,
            bound=1 / self.m,
            against="events",
            signatures="apart",
        )

    def situation(self, memory: Memory, schema: Schema) -> Situation:
        """Return who keeps which signature, who is new, who rests, and which values a counterfeit may have."""
        if self.blind and not (inside := np.isin(memory.values, memory.declared)).all():
            raise DataError(
                f"{int((~inside).sum()):,} records have a value that the domain does not have",
                column=schema.sensitive[0],
                hint="Missing values count as a value. Mend them. (A larger domain needs another vault, into which "
                "every release so far is adopted first.)",
            )
        if self.fixed and memory.changed.any():
            raise RefusedError(
                f"{int(memory.changed.sum()):,} persons have another sensitive value than before, which fixed = true "
                "excludes",
                hint="Mend the file. (Without fixed: another vault, into which every release is adopted first.)",
            )
        domain = memory.declared if self.blind else memory.known
        before = domain
        if memory.release > 1:  # who rests is decided by what was known before this snapshot
            before = np.union1d(domain[domain < memory.seen], memory.declared).astype(np.int32)
        self._check_domain(len(before))
        records, sets = memory.block_records, memory.block_sets
        if not self.strict:
            # The source's rule: who changed their value is somebody new, unless the last signature still holds.
            known = ~memory.changed[records]
            records, sets = records[known], sets[known]
        size = len(memory.values)
        rests = (
            np.zeros(size, np.bool_)
            if self.fixed or not self.strict
            else exhausted(size, memory.sets, records, sets, before, self.m)
        )
        rests[memory.block_records[memory.sets.sizes[memory.block_sets] < self.m]] = True
        now = Situation(memory.values, memory.sets, records, sets, domain, rests)
        if self.fixed and len(now.movers):
            # Of somebody erased with a tombstone the last value is not known; that it was in a signature is.
            raise RefusedError(
                f"{len(now.movers):,} persons have a value that they cannot have had before, against fixed = true",
                hint="Mend the file. (Without fixed: another vault, into which every release is adopted first.)",
            )
        return now

    def form(self, now: Situation, codes: Codes, rng: np.random.Generator, keys: KeyArray | None) -> Groups:
        """Form the groups in the grade asked for."""
        if self.blind:
            return blind_grade.form_groups(now, points_of(codes), self.m, rng)
        return form_groups(now, space_of(codes, keys), self.m, rng)
