"""The global guarantee: was this person *ever* linked with this value?"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, RefusedError
from reveil.guarantees.base import Adoption, Guarantee, Memory
from reveil.guarantees.checks import check_memory, check_names, check_no_method, check_one_sensitive, check_person
from reveil.guarantees.draft import Draft, Left, Remembered
from reveil.guarantees.explained import RETURN, TOGETHER, Explained
from reveil.guarantees.lifetime.forecast import forecast
from reveil.guarantees.lifetime.global_release import (
    SURVIVAL,
    Terms,
    as_published,
    rows_of,
    told_elsewhere,
    what_is_told,
)
from reveil.guarantees.lifetime.grouping import Rule
from reveil.guarantees.lifetime.resting import made_now, rest_next, said_ahead
from reveil.guarantees.lifetime.strategies import ROUNDING, STRATEGIES, Strategy
from reveil.guarantees.lifetime.survival import Pairs, updated
from reveil.guarantees.promising import promise_of
from reveil.guarantees.settings import NAMED, PATH
from reveil.guarantees.traits import Refusal, Traits
from reveil.models.base import exact_number, plain_number
from reveil.models.encoding import encode
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.limits import at_most
from reveil.tables.alike import spelled_as
from reveil.tables.hierarchy import value_text
from reveil.vault.protocol import Entries

if TYPE_CHECKING:
    from fractions import Fraction

    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.draft import Request
    from reveil.models.base import Model
    from reveil.releases.membership import Membership
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Book

EXHAUSTED = ("rest", "suppress", "withhold")
_COUNTED = (
    "Given who is in which group, every table that agrees with all the releases is equally likely, and a value says "
    "nothing about those before and after it: the adversary knows nothing about whether values persist (whoever must "
    "fear that uses tau-safety), and does not reason about why the groups are as they are."
)
_KNOWS = "Others may know of everybody who is in which release and in which group, with which quasi values."
_HIDDEN = (
    "Others do not know who is in the table: in every group, persons of a registration list who are not in it are as "
    "likely to be meant as those who are. What is bounded is what is told of a person by the releases they are in."
)
_LEAKS = {
    "suppress": "A suppressed value tells that one of the group has a value that they were linked with too often.",
    "withhold": "Who is known to be in the table and is not published has a value that they were linked with too "
    "often: absence tells it.",
}

_ERASURE = Refusal(  # else a cohort could not be seen to be incomplete
    "where values are permanent, an erasure must leave a tombstone: the people who shared a group with somebody have "
    "to stay together, or all be absent",
    "Forget them with --tombstone: a pseudonym and what was told stay, nothing else.",
)


@dataclass(frozen=True)
class GlobalGuarantee(Guarantee):
    """Over all the releases together, nobody is told ever to have had a value with more than 1/l.

    *Guarantee*: for every person o and every value s, the share of the worlds that agree with all the releases and
    in which o has s in one release or more is at most 1/l. It is 1 - S(o, s), with S the product of 1 - n_s/n over
    the groups that o was in (:mod:`reveil.guarantees.lifetime.survival` has the theorem). ``strategy`` says how much of
    this budget one release may spend: ``ConstantRatio(releases=3)``, ``EvenSpread(releases=3)`` or
    ``Geometric(alpha=3)``.

    Who was linked with a value as often as that allows *rests*: they are not published any more, whatever their value
    is. That depends on what was told and on nothing of today. ``when_exhausted="suppress"`` publishes such a person
    with ``*`` when their value is the one that is used up, ``"withhold"`` leaves them out then; both tell something,
    and are there for comparison. ``largest`` (spread and geometric): a pair that needs a larger group than this, for
    one row with the value, is used up; ten times the first group by default, or less where no groups exist in which
    everybody's budget suffices: then those with the smallest budgets rest
    (:mod:`reveil.guarantees.lifetime.resting`).

    ``harmless`` values are not bounded. ``permanent`` ones never leave who has them: their groups stay together
    (:mod:`reveil.guarantees.lifetime.cohorts`). ``population``, a registration list (a file or a frame with the person
    and the quasi columns): absent persons dilute the groups, against an adversary who does not know who is in the
    table. Everybody who is published is on the list, with the quasi values of the table; of a part of the table
    (``where``) the same part of the list dilutes, because whoever holds the file may know which part it is.

    *Assumes*: one record per person and snapshot; persons are named alike in all of them; nobody's value is related to
    another's, nor to their own before; all that others may know of a person is declared as quasi; nobody comes back
    who was erased without a tombstone.

    *Does not protect against*: somebody who knows that a value did not change ({H, F, C, G} and then {H, X, Y, Z}:
    7/16 here, certain for them); values that are likelier than others beforehand; related persons; other publishers'
    data; somebody who asks why the groups are as they are. It does not hide who is in the table, unless a population
    is given.

    *Source*: Wong, Fu, Liu, Wang, Xu, "Preserving Individual Privacy in Serial Data Publishing".
    """

    kind: ClassVar[str] = "global"
    explained: ClassVar[Explained] = Explained(
        about="ever",
        plain=(
            (
                f"{TOGETHER} That somebody ever had a certain value can be concluded with a chance of at most "
                "{bound}, over all the releases."
            ),
            (
                "Each release spends a part of a budget. Whoever has none left rests: they are not published any more, "
                "whatever their value is now."
            ),
        ),
        uncovered=("Somebody who knows that a value did not change.", RETURN),
    )

    l: float
    strategy: Strategy = field(metadata={NAMED: STRATEGIES})
    _: KW_ONLY
    harmless: tuple[str, ...] = field(default=(), repr=False)
    permanent: tuple[str, ...] = field(default=(), repr=False)
    when_exhausted: str = "rest"
    largest: float | None = None
    population: object = field(default=None, repr=False, compare=False, metadata={PATH: True})

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise ConfigError(
                "strategy must be a strategy",
                hint="rv.ConstantRatio(releases=3), rv.EvenSpread(releases=3) or rv.Geometric(alpha=3.0).",
            )
        if self.exact <= 1:
            raise ConfigError(
                f"l must be above 1, not {self.l!r}", hint="l = 2: nobody is believed with more than 1/2."
            )
        for key in ("harmless", "permanent"):
            object.__setattr__(self, key, _texts(key, getattr(self, key)))
        if self.population is not None and self.permanent:
            raise ConfigError(
                "permanent values and a registration list do not go together: a cohort would have to keep its absent "
                "persons",
                hint="Take one of the two out.",
            )
        if set(self.harmless) & set(self.permanent):
            raise ConfigError("a value is declared both harmless and permanent", hint="Keep one of the two.")
        if self.when_exhausted not in EXHAUSTED:
            raise ConfigError(
                f"when_exhausted must be one of {', '.join(EXHAUSTED)}, not {self.when_exhausted!r}",
                hint="rest is the one that tells nothing.",
            )
        if self.largest is not None:
            if not self.strategy.grows:
                raise ConfigError(
                    "largest belongs to the geometric strategy and to spread",
                    hint="With a constant ratio, no pair needs more.",
                )
            if exact_number("largest", self.largest) < self.strategy.ratio(self.exact):
                raise ConfigError(
                    f"the first group needs {self.strategy.least(self.exact)} rows already, more than largest",
                    hint="Set largest to several times that.",
                )

    @property
    def exact(self) -> Fraction:
        """``l`` as the exact number that was written."""
        return exact_number("l", self.l)

    @property
    def rule(self) -> Rule:
        """What groups must be like."""
        return Rule(self.strategy, self.exact)

    @property
    def most_rows(self) -> float:
        """The group for one row with a value beyond which a pair is used up."""
        if not self.strategy.grows:
            return np.inf
        return self.largest if self.largest is not None else Strategy.GROWTH * self.strategy.ratio(self.exact)

    def lasts(self) -> int:
        """Return in how many releases somebody can be linked with the same value, at the smallest groups allowed.

        In how many everybody can be depends on the table, too
        (:func:`reveil.guarantees.lifetime.forecast.most_releases`).
        """
        new = np.ones(1), np.zeros(1, np.int64)
        return int(self.strategy.further(*new, self.exact, self.most_rows)[0])

    @property
    def traits(self) -> Traits:
        """What a series has to know of it: only how large a group may become may change."""
        return Traits(
            self._settings(),
            remembers=True,
            making=frozenset(["largest"]),
            declared=(*self.harmless, *self.permanent),
            erasure=_ERASURE if self.permanent else None,
            usual={"releases": (2, 3, 5), "alpha": (2.0, 3.0, 5.0)},  # whichever the strategy has
        )

    def _settings(self) -> dict[str, JSON]:
        """Return the parameters under their config names; of a registration list only whether there is one."""
        return {
            "l": plain_number(self.exact),
            **self.strategy.settings(),
            "harmless": sorted(self.harmless),
            "permanent": sorted(self.permanent),
            "when_exhausted": self.when_exhausted,
            "largest": self.largest,
            "population": self.population is not None,
        }

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        check_no_method(self.kind, method)
        check_person(self.kind, schema)
        column = check_one_sensitive(
            self.kind, schema, "Declare one as sensitive, or publish the others in a series of their own people."
        )
        if self.when_exhausted == "suppress" and (column.order is not None or column.taxonomy is not None):
            raise ConfigError(
                "a suppressed value has no place in an order or a hierarchy", column=column.name, hint="Take it out."
            )
        if schema.plain:
            raise ConfigError(
                f"column {schema.plain[0]!r} is plain, and would link a person's rows from release to release",
                column=schema.plain[0],
                hint="Make it quasi, or drop it (identifier).",
            )
        tree = [name for name in schema.quasi if schema[name].taxonomy is not None]
        if self.population is not None and tree:
            raise ConfigError(
                "with a registration list, boxes must not overlap, and labels of a hierarchy do",
                column=tree[0],
                hint="Take the hierarchy or the list out.",
            )
        check_names(schema, two_tables=False)

    def model_for(self, schema: Schema) -> Model:  # noqa: ARG002
        """Return what every group of every release satisfies by itself; the budgets ask for more."""
        if self.population is not None:
            return KAnonymity(1)
        size = KAnonymity(self.rule.least)
        return size if self.harmless or self.when_exhausted == "suppress" else size & FrequencyDiversity(self.l)

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:  # noqa: ARG002
        """Return what every release of these settings promises: a bound on what is believed ever, and so at any time.

        Who is there is known to the adversary, unless a registration list hides it; harmless values are not bounded.
        """
        told = "over all the releases of this series together, nobody is told ever to have had a value with more than "
        told += f"1/{plain_number(self.exact)}"
        if self.harmless:
            told += f", apart from {len(self.harmless)} declared harmless"
        if self.population is not None:
            told += ", to somebody who does not know who is in the table"
        apart = "Persons are not related to each other, and nobody else publishes about them."
        stay = "Nobody who was erased from the vault without a tombstone comes back."
        lasts = ("Permanent values never leave who has them; persons may be published as they were first told.",)
        leaks = (_LEAKS[self.when_exhausted],) if self.when_exhausted in _LEAKS else ()
        knows = _KNOWS if self.population is None else _HIDDEN
        assumes = (knows, _COUNTED, apart, stay, *(lasts if self.permanent else ()), *leaks)
        bound = float(1 / self.exact)
        free = {"harmless": tuple(sorted(self.harmless)), "permanent": tuple(sorted(self.permanent))}
        return promise_of(
            self.kind,
            self.explained,
            f"{told[0].upper()}{told[1:]}.",
            assumes,
            grade="counted",
            settings=self._settings(),
            bound=bound,
            limits=at_most(bound, "ever", "value", **free),
            against="presence" if self.population is None else "nothing",
        )

    def budget(self, book: Book, schema: Schema, releases: int) -> list[dict[str, JSON]]:
        """Return what is left of whose budget for which values; see :mod:`reveil.guarantees.lifetime.forecast`."""
        texts, ledger = book.texts(schema.sensitive[0]), book.rows(SURVIVAL)
        permanent = self.permanent
        if schema[schema.sensitive[0]].folds:
            permanent = tuple(spelled_as(pl.Series(permanent, dtype=pl.String), texts.drop_nulls()))
        return forecast(ledger, texts, self.strategy, self.exact, releases, self.most_rows, permanent)

    def terms(self, memory: Memory) -> Terms:
        """Return the settings in the codes of a vault."""
        known = len(self.harmless)
        return Terms(
            self.rule,
            self.most_rows,
            memory.declared[:known],
            memory.declared[known:],
            self.when_exhausted,
            self.population,
        )

    def decide(self, request: Request, rng: Dice) -> Draft:
        """Decide who rests, and group the others, for the next release of a series."""
        snapshot = request.snapshot
        self.check(snapshot.schema, request.method)
        memory, codes = check_memory(self.kind, request.memory), request.codes
        rests = self.when_exhausted == "rest"
        lower = rests and self.largest is None
        terms, now, made = made_now(snapshot, codes, memory, self.terms(memory), rng, lower=lower)
        resting = rest_next(made, now, terms, self.most_rows) if rests else 0
        ahead = said_ahead(resting, int((made.groups >= 0).sum()))
        name = snapshot.schema.sensitive[0]
        rows = rows_of(made, now, memory, name, snapshot.frame.schema[name])
        published = as_published(snapshot, now, memory)
        sizes = np.bincount(made.groups[made.groups >= 0])
        return Draft(
            rows,
            made.boxes,
            self.model_for(snapshot.schema),
            self.promise(snapshot.schema, request.method),
            snapshot if published is None else published,
            codes if published is None else encode(published),
            left=Left(withheld=int(now.out.sum())),
            remembered=Remembered(
                entries=what_is_told(made, now, terms),
                facts={
                    "largest_group": int(sizes.max()),
                    "average_group": float(sizes.mean()),
                    "rest_next": resting,
                },
                notes=() if ahead is None else (ahead,),
            ),
            altered=published is not None,
        )

    def adopt(self, memory: Memory, snapshot: Snapshot, release: Release, members: Membership) -> Adoption:
        """Multiply what a release from elsewhere told into everybody's survival: the worst of what they may be told."""
        if self.permanent:
            raise RefusedError(
                "a release from elsewhere cannot be adopted where values are permanent: its groups were not made to "
                "stay together",
                hint="Begin the series with a release of Reveil's own, or declare no value permanent.",
            )
        told, survivals, more = told_elsewhere(memory, release, snapshot.schema.sensitive[0], members)
        harmless = memory.declared[: len(self.harmless)]
        told, survivals = (
            rows.filter(~pl.Series(np.isin(rows["value"].to_numpy(), harmless))) for rows in (told, survivals)
        )
        both = updated(Pairs.of(memory.book.of_records(SURVIVAL)), Pairs.of(told))
        used = self.strategy.used_up(both.survival, both.links, self.exact, self.most_rows)
        rows = {"record": both.record, "value": both.value, "links": both.links, "survival": both.survival}
        broken = survivals.filter(pl.col("survival") < float(1 - 1 / self.exact) * (1 - ROUNDING))
        return Adoption(
            (Entries(SURVIVAL, pl.DataFrame(rows)),),
            broken["group"].n_unique(),
            len(np.unique(both.record[used])),
            more,
        )


def _texts(key: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, list | tuple):
        raise ConfigError(f"{key} must be a list of values", hint=f'{key} = ["flu"]')
    if not all(isinstance(value, str | int | float) for value in given):
        raise ConfigError(f"{key} must be a list of texts or numbers", hint=f'{key} = ["flu"]')
    texts = tuple(value_text(value) for value in given)
    if len(set(texts)) != len(texts):
        raise ConfigError(f"{key} names a value twice")
    return texts
