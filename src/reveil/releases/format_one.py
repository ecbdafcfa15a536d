"""What follows from a manifest of the first format, which states a kind with its parameters and no limits.

Such files are in the world, and are still read, judged and attacked. The kinds are those that were published then: this
list does not grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from reveil.core.errors import ReveilError
from reveil.core.json_values import JSON
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.limits import Limit, at_most, keeping_values
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from reveil.models.base import Model
    from reveil.releases.promise import Against, Signatures

Stated = Mapping[str, JSON]  # the guarantee of a manifest


def limits_of(guarantee: Stated) -> tuple[Limit, ...] | None:
    """Return the limits that a manifest's guarantee states; None if it is of a kind that is not known."""
    reader = _KINDS.get(str(guarantee.get("kind")))
    if reader is None:
        return None
    nothing = guarantee.get("grade") == "none" or guarantee.get("strict") is False
    return reader({**guarantee, "l": None, "m": None} if nothing else guarantee)


def against(guarantee: Stated) -> Against | None:
    """Return what the adversary knows whom a manifest's promise is against; None if it does not say."""
    if guarantee.get("population") is True:
        return "nothing"  # the promise is to somebody who does not know who is in the table
    kind = str(guarantee.get("kind"))
    return ("events" if kind in _SIGNATURES else "presence") if kind in _KINDS else None


def signatures(guarantee: Stated) -> Signatures | None:
    """Return the rule that everybody's sets of values follow; None if there is none."""
    return None if guarantee.get("strict") is False else _SIGNATURES.get(str(guarantee.get("kind")))


def _number(value: object) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value >= 1
    return float(value) if good else None  # type: ignore[arg-type]


def _texts(value: JSON) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _one_in(value: object) -> float | None:
    number = _number(value)
    return None if number is None else 1 / number


def _signatures(guarantee: Stated) -> tuple[Limit, ...]:
    return at_most(_one_in(guarantee.get("m")), "value")


def _links(guarantee: Stated) -> tuple[Limit, ...]:
    free = {key: _texts(guarantee.get(key)) for key in ("harmless", "permanent")}
    return at_most(_one_in(guarantee.get("l")), "ever", "value", **free)


def _worlds(guarantee: Stated) -> tuple[Limit, ...]:
    number = _number(guarantee.get("l"))
    return keeping_values(None if number is None else int(number))


def _of_each_release(guarantee: Stated) -> tuple[Limit, ...]:
    return tuple(limit for model in models_of(guarantee) for limit in model.limits("release"))


def _cells(guarantee: Stated) -> tuple[Limit, ...]:
    return tuple(limit for model in models_of(guarantee) for limit in model.limits("series"))


_KINDS: dict[str, Callable[[Stated], tuple[Limit, ...]]] = {
    "static": _of_each_release,
    "refinement": _cells,
    "m-invariance": _signatures,
    "tau-safety": _signatures,
    "global": _links,
    "worlds": _worlds,
}
_SIGNATURES: dict[str, Signatures] = {"m-invariance": "kept", "tau-safety": "apart"}
_MODELS: dict[str, Callable[..., Model]] = {
    "k": KAnonymity,
    "m": MUniqueness,
    "t": TCloseness,
    "distinct": DistinctDiversity,
    "frequency": FrequencyDiversity,
    "entropy": EntropyDiversity,
    "recursive": RecursiveDiversity,
}


def models_of(guarantee: Stated) -> list[Model]:
    """Return the models whose parameters a manifest states; what is no model's is left out.

    >>> models_of({"kind": "static", "k": 3, "l": 2, "diversity": "entropy", "suppress": 0.1})
    [KAnonymity(k=3), EntropyDiversity(l=2, attribute=None)]
    """
    found: list[Model] = []
    more = guarantee.get("all")
    apart = [model for model in more if isinstance(model, Mapping)] if isinstance(more, list | tuple) else []
    for part in (guarantee, *apart):
        for make in _makers(part):
            try:
                found.append(make())
            except (ReveilError, TypeError):  # not a parameter of ours
                continue
    return found


def _makers(part: Stated) -> Iterator[Callable[[], Model]]:
    column = part.get("attribute")
    k, l, m, t = (part.get(key) for key in ("k", "l", "m", "t"))
    if k is not None:
        yield lambda: _MODELS["k"](k)
    if m is not None:
        yield lambda: _MODELS["m"](m, attribute=column)
    diversity = str(part.get("diversity"))
    if l is not None and diversity == "recursive":
        yield lambda: _MODELS[diversity](c=part.get("c", 0), l=l, attribute=column)
    elif l is not None and diversity in ("distinct", "frequency", "entropy"):
        yield lambda: _MODELS[diversity](l, attribute=column)
    distance = part.get("distance")
    for name, value in t.items() if isinstance(t, Mapping) else [] if t is None else [(None, t)]:
        yield partial(_MODELS["t"], value, attribute=name, distance=distance)
