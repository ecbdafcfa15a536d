"""tau-safety: signatures that last, for tables in which people come, go, return and change."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.defaults import in_force, kept_default
from reveil.core.effort import Effort
from reveil.core.errors import ConfigError, DataError, InfeasibleError, RefusedError
from reveil.core.json_values import whole_in
from reveil.grouping.groupers.bang import BangA
from reveil.guarantees.checks import check_memory, check_person
from reveil.guarantees.explained import EVER, RETURN, TOGETHER, Explained
from reveil.guarantees.promising import made_by, promise_of
from reveil.guarantees.settings import settings_of
from reveil.guarantees.signatures import blind as blind_grade
from reveil.guarantees.signatures.column_settings import (
    check_binned_domains,
    check_columns,
    check_settings,
    declared_values,
    has_tables_by_column,
    of_column,
    promise_by_column,
)
from reveil.guarantees.signatures.columns import decide_columns
from reveil.guarantees.signatures.forms import SHOWN, ReleaseForm, form_of, partition_of
from reveil.guarantees.signatures.machine import form_groups
from reveil.guarantees.signatures.searching import effort_of, search_of
from reveil.guarantees.signatures.signature_based import COUNTED, SignatureGuarantee, points_of, space_of
from reveil.guarantees.signatures.situation import Situation, exhausted
from reveil.guarantees.traits import Traits
from reveil.models.m_uniqueness import MUniqueness
from reveil.tables.joint import joint_schema

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.core.randomness import Dice
    from reveil.grouping.bang.keys import KeyArray
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Adoption, Memory
    from reveil.guarantees.draft import Draft, Request
    from reveil.guarantees.signatures.machine import Groups
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Partition
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

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

    ``effort`` says how long narrower cells are looked for: ``quick`` takes near records by ranks; the others choose
    signatures by a linear program and exchange records by the width that is published. It changes nothing in the proof,
    which takes the groups as given; in the blind grade, where nothing may depend on a value, there is no such search.

    Who has fewer than m values left outside all their signatures rests: they are not published any more, whatever
    their value is; absence that depended on the value would tell it.

    With the method ``bang`` the groups of a signature follow the regions of a BANG file, whose scales are fixed by the
    first release: where nobody comes, goes or moves, everybody keeps their box. (Groups are then formed by place alone
    inside a signature, as before, and the proof is the same.)

    ``form``: ``boxes`` is one table. ``angelized`` (``angelize`` is another name of it) is two: boxes made for
    tightness alone, in classes of at least m rows, and the values of each group. ``exact`` is two as well, with the
    quasi values as they are, for tables of which anybody may know who is in them. A counterfeit repeats the quasi
    values of somebody of its group, so that rows about nobody can be told from others there; which *values* of a group
    are nobody's cannot. (The proof takes who is in which group as known, and renames the values of a signature, those
    of nobody included: it does not need that rows about nobody are hidden.) ``fixed`` declares that nobody's value ever
    changes; a snapshot in which one does is refused.

    Several sensitive columns (and plain ones) need the form ``angelized``: each column has groups and signatures of its
    own, all share the boxes, and counterfeits stand in the tables of values only. ``m``, ``fixed`` and ``domain`` may
    be tables by column; columns that are ``together`` are one value. Given the groups of all columns, the worlds that
    agree are the product of those of each column, so that each keeps its 1/m by the renaming above, as long as no
    combination of values is impossible: a table in which one column decides another is refused, unless
    ``independent`` takes that risk. A column that would need more than ``counterfeits`` for each record is refused.

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
                "each group is told, which ones they are is not. What was added is counted."
            ),
        ),
        uncovered=(EVER, RETURN),
    )

    m: int | dict[str, int]  # type: ignore[assignment]  # of one column it is a number
    _: KW_ONLY
    angelize: bool | None = None
    form: ReleaseForm | None = None
    strict: bool = True
    blind: bool = False
    fixed: bool | dict[str, bool] = False
    domain: tuple[str, ...] | dict[str, tuple[str, ...]] | None = field(default=None, repr=False)
    together: tuple[tuple[str, ...], ...] | None = None
    independent: bool | None = None
    counterfeits: float | None = None
    effort: Effort | None = kept_default(Effort.NORMAL, before=Effort.QUICK, unless="blind")

    def __post_init__(self) -> None:
        check_settings(self)
        for key in ("angelize", "strict", "blind"):
            if not isinstance(getattr(self, key), bool) and (key, self.angelize) != ("angelize", None):
                raise ConfigError(f"{key} must be true or false")
        form, angelized = form_of(self.form, angelize=self.angelize)
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "angelize", angelized)
        object.__setattr__(self, "effort", effort_of(self.effort))
        if self.blind and not self.strict:
            raise ConfigError("blind needs strict signatures", hint="Take strict = false out.")
        if self.blind and self.effort is not None:
            raise ConfigError(
                "blind = true forms its groups by dice, and takes no effort to make cells narrower",
                hint="Take effort out.",
            )
        if isinstance(self.domain, dict):
            object.__setattr__(self, "domain", {name: declared_values(listed) for name, listed in self.domain.items()})
        elif self.domain is not None:
            object.__setattr__(self, "domain", declared_values(self.domain))

    @property
    def traits(self) -> Traits:
        """What a series has to know of it; values may be added to the domain, and fixed may not be declared late."""
        return Traits(
            settings_of(self),
            remembers=True,
            making=frozenset(["effort"]),
            free=frozenset(["angelize", "form", "independent", "counterfeits"]),
            grow=frozenset() if self.blind else frozenset(["domain"]),
            declared=self.domain,
            by_column=True,
            together=self.together or (),
            usual={"m": (2, 3, 4, 6), "form": ("boxes", "angelized")},
        )

    def of_column(self, name: str) -> TauSafety:
        """Return the guarantee of one column among several."""
        return of_column(self, name)

    @property
    def last_only(self) -> bool:
        """Whether a person's earlier signatures are forgotten: the source's rule."""
        return not self.strict

    @property
    def _bounds(self) -> bool:
        """Nothing is promised without the strict rule."""
        return self.strict

    @property
    def _two_tables(self) -> bool:
        return self.form is not ReleaseForm.BOXES

    def _partition(self, codes: Codes, groups: Groups, rng: Dice) -> Partition:
        return partition_of(ReleaseForm(self.form or ReleaseForm.BOXES), codes, groups, whole_in(self.m), rng)

    def model_for(self, schema: Schema) -> MUniqueness:  # noqa: ARG002
        """Return what every group of every release satisfies, whatever column it is of."""
        return MUniqueness(min(self.m.values()) if isinstance(self.m, dict) else self.m)

    def check(self, schema: Schema, method: object) -> None:
        """Refuse, before any data is read, what cannot work."""
        self._check_method(method)
        check_person(self.kind, schema)
        check_columns(self, schema)
        check_binned_domains(self, schema)
        joint = joint_schema(schema, self.together or ())
        for name in joint.sensitive:
            declared = self.traits.declared_for(joint, name)
            if self.blind and not declared:
                raise ConfigError(
                    "blind needs the domain of the sensitive column: possible values must not be read off the data",
                    column=name,
                    hint="Set domain = [...] under [guarantee], or give the column an order or a hierarchy.",
                )
            if declared:
                self.of_column(name)._check_domain(len(declared))

    def _check_method(self, method: object) -> None:
        """Refuse any method but BANG regions, and these where they would decide nothing."""
        if method is None:
            return
        if not isinstance(method, BangA):
            raise ConfigError(
                f"the guarantee {self.kind!r} groups by itself",
                hint="Take the section [method] out, or use kind = 'bang', which keeps groups where nothing happens.",
            )
        if self.blind or self._two_tables:
            option = "blind = true" if self.blind else "angelize = true" if self.angelize else f'form = "{self.form}"'
            raise ConfigError(
                f"{option} forms its boxes in a way of its own, without a method", hint="Take the section [method] out."
            )
        if (method.block, method.form) != (BangA().block, BangA().form):
            raise ConfigError(
                f"the groups of {self.kind!r} are as large as their signatures, and are published as boxes",
                hint="Take block and form out of the section [method]; scales and quantile count.",
            )

    def reason_against_shards(self, schema: Schema) -> str | None:
        """Say why releases are made in one memory, or None where a table may be worked on in shards."""
        if len(schema.sensitive) != 1 or has_tables_by_column(schema) or self.together:
            return "several sensitive columns are grouped in one memory"
        if self.blind:
            return "blind = true draws its groups among all records"
        if self._two_tables:
            return f'form = "{self.form}" publishes two tables, which are put together in one memory'
        if isinstance(self.m, dict) or isinstance(self.fixed, dict):
            return "settings by column are for several columns, which are grouped in one memory"
        return None

    def check_changed(self, persons: int) -> None:
        """Refuse changes where there are to be none."""
        if self.fixed and persons:
            raise RefusedError(
                f"{persons:,} persons have another sensitive value than before, which fixed = true excludes",
                hint="Mend the file. (Without fixed: another vault, into which every release is adopted first.)",
            )

    def check_counts(self, newcomers: IntArray, movers: int) -> None:  # noqa: ARG002
        """Refuse changes of people whose last value is not known: who were erased with a tombstone."""
        if self.fixed and movers:
            raise RefusedError(
                f"{movers:,} persons have a value that they cannot have had before, against fixed = true",
                hint="Mend the file. (Without fixed: another vault, into which every release is adopted first.)",
            )

    def _check_domain(self, size: int) -> None:
        m = whole_in(self.m)
        needed = m if self.fixed or not self.strict else 3 * m - 1
        if size < needed:
            most = size if self.fixed or not self.strict else (size + 1) // 3
            way = f"The largest m that fits is {most}." if most >= 2 else "No m fits."
            more = "" if self.fixed else " If nobody's value ever changes, fixed = true needs m values only."
            raise InfeasibleError(
                f"m = {m} needs {needed} possible values of the sensitive column, and {size} are known",
                hint=f"{way} Declare values that did not occur yet with domain = [...].{more}",
            )

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:
        """Return what every release of these settings promises."""
        joint = joint_schema(schema, self.together or ())
        if has_tables_by_column(schema):
            alone = self.of_column(joint.sensitive[0]).promise_of_one(method)
            return promise_by_column(self, alone, joint, schema)
        return self.of_column(joint.sensitive[0]).promise_of_one(method)

    def promise_of_one(self, method: Grouper | None) -> Promise:
        """Return what is promised of one sensitive column."""
        grade = "blind" if self.blind else "counted" if self.strict else "none"
        settings = {key: getattr(self, key) for key in ("m", "angelize", "strict", "blind", "fixed")} | made_by(method)
        exact = self.form is ReleaseForm.EXACT
        if exact:
            settings["form"] = str(self.form)
        explained = replace(self.explained, uncovered=(SHOWN, *self.explained.uncovered)) if exact else self.explained
        if not self.strict:
            claim = (
                "No bound holds: a changed value is treated as that of a new person, and whoever knows that it changed "
                f"can do better than 1/{self.m}."
            )
            return promise_of(self.kind, explained, claim, (_KNOWS,), grade=grade, settings=settings, against="events")
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
        assumes = (_KNOWS, how, ever, apart, SHOWN if exact else seen, _STAY, *fixed)
        return promise_of(
            self.kind,
            explained,
            claim,
            assumes,
            grade=grade,
            settings=settings,
            bound=1 / whole_in(self.m),
            against="events",
            signatures="apart",
        )

    def decide(self, request: Request, rng: Dice) -> Draft:
        """Form the groups of the next release: of the only sensitive column, or of each by itself."""
        schema = request.snapshot.schema
        self.check(schema, request.method)
        if has_tables_by_column(schema):
            return decide_columns(self, request, check_memory(self.kind, request.memory), rng)
        return super(TauSafety, self.of_column(schema.sensitive[0])).decide(request, rng)

    def adopt(self, memory: Memory, snapshot: Snapshot, release: Release, members: Membership) -> Adoption:
        """Take as told to everybody the signature of each group that they may have been in."""
        return super(TauSafety, self.of_column(snapshot.schema.sensitive[0])).adopt(memory, snapshot, release, members)

    def situation(self, memory: Memory, schema: Schema) -> Situation:
        """Return who keeps which signature, who is new, who rests, and which values a counterfeit may have."""
        if self.blind and not (inside := np.isin(memory.values, memory.declared)).all():
            raise DataError(
                f"{int((~inside).sum()):,} records have a value that the domain does not have",
                column=schema.sensitive[0],
                hint="Missing values count as a value. Mend them. (A larger domain needs another vault, into which "
                "every release so far is adopted first.)",
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
            else exhausted(size, memory.sets, records, sets, before, whole_in(self.m))
        )
        rests[memory.block_records[memory.sets.sizes[memory.block_sets] < whole_in(self.m)]] = True
        return Situation(memory.values, memory.sets, records, sets, domain, rests)

    def form_groups(self, now: Situation, codes: Codes, rng: Dice, keys: KeyArray | None) -> Groups:
        """Form the groups in the grade asked for."""
        m = whole_in(self.m)
        if self.blind:
            return blind_grade.form_groups(now, points_of(codes), m, rng)
        search = search_of(str(in_force(self, "effort")), codes, linked=self._two_tables)
        return form_groups(now, space_of(codes, keys), m, rng, search)
