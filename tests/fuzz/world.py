"""What is damaged: small tables full of planted secrets, their configs, and releases of every form.

A base is made once in a process and copied for each case. Every person, identifier and sensitive value of it contains
what :data:`tests.fuzz.checks.SECRET` looks for.
"""

import shutil
import tomllib

import numpy as np
import polars as pl

from reveil.core import registry
from reveil.guarantees.settings import from_settings
from tests.docs.trials import SETTINGS
from tests.fuzz.running import placed, run

DISEASES = [f"szqx {name}" for name in ("asthma", "flu", "gout", "mumps", "rash", "ulcer", "zoster")]
SCHOOLS = ["none", "primary", "secondary", "tertiary"]
COLUMNS = """
[columns]
pid = "person"
name = "identifier"
age = "quasi"
born = {{ role = "quasi", type = "date" }}
zip = {{ role = "quasi", type = "text", hierarchy = "zip.csv" }}
school = {{ role = "quasi", order = ["none", "primary", "secondary", "tertiary"] }}
disease = "sensitive"
{more}
"""
PLAIN = '[series]\nname = "plain"\nseed = 5\nnull_values = ["NA"]\n' + COLUMNS
SERIES = '[series]\nname = "ward"\nvault = "ward.vault"\nseed = 5\n' + COLUMNS
INCOME = 'income = { role = "sensitive", type = "number", bins = 8 }\nward = "plain"'
FORMS = {  # of a single release
    "boxes": "k = 3\nl = 2",
    "closeness": 'k = 2\nt = { disease = 0.6, income = 0.7 }\nsuppress = 0.05\n\n[method]\nkind = "stack-deal"',
    "two-tables": 'l = 2\ndiversity = "frequency"\n\n[method]\nkind = "anatomy"',
    "nested": 'k = 3\n\n[method]\nkind = "bang"\nform = "nested"',
}


def people(first=0, last=48, *, more=False):
    """Return the table of some persons."""
    dice = np.random.default_rng(8)
    days = dice.integers(-12_000, 9_000, 80)
    zips = dice.choice(["04410", "04411", "04520", "50001", "50099"], 80)
    frame = pl.DataFrame(
        {
            "pid": [f"pzqx{n:04}" for n in range(80)],
            "name": [f"Nzqx, {n}" for n in range(80)],
            "age": dice.integers(20, 80, 80),
            "born": pl.Series(days, dtype=pl.Int32).cast(pl.Date),
            "zip": zips,
            "school": dice.choice(SCHOOLS, 80),
            "disease": [DISEASES[n % len(DISEASES)] for n in range(80)],
            "income": [88_170_000 + 7 * n for n in range(80)],
            "ward": dice.choice(["east", "west"], 80),
        }
    )
    return frame[first:last].drop([] if more else ["income", "ward"])


def remembering():
    """Return the kinds of guarantees with a vault that have settings here: every series of theirs is a base."""
    known = {kind: cls for kind, cls in registry.everything("guarantees").items() if kind in SETTINGS}
    made = {kind: from_settings(cls, tomllib.loads(SETTINGS[kind])) for kind, cls in known.items()}
    return [kind for kind, guarantee in made.items() if guarantee.traits.remembers]


def _hierarchy(folder):
    codes = sorted(people(0, 80)["zip"].unique())
    (folder / "zip.csv").write_text("".join(f"{code};{code[:3]}**;{code[0]}****;*\n" for code in codes))


def _single(folder, form):
    """Make the base of one release: tables as CSV and Parquet, the config, and the release in both formats."""
    more = form == "closeness"
    guarantee = f'\n[guarantee]\nkind = "static"\n{FORMS[form]}\n'
    (folder / "reveil.toml").write_text(PLAIN.format(more=INCOME if more else "") + guarantee)
    people(more=more).write_csv(folder / "s1.csv")
    people(more=more).write_parquet(folder / "s1.parquet")
    _do(folder, "publish", "s1.csv", "-c", "reveil.toml", "-o", "out1.csv")
    _do(folder, "publish", "s1.csv", "-c", "reveil.toml", "-o", "out2.parquet")


def _several(folder, kind):
    """Make the base of a series with two releases, one of each format, and a table that is not published yet."""
    settings = f'\n[guarantee]\nkind = "{kind}"\n{SETTINGS[kind]}\n'
    (folder / "reveil.toml").write_text(SERIES.format(more="") + settings)
    for n, (first, last) in enumerate([(0, 42), (0, 45), (0, 48)], 1):
        people(first, last).write_csv(folder / f"s{n}.csv")
    people(0, 48).write_parquet(folder / "s3.parquet")
    _do(folder, "publish", "s1.csv", "-c", "reveil.toml", "-o", "r1.csv")
    _do(folder, "publish", "s2.csv", "-c", "reveil.toml", "-o", "r2.parquet")


def _do(folder, *asked):
    with placed(folder):
        ran = run(*asked)
    assert ran.code == 0, f"{ran}\n{ran.err}"


class World:
    """The bases, made when they are asked for, and the folder of the case at hand."""

    def __init__(self, root):
        self.root = root
        self.made = {}

    def base(self, name):
        """Return the folder of a base: ``single-boxes``, ``series-global`` and so on."""
        if name not in self.made:
            folder = self.root / "bases" / name
            folder.mkdir(parents=True)
            _hierarchy(folder)
            what, _, kind = name.partition("-")
            (_single if what == "single" else _several)(folder, kind)
            shutil.rmtree(folder / "tmp")
            self.made[name] = folder
        return self.made[name]

    def copied(self, name):
        """Return a fresh copy of a base: the folder of the case at hand."""
        folder = self.fresh()
        shutil.copytree(self.base(name), folder, dirs_exist_ok=True)
        return folder

    def fresh(self):
        """Return the folder of the case at hand, empty."""
        folder = self.root / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    @staticmethod
    def any_base(dice):
        """Draw a base; most are of a single release, which is quicker."""
        if dice.chance(0.75):
            return f"single-{dice.pick({'boxes': 3, 'closeness': 1, 'two-tables': 1, 'nested': 1})}"
        return f"series-{dice.pick(remembering())}"


def settings_of(path):
    return tomllib.loads(path.read_text())
