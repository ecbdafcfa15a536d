"""A process that does the long work: it takes one task after another, says how far it is, and dies with the server."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from reveil.studio.problems import Problem, problem_of
from reveil.studio.tasks.base import Bench, TaskResult

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

    from reveil.studio.folder import StudioFolder
    from reveil.studio.tasks.base import StudioTask

STAGE, DONE, FAILED = "stage", "done", "failed"
Message = tuple[str, "str | TaskResult | Problem"]


def work(pipe: Connection, folder: StudioFolder) -> None:
    """Do what comes through the pipe until it is closed."""
    os.setsid()  # an interrupt at the terminal is the server's business; what this process starts ends with it
    _die_with_the_server()
    _be_silent()
    while True:
        try:
            task, private = pipe.recv()
        except (EOFError, OSError):
            return
        with contextlib.suppress(OSError):  # the server is gone, and this process goes with it
            pipe.send(_done(task, folder, private, pipe))


def _done(task: StudioTask, folder: StudioFolder, private: Path, pipe: Connection) -> Message:
    def stage(name: str) -> None:
        pipe.send((STAGE, name))

    try:
        stage("starting")
        return DONE, task.run(Bench(folder, private, stage))
    except Exception as error:  # noqa: BLE001  (it becomes a problem that the page shows, without its text)
        return FAILED, problem_of(error, folder.root)
    except BaseException as error:
        # What polars raises where it gives up is no Exception.
        if type(error).__name__ != "PanicException":
            raise
        return FAILED, problem_of(error, folder.root)


def _die_with_the_server() -> None:
    server = parent_process()
    if server is None:
        return

    def watch() -> None:
        wait([server.sentinel])
        os.killpg(0, signal.SIGKILL)  # a kill at any moment leaves a series as it was, or a pending release

    threading.Thread(target=watch, daemon=True).start()


def _be_silent() -> None:
    """Let nothing of what libraries print reach the terminal: it may quote cells."""
    if os.environ.get("REVEIL_DEBUG"):
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
