"""Errors on their way: from a worker's process to the driver, and from Spark's words to ours.

What work raises travels as a piece like any other, so that Spark neither logs it nor tries again.
"""

from __future__ import annotations

import pickle
import re
import traceback
from pathlib import Path
from typing import NoReturn

from reveil.core.errors import InputError, ReveilError
from reveil.engines.scratch import no_room

INSTALL = (
    "Install Reveil with its extra, reveil[spark], into the Python of the workers, the same versions as here, and let "
    "PYSPARK_PYTHON name that Python; or send this environment along (spark-submit --archives)."
)
_MISSING = re.compile(r"(?:ModuleNotFoundError: No module named|PackageNotFoundError:[^\n]*?) ?'([A-Za-z0-9_.]+)'")
_NO_MEMORY = ("OutOfMemoryError", "exit code 137", "Python worker exited unexpectedly")
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")


class EngineError(InputError):
    """Machines that cannot be had, or cannot do the work: names what is missing and where."""


class WorkError(RuntimeError):
    """Work failed as no work should: a mistake of the program, of which its kind and place are told."""


def packed_error(error: Exception) -> bytes:
    """Return an error as bytes; of one that is not ours, what it is and where, for its text may quote cells."""
    if isinstance(error, WorkError):  # it comes from another worker
        return pickle.dumps((WorkError, str(error), {}))
    if isinstance(error, ReveilError):
        return pickle.dumps((type(error), error.message, error.__dict__))
    if isinstance(error, MemoryError):
        return packed_error(EngineError("a worker has too little memory for a shard", hint="Make shard_rows smaller."))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return pickle.dumps((WorkError, f"{type(error).__name__} on a worker, in {where}", {}))


def raise_packed(content: bytes) -> NoReturn:
    """Raise what was packed."""
    kind, message, state = pickle.loads(content)  # noqa: S301  (packed by a worker of ours)
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    raise error


def in_our_words(text: str, folder: Path) -> ReveilError:
    """Return what is said where Spark gave up, by what it says itself; nothing of that is passed on but names.

    ``folder`` is the one for temporary files, of this machine.
    """
    if (found := _MISSING.search(text)) is not None:
        return EngineError(f"the workers of Spark have no {found[1].split('.')[0]}", hint=INSTALL)
    if "PYTHON_VERSION_MISMATCH" in text:
        return EngineError("the workers of Spark have another Python than this machine", hint=INSTALL)
    if "Cannot run program" in text:
        return EngineError("the workers of Spark cannot start Python", hint=INSTALL)
    if any(said in text for said in _FULL):
        return no_room(folder)
    if any(said in text for said in _NO_MEMORY):
        return EngineError(
            "a worker of Spark has too little memory",
            hint="Give it more (spark.executor.memory, spark.driver.memory), or make shard_rows smaller.",
        )
    return EngineError(
        "Spark gave up on this work",
        hint="The logs of its master and workers say why; `--engine local` needs none of them.",
    )
