"""``python -m tests.fuzz``: run cases and kills, and say how each failure is repeated."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # tables are small, and colleagues have cores, too

import click

from tests.fuzz.case import Case
from tests.fuzz.checks import Finding
from tests.fuzz.dice import Dice
from tests.fuzz.families import FAMILIES
from tests.fuzz.world import World

SHOWN = 3  # repetitions of one cause that are printed


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--cases", default=0, help="How many cases.")
@click.option("--seed", default=0, help="Another seed, other cases.")
@click.option("--case", "only", type=int, help="Run this case alone.")
@click.option("--first", default=0, help="Begin with this case.")
@click.option(
    "--step", default=1, help="Run every n-th case: two processes share the work by --first 0, 1 and --step 2."
)
@click.option("--minutes", type=float, help="End after so long, whatever is left.")
@click.option("--family", type=click.Choice(list(FAMILIES)), help="Cases of this family only.")
@click.option("--kills", default=0, help="How many child processes are killed.")
@click.option("--kill", "only_kill", type=int, help="Do this kill alone.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the files of cases that fail here.")
@click.option("--processes", default=1, help="Share the work among so many processes.")
@click.option("--slowest", is_flag=True, help="Say which families and cases took longest.")
def main(cases, seed, only, first, step, minutes, family, kills, only_kill, keep, processes, slowest):
    """Fuzz the command line; exit code 1 if a property does not hold."""
    if processes > 1:
        sys.exit(shared(processes))
    ends = None if minutes is None else time.monotonic() + 60 * minutes
    found, ran = Counter(), 0
    with tempfile.TemporaryDirectory(prefix="reveil-fuzz-") as root:
        tally = Tally(slowest)
        world = World(Path(root))
        numbers = range(first, cases, step) if only is None else [only]
        for number in numbers:
            if ends is not None and time.monotonic() > ends:
                break
            name, case, took = one(world, seed, number, family)
            ran += 1
            tally.add(name, number, took)
            report(
                case, found, f"--seed {seed} --case {number} --family {name}", keep and keep / f"{name}-{seed}-{number}"
            )
        tally.say(ran)
        killed = kill(
            Path(root), seed, range(first, kills, step) if only_kill is None else [only_kill], ends, found, keep
        )
    click.echo(f"{ran} cases and {killed} kills: {sum(found.values())} findings of {len(found)} causes")
    for cause, many in found.most_common():
        click.echo(f"{many:6}  {cause}")
    sys.exit(1 if found else 0)


def shared(processes):
    """Let several processes do every n-th case and kill each; return 1 if one of them found something."""
    words = [word for word in sys.argv[1:] if not word.startswith("--processes=")]
    if "--processes" in words:
        at = words.index("--processes")
        words[at : at + 2] = []
    asked = [sys.executable, "-m", "tests.fuzz", *words, "--step", str(processes), "--first"]
    children = [subprocess.Popen([*asked, str(n)]) for n in range(processes)]
    return max(min(child.wait(), 1) for child in children)


def one(world, seed, number, family=None):
    """Run one case; return the name of its family, the case, and how long it took."""
    name = family or Dice(seed, number).pick({name: weight for name, (_, weight) in FAMILIES.items()})
    case = Case(Dice(seed, number, name), world)
    started = time.monotonic()
    try:
        FAMILIES[name][0](case)
    except Exception as error:  # noqa: BLE001  (a mistake of the fuzzer ends one case, not the run)
        last = traceback.extract_tb(error.__traceback__)[-1]
        case.found.append(
            Finding(f"fuzzer: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}", str(error))
        )
    return name, case, time.monotonic() - started


def kill(root, seed, numbers, ends, found, keep):
    """Kill and finish; return how often."""
    if not len(numbers):
        return 0
    from tests.fuzz.kills import Kills

    kills, many, ended, started = Kills(root), 0, Counter(), time.monotonic()
    for number in numbers:
        if ends is not None and time.monotonic() > ends:
            break
        moment, code, case = kills.kill(seed, number)
        many += 1
        ended[code] += 1
        case.found = [Finding(own.cause, f"{own.detail} (moment {moment:.3f})") for own in case.found]
        report(case, found, f"--seed {seed} --kill {number}", keep and keep / f"kill-{seed}-{number}")
    kills.close()
    click.echo(f"{many} kills in {time.monotonic() - started:.0f} s, {ended[0]} of them after the command was done")
    return many


def report(case, found, how, keep):
    """Print what was found, how to repeat it, and keep its files."""
    for finding in dict.fromkeys(case.found):
        found[finding.cause] += 1
        if found[finding.cause] <= SHOWN:
            click.echo(f"FOUND {finding.cause}\n      {finding.detail[:400]!r}\n      python -m tests.fuzz {how}")
            if keep is not None:
                shutil.rmtree(keep, ignore_errors=True)
                shutil.copytree(case.folder, keep)
                commands = [f"$ {ran}\n{ran.out}{ran.err}{ran.spilled}[{ran.code}]\n" for ran in case.ran]
                (keep / "commands.txt").write_text("\n".join(commands), errors="replace")


class Tally:
    """How long what took."""

    def __init__(self, wanted):
        self.wanted, self.times = wanted, {}

    def add(self, name, number, took):
        self.times.setdefault(name, []).append((took, number))

    def say(self, ran):
        total = sum(took for times in self.times.values() for took, _ in times)
        worked = time.process_time()
        if total:
            click.echo(f"{ran} cases in {total:.0f} s, {worked:.0f} s of one processor: {ran / worked:.1f} in a second")
        for name, times in sorted(self.times.items()) if self.wanted else []:
            longest = ", ".join(f"{number} ({took:.1f} s)" for took, number in sorted(times)[:-4:-1])
            mean = sum(took for took, _ in times) / len(times)
            click.echo(f"{name:>10} {len(times):5} cases, {mean:.3f} s each; longest: {longest}")


if __name__ == "__main__":
    main()
