"""The command line. Each command is one file, imported when it is called."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module

import click

from reveil.cli import interrupts
from reveil.cli.silence import alone_on_stderr
from reveil.core.errors import ReveilError, printed

COMMANDS = {
    "adopt": "Take a release as told that any tool made before.",
    "audit": "Attack releases as somebody would who holds them all, and say what can be found out.",
    "demo": "Publish a made-up hospital's table and see what comes out.",
    "explore": "Show what privacy costs here: try settings on a table, attack and measure each.",
    "forget": "Erase a person from the vault.",
    "hierarchy": "Make broader terms for the values of a column: dates, codes, numbers, categories.",
    "history": "Show what was published, and whether the vault is up to date.",
    "init": "Look at a table, propose what its columns are, and write a config.",
    "measure": "Measure what a release leaves of the table it was made from.",
    "publish": "Publish a table as the config says, verified before it is in place.",
    "query": "Count the records of a release that satisfy an expression.",
    "report": "Write a page about a series: what it promises, what can be found out, what is left of the tables.",
    "studio": "Do all of this in a browser on this machine.",
    "vault": "Make, copy, check and re-key the vault of a series.",
    "verify": "Check a release against the snapshot it came from.",
    "warm-up": "Compile all kernels now, so that no later command waits for it.",
}


class LazyGroup(click.Group):
    """Loads a command's module when the command is called: ``--help`` needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"reveil.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from reveil.releases.manifest import version

        click.echo(f"reveil {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
def cli() -> None:
    """Publish a table about people again and again without telling who has what.

    Exit codes: 0 done and safe; 1 refused, or a guarantee is broken; 2 bad input, config, usage or file.
    """


def main() -> None:
    """Run the command line and end with the right exit code, never with a traceback."""
    interrupts.install()
    with alone_on_stderr():
        code = _run()
    sys.exit(code)


def _run() -> int:
    """Run the command that was called and return its exit code."""
    code: int
    try:
        code = cli.main(standalone_mode=False) or 0
    except ReveilError as error:
        click.echo(f"error: {error}", err=True)
        code = error.exit_code
    except click.ClickException as error:
        error.show()
        code = 2
    except (KeyboardInterrupt, click.Abort):
        click.echo(
            "interrupted: nothing was put in place; a release that is pending is finished by the same command", err=True
        )
        code = 130
    except BrokenPipeError:
        # The reader of our output has gone; say nothing more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # The system's own words, about a path that somebody gave; of a table's content they know nothing.
        why = (error.strerror or "it cannot be read or written").lower()
        click.echo(f"error: {printed(str(error.filename or 'a file'))}: {why}", err=True)
        click.echo("  Check the path, its permissions and the free space.", err=True)
        code = 2
    except BaseException as error:
        # What polars raises where it gives up is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(error, ValueError) and str(error).startswith("embedded null"):
            click.echo("error: a path has a NUL\n  Check the arguments.", err=True)
            return 2
        # The text of a foreign exception may quote cells: it is never shown.
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119
        click.echo(f"error: something went wrong inside Reveil ({type(error).__name__} at {place})", err=True)
        if os.environ.get("REVEIL_DEBUG"):
            traceback.print_exception(error)
        else:
            click.echo(
                "  Nothing was published. REVEIL_DEBUG=1 shows where; what it prints may contain cells.", err=True
            )
        code = 2
    return code
