"""Manifests that state other limits to an audit than their parameters mean."""

from __future__ import annotations

from dataclasses import replace

from reveil.core.json_values import FrozenObject
from reveil.releases.promise import StatedModel
from tests.sabotage.guarantees import SERIES, lying
from tests.sabotage.registry import sabotage
from tests.sabotage.scenes import series, told


def weaker(promise, at=0, **changes):
    """Return a promise of which one limit says something else."""
    limits = list(promise.limits)
    limits[at] = replace(limits[at], **changes)
    return replace(promise, limits=tuple(limits))


LIES = {
    "no limits": lambda p: replace(p, limits=()),
    "a limit less": lambda p: replace(p, limits=p.limits[1:]),
    "a limit more": lambda p: replace(p, limits=(*p.limits, replace(p.limits[0], attack="plain"))),
    "a larger chance": lambda p: weaker(p, at_most=0.9),
    "no number": lambda p: weaker(p, at_most=None),
    "of another attack": lambda p: weaker(p, attack="serial"),
    "of the series": lambda p: weaker(p, over="series"),
    "of values": lambda p: weaker(p, about="value"),
    "but for some values": lambda p: weaker(p, at=1, harmless=("flu",)),
    "without a model": lambda p: weaker(p, model=None),
    "a smaller k": lambda p: weaker(p, model=StatedModel("KAnonymity", FrozenObject({"k": 2}))),
    "another model": lambda p: weaker(p, model=StatedModel("AnyGroup", FrozenObject({}))),
    "a bound": lambda p: replace(p, bound=0.5),
    "against nobody": lambda p: replace(p, against="nothing"),
    "about another thing": lambda p: replace(p, about="value"),
    "a rule of signatures": lambda p: replace(p, signatures="kept"),
}
OF_SERIES = {
    "another bound": lambda p: replace(p, bound=0.9),
    "nobody whom it is against": lambda p: replace(p, against="nothing"),
    "a limit that does not follow": lambda p: replace(
        p, limits=tuple(replace(limit, at_most=0.9, about="value") for limit in p.limits) + p.limits[:1]
    ),
}


def stating(lie):
    """Return what changes the promise of a manifest."""
    return lambda manifest: replace(manifest, promise=lie(manifest.promise))


for _title, _lie in LIES.items():
    lying(f"stated limits: {_title}", stating(_lie))


def over_each_series(kind, title, lie):
    """A promise of a series that states something else."""
    guarantee, frames = SERIES[kind]

    @sabotage(f"guarantee {kind}", "manifest", name=f"{kind} states {title}", slow=kind != "tau-safety")
    def run(patch, tmp_path):
        told(patch, stating(lie))
        series(tmp_path, guarantee, frames[:1])


for _kind in SERIES:
    for _title, _lie in OF_SERIES.items():
        over_each_series(_kind, _title, _lie)
