"""Configs and hierarchies that are damaged, to every command that reads them."""

from tests.fuzz import mutators
from tests.fuzz.pairs import known_settings


def configs(case):
    """Damage a config: settings of all guarantees and methods, with good and bad values, and its text."""
    dice = case.dice
    base = case.world.any_base(dice)
    folder = case.begin(base)
    path = folder / "reveil.toml"
    path.write_bytes(mutators.toml(dice, path.read_bytes(), known_settings()))
    read(case, base)


def hierarchies(case):
    """Damage a hierarchy."""
    dice = case.dice
    base = case.world.any_base(dice)
    folder = case.begin(base)
    path = folder / "zip.csv"
    content = path.read_bytes()
    if dice.chance(0.5):  # the cells of a hierarchy stand between semicolons
        content = mutators.cells(dice, content.replace(b";", b",")).replace(b",", b";")
    else:
        content = mutators.bytes_(dice, content)
    path.write_bytes(content)
    read(case, base)


def read(case, base):
    """Give the config to one of the commands."""
    single = base.startswith("single")
    table, release = ("s1.csv", "out1.csv") if single else ("s3.csv", "r2.parquet")
    made_of = "s1.csv" if single else "s2.csv"
    config = ("-c", "reveil.toml")
    ways = {
        ("publish", table, *config, "-o", "out.csv"): 8,
        ("verify", release, made_of, *config): 2,
        ("audit", release, *config, "--truth", made_of): 2,
        ("audit", release, *config, "--population", made_of): 1,
        ("measure", made_of, release, *config, "--queries", "2"): 2,
        ("query", release, "zip = 044** and age > 30", *config): 2,
        ("history", *config): 1,
        ("report", *config, "-o", "out.html", "--releases", release, "--truth", made_of): 1,
        ("report", *config, "-o", "out.html"): 1,
    }
    if not single:
        ways |= {
            ("forget", "pzqx0007", *config): 1,
            ("history", *config, "--budget"): 1,
            ("history", *config, "--check", "."): 1,
        }
        ways |= {("adopt", "s3.csv", "r1.csv", *config): 1}
    case.do(*case.dice.pick(ways))
