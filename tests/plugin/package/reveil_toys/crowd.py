"""A guarantee of a series: nobody is ever published in a smaller crowd than k."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reveil.grouping.groupers.mondrian import Mondrian
from reveil.guarantees.assembly import check_memory, check_no_method, check_person, check_same_promise
from reveil.guarantees.base import Guarantee
from reveil.guarantees.explained import TOGETHER, Explained
from reveil.guarantees.static.static import prepare_static
from reveil.models.k_anonymity import KAnonymity


@dataclass(frozen=True, kw_only=True)
class Crowd(Guarantee):
    """Every group of every release has k records. Does not protect against comparing the groups of two releases."""

    kind = "crowd"
    remembers = True
    explained = Explained("people", (TOGETHER,), ("Comparing the groups of a person in two releases.",))

    k: int

    @property
    def model(self):
        return KAnonymity(self.k)

    def check(self, schema, method):
        check_no_method(self.kind, method)
        check_person(self.kind, schema)

    def model_for(self, schema):
        return self.model

    def limits(self):
        return self.model.limits("series")

    def promise(self):
        claim = f"In all releases of this series, {self.model.sentence()}."
        return self.state(claim, ("Each person has one record.",), grade="blind", settings={"k": self.k})

    def check_promise(self, manifest, schema, records):
        check_same_promise(manifest.promise, self.promise(), ["k"])

    def prepare(self, snapshot, method, rng, *, series, memory=None, codes=None):
        number = check_memory(self.kind, memory).release
        made = prepare_static(snapshot, self.model, Mondrian(), rng, series=series, number=number, codes=codes)
        return replace(made, release=made.release.under(replace(made.release.manifest, promise=self.promise())))
