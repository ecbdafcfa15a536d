"""What is asked of a tool, and what it answers: two JSON files. It imports nothing, for it runs in all environments.

A tool's module is run as ``python -m benchmarks.peers.NAME JOB ANSWER``. It reads the job, works, and writes the answer
into a file, because some tools print while they work.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Job:
    """A table to publish under a model, or a published one to check (then ``out`` is not written).

    ``numbers`` are the quasi columns that hold numbers, ``suppress`` is the share of records that may be left out,
    ``link`` a column of the table with the number of each record, to be published beside the others. ``repeat`` is how
    often the same work is done and timed. ``method`` and ``effort`` are of use to tools that have more than one.
    """

    table: str
    out: str
    quasi: list[str]
    sensitive: str
    numbers: list[str]
    k: int = 10
    l: int | None = None
    t: float | None = None
    suppress: float = 0.0
    hierarchies: dict[str, str] = field(default_factory=dict)
    link: str | None = None
    repeat: int = 1
    method: str = ""
    effort: str = ""

    def write(self, path: Path) -> None:
        """Write it for a tool."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Job:
        """Read it again."""
        return cls(**json.loads(path.read_text(encoding="utf-8")))


def serve(work: Callable[[Job], dict[str, Any]], version: str) -> None:
    """Do the job that the command line names: answer with the time of each run, the peak of memory and the result."""
    job = Job.read(Path(sys.argv[1]))
    seconds, cpu = [], []
    found: dict[str, Any] = {}
    for _ in range(job.repeat):
        gc.collect()
        wall, used = time.perf_counter(), time.process_time()
        found = work(job)
        seconds.append(time.perf_counter() - wall)
        cpu.append(time.process_time() - used)
    # The last reading of the clock is that of the whole process, with its start and its imports.
    lasted = time.process_time()
    answer = {"version": version, "seconds": seconds, "cpu": cpu, "whole_cpu": lasted, "peak": peak(), **found}
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


def peak() -> int | None:
    """Return the largest resident size of this process in bytes, where the system tells it.

    Not by ``getrusage``: it counts what the parent had when the process was started.
    """
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    found = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(found[0].split()[1]) * 1024
