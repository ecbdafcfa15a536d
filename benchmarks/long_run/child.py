"""The command line in a process that may die at a step: the moments of a release between which a machine may stop."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = ("before prepare", "after prepare", "half copied", "before confirm", "after confirm")
WIDTH = "width"  # not a command of the program: what the run reads beside it


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _then_die(function: Callable[..., Any]) -> Callable[..., Any]:
    def done(*arguments: object, **named: object) -> None:
        function(*arguments, **named)
        _die()

    return done


def _first_only(drafts: list[Any], folder: Any, *_: object) -> None:
    drafts[0].replace(folder / drafts[0].name)
    _die()


def dying_at(step: str) -> None:
    """Change the program so that it is killed at a step."""
    from reveil.series import drafts
    from reveil.vault import Vault

    changes: dict[str, tuple[Any, str, Any]] = {
        "before prepare": (Vault, "prepare", _die),
        "after prepare": (Vault, "prepare", _then_die(Vault.prepare)),
        "half copied": (drafts, "put_in_place", _first_only),
        "before confirm": (Vault, "confirm", _die),
        "after confirm": (Vault, "confirm", _then_die(Vault.confirm)),
    }
    place, name, with_it = changes[step]
    setattr(place, name, with_it)


def run(step: str, words: list[str]) -> None:
    """Run a command, to its end or to the step."""
    if words[0] == WIDTH:
        from benchmarks.long_run.reading import width

        width(words[1])
        return
    from reveil.cli import main

    if step:
        dying_at(step)
    sys.argv = ["reveil", *words]
    main()
