"""``reveil audit``: what can somebody who holds these files find out about whom?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reveil.cli.console import (
    Console,
    config_option,
    engine_option,
    json_option,
    json_target,
    quiet_option,
    write_json,
)
from reveil.core.errors import InputError

if TYPE_CHECKING:
    from reveil.adversary import Audit

LINES = 20
NAMES = (
    "absence, correspondence, difference, homogeneity, household, intersection, linkage, minimality, pairs, plain, "
    "prior, program, sequential, serial, similarity, skewness, tau, values"
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
@click.option(
    "--prior",
    metavar="PRIOR",
    help="Also guess by what people usually have: uniform, releases, or a file (a table, or probabilities).",
)
@click.option("--control", type=click.Path(), metavar="F", help="With --prior: people who are not in the data.")
@click.option(
    "--pairs",
    metavar="PAIRS",
    help="Also attack by which values of two sensitive columns occur together: truth, or a table that has both.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="M",
    help="With --attack program: how long the publisher is tried on other tables; 1 by default.",
)
@click.option("--learn-labels", is_flag=True, help="Take from the truth what labels stand for, without a hierarchy.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Count everybody, and attack N persons.")
@click.option(
    "--population-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of how many people the tables are a sample: estimates journalist and marketer risk without a population.",
)
@click.option("--threshold", type=float, metavar="X", help="Exit 1 if anybody's value can be believed with more.")
@click.option("--placements", multiple=True, type=click.Path(), metavar="F...", help="Tables row, id: whose record.")
@click.option("--all", "everybody", is_flag=True, help="List everybody in the JSON, not only those above the bound.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The dice of estimates.")
@engine_option
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
    prior: str | None,
    control: str | None,
    pairs: str | None,
    minutes: float | None,
    learn_labels: bool,
    sample: int | None,
    population_size: int | None,
    threshold: float | None,
    placements: tuple[str, ...],
    everybody: bool,
    seed: int,
    engine: str | None,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Attack RELEASE..., given in the order of publication, as somebody would who holds them all.

    Releases of any tool will do. Who is meant comes from --population (quasi values of people who could be in them) or
    from --truth (the snapshots; then the result also says whether a belief is right). The result names people and
    values: it is for the owner's eyes. Exit code 1: the bound of the series or the threshold is broken.
    """
    console = Console(quiet=quiet)
    refuse_where(
        (
            values_known is not None and known != "values",
            "--values-known needs --known values",
            "Add it, or take --values-known out.",
        ),
        (learn_labels and not truth, "--learn-labels needs --truth", "The snapshots say what the labels stand for."),
        (
            control is not None and prior is None,
            "--control needs --prior",
            "Add --prior releases, say, or take --control out.",
        ),
        (
            population_size is not None and bool(population),
            "--population-size is for where there is no --population",
            "Take one of them out.",
        ),
        (
            minutes is not None and "program" not in attacks,
            "--minutes needs --attack program",
            "Add it, or take --minutes out.",
        ),
        (
            "program" in attacks and not truth,
            "--attack program needs --truth",
            "Tables with other values are made of the snapshots.",
        ),
    )
    with console.progress():
        console.stage("starting")
        from reveil.adversary.guess_sentences import guessed, read_off
        from reveil.adversary.in_shards import audit_where_asked
        from reveil.adversary.verdicts import verdict
        from reveil.series.config import load_config
        from reveil.series.simulating import SimulatedSeries

        console.announce_compilation()
        config = load_config(config_path).with_engine(engine)
        kept = json_target(
            json_path,
            *release_paths,
            *population,
            *truth,
            *placements,
            *(path for path in (prior, control, pairs) if path not in (None, "uniform", "releases", "truth")),
            config=config,
        )
        found = audit_where_asked(
            config.engine,
            list(release_paths),
            config.schema,
            (list(population) if len(population) > 1 else population[0]) if population else None,
            list(truth) or None,
            known,
            list(placements) or None,
            threshold,
            list(attacks) or None,
            seed,
            insists=engine is not None,
            everybody=everybody,
            guarantee=config.guarantee,  # what it promises holds for files without a manifest, too
            values_known=values_known or 1,
            prior=prior,
            control=control,
            pairs=pairs,
            program=SimulatedSeries.of(config, truth) if "program" in attacks else None,
            minutes=minutes or 1.0,
            learn_labels=learn_labels,
            sample=sample,
            population_size=population_size,
            stage=console.stage,
        )
    if json_path != "-":
        click.echo(table(found))
    if json_path is not None:
        write_json(found.to_json(everybody=everybody), json_path, kept)
    if json_path != "-" and found.persons.height > LINES - 1:
        console.say(f"{LINES - 1} of {found.persons.height:,} persons shown; --json F --all lists everybody")
    if found.engine is not None:
        console.say(f"worked on in shards: {found.engine['kind']}, {found.engine['shard_rows']:,} rows at a time")
    for note in found.notes:
        console.say(f"note: {note}")
    console.say(found.sentence)
    for said in (*guessed(found), *read_off(found), *table_risks(found)):
        console.say(said)
    console.say(verdict(found))
    if found.known == "presence" and truth and len(release_paths) > 1:
        console.say("the adversary was taken to know who was there when; --known events adds whose value changed when")
    if not found.held:
        raise click.exceptions.Exit(1)


def refuse_where(*wrong: tuple[bool, str, str]) -> None:
    """Refuse options that do not go together: whether it is so, what is wrong, and the remedy."""
    for is_so, what, remedy in wrong:
        if is_so:
            raise InputError(what, hint=remedy)


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


def table_risks(found: Audit) -> list[str]:
    """Say the figures that other tools print, of the release that has most of each."""
    if not found.table_risks:
        return []
    after = [risk.after for risk in found.table_risks]
    basis = {
        "population": "by the population that was given",
        "estimate": "estimated from the size of the population",
        "release": "with the release for the whole population",
    }[after[-1].classes.source]
    highest = found.risks
    said = (
        f"as other tools count it: prosecutor risk {highest['prosecutor']:.4g}, journalist risk "
        f"{highest['journalist']:.4g} and marketer risk {highest['marketer']:.4g} ({basis}); these compare no releases"
    )
    most = max((each.uniques for each in after), key=lambda risk: int((risk.smallest_set > 0).sum()))
    special = int((most.smallest_set > 0).sum())
    told = f"special uniques: {special:,} rows of a release are unique by at most {most.largest} columns"
    return [said, *([told] if special else [])]
