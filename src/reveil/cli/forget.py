"""``reveil forget``: a person asks to be erased."""

from __future__ import annotations

import click

from reveil.cli.console import Console, config_option


@click.command("forget")
@click.argument("person")
@config_option
@click.option(
    "--tombstone", is_flag=True, help="Keep the pseudonym and what was told: the bound goes on if they return."
)
def command(person: str, config_path: str, tombstone: bool) -> None:
    """Erase PERSON from the vault, archive included: the bytes are gone from its files.

    What was published stays published. Take the person out of your own table: in the next release they are gone like
    anybody who left, and a counterfeit may take their place. Without --tombstone, someone who comes back is new: their
    bound starts again, and with it that of everybody who ever shared a group with them; under refinement that is
    refused. Sensitive values that were published stay in the vault's list of values, without a person. Backups of the
    vault are yours to mend.
    """
    from reveil.series import Series

    series, console = Series.load(config_path), Console()
    found = series.forget(person, tombstone=tombstone)
    for note in series.notes:
        console.say(f"note: {note}")
    if not found:
        # The same words for both: whether somebody was erased before is nobody's business either.
        console.say(
            "warning: there is nothing to forget: the vault does not know this person, or they were erased before\n"
            "  Check the id: it has to be written as in the table."
        )
        return
    kept = "; a tombstone is kept" if tombstone else ""
    console.say(f"forgotten: nothing about this person is left in the vault{kept}")
