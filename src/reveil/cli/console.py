"""Talk goes to stderr: what was done, and progress where somebody watches."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

from reveil.cli import interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.releases.files import KeptFiles
    from reveil.series.config import Config

PATIENCE = 2.0  # seconds without a word
LINE_EVERY = 10.0  # seconds, where stderr is no terminal: a line stays in a log


class Console:
    """Says what is going on; quiet on request. Where stderr is no terminal, progress is a line every ten seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self._now = ""
        self._shown = False
        self._lock = threading.Lock()
        self._until_done = ExitStack()

    def say(self, text: str) -> None:
        """Print a line of talk."""
        if not self.quiet:
            self._wipe()
            click.echo(text, err=True)

    def stage(self, name: str) -> None:
        """Note what is being done now; shown when it takes long."""
        interrupts.check()
        self._now = name

    @contextmanager
    def progress(self) -> Iterator[Console]:
        """Show the stage and the time it took so far, once two seconds have passed; in a log every ten seconds."""
        if self.quiet:
            yield self
            return
        ended = threading.Event()
        started = time.monotonic()

        def watch() -> None:
            wait = PATIENCE if self.live else LINE_EVERY
            while not ended.wait(wait):
                wait = 0.5 if self.live else LINE_EVERY
                now = f"{self._now} … {time.monotonic() - started:.0f} s"
                with self._lock:
                    sys.stderr.write(f"\r\x1b[K{now}" if self.live else f"{now}\n")
                    sys.stderr.flush()
                    self._shown = self.live

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield self
        finally:
            ended.set()
            watcher.join()
            self._until_done.close()
            self._wipe()

    def announce_compilation(self) -> None:
        """Say so when kernels have to be compiled, until this progress ends."""
        from reveil.core import kernels

        if not self.quiet:
            self._until_done.enter_context(kernels.announced(lambda: self.say(f"compiling kernels ({kernels.kept()})")))

    def _wipe(self) -> None:
        with self._lock:
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._shown = False


quiet_option = click.option("--quiet", "-q", is_flag=True, help="Say nothing unless something is wrong.")
config_option = click.option("-c", "--config", "config_path", required=True, type=click.Path(), help="The reveil.toml.")
where_option = click.option(
    "--where", metavar="EXPR", help="The expression with which a part of the table was published, as it was written."
)
engine_option = click.option(
    "--engine", metavar="NAME", help="Where large tables are worked on, instead of what [engine] says: local, spark."
)
json_option = click.option(
    "--json", "json_path", metavar="F", type=click.Path(), help="Write JSON to this file; - prints it."
)


def json_target(path: str | None, *read: str | None, config: Config | None = None) -> KeptFiles:
    """Return what JSON must not be written over: refused before any work is done, not after it."""
    from pathlib import Path

    from reveil.releases.files import KeptFiles, file_target
    from reveil.tables.schema import Role
    from reveil.vault.address import folders_of

    files = [Path(one) for one in read if one is not None]
    folders: list[Path] = []
    columns: tuple[str, ...] = ()
    if config is not None:
        files += [*config.files, config.anchor_path]
        folders += folders_of(config.vault_path)
        columns = config.schema.names(Role.PERSON, Role.IDENTIFIER)
    kept = KeptFiles(tuple(files), tuple(folders), columns)
    if path is not None and path != "-":
        file_target(path, kept)
    return kept


def write_json(content: object, path: str, kept: KeptFiles) -> None:
    """Write JSON to a file, or print it where the path is ``-``."""
    import json

    from reveil.releases.files import write_file

    text = json.dumps(content, indent=2, ensure_ascii=False)
    if path == "-":
        click.echo(text)
        return
    write_file(path, (text + "\n").encode(), kept)


def names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> list[str] | None:
    """Read an option that lists names, separated by commas."""
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]
