"""A guarantee of a series: nobody is ever published in a smaller crowd than k."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reveil.guarantees.base import Guarantee
from reveil.guarantees.checks import check_memory, check_no_method, check_person
from reveil.guarantees.explained import TOGETHER, Explained
from reveil.guarantees.promising import promise_of
from reveil.guarantees.settings import settings_of
from reveil.guarantees.static.deciding import decide_static
from reveil.guarantees.traits import Traits
from reveil.models.k_anonymity import KAnonymity


@dataclass(frozen=True, kw_only=True)
class Crowd(Guarantee):
    """Every group of every release has k records. Does not protect against comparing the groups of two releases."""

    kind = "crowd"
    explained = Explained("people", (TOGETHER,), ("Comparing the groups of a person in two releases.",))

    k: int

    @property
    def traits(self):
        return Traits(settings_of(self), remembers=True)

    def check(self, schema, method):
        check_no_method(self.kind, method)
        check_person(self.kind, schema)

    def model_for(self, schema):
        return KAnonymity(self.k)

    def promise(self, schema, method):
        model = self.model_for(schema)
        claim = f"In all releases of this series, {model.sentence()}."
        assumes = ("Each person has one record.",)
        given = {"grade": "blind", "settings": model.parameters(), "limits": model.limits("series")}
        return promise_of(self.kind, self.explained, claim, assumes, **given)

    def decide(self, request, rng):
        check_memory(self.kind, request.memory)
        schema = request.snapshot.schema
        draft = decide_static(request, self.model_for(schema), rng)
        return replace(draft, promise=self.promise(schema, None))
