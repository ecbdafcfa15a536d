"""Anchors that are damaged or gone, and vaults that are lost: nothing is told by losing memory."""

import shutil

from tests.fuzz import mutators
from tests.fuzz.checks import Finding
from tests.fuzz.world import remembering

CONFIG = ("-c", "reveil.toml")


def anchors(case):
    """Damage the anchor, or lose the vault beside what still shows that there was one."""
    dice = case.dice
    folder = case.begin(f"series-{dice.pick(remembering())}")
    anchor = folder / "ward.anchor"
    lost = dice.chance(0.35)
    if not lost or dice.chance(0.4):
        anchor.write_bytes(mutators.json_(dice, anchor.read_bytes()))
    if lost:
        shutil.rmtree(folder / "ward.vault")
        gone = [path for path in [anchor, *folder.glob("r[12].manifest.json")] if dice.chance(0.4)]
        for path in gone[: dice.pick([1, 2])]:  # something is left that shows it
            path.unlink()
    _read(case, lost=lost)


def _read(case, *, lost):
    ways = {
        ("publish", "s3.csv", *CONFIG, "-o", "out.csv"): 6,
        ("publish", "s3.csv", *CONFIG, "-o", "out.csv", "--new-series"): 1,
        ("publish", "s3.csv", *CONFIG, "-o", "out.csv", "--dry-run"): 1,
        ("adopt", "s1.csv", "r1.csv", *CONFIG): 2,
        ("forget", "pzqx0007", *CONFIG): 1,
        ("history", *CONFIG): 1,
        ("history", *CONFIG, "--check", "."): 1,
        ("report", *CONFIG, "-o", "out.html"): 1,
    }
    asked = case.dice.pick(ways)
    ran = case.do(*asked)
    if lost and asked[0] == "publish" and "--new-series" not in asked and ran.code == 0:
        case.found.append(Finding("a series began over beside what shows that it was begun", str(ran)))
