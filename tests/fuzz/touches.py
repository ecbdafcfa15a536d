"""Counts every moment at which a command may have changed something on the disk, and dies at one of them.

A moment is just before a file is opened for writing, renamed, removed or made (Python tells by its audit events), and
before and after each ``fsync`` and each statement to DuckDB. The product knows nothing of it.
"""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import duckdb

_EVENTS = frozenset(
    {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod"}
)


class Touches:
    """The moments so far; at number ``last`` the process kills itself."""

    def __init__(self):
        self.counting, self.many, self.last, self.folder = False, 0, None, ""

    def touch(self):
        if self.counting:
            self.many += 1
            if self.many == self.last:
                os.kill(os.getpid(), 9)

    def hook(self, event, arguments):
        if not self.counting:
            return
        writes = (
            event == "open"
            and len(arguments) > 2
            and isinstance(arguments[2], int)
            and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if (writes or event in _EVENTS) and self._ours(arguments[0]):
            self.touch()

    def _ours(self, path):
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        return os.path.abspath(os.fsdecode(path)).startswith(self.folder)  # noqa: PTH100  (as it was named)

    def begin(self, last=None):
        self.counting, self.many, self.last, self.folder = True, 0, last, os.getcwd()  # noqa: PTH109

    def end(self):
        self.counting = False
        return self.many


class Connection:
    """A connection to DuckDB whose statements are moments."""

    def __init__(self, inner):
        self.__dict__["inner"] = inner

    def execute(self, *arguments, **named):
        TOUCHES.touch()
        done = self.inner.execute(*arguments, **named)
        TOUCHES.touch()
        return done

    def __getattr__(self, name):
        return getattr(self.inner, name)


TOUCHES = Touches()


def install():
    """Begin to listen; nothing is counted before :meth:`Touches.begin`."""
    if getattr(os.fsync, "touching", False):
        return
    sync, connect = os.fsync, duckdb.connect

    def fsync(number):
        TOUCHES.touch()
        sync(number)
        TOUCHES.touch()

    fsync.touching = True
    os.fsync = fsync
    duckdb.connect = lambda *arguments, **named: Connection(connect(*arguments, **named))
    sys.addaudithook(TOUCHES.hook)


def serve():
    """Fork a child for each command that the parent writes, and say how it ended.

    Everything is imported once, and nothing is run here: a thread of a library that was started would be missing in
    the children. A command is a line of JSON: its words, its folder, the moment at which it dies, or the seconds after
    which it is killed.
    """
    install()
    from importlib import import_module

    from reveil.cli import COMMANDS, main
    from reveil.core import registry

    for name in [
        *(f"reveil.cli.{name.replace('-', '_')}" for name in COMMANDS),
        "reveil.series.publishing",
        "reveil.reporting",
        "reveil.analysis.measures",
        "reveil.adversary",
    ]:
        import_module(name)
    for group in registry.GROUPS:
        registry.everything(group)
    for line in sys.stdin:
        task = json.loads(line)
        child = os.fork()
        if child == 0:
            silence = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(silence, number)
            os.chdir(task["folder"])
            tempfile.tempdir = str(Path(task["folder"]) / "tmp")
            sys.argv = ["reveil", *task["words"]]
            TOUCHES.begin(task["moment"])
            try:
                main()
            except SystemExit as end:
                os._exit(end.code or 0)
        if task["seconds"] is not None:
            time.sleep(task["seconds"])
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
