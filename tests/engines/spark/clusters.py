"""Spark for tests: on this machine, reachable from nowhere else, everything it writes in a temporary folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.core.errors import ReveilError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
START, LONGEST = 120.0, 400.0  # seconds, on a machine that has much else to do
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"


def reason() -> str | None:
    """Return why there is no Spark here, None if there is."""
    if any(find_spec(name) is None for name in ("pyspark", "pyarrow", "pandas")):
        return "PySpark is not installed (pip install 'reveil[spark]')"
    from reveil.engines.spark.java import check_java

    try:
        check_java()
    except ReveilError as error:
        return error.message
    return None


def surroundings(**more: str) -> dict[str, str]:
    """Return the variables of a process that is to find Reveil, and Spark nowhere but here."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1", **more}


class Cluster:
    """A master and workers with one core each; all can be killed."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []
        self.address = ""
        self._start("master", "--host", "127.0.0.1", "--port", "0")
        self.address = self._says("master", r"Starting Spark master at (spark://\S+)")
        self.workers: list[subprocess.Popen[bytes]] = []
        for _ in range(workers):
            self.add()

    def add(self) -> None:
        """Start another worker."""
        name = f"worker-{len(self.workers)}"
        started = self._start(
            name, "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / f"{name}-work"), self.address
        )
        self._says(name, "Successfully registered with master ()")
        self.workers.append(started)

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        import pyspark

        kind = "master.Master" if name == "master" else "worker.Worker"
        local = self.folder / f"{name}-local"
        local.mkdir(parents=True)
        with (self.folder / f"{name}.log").open("wb") as log:
            started = subprocess.Popen(
                [
                    f"{Path(pyspark.__file__).parent}/bin/spark-class",
                    f"org.apache.spark.deploy.{kind}",
                    "--webui-port",
                    "0",
                    *arguments,
                ],
                env=surroundings(
                    SPARK_DAEMON_JAVA_OPTS=_QUICK, SPARK_DAEMON_MEMORY="256m", SPARK_LOCAL_DIRS=str(local)
                ),
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running.append(started)
        return started

    def _says(self, name: str, pattern: str) -> str:
        path = self.folder / f"{name}.log"
        found = until(lambda: re.search(pattern, path.read_text(errors="replace")))
        return str(found[1])

    def stop(self) -> None:
        """Stop all, workers first; they stop what they started."""
        for process in reversed(self.running):
            process.terminate()
        for process in reversed(self.running):
            try:
                process.wait(START)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def kill_all_of(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything that it started."""
    for pid in below(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def below(pid: int) -> list[int]:
    """Return a process and those that it started."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            status = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(status[1]), []).append(int(path.parent.name))
    found = [pid]
    for own in found:
        found.extend(children.get(own, ()))
    return found


def until(done: Callable[[], Any], seconds: float = START) -> Any:
    """Wait until something is there, and return it."""
    end = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.1)
    return found


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Return what lies in a folder and below."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path, path.read_bytes()
