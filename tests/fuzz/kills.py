"""Commands that write are killed at a moment of their own choosing; the same command again must finish the work.

Each scenario is a folder as it stands and a command. The command runs undisturbed once, and the moments at which it
touched the disk are counted. Then it runs again from the same folder in a child process that dies at one of the
moments, or is killed from outside at a random time. What is left must be complete or absent; the same command is run
again, and then every file must have the bytes, and the vault the content, that the undisturbed run left.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

from tests.fuzz import touches
from tests.fuzz.case import Case
from tests.fuzz.checks import Finding, anchors, digests, dump
from tests.fuzz.dice import Dice
from tests.fuzz.running import placed, run
from tests.fuzz.world import SERIES, World, remembering

KEY = {"REVEIL_KEY": "5f" * 32}  # pseudonyms, and so the dice, are the same in every run
CONFIG = ("-c", "reveil.toml")
TWO = 'kind = "tau-safety"\nm = 2\nangelize = true'
ROOT = Path(__file__).parents[2]
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?")
_SERIES = re.compile(r"\b[0-9a-f]{16}\b")


def _pending(world, folder):
    """Leave release 3 prepared and not confirmed."""
    script = "import os; from reveil.vault import Vault; Vault.confirm = lambda *_: os.kill(os.getpid(), 9)\n"
    script += "from reveil.cli import main; main()"
    asked = ["publish", "s3.csv", *CONFIG, "-o", "r3.csv"]
    subprocess.run(
        [sys.executable, "-c", script, *asked], cwd=folder, env=_environment(folder), check=False, capture_output=True
    )


def _foreign(world, folder):
    """Put a release of the first snapshot beside the series that its vault does not know."""
    for path in world.base("single-boxes").glob("out1.*"):
        shutil.copy(path, folder / path.name.replace("out1", "elsewhere"))


def _released(world, folder):
    """Publish the third snapshot, too."""
    with placed(folder):
        assert run("publish", "s3.csv", *CONFIG, "-o", "r3.csv").code == 0


def _two_tables(world, folder):
    """Make a series that publishes two tables, with one release."""
    _new(world, folder)
    (folder / "reveil.toml").write_text(SERIES.format(more="") + f"\n[guarantee]\n{TWO}\n")
    with placed(folder):
        assert run("publish", "s1.csv", *CONFIG, "-o", "r1.csv").code == 0


def _new(world, folder):
    """Take the vault, its anchor and the releases away: the first publish is still to come."""
    shutil.rmtree(folder / "ward.vault")
    for path in [*folder.glob("r[12].*"), *folder.glob("*.anchor")]:
        path.unlink()


def scenarios():
    """Return name: (base, what is done to it before, the command)."""
    publish = ("publish", "s3.csv", *CONFIG, "-o")
    tau, truth = "series-tau-safety", ("--truth", "s1.csv", "s2.csv")
    found = {
        "publish first": (tau, _new, ("publish", "s1.csv", *CONFIG, "-o", "r1.csv")),
        "publish again": (tau, _released, (*publish, "r4.csv", "--again")),
        "publish Parquet": (tau, None, (*publish, "r3.parquet")),
        "publish two tables": (tau, _two_tables, (*publish, "r2.csv")),
        "publish --where": (tau, None, (*publish, "r3.csv", "--where", "age > 30")),
        "publish --columns": (tau, None, (*publish, "r3.csv", "--columns", "age,zip,disease")),
        "finish a pending release": (tau, _pending, (*publish, "r3.csv")),
        "publish without a vault": ("single-boxes", None, ("publish", "s1.csv", *CONFIG, "-o", "out.csv")),
        "publish over a release": ("single-two-tables", None, ("publish", "s1.parquet", *CONFIG, "-o", "out1.csv")),
        "adopt": (tau, _foreign, ("adopt", "s3.csv", "elsewhere.csv", *CONFIG)),
        "adopt first": (tau, lambda w, f: (_new(w, f), _foreign(w, f)), ("adopt", "s1.csv", "elsewhere.csv", *CONFIG)),
        "forget": (tau, None, ("forget", "pzqx0007", *CONFIG)),
        "forget --tombstone": (tau, None, ("forget", "pzqx0007", *CONFIG, "--tombstone")),
        "history --abandon": (tau, _pending, ("history", *CONFIG, "--abandon", "3")),
        "history --json": (tau, None, ("history", *CONFIG, "--json", "out.json")),
        "report": (tau, None, ("report", *CONFIG, "-o", "out.html", *truth)),
        "audit --json": (tau, None, ("audit", "r1.csv", "r2.parquet", *CONFIG, *truth, "--all", "--json", "out.json")),
        "measure --json": (tau, None, ("measure", "s1.csv", "r1.csv", *CONFIG, "--json", "out.json")),
        "query --json": (tau, None, ("query", "r1.csv", "age > 30", "--json", "out.json")),
        "init": ("single-boxes", None, ("init", "s1.csv", "--yes", "-o", "new.toml")),
    }  # fmt: skip
    return found | {f"publish next ({kind})": (f"series-{kind}", None, (*publish, "r3.csv")) for kind in remembering()}


class Kills:
    """Scenarios with their undisturbed outcomes, each made when it is needed."""

    def __init__(self, root):
        self.root = root / "kills"
        self.root.mkdir(exist_ok=True)
        with mock.patch.dict(os.environ, KEY):
            self.world = World(self.root)
        self.scenarios, self.calm = scenarios(), {}
        touches.install()
        self.server = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.touches"],
            cwd=ROOT,
            env={**os.environ, **KEY, "POLARS_MAX_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self, seed, number, name=None):
        """Kill once and finish; return the moment, how the child ended, and the case with what was found."""
        dice = Dice(seed, number, "kill")
        name = name or list(self.scenarios)[(seed * 7 + number) % len(self.scenarios)]
        case = Case(dice, self.world)
        with mock.patch.dict(os.environ, KEY):
            moments, took, outcome = self._undisturbed(name)
            folder = case.folder = self._copied(name)
            moment = dice.number(1, moments) if moments and dice.chance(0.75) else -dice.share() * took
            code = self._child(folder, name, moment)
            shutil.rmtree(folder / "tmp", ignore_errors=True)
            if code not in (-signal.SIGKILL, 0):
                case.found.append(Finding(f"kill: {name}: the child ended with {code}", str(moment)))
            case.found += _whole(name, folder, self._folder(name), outcome)
            self._again(case, name, outcome)
        return moment, code, case

    def _again(self, case, name, outcome):
        """Run the same command and compare with what an undisturbed run left."""
        folder, asked = case.folder, self.scenarios[name][2]
        finished = _told(state(folder)) == _told(outcome)
        with placed(folder):
            ran = run(*asked)
        case.ran.append(ran)
        shutil.rmtree(folder / "tmp", ignore_errors=True)
        now = state(folder)
        if ran.code != 0 and not finished:
            case.found.append(
                Finding(f"kill: {name}: not finished by the same command", f"exit {ran.code}: {ran.err[:300]}")
            )
        for path in sorted(now.keys() | outcome.keys()):
            if now.get(path) != outcome.get(path):
                what = "is left over" if path not in outcome else "is missing" if path not in now else "differs"
                kind = "a draft" if "/." in f"/{path}" else path
                case.found.append(Finding(f"kill: {name}: {kind} {what}", path))

    def _folder(self, name):
        """Return the folder of a scenario before its command, made once."""
        folder = self.root / "scenarios" / name.replace(" ", "-")
        if not folder.exists():
            base, prepare, _ = self.scenarios[name]
            work = self.world.copied(base)
            if prepare is not None:
                prepare(self.world, work)
            shutil.rmtree(work / "tmp", ignore_errors=True)
            shutil.copytree(work, folder)
        return folder

    def _copied(self, name):
        source, folder = self._folder(name), self.world.fresh()
        shutil.copytree(source, folder, dirs_exist_ok=True)
        return folder

    def _undisturbed(self, name):
        """Return how many moments a command has, how long it takes, and what it leaves."""
        if name not in self.calm:
            folder = self._copied(name)
            with placed(folder):
                started = time.monotonic()
                touches.TOUCHES.begin()
                ran = run(*self.scenarios[name][2])
                many = touches.TOUCHES.end()
            assert ran.code == 0, f"{ran}: {ran.err}"
            shutil.rmtree(folder / "tmp")
            self.calm[name] = many, time.monotonic() - started, state(folder)
        return self.calm[name]

    def _child(self, folder, name, moment):
        """Run the command in a process that dies at a moment, or after so many seconds if the moment is negative."""
        (folder / "tmp").mkdir()
        task = {"words": self.scenarios[name][2], "folder": str(folder)}
        task |= {"moment": moment or None, "seconds": None} if moment >= 0 else {"moment": None, "seconds": -moment}
        self.server.stdin.write(json.dumps(task) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def close(self):
        """End the process from which the children are forked."""
        self.server.stdin.close()
        self.server.wait()
        self.server.stdout.close()


def _environment(folder):
    return {**os.environ, **KEY, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp"), "POLARS_MAX_THREADS": "1"}


def state(folder):
    """Return what every file holds, without the time at which it was written, and what every vault knows."""
    found = {}
    for path, digest in digests(folder).items():
        found[path] = (
            digest if path.endswith((".csv", ".parquet")) else plain((folder / path).read_text(errors="replace"))
        )
    for vault in folder.glob("*.vault"):
        known = dump(vault)
        for table, rows in (known or {"nothing": []}).items():
            if table == "chain":  # every entry has a number of its own at random, and the digests cover it
                found[f"{vault.name}: chain"] = sorted(row[:3] for row in rows)
                continue
            if table == "seals":  # of these numbers, too
                found[f"{vault.name}: seals"] = sorted(row[:2] for row in rows)
                continue
            # The digest of a manifest covers the time in it; a new vault has a salt of its own.
            rows = [row for row in rows if row[0] != "key_salt"]  # noqa: PLW2901
            texts = [re.sub(r"sha256:[0-9a-f]{64}", "", plain(repr(row))) for row in rows]
            found[f"{vault.name}: {table}"] = sorted(texts)
        for copy in sorted((vault / "releases").rglob("*")):  # a killed command leaves a draft, which is a folder
            name = f"{vault.name}/{copy.relative_to(vault).as_posix()}"
            if copy.is_file():
                found[name] = plain(copy.read_text()) if copy.suffix == ".json" else copy.read_bytes()
            else:
                found[name] = None
    for path, (anchor, held) in anchors(folder).items():
        found[path] = anchor and (anchor.entry, len(anchor.releases), anchor.erasures, held)
    return found


def _told(known):
    """Return a state without anchors and copies in the vault: a command that was done but for them is done."""
    return {path: held for path, held in known.items() if ".anchor" not in path and "/releases/" not in path}


def plain(text):
    """Return a text without times and without the number that a new series is given."""
    return _SERIES.sub("", _TIME.sub("", text))


def _whole(name, folder, before, outcome):
    """Check that what a killed command left is as it was, or complete."""
    old = state(before)
    for path, now in state(folder).items():
        if ".vault" in path or ".anchor" in path or "/." in f"/{path}" or now in (old.get(path), outcome.get(path)):
            continue
        manifest = (folder / path).with_suffix(".manifest.json")
        if path.endswith((".csv", ".parquet")) and not manifest.exists():
            continue  # a table without a manifest is no release
        if path.endswith(".json"):
            try:
                json.loads((folder / path).read_bytes())
            except ValueError:
                yield Finding(f"kill: {name}: half a JSON file", path)
            continue
        yield Finding(f"kill: {name}: a file is neither as before nor complete", path)
