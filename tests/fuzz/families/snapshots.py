"""Raw tables that are damaged, to every command that reads one."""

import polars as pl

from tests.fuzz import mutators
from tests.fuzz.parquets import parquet as damaged


def csv(case):
    """Damage a CSV file: its bytes, or its cells as people and their tools do."""
    dice = case.dice
    base = case.world.any_base(dice)
    folder = case.begin(base)
    name = "s1.csv" if base.startswith("single") else dice.pick(["s3.csv", "s2.csv"])
    path = folder / name
    path.write_bytes(dice.pick([mutators.bytes_, mutators.cells, mutators.cells])(dice, path.read_bytes()))
    read(case, base, name)


def parquet(case):
    """Damage a Parquet file: its bytes, or the types of its columns."""
    dice = case.dice
    base = case.world.any_base(dice)
    folder = case.begin(base)
    name = "s1.parquet" if base.startswith("single") else "s3.parquet"
    damaged(dice, pl.read_parquet(folder / name), folder / name)
    read(case, base, name)


def read(case, base, name):
    """Give the table to one of the commands that read one."""
    dice = case.dice
    config, release = ("-c", "reveil.toml"), "out1.csv" if base.startswith("single") else "r2.parquet"
    target = dice.pick(["out.csv", "out.parquet"])
    ways = {
        ("publish", name, *config, "-o", target): 12,
        ("publish", name, *config, "-o", target, "--dry-run"): 2,
        ("init", name, "--yes", "-o", "new.toml"): 4,
        ("verify", release, name, *config): 2,
        ("measure", name, release, *config, "--queries", "3"): 2,
        ("audit", release, *config, "--truth", name): 2,
        ("audit", release, *config, "--population", name): 2,
        ("audit", release, *config, "--truth", name, "--placements", name): 1,
        ("report", *config, "-o", "out.html", "--releases", release, "--truth", name): 1,
        ("audit", name, *config): 1,
        ("query", name, "age > 30"): 1,
    }
    if base.startswith("series"):
        ways[("adopt", name, release, *config)] = 2
        ways[("adopt", "s3.csv", name, *config)] = 2
        ways[("publish", name, *config, "-o", target, "--where", "age > 30")] = 2
        ways[("publish", name, *config, "-o", target, "--columns", "age,zip,disease")] = 2
    case.do(*dice.pick(ways))
