"""``reveil verify``: is this file what was promised, and is it this snapshot's?"""

from __future__ import annotations

import click

from reveil.cli.audit import ListsCommand
from reveil.cli.console import Console, config_option, quiet_option, where_option


@click.command("verify", cls=ListsCommand)
@click.argument("release_path", metavar="RELEASE", type=click.Path(), required=False)
@click.argument("snapshot_path", metavar="SNAPSHOT", type=click.Path(), required=False)
@click.option("--series", "whole", is_flag=True, help="Judge all the releases of the series anew, from their files.")
@click.option(
    "--truth", "truths", metavar="SNAPSHOT...", multiple=True, type=click.Path(), help="With --series: their tables."
)
@config_option
@where_option
@quiet_option
def command(
    release_path: str | None,
    snapshot_path: str | None,
    whole: bool,
    truths: tuple[str, ...],
    config_path: str,
    where: str | None,
    quiet: bool,
) -> None:
    """Check RELEASE against the SNAPSHOT it came from, with code that shares nothing with the publisher.

    Reads the published bytes, counts every group again, compares with what the config asks for and the manifest
    promises, and searches an assignment of all published rows to the snapshot's records. A release of a part of the
    table needs the expression again, which the vault recognises and does not keep.

    With --series the files of all releases are judged together, in order, with the archived placements: does each keep
    the rule of its series beside those before it, and do the vault's books say what was told? Releases whose snapshot
    is given with --truth are compared with it, too.
    """
    if whole == (release_path is not None) or (not whole and (snapshot_path is None or truths)):
        raise click.UsageError("give RELEASE and SNAPSHOT, or --series alone (with --truth SNAPSHOT, where at hand)")
    if whole:
        _series(config_path, truths, where, Console(quiet=quiet))
        return
    console = Console(quiet=quiet)
    with console.progress():
        console.stage("starting")
        from reveil.guarantees.comparing import as_chosen
        from reveil.series.config import load_config
        from reveil.series.publishing import verify_file

        console.announce_compilation()
        config = load_config(config_path)
        release = verify_file(config, str(release_path), str(snapshot_path), where=where, stage=console.stage)
    manifest = release.manifest  # every number has been computed anew and compared
    sentence = as_chosen(config.guarantee, manifest).model_for(config.schema).sentence()
    console.say(
        f"{release_path} is sound: {manifest['rows']:,} rows in {manifest['groups']:,} groups, the records of this "
        f"snapshot in their boxes; {sentence}"
    )
    if config.guarantee.traits.remembers:
        known = config.vault_path.exists()
        console.say(
            f"it is release {manifest['release']} of the series that the vault remembers"
            if known
            else "the other releases of its series were not looked at: there is no vault here"
        )


def _series(config_path: str, truths: tuple[str, ...], where: str | None, console: Console) -> None:
    """Judge a whole series."""
    with console.progress():
        console.stage("starting")
        from reveil.core.errors import FileError, VerificationError
        from reveil.series.config import load_config
        from reveil.series.publishing import verify_series

        found = verify_series(load_config(config_path), truths, where=where, stage=console.stage)
    for line in (*found.missing, *found.broken):
        console.say(line)
    if found.broken:
        raise VerificationError(f"this series is broken: {found.broken[0]}", hint="Do not publish from this vault.")
    if found.missing:
        raise FileError(
            f"this series cannot be judged to its end: {found.missing[0]}",
            hint="What comes before it is sound. A file that is missing is looked for where it was written, and in the "
            "vault's folder releases.",
        )
    compared = f", {found.truths:,} compared with their snapshots" if found.truths else ""
    console.say(f"the series is sound: {found.releases:,} releases, each beside those before it{compared}")
