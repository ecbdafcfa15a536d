"""Sabotaged publishers: each patches one thing on the way of a release, and must be refused.

A sabotage is a function that patches, publishes, and checks again as an owner would; what it does must end in a
:class:`~reveil.core.errors.VerificationError`. It says what it is about: a part of Reveil that is registered under a
name (``guarantee tau-safety``), the files, or the manifest. A part without a sabotage fails the suite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Sabotage:
    """A named sabotage; ``slow`` ones are left to the long run."""

    name: str
    about: tuple[str, ...]
    run: Callable[..., None]
    slow: bool = False


SABOTAGES: dict[str, Sabotage] = {}
KEY = "5e" * 32  # with one at random, a sabotage of whom is remembered may happen to change nothing


def sabotage(
    *about: str, slow: bool = False, name: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a sabotage under its name."""

    def register(run: Callable[..., None]) -> Callable[..., None]:
        own = (name or run.__name__).replace("_", " ")
        assert own not in SABOTAGES, own
        SABOTAGES[own] = Sabotage(own, about, run, slow)
        return run

    return register
