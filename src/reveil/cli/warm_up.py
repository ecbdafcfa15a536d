"""``reveil warm-up``: all kernels are compiled now, so that no later command has to wait for it."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, as_completed

import click

from reveil.cli.console import Console, quiet_option
from reveil.cli.rehearsals import REHEARSALS, go_through


@click.command("warm-up")
@quiet_option
def command(quiet: bool) -> None:
    """Compile all kernels for this machine, for every guarantee and method.

    Once after an installation: compiled kernels do not travel from one processor to another. What is compiled is kept
    in a folder of the user's cache, and a second call finds it there.
    """
    from reveil.core import kernels
    from reveil.core.errors import FileError
    from reveil.core.kernels import _warm as warm

    console = Console(quiet=quiet)
    if not kernels.are_kept():
        raise FileError(f"kernels would be compiled in vain: {kernels.kept()}", hint="Then run reveil warm-up again.")
    if warm.is_warm():
        console.say("all kernels are compiled already")
        return
    with console.progress():
        _compile(console)
    warm.remember()
    console.say(f"all kernels are compiled, {kernels.kept()}")


def _compile(console: Console) -> None:
    """Go through all rehearsals, as many at a time as there are cores."""
    many = len(REHEARSALS)
    console.stage(f"compiling kernels, once on this machine: 0 of {many} steps")
    # Processes are spawned: a fork after compiled threads have run does not end well.
    with ProcessPoolExecutor(min(many, os.cpu_count() or 1), multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(go_through, rehearsal) for rehearsal in REHEARSALS]
        try:
            for number, done in enumerate(as_completed(running), start=1):
                done.result()
                console.stage(f"compiling kernels, once on this machine: {number} of {many} steps")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
