"""The static guarantee: one release that satisfies a model, as if it were the only one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, Literal

from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.grouping.groupers.base import Grouper, check_feasible, check_plan
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.guarantees.base import Guarantee
from reveil.guarantees.draft import Request
from reveil.guarantees.settings import settings_of
from reveil.guarantees.static.automatic_k import ASSUMES as CHOSEN
from reveil.guarantees.static.automatic_k import AUTO, LEAST, choose_k
from reveil.guarantees.static.deciding import (
    EXPLAINED,
    KIND,
    check_sample,
    decide_static,
    static_promise,
    suppression_share,
)
from reveil.guarantees.traits import Caution, Traits
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.draft import Draft
    from reveil.guarantees.explained import Explained
    from reveil.models.base import Model
    from reveil.releases.promise import Promise
    from reveil.tables.schema import Schema

_AGAIN = (
    "{before:,} of these persons were published before: a static release is judged alone, and whoever compares "
    "releases can find out more (reveil audit shows what; kind = 'tau-safety' bounds it)"
)


@dataclass(frozen=True, kw_only=True)
class Static(Guarantee):
    """One release that satisfies a model by itself.

    Guarantee: every group of the published table satisfies the model (see the model's own page for what that means).
    The grade is *blind* when no choice of the method looked at a sensitive value, else *counted*: every table that
    agrees with the release is taken as equally likely.
    Assumes: one record for each person; all that an outsider may know is declared as quasi.
    Does not protect against: a second release of the same people (use a series guarantee); and, in the counted
    grade, an adversary who knows the algorithm and reasons about cuts that were not made. With several sensitive
    columns each is protected by itself: whoever knows one value of a person may find the row by it and read the others.
    ``k = "auto"`` lets a method that deals by value choose k (see :mod:`reveil.guarantees.static.automatic_k`); the
    manifest promises the k that was chosen, at least 2.
    Source: Sweeney 2002; Machanavajjhala et al. 2007; Li, Li, Venkatasubramanian 2007.
    """

    kind: ClassVar[str] = KIND
    explained: ClassVar[Explained] = EXPLAINED

    k: int | Literal["auto"] | None = None
    l: float | None = None
    diversity: Literal["distinct", "frequency", "entropy", "recursive"] = "distinct"
    c: float | None = None
    t: float | Mapping[str, float] | None = None
    distance: Literal["ordered", "equal", "taxonomy"] | None = None
    suppress: float = 0.0

    def __post_init__(self) -> None:
        suppression_share(self.suppress)
        _ = self.model  # parameters are judged when they are given, not when data arrives

    @property
    def model(self) -> Model:
        """The model that these settings ask for; with ``k = "auto"`` the least that any k promises."""
        parts: list[Model] = []
        if self.k is not None:
            parts.append(KAnonymity(LEAST if self.k == AUTO else self.k))
        if self.l is not None:
            parts.append(self._diversity(self.l))
        elif self.c is not None or self.diversity != "distinct":
            raise ConfigError("diversity needs l", hint="Add l = 3, or take diversity and c out.")
        if isinstance(self.t, Mapping):
            parts += [TCloseness(t, attribute=name, distance=self.distance) for name, t in self.t.items()]
        elif self.t is not None:
            parts.append(TCloseness(self.t, distance=self.distance))
        elif self.distance is not None:
            raise ConfigError("distance needs t", hint="Add t = 0.2, or take distance out.")
        if not parts:
            raise ConfigError("the static guarantee asks for nothing", hint="Set k, l or t under [guarantee].")
        return reduce(lambda one, other: one & other, parts)

    def _diversity(self, l: float) -> Model:
        if not isinstance(self.diversity, str):
            raise ConfigError("diversity must be a text", hint='diversity = "distinct"')
        if self.diversity == "recursive":
            if self.c is None:
                raise ConfigError("recursive diversity needs c", hint="Add c = 3.0 under [guarantee].")
            return RecursiveDiversity(c=self.c, l=l)  # type: ignore[arg-type]  # judged by the model
        if self.c is not None:
            raise ConfigError(f"{self.diversity} diversity has no c", hint='c belongs to diversity = "recursive".')
        kinds: dict[str, Callable[..., Model]] = {
            "distinct": DistinctDiversity,
            "frequency": FrequencyDiversity,
            "entropy": EntropyDiversity,
        }
        if self.diversity not in kinds:
            raise ConfigError(
                f"unknown diversity {self.diversity!r}", hint=f"Known: {', '.join([*kinds, 'recursive'])}."
            )
        return kinds[self.diversity](l)

    def check(self, schema: Schema, method: Grouper | None) -> None:
        """Refuse, before any data is read, what cannot work."""
        method = method or Mondrian()
        self.model.check(schema)
        if self.k == AUTO and not method.chooses_k:
            able = [name for name, cls in registry.everything("groupers").items() if cls.chooses_k]
            raise ConfigError(
                f"the method {method.name!r} cannot choose k", hint=f'k = "auto" needs the method {" or ".join(able)}.'
            )
        check_plan(method, self.model, auto=self.k == AUTO)
        method.check_schema(schema)
        method.recoder().check(self.model)
        check_sample(method, self.model, self.suppress)

    def model_for(self, schema: Schema) -> Model:
        """Return the model, checked against the schema."""
        self.model.check(schema)
        return self.model

    @property
    def traits(self) -> Traits:
        """Every release stands alone, and each manifest says what it promises."""
        return Traits(
            settings_of(self, unset=False),
            making=frozenset(["suppress"]),
            caution=Caution(("before",), _AGAIN),
            usual_method=Mondrian(),  # which keeps every model
            usual={"k": (3, 5, 10, 20), "method": ("mondrian", "bang")},
        )

    def promise(self, schema: Schema, method: Grouper | None) -> Promise:
        """Return what a release promises; no number bounds what several tell together."""
        return static_promise(self.model, schema, method or Mondrian(), self.suppress)

    def decide(self, request: Request, rng: Dice) -> Draft:
        """Group; what was told before changes nothing."""
        method, memory, codes = request.method or Mondrian(), request.memory, request.given
        whole = None if memory is None else memory.whole  # with the columns that are not published now
        self.check(request.snapshot.schema if whole is None else whole.schema, method)
        model, auto = self.model, None
        if self.k == AUTO:
            codes = request.codes
            check_feasible(codes, model)
            chosen, auto = choose_k(codes, model, method, rng.child("choice of k"))
            model = replace(self, k=chosen).model
        layout = None
        if memory is not None:
            # Where a release is one of several, a method may keep its divisions, so that boxes can be compared.
            method, codes, layout = method.carried_over(request.codes, memory.layout, part=memory.part)
        asked = Request(request.snapshot, method, memory, codes)
        draft = decide_static(asked, model, rng, suppress=self.suppress, part=whole is not None, auto=auto is not None)
        remembered = replace(draft.remembered, layout=layout)
        if auto is None:
            return replace(draft, remembered=remembered)
        promise = replace(draft.promise, assumes=(*draft.promise.assumes, CHOSEN))
        return replace(draft, promise=promise, remembered=replace(remembered, facts={"auto": auto}))
