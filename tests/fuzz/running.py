"""Run the command line inside this process, and keep all that it said: also what a library wrote to the terminal."""

import io
import os
import signal
import sys
import tempfile
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from unittest import mock

from reveil.cli import main


@dataclass
class Ran:
    """One command: what was asked, what it said, how it ended."""

    asked: list
    code: int
    out: str
    err: str
    spilled: str  # what was written past sys.stderr: compiled libraries do
    escaped: str | None = field(default=None)  # an exception that the command line let through

    def __str__(self):
        return f"reveil {' '.join(self.asked)}"


def run(*asked):
    """Run a command; whatever it raises is kept, not raised."""
    asked = [str(word) for word in asked]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    interrupt, hook, umask = signal.getsignal(signal.SIGINT), sys.unraisablehook, os.umask(0o022)
    code, escaped = 0, None
    with spilling() as spilled:
        try:
            with (
                mock.patch.object(sys, "argv", ["reveil", *asked]),
                mock.patch("reveil.core.kernels.announced", return_value=nullcontext()),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException as error:  # noqa: BLE001  (a panic of a compiled library is no Exception)
            code, escaped = -1, type(error).__name__
        finally:
            signal.signal(signal.SIGINT, interrupt)
            sys.unraisablehook = hook
            os.umask(umask)
    return Ran(asked, code, _text(out), _text(err), spilled(), escaped)


def _text(stream):
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")


@contextmanager
def spilling():
    """Send what is written to the terminal's own number 2 to a file; return a function that reads it."""
    with tempfile.TemporaryFile(dir=_HOME) as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        said = []

        def read():
            return "".join(said)

        try:
            yield read
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))


_HOME = tempfile.gettempdir()  # a case has a temporary folder of its own, and looks what is left in it


@contextmanager
def placed(folder):
    """Work in a folder, with a temporary folder of its own that must be empty again in the end."""
    before, temporary = os.getcwd(), tempfile.tempdir  # noqa: PTH109
    own = folder / "tmp"
    own.mkdir(exist_ok=True)
    os.chdir(folder)
    tempfile.tempdir = str(own)
    try:
        yield own
    finally:
        tempfile.tempdir = temporary
        os.chdir(before)
