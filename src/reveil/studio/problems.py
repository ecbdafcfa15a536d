"""What went wrong, as a page and a program are told: the thing, the place and the remedy, never a value."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import RefusedError, ReveilError

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

TITLES = {
    400: "This cannot be done as it was asked for",
    401: "Please open the studio with the address that it printed",
    403: "This did not come from a page of the studio",
    404: "There is nothing here",
    405: "This is not done so here",
    409: "This was refused",
    413: "This file is too large",
    429: "There is too much waiting",
    500: "Something went wrong inside Reveil",
}


@dataclass(frozen=True)
class Problem:
    """A refusal or a mistake."""

    status: int
    thing: str
    place: str | None = None
    remedy: str | None = None

    @property
    def title(self) -> str:
        """What kind of problem it is."""
        return TITLES.get(self.status, TITLES[400])

    def to_json(self) -> dict[str, JSON]:
        """Return it as application/problem+json has it, with what Reveil's errors have."""
        return {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.thing + ("" if self.remedy is None else f" {self.remedy}"),
            "thing": self.thing,
            "place": self.place,
            "remedy": self.remedy,
        }


class StudioError(Exception):
    """A problem on its way to whoever asked."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.thing)
        self.problem = problem


def problem_of(error: BaseException, root: Path | None = None) -> Problem:
    """Return what to say of an error; of one that Reveil did not raise nothing but where it came from."""
    if isinstance(error, StudioError):
        return error.problem
    if isinstance(error, ReveilError):
        place = None
        if error.file is not None:
            place = _relative(error.file, root) + ("" if error.line is None else f", line {error.line}")
        status = 409 if isinstance(error, RefusedError) else 400
        hint = None if error.hint is None else _relative(error.hint, root)
        return Problem(status, _relative(error.message, root), place, hint)
    if isinstance(error, OSError):
        why = (error.strerror or "it cannot be read or written").lower()
        name = None if error.filename is None else _relative(str(error.filename), root)
        return Problem(400, f"A file: {why}.", name, "Check its permissions and the free space.")
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" at {Path(last[0].filename).name}:{last[0].lineno}" if last else ""
    return Problem(
        500,
        f"Something went wrong inside Reveil ({type(error).__name__}{where}).",
        None,
        "Nothing was published by this. The text of the error may hold cells and is not shown.",
    )


def not_here(what: str) -> StudioError:
    """Return the problem that something is not there."""
    return StudioError(Problem(404, what, None, "Go back to the first page, which lists what is there."))


def _relative(text: str, root: Path | None) -> str:
    """Leave the path of the folder out: a page shows paths inside it."""
    return text if root is None else text.replace(f"{root}/", "").replace(str(root), "the folder")
