"""What a release promises: one object, made once by a guarantee, written into the manifest and read by everybody.

Whoever judges, attacks or reports a release reads it here and knows no guarantee by its name. Models stand in it as
names and parameters, so that bytes can be read without them; :mod:`reveil.releases.limits` makes them again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, TypeGuard, get_args

from reveil.core.json_values import JSON, FrozenObject, frozen_object, thawed

About = Literal["value", "ever", "people"]
Against = Literal["nothing", "presence", "events"]
Signatures = Literal["apart", "kept"]
UNKNOWN = "unknown"  # the kind of a release that promises nothing, another tool's


@dataclass(frozen=True)
class StatedModel:
    """A model by the name under which it is registered, and the parameters it is made with."""

    name: str
    parameters: FrozenObject

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", frozen_object(self.parameters))

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it."""
        return {"name": self.name, "parameters": thawed(self.parameters)}

    @classmethod
    def from_json(cls, given: JSON) -> StatedModel:
        """Read it; what is none raises ValueError."""
        stated = _object(given, {"name", "parameters"})
        name, parameters = stated["name"], stated["parameters"]
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            raise ValueError("not a model")
        return cls(name, frozen_object(parameters))


@dataclass(frozen=True)
class StatedLimit:
    """How far attacks of one kind may get, as a manifest states it; see :class:`reveil.models.limits.Limit`."""

    about: str
    over: str
    says: str
    at_most: float | None = None
    model: StatedModel | None = None
    attack: str | None = None
    harmless: tuple[str, ...] = ()
    permanent: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Return it as a manifest has it."""
        return {
            "about": self.about,
            "over": self.over,
            "says": self.says,
            "at_most": self.at_most,
            "model": None if self.model is None else self.model.to_json(),
            "attack": self.attack,
            "harmless": list(self.harmless),
            "permanent": list(self.permanent),
        }

    @classmethod
    def from_json(cls, given: JSON) -> StatedLimit:
        """Read it; what is none raises ValueError."""
        stated = _object(given, {f.name for f in fields(cls)})
        about, over, says, attack, most = (stated[key] for key in ("about", "over", "says", "attack", "at_most"))
        if about not in ("link", "value", "ever") or over not in ("release", "series") or not isinstance(says, str):
            raise ValueError("not a limit")
        if not (attack is None or isinstance(attack, str)) or not is_share(most):
            raise ValueError("not a limit")
        model = None if stated["model"] is None else StatedModel.from_json(stated["model"])
        free = (texts(stated["harmless"]), texts(stated["permanent"]))
        return cls(str(about), str(over), says, most, model, attack, *free)


@dataclass(frozen=True)
class Promise:
    """A promise: what is bounded, how strongly, against whom, and what it rests on.

    ``kind`` is the name of the guarantee, ``settings`` are its parameters as it states them, ``claim`` says it in one
    sentence. ``grade``: what the adversary is taken to reason about (*blind*, *counted*, *worlds*, *none*).
    ``bound`` is how strongly a value may be believed at most over the whole series (None: no number is promised), and
    ``about`` what is bounded: a ``value`` at a time, that somebody ``ever`` had it, or what holds in every set of
    ``people`` told apart. ``against``: what the adversary knows of people: ``nothing``, ``presence``, ``events``.
    ``limits``: of which attacks it speaks and how far they may get; None where a manifest does not state them.
    ``not_covered``: what nothing is promised about. ``signatures``: whether everybody's set of values is ``kept`` while
    they stay, or any two of one person are the same or ``apart``; None where groups follow no such rule. ``bounds`` has
    the bound of each sensitive column where they have groups of their own; ``bound`` is the largest of them then.
    """

    kind: str
    claim: str
    grade: str | None = None
    settings: FrozenObject = field(default_factory=lambda: FrozenObject({}))
    assumes: tuple[str, ...] = ()
    bound: float | None = None
    about: About | None = None
    against: Against | None = None
    limits: tuple[StatedLimit, ...] | None = None
    not_covered: tuple[str, ...] = ()
    signatures: Signatures | None = None
    bounds: FrozenObject | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", frozen_object(self.settings))
        if self.bounds is not None:
            object.__setattr__(self, "bounds", frozen_object(self.bounds))

    @property
    def is_known(self) -> bool:
        """Whether anything is promised: a table of another tool promises nothing."""
        return self.kind != UNKNOWN

    def guarantee(self) -> dict[str, JSON]:
        """Return kind, grade and parameters, as the key ``guarantee`` of a manifest has them."""
        grade: dict[str, JSON] = {} if self.grade is None else {"grade": self.grade}
        return {"kind": self.kind, **grade, **{key: thawed(value) for key, value in self.settings.items()}}

    def to_json(self) -> dict[str, JSON]:
        """Return the key ``promise`` of a manifest: all but the kind and the claim, which have keys of their own."""
        return {
            "bound": self.bound if self.bounds is None else thawed(self.bounds),
            "about": self.about,
            "against": self.against,
            "grade": self.grade,
            "parameters": thawed(self.settings),
            "assumes": list(self.assumes),
            "not_covered": list(self.not_covered),
            "limits": None if self.limits is None else [limit.to_json() for limit in self.limits],
            "signatures": self.signatures,
        }

    @classmethod
    def from_json(cls, given: JSON, kind: str, claim: str) -> Promise:
        """Read the key ``promise`` of a manifest; what is none raises ValueError."""
        stated = _object(given, KEYS)
        bound, about, against, signatures = (stated[key] for key in ("bound", "about", "against", "signatures"))
        grade, parameters, limits = stated["grade"], stated["parameters"], stated["limits"]
        bounds = bound if isinstance(bound, Mapping) and bound else None
        if bounds is not None:
            shares = [share for share in bounds.values() if is_share(share) and share is not None]
            if len(shares) < len(bounds):
                raise ValueError("not a promise")
            bound = max(shares)
        if not is_share(bound) or not (grade is None or isinstance(grade, str)) or not isinstance(parameters, Mapping):
            raise ValueError("not a promise")
        if limits is not None and not isinstance(limits, list | tuple):
            raise ValueError("not a promise")
        return cls(
            kind,
            claim,
            grade,
            frozen_object(parameters),
            texts(stated["assumes"]),
            bound,
            _one_of(about, get_args(About)),  # type: ignore[arg-type]
            _one_of(against, get_args(Against)),  # type: ignore[arg-type]
            None if limits is None else tuple(map(StatedLimit.from_json, limits)),
            texts(stated["not_covered"]),
            _one_of(signatures, get_args(Signatures)),  # type: ignore[arg-type]
            None if bounds is None else frozen_object(bounds),
        )


KEYS = {"bound", "about", "against", "grade", "parameters", "assumes", "not_covered", "limits", "signatures"}


def texts(given: JSON) -> tuple[str, ...]:
    """Return a list of texts; what is none raises ValueError."""
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise ValueError("not a list of texts")
    return tuple(map(str, given))


def is_share(value: JSON) -> TypeGuard[float | None]:
    """Return whether this is a number from 0 to 1, or none."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1)


def _object(given: JSON, keys: set[str]) -> Mapping[str, JSON]:
    if not isinstance(given, Mapping) or set(given) != keys:
        raise ValueError("other keys than these")
    return given


def _one_of(value: JSON, known: tuple[str, ...]) -> str | None:
    if value is not None and value not in known:
        raise ValueError("an unknown word")
    return None if value is None else str(value)
