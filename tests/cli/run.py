"""Run the command line as a user does: what it prints, and the exit code."""

import io
import os
import signal
import subprocess
import sys
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from unittest import mock

from reveil.cli import main


def reveil(*arguments):
    """Return what a command printed and its exit code, as a finished process has them.

    It runs in this process, which has loaded everything already: a process of its own takes a second to start.
    """
    called = ["reveil", *map(str, arguments)]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    interrupt, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    code = 0
    try:
        with (
            mock.patch.object(sys, "argv", called),
            mock.patch("reveil.core.kernels.announced", return_value=nullcontext()),  # said once on a machine
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        signal.signal(signal.SIGINT, interrupt)
        sys.unraisablehook = hook
    return subprocess.CompletedProcess(called, code, _text(out), _text(err))


def reveil_alone(*arguments, **environment):
    """Return the finished process of a command that has one of its own; its output is text."""
    return subprocess.run(
        [sys.executable, "-c", "from reveil.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def _text(stream):
    stream.flush()
    return stream.buffer.getvalue().decode()
