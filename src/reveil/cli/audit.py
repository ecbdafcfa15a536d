"""``reveil audit``: what can somebody who holds these files find out about whom?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reveil.cli.console import Console, config_option, json_option, json_target, quiet_option, write_json
from reveil.core.errors import InputError

if TYPE_CHECKING:
    from reveil.adversary import Audit

LINES = 20
NAMES = (
    "absence, correspondence, difference, homogeneity, intersection, linkage, minimality, plain, sequential, serial, "
    "similarity, skewness, tau, values"
)
SEVERAL = ("--truth", "--placements", "--population", "--releases")


class ListsCommand(click.Command):
    """Lets some options take a list: ``--truth a.csv b.csv`` is ``--truth a.csv --truth b.csv``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write the name of such an option before each of its values."""
        return super().parse_args(ctx, spelled_out(args))


def spelled_out(args: list[str]) -> list[str]:
    """Repeat the names of options that take lists.

    >>> spelled_out(["r.csv", "--truth", "a.csv", "b.csv", "--all"])
    ['r.csv', '--truth', 'a.csv', '--truth', 'b.csv', '--all']
    """
    out: list[str] = []
    option, first = None, False
    for place, arg in enumerate(args):
        if arg == "--":
            return out + args[place:]
        if arg.startswith("-") and arg != "-":
            name, equals, _ = arg.partition("=")
            option, first = (name, not equals) if name in SEVERAL else (None, False)
            out.append(arg)
            continue
        out += [arg] if option is None or first else [option, arg]
        first = False
    return out


@click.command("audit", cls=ListsCommand)
@click.argument("release_paths", metavar="RELEASE...", nargs=-1, required=True, type=click.Path())
@config_option
@click.option("--population", multiple=True, type=click.Path(), metavar="F", help="Who could be in the releases.")
@click.option("--truth", multiple=True, type=click.Path(), metavar="SNAPSHOT...", help="The snapshots, in order.")
@click.option(
    "--known",
    type=click.Choice(["nothing", "presence", "events", "ids", "values"]),
    help="What the adversary knows; default: what the guarantee is against.",
)
@click.option(
    "--values-known",
    type=click.IntRange(min=1),
    metavar="J",
    help="With --known values: how many sensitive values of a person are known; 1 by default.",
)
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    metavar="NAME",
    help=f"Run this attack only; may be repeated. One of: {NAMES}.",
)
@click.option("--threshold", type=float, metavar="X", help="Exit 1 if anybody's value can be believed with more.")
@click.option("--placements", multiple=True, type=click.Path(), metavar="F...", help="Tables row, id: whose record.")
@click.option("--all", "everybody", is_flag=True, help="List everybody in the JSON, not only those above the bound.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The dice of estimates.")
@json_option
@quiet_option
def command(
    release_paths: tuple[str, ...],
    config_path: str,
    population: tuple[str, ...],
    truth: tuple[str, ...],
    known: str | None,
    values_known: int | None,
    attacks: tuple[str, ...],
    threshold: float | None,
    placements: tuple[str, ...],
    everybody: bool,
    seed: int,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Attack RELEASE..., given in the order of publication, as somebody would who holds them all.

    Releases of any tool will do. Who is meant comes from --population (quasi values of people who could be in them) or
    from --truth (the snapshots; then the result also says whether a belief is right). The result names people and
    values: it is for the owner's eyes. Exit code 1: the bound of the series or the threshold is broken.
    """
    console = Console(quiet=quiet)
    if values_known is not None and known != "values":
        raise InputError("--values-known needs --known values", hint="Add it, or take --values-known out.")
    with console.progress():
        console.stage("starting")
        from reveil.adversary import audit
        from reveil.series.config import load_config

        console.announce_compilation()
        config = load_config(config_path)
        kept = json_target(json_path, *release_paths, *population, *truth, *placements, config=config)
        found = audit(
            list(release_paths),
            config.schema,
            (list(population) if len(population) > 1 else population[0]) if population else None,
            list(truth) or None,
            known,
            list(placements) or None,
            threshold,
            list(attacks) or None,
            seed,
            guarantee=config.guarantee,  # what it promises holds for files without a manifest, too
            values_known=values_known or 1,
            stage=console.stage,
        )
    if json_path != "-":
        click.echo(table(found))
    if json_path is not None:
        write_json(found.to_json(everybody=everybody), json_path, kept)
    if json_path != "-" and found.persons.height > LINES - 1:
        console.say(f"{LINES - 1} of {found.persons.height:,} persons shown; --json F --all lists everybody")
    for note in found.notes:
        console.say(f"note: {note}")
    console.say(found.sentence)
    console.say(verdict(found))
    if found.known == "presence" and truth and len(release_paths) > 1:
        console.say("the adversary was taken to know who was there when; --known events adds whose value changed when")
    if not found.held:
        raise click.exceptions.Exit(1)


def table(found: Audit) -> str:
    """Lay out the highest beliefs."""
    lines = [("person", "belief", "value", "attack", "releases", "right")]
    for row in found.persons.head(LINES - 1).iter_rows(named=True):
        belief = f"{row['belief']:.4f}" if row["exact"] else f"~{row['belief']:.4f}"
        # A limit is about whichever value it is; a null that is believed exactly is a missing value.
        nameless = "(missing)" if row["exact"] else "(any)"
        value = nameless if row["value"] is None else row["value"]
        right = {True: "yes", False: "no", None: "-"}[row["right"]]
        lines.append((row["person"], belief, value, row["attack"], ",".join(map(str, row["releases"])), right))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def verdict(found: Audit) -> str:
    """Say whether the releases keep their word, and what would be believed without comparing them."""
    from reveil.adversary.sentences import broken

    bound, base = found.summary["bound"], found.summary["baseline"]
    columns = [base] if "table" in base else list(base.values())
    alone = max(each["last_release"]["highest_proven"] for each in columns)
    guess = max(each["table"] for each in columns)
    beside = f"(the table alone: {guess:.4g}, the last release alone: {alone:.4g})"
    invalid = sum((each.get("cells") or {}).get("invalid", 0) for each in found.attacks.values())
    wrong = broken(found.limits)
    if invalid:
        wrong.insert(
            0, f"{invalid:,} sets of people that the releases tell apart are smaller or more uniform than promised"
        )
    if bound is None and found.known == "values":
        return f"no guarantee is about somebody who knows sensitive values, and no --threshold given {beside}"
    if found.summary["above"]["bound"]:
        wrong.append(f"{found.summary['above']['bound']:,} persons above {bound:.4g} {beside}")
    if wrong:
        return "BROKEN: " + "; ".join(wrong)
    # What nobody can read excludes nobody, and proves nothing either.
    word = "held, as far as the labels can be read" if found.unread else "held"
    judged = [each["says"] for each in found.limits if each["held"] and each["over"] == "release"]
    if bound is None:
        alone_only = f"{word}, each release by itself: {', and '.join(judged)}. " if judged else ""
        return f"{alone_only}No bound is promised for the releases together, and no --threshold given {beside}"
    return f"{word}: nothing above {bound:.4g} was found {beside}"
