"""Reading the keys of a manifest strictly: each is what it must be, or is named as unusable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reveil.core.errors import VerificationError
from reveil.core.json_values import JSON, FrozenObject, thawed
from reveil.releases.promise import Promise

_MANY = 2**53  # whole numbers that every reader of JSON has


class UnusableError(ValueError):
    """A manifest in which some key is missing, or not what it must be."""

    def __init__(self, key: str) -> None:
        super().__init__(f"no usable {key!r}")
        self.key = key


@dataclass(frozen=True)
class ManifestObject:
    """An object of a manifest; ``place`` is the key that a complaint names, where it is not the key itself."""

    given: Mapping[str, JSON]
    place: str | None = None

    @classmethod
    def of(cls, given: JSON, formats: Collection[int]) -> ManifestObject:
        """Take what a file says, if it is an object of a format that is understood."""
        if (
            not isinstance(given, Mapping)
            or isinstance(given.get("format"), bool)
            or given.get("format") not in formats
        ):
            raise UnusableError("format")
        return cls(given)

    def unusable(self, key: str) -> UnusableError:
        """Return the complaint about a key."""
        return UnusableError(self.place or key)

    def check_keys(self, needed: Sequence[str]) -> None:
        """Refuse an object without some key."""
        for key in needed:
            if key not in self.given:
                raise self.unusable(key)

    def text(self, key: str) -> str | None:
        """Return a text, or None."""
        value = self.given.get(key)
        if not (value is None or isinstance(value, str)):
            raise self.unusable(key)
        return value

    def sentence(self, key: str) -> str:
        """Return a text."""
        value = self.text(key)
        if value is None:
            raise self.unusable(key)
        return value

    def count(self, key: str) -> int | None:
        """Return a whole number from 0 up, or None."""
        value = self.given.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MANY:
            raise self.unusable(key)
        return value

    def number(self, key: str) -> int:
        """Return a whole number from 0 up."""
        value = self.count(key)
        if value is None:
            raise self.unusable(key)
        return value

    def counts(self, key: str) -> tuple[int, ...]:
        """Return whole numbers, none where the key is missing."""
        value = self.given.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self.unusable(key)
        numbered = ManifestObject({str(at): one for at, one in enumerate(value)}, key)
        return tuple(numbered.number(at) for at in numbered.given)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.given.get(key)
        if not isinstance(value, list | tuple):
            raise self.unusable(key)
        found = tuple(one for one in value if isinstance(one, str))
        if len(found) != len(value):
            raise self.unusable(key)
        return found

    def object(self, key: str) -> Mapping[str, JSON]:
        """Return an object."""
        value = self.given.get(key)
        if not isinstance(value, Mapping):
            raise self.unusable(key)
        return value

    def objects(self, key: str) -> list[Mapping[str, JSON]]:
        """Return a list of objects."""
        value = self.given.get(key)
        if not isinstance(value, list | tuple):
            raise self.unusable(key)
        found = [one for one in value if isinstance(one, Mapping)]
        if len(found) != len(value):
            raise self.unusable(key)
        return found


def read_promise(told: ManifestObject) -> Promise:
    """Read what a manifest promises; in the first format that is a kind with parameters, and no limits."""
    claim, assumes, guarantee = told.sentence("claim"), told.texts("assumes"), told.object("guarantee")
    kind, grade = guarantee.get("kind"), guarantee.get("grade", "")
    if not isinstance(kind, str) or not isinstance(grade, str) or not all(map(_is_plain, _members(guarantee))):
        raise UnusableError("guarantee")
    settings = FrozenObject({key: value for key, value in guarantee.items() if key not in ("kind", "grade")})
    if told.given["format"] == 1:
        return Promise(kind, claim, grade or None, settings, assumes)
    try:
        promise = Promise.from_json(told.given.get("promise"), kind, claim)
    except ValueError:
        raise UnusableError("promise") from None
    if promise.guarantee() != thawed(guarantee) or promise.assumes != assumes:
        raise VerificationError(
            "the manifest says two different things of what it promises", hint="Use the one that Reveil wrote."
        )
    return promise


def _members(value: JSON) -> list[JSON]:
    """Return the values in lists and tables, however deep."""
    found: list[JSON] = []
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, Mapping):
            stack += one.values()
        elif isinstance(one, list | tuple):
            stack += one
        else:
            found.append(one)
    return found


def _is_plain(value: JSON) -> bool:
    """Return whether every reader of JSON has this value."""
    return value is None or isinstance(value, str | bool | float) or (isinstance(value, int) and abs(value) < _MANY)
