"""One series from its first release to its last, calm or disturbed, and what was found on the way."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import reveil as rv
from benchmarks.long_run import checking, stores
from benchmarks.long_run.checking import CONFIG, Told
from benchmarks.long_run.child import WIDTH
from benchmarks.long_run.disturbing import Disturber, ended_well, same_as
from benchmarks.long_run.outside import COLUMNS, published_elsewhere
from benchmarks.long_run.tables import CLINIC_WARD, months
from reveil.tables.expressions import matches, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.long_run.commands import Commands, Ran
    from benchmarks.long_run.plans import Plan
    from benchmarks.long_run.tables import Month

FIRST_CHECK = 2  # before anybody is erased
FOUND = "found.json"
STOPS = ("it was adopted", "people were erased since")
CLINIC = f"ward = {CLINIC_WARD}"


@dataclass(frozen=True)
class Size:
    """How long a run is, and how often it is looked at: ``check`` the vault, ``audit`` the files, every so many.

    ``sample``: the people who are attacked, 0 for all; ``effort``: what signature guarantees are told to take, where
    it is not their default.
    """

    persons: int
    releases: int = 24
    check: int = 6
    audit: int = 6
    seed: int = 0
    sample: int = 0
    effort: str = ""


@dataclass
class Found:
    """What a series came to: a line for each release, each check and each audit, and whatever was not as it must be."""

    plan: str
    store: str
    persons: int
    effort: str = ""
    releases: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    audits: list[dict[str, Any]] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    erased: int = 0
    problems: list[str] = field(default_factory=list)
    ended: bool = False

    @classmethod
    def of(cls, folder: Path) -> Found | None:
        """Return what a series came to that ran in a folder before, None if it did not."""
        path = folder / FOUND
        return cls(**json.loads(path.read_text())) if path.exists() else None


class SeriesRun:
    """A series in a folder of its own: its config, its vault and its releases; tables lie beside it."""

    def __init__(
        self, commands: Commands, plan: Plan, store: str, folder: Path, size: Size, say: Callable[[str], None]
    ) -> None:
        self.commands = commands
        self.plan, self.store, self.size, self.say = plan, store, size, say
        self.folder, self.tables = folder, folder.parent / "tables"
        self.calm = folder.parent / stores.CALM
        self.found = Found(plan.name, store, size.persons, size.effort)
        self.told = Told()
        self.disturber: Disturber | None = None

    def begin(self, place: str) -> None:
        """Write the config."""
        self.folder.mkdir(parents=True)
        self.tables.mkdir(exist_ok=True)
        text = stores.settings(
            self.plan, self.size.effort, place.replace("SCHEMA", _schema(self.plan.name, self.store))
        )
        (self.folder / "reveil.toml").write_text(text)
        self._keep()
        if self.store != stores.CALM:
            self.disturber = Disturber(
                self.commands, f"{self.size.seed} {self.plan.name} {self.store}", self._usual_seconds()
            )

    def _usual_seconds(self) -> float:
        calm = Found.of(self.calm)
        known = sorted(row["seconds"] for row in calm.releases) if calm is not None else []
        return float(known[len(known) // 2]) if known else 2.0

    def run(self) -> Found:
        """Publish every month; look at everything now and then, and at the end."""
        for month in months(self.plan, self.size.persons, self.size.releases, seed=self.size.seed):
            if not self._month(month):
                self.say(f"{self.plan.name}, {self.store}: stopped at month {month.number}")
                break
            self._keep()
            last = month.number == self.size.releases
            if last or month.number == FIRST_CHECK or month.number % self.size.check == 0:
                self._check(month.number)
            if self.store == stores.CALM and (last or month.number % self.size.audit == 0):
                self._audit(month.number)
        self.found.ended = True
        self._keep()
        return self.found

    def _keep(self) -> None:
        """Write down what was found so far: a long run may be looked at before its end."""
        if self.disturber is not None:
            self.found.done |= self.disturber.done
        part = self.folder / f"{FOUND}.part"  # another process may read it
        part.write_text(json.dumps(asdict(self.found), indent=1))
        part.replace(self.folder / FOUND)

    def _month(self, month: Month) -> bool:
        """Erase, adopt and publish; return whether the series can go on."""
        table = self.tables / f"month-{month.number:02}.parquet"
        if not table.exists():
            draft = self.folder / table.name  # another series may write it at the same time
            month.table.write_parquet(draft)
            draft.replace(table)
        data = str(Path("..") / "tables" / table.name)
        for person, option in month.erased:
            self._erase(str(person), option)
        if month.number == self.size.releases // 2 + 1:
            self._join(data, month)
        name, part = f"release-{month.number:02}.csv", self.plan.part(month.number)
        columns = self.plan.recipient(month.number)
        words = ["publish", data, *CONFIG, "-o", name, "-q"]
        words += (["--where", part] if part else []) + (["--columns", ",".join(columns)] if columns else [])
        wrong: list[str] = [] if self.disturber is None else self.disturber.publish(self.folder, *words)
        ran = self.commands.run(self.folder, *words)
        wrong += ended_well(ran)
        if ran.code == 0 and self.store != stores.CALM:
            self._wait_for_calm(month.number)
            wrong += same_as(self.calm, self.folder, name)
            if self.disturber is not None:
                self.disturber.seconds = self._usual_seconds()
        self.found.problems += [f"month {month.number}: {each}" for each in wrong]
        for each in wrong:
            self.say(f"{self.plan.name}, {self.store}, month {month.number}: {each}")
        if ran.code != 0:
            return False
        self.told.releases.append(name)
        self.told.tables.append(self._truth(month, data, part))
        self.told.parts.append(part)
        self._record(month, ran, name)
        return True

    def _wait_for_calm(self, month: int) -> None:
        """Wait until the calm series, which may run in another process, has published a month."""
        while (calm := Found.of(self.calm)) is not None and not calm.ended and len(calm.releases) < month:
            time.sleep(1.0)

    def _truth(self, month: Month, data: str, part: str) -> str:
        """Return the table of exactly those who were asked for, as an attacker who knows who is in a release has it."""
        if not part:
            return data
        path = self.tables / f"part-{month.number:02}.parquet"
        if not path.exists():
            schema = rv.Schema.load(self.folder / "reveil.toml")
            month.table.filter(pl.Series(matches(parse(part), month.table, schema))).write_parquet(path)
        return str(Path("..") / "tables" / path.name)

    def _erase(self, person: str, option: str) -> None:
        words = ["forget", person, *CONFIG, *([option] if option else [])]
        if self.disturber is not None:
            self.found.problems += self.disturber.killed(self.folder, *words)
        self.found.problems += ended_well(self.commands.run(self.folder, *words))
        self.found.erased += 1

    def _join(self, data: str, month: Month) -> None:
        """Adopt what the clinic published elsewhere, where the guarantee can; else be refused, and lose nothing."""
        outside, truth = self.folder / "outside.csv", self.tables / "outside.parquet"
        clinic = month.table.filter(pl.col("ward") == CLINIC_WARD)
        people = clinic if self.plan.adopts else month.table
        published_elsewhere(people).write_csv(outside)
        if not truth.exists():
            people.write_parquet(truth)
        before = self.commands.run(self.folder, "history", *CONFIG, "--json", "-").out
        where = ["--where", CLINIC] if self.plan.adopts else []
        words = ["adopt", data, outside.name, *CONFIG, "--columns", ",".join(COLUMNS), *where]
        ran = self.commands.run(self.folder, *words)
        self.say(f"{self.plan.name}, {self.store}: {ran.err.strip()}")
        if not self.plan.adopts:
            outside.unlink()
            same = self.commands.run(self.folder, "history", *CONFIG, "--json", "-").out == before
            if ran.code not in (1, 2) or not same:
                self.found.problems.append(f"an adoption that cannot be: {ran}")
            return
        self.found.problems += ended_well(ran)
        if ran.code == 0:
            self.found.done["adopted"] = 1
            self.told.releases.append(outside.name)
            self.told.tables.append(str(Path("..") / "tables" / truth.name))
            self.told.parts.append("")
            self.told.adopted.append(outside.name)

    def _record(self, month: Month, ran: Ran, name: str) -> None:
        manifest = json.loads((self.folder / name).with_suffix(".manifest.json").read_text())
        row = {
            "month": month.number,
            "asked": pl.scan_parquet(self.folder / self.told.tables[-1]).select(pl.len()).collect().item(),
            "rows": manifest["rows"],
            "groups": manifest["groups"],
            "counterfeits": manifest["counterfeits"]["total"],
            "withheld": manifest["withheld"],
            "dirty": manifest["dirty"],
            "cpu": round(ran.cpu, 2),
            "seconds": round(ran.seconds, 2),
            "peak": round(ran.peak),
        }
        if self.store == stores.CALM:
            row["width"] = json.loads(self.commands.run(self.folder, WIDTH, "reveil.toml").out)
        self.found.releases.append(row)
        self.say(f"{self.plan.name}, {self.store}: {row}")

    def _check(self, number: int) -> None:
        for what, ran in (
            ("history --check", checking.checked(self.commands, self.folder)),
            ("verify --series", checking.judged(self.commands, self.folder, self.told)),
        ):
            self._note(number, what, ran)
        # What comes after an adoption, or an erasure under refinement, can still be judged release by release.
        self._note(number, "verify", checking.verified(self.commands, self.folder, self.told))

    def _note(self, number: int, what: str, ran: Ran) -> None:
        said = ran.err.strip().splitlines()
        self.found.checks.append(
            {"month": number, "what": what, "code": ran.code, "cpu": round(ran.cpu, 2), "said": said[-2:]}
        )
        # What can be judged again ends there: nobody can say which row is whose.
        stops = ran.code == 2 and any(why in ran.err for why in STOPS)
        if ran.code != 0 and not stops:
            self.found.problems.append(f"month {number}: {ran}")
        self.say(f"{self.plan.name}, {self.store}, month {number}: {what}: {ran.code} {' '.join(said[-2:])[:300]}")

    def _audit(self, number: int) -> None:
        """Attack what this series published, then also what it adopted: no promise covers that, nothing adds to it."""
        more = ["--sample", str(self.size.sample)] if self.size.sample else []
        ran, told = checking.audited(self.commands, self.folder, self.told, self.told.own, *more)
        self._attacked(number, ran, told)
        self.found.problems += [f"month {number}: {each}" for each in ended_well(ran)]
        if not self.told.adopted:
            return
        everything = range(len(self.told.releases))
        ran, told = checking.audited(self.commands, self.folder, self.told, everything, *more)
        elsewhere = [place for place in everything if place not in self.told.own]
        _, before = checking.audited(self.commands, self.folder, self.told, elsewhere, "--all")
        added = checking.added(told, before)
        self._attacked(number, ran, told, adopted=True, added=added)
        if added or not told:
            self.found.problems.append(f"month {number}: {added} people are told on beyond what was adopted: {ran}")

    def _attacked(
        self, number: int, ran: Ran, told: dict[str, Any], *, adopted: bool = False, added: int | None = None
    ) -> None:
        summary = told.get("summary", {})
        row = {"month": number, "adopted": adopted, "code": ran.code, "known": told.get("known"), "added": added}
        row |= {key: summary.get(key) for key in ("bound", "held", "above", "highest", "highest_proven", "certain")}
        self.found.audits.append({**row, "cpu": round(ran.cpu, 2), "peak": round(ran.peak)})
        self.say(f"{self.plan.name}, month {number}: audit {self.found.audits[-1]}")


def _schema(*names: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else "_" for letter in name) for name in names)
