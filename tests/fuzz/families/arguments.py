"""Arguments of every command, put together at random from what click says that the command takes."""

import click

from reveil.cli import COMMANDS, cli
from tests.fuzz.mutators import TEXTS

SKIPPED = ("demo", "explore")  # a folder of its own; processes of their own for every candidate: both take long
SERVES = "studio"  # begins to serve where its arguments are right, and ends when it is told to
EXPRESSIONS = [
    "age > 30", "age in [30, 40]", "zip = 044**", "not disease = x", "age is null", "born < 1990-01-01",
    "school in {none, primary}", "pid = 3", "name = x", "group = 1", "age > ", "(" * 500, "(" * 50_000 + ")" * 50_000,
    "not " * 30_000 + "age > 3", "age = '", "age in {", "age > 1e999", "age = nan", "age = " + "9" * 5_000, "x = 1",
    "age > 3 and" * 3, "born = 0000-00-00", "disease = 'a''b'", "age in [9, 1]", " or ".join(["age = 3"] * 3_000),
    "age in {" + ", ".join(map(str, range(3_000))) + "}", "zip = *", "age != 30",
]  # fmt: skip
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "-1",
    "0.5",
    "1e400",
    "nan",
    "inf",
    "9" * 30,
    "9" * 5_000,
    "x",
    "",
    "1.0",
    " 2",
    "٣",
]
INPUTS = [
    "s1.csv", "s1.parquet", "s2.csv", "s3.csv", "out1.csv", "out2.parquet", "r1.csv", "r2.parquet",
    "r1.manifest.json", "reveil.toml", "zip.csv", "ward.anchor", "ward.vault", "ward.vault/vault.duckdb", ".",
    "missing.csv", "missing/x.csv", "-", "/dev/null", "n" * 300 + ".csv", "tmp",
]  # fmt: skip
OUTPUTS = [
    "out.csv", "out.csv", "out.parquet", "out.html", "out.json", "new.toml", "out", ".", "missing/out.csv", "s1.csv",
    "s1.parquet", "s3.csv", "r1.csv", "r2.parquet", "r1.manifest.json", "reveil.toml", "zip.csv",
    "ward.anchor", "ward.vault/out.csv", "ward.vault/key", "ward.vault/vault.duckdb", "ward.vault", "n" * 252 + ".csv",
    "n" * 240 + ".csv", "n" * 300, "-", "out\n.csv", "\udcff.csv", "out.CSV", "",
]  # fmt: skip


def arguments(case):
    """Run a command with arguments of which some are right, after the base was made."""
    dice = case.dice
    series = dice.chance(0.4)
    case.begin(f"series-{dice.pick(['tau-safety', 'global', 'refinement'])}" if series else "single-boxes")
    name = dice.pick([name for name in COMMANDS if name not in SKIPPED])
    if name == SERVES:
        return
    command = cli.get_command(None, name)
    words = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            words += [
                _argument(dice, name, parameter, series)
                for _ in range(dice.pick({1: 20, 0: 1, 2: 1 + 4 * (parameter.nargs == -1)}))
            ]
        elif parameter.required or dice.chance(0.18):
            if parameter.required and dice.chance(0.03):
                continue
            words += _option(dice, parameter)
    if dice.chance(0.03):
        words.insert(
            dice.below(len(words) + 1), dice.pick(["--nothing", "--", "-", "--help", "-q", "\x00x", "", "--json"])
        )
    if dice.chance(0.1):
        words = [*words[(cut := dice.below(len(words) + 1)) :], *words[:cut]]
    case.do(name, *[word.replace("\x00", "") for word in words])


def _argument(dice, command, parameter, series):
    if parameter.name == "expression":
        return dice.pick([*EXPRESSIONS, *TEXTS])
    if parameter.name == "person":
        return dice.pick(["pzqx0007", "pzqx0007", "pzqx9999", "7", "", " ", "x" * 70_000, "-1", "\U0001f600"])
    if dice.chance(0.25):
        return dice.pick(INPUTS)
    release = "release" in parameter.name
    return dice.pick(
        ["r1.csv", "r2.parquet"]
        if series and release
        else ["out1.csv"]
        if release
        else ["s3.csv", "s2.csv"]
        if series
        else ["s1.csv"]
    )


def _option(dice, parameter):
    name = dice.pick(parameter.opts)
    if parameter.is_flag:
        return [name]
    if parameter.name == "config_path":
        value = dice.pick(INPUTS) if dice.chance(0.08) else "reveil.toml"
    elif parameter.name in ("out", "json_path"):
        value = dice.pick(OUTPUTS)
    elif isinstance(parameter.type, click.Choice):
        value = dice.pick([*parameter.type.choices, "x", ""])
    elif parameter.name == "where":
        value = dice.pick(EXPRESSIONS)
    elif parameter.name == "columns":
        value = dice.pick(
            [
                "age,disease",
                "age,zip,disease",
                "age",
                "disease",
                "pid,age",
                "x",
                "",
                ",",
                "age,age,disease",
                "name,disease",
            ]
        )
    elif parameter.name == "attacks":
        value = dice.pick(["linkage", "serial", "tau", "minimality", "pairs", "household", "sequential", "x", ""])
    elif isinstance(parameter.type, click.Path):
        value = dice.pick(INPUTS)
    else:
        value = dice.pick(NUMBERS)
    return [name, value]
