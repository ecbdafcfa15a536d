"""Forks a process for each command: everything is imported once, and nothing is run here before.

``python -m benchmarks.long_run.forge`` reads orders as lines of JSON: *start* a command (answered with the number of
the process), *end* (wait for its end, or kill it after so many seconds; answered with how it ended and what it used).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any

from benchmarks.long_run.child import run

WORK = (
    "reveil.series.publishing",
    "reveil.series.adoption",
    "reveil.adversary",
    "reveil.analysis.measures",
    "benchmarks.long_run.reading",
)


def _start(order: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        for number, path in enumerate((os.devnull, order["out"], order["err"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
        os.chdir(order["folder"])
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        run(order["step"], order["words"])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 -- a child never goes on as its parent
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end(process: int, seconds: float | None) -> dict[str, Any]:
    until = None if seconds is None else time.monotonic() + seconds
    while until is not None and time.monotonic() < until:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            break
        time.sleep(max(min(0.01, until - time.monotonic()), 0))
    else:
        if until is not None:
            os.kill(process, signal.SIGKILL)
    _, status, used = os.wait4(process, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1024,
    }


def serve() -> None:
    """Do as ordered until there are no more orders."""
    from reveil.cli import COMMANDS
    from reveil.core import registry

    for name in (*(f"reveil.cli.{name.replace('-', '_')}" for name in COMMANDS), *WORK):
        import_module(name)
    for group in registry.GROUPS:
        registry.everything(group)
    for line in sys.stdin:
        order = json.loads(line)
        told = _start(order) if "words" in order else _end(order["process"], order["seconds"])
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
