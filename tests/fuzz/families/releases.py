"""Releases that are damaged, and their manifests, to every command that reads them."""

import hashlib
import json

import polars as pl

from tests.fuzz import mutators
from tests.fuzz.checks import Finding
from tests.fuzz.parquets import parquet


def manifests(case):
    """Damage a manifest."""
    base, release, made_of = _begin(case)
    path = (case.folder / release).with_suffix(".manifest.json")
    path.write_bytes(mutators.json_(case.dice, path.read_bytes()))
    read(case, base, release, made_of)


def releases(case):
    """Damage a table of a release; half of the time the digest is mended, so that readers look further."""
    base, release, made_of = _begin(case)
    dice, folder = case.dice, case.folder
    second = (folder / release).with_suffix(f".sensitive{(folder / release).suffix}")
    path = second if second.exists() and dice.chance(0.5) else folder / release
    if path.suffix == ".parquet" and dice.chance(0.6):
        parquet(dice, pl.read_parquet(path), path)
    else:
        damage = mutators.bytes_ if path.suffix == ".parquet" or dice.chance(0.4) else mutators.cells
        path.write_bytes(damage(dice, path.read_bytes()))
    described = (folder / release).with_suffix(".manifest.json")
    if dice.chance(0.6):
        _mend(folder / release, second, described)
    elif dice.chance(0.4):
        described.unlink()  # a file of some other tool
    read(case, base, release, made_of)


def _mend(table, second, described):
    digest = hashlib.sha256()
    for path in (table, second):
        if path.exists():
            digest.update(path.read_bytes())
    content = json.loads(described.read_bytes())
    content["digest"] = f"sha256:{digest.hexdigest()}"
    content["digests"] = {table.suffix[1:]: content["digest"]}
    described.write_text(json.dumps(content))


def _begin(case):
    base = case.world.any_base(case.dice)
    case.begin(base)
    if base.startswith("single"):
        return base, case.dice.pick(["out1.csv", "out1.csv", "out2.parquet"]), "s1.csv"
    return (base, *case.dice.pick([("r1.csv", "s1.csv"), ("r2.parquet", "s2.csv")]))


def read(case, base, release, made_of):
    """Give the release to one of the commands that read one."""
    config = ("-c", "reveil.toml")
    ways = {
        ("verify", release, made_of, *config): 4,
        ("query", release, case.dice.pick(["age > 30", "disease = x", "zip = 044**", "born < 1990-01-01"])): 3,
        ("query", release, "zip = 044** or school = none", *config): 1,
        ("audit", release, *config): 2,
        ("audit", release, *config, "--truth", made_of): 3,
        ("audit", release, *config, "--population", made_of): 1,
        ("measure", made_of, release, *config, "--queries", "2"): 2,
        ("report", *config, "-o", "out.html", "--releases", release, "--truth", made_of): 2,
    }
    if base.startswith("series"):
        ways |= {("adopt", "s3.csv", release, *config): 1, ("adopt", made_of, release, *config): 1}
        ways |= {("history", *config, "--check", "."): 1, ("report", *config, "-o", "out.html"): 1}
        ways |= {("publish", "s3.csv", *config, "-o", "out.csv"): 1, ("publish", "s2.csv", *config, "-o", release): 1}
        if (release, made_of) == ("r2.parquet", "s2.csv"):
            ways[("audit", "r1.csv", release, *config, "--truth", "s1.csv", "s2.csv")] = 2
    asked, known = case.dice.pick(ways), _which(case.folder / release)
    ran = case.do(*asked)
    if ran.asked[0] == "publish" and release in asked and "already release" in ran.err:
        _restored(case, base, release, known)


def _which(release):
    """Return which release a manifest is about, None where it does not say so any more."""
    try:
        content = json.loads(release.with_suffix(".manifest.json").read_bytes())
        return content["series_id"], content["release"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _restored(case, base, release, known):
    """Check that a release which was published again is the one that was damaged, in every file, and over no other."""
    if release != "r2.parquet":  # the second snapshot: a table that nothing says anything about may be replaced
        if known == _which(case.world.base(base) / release):
            case.found.append(Finding("a release was put over another one", f"{release} of {base}"))
        return
    for whole in sorted(case.world.base(base).glob(f"{release.split('.')[0]}.*")):
        if whole.read_bytes() != (case.folder / whole.name).read_bytes():
            case.found.append(Finding("a release that was published again is another one", f"{whole.name} of {base}"))
