"""The jobs of a studio: who asked for what, how far it is, what came of it.

As many run at once as there are workers; the others wait. Two jobs that change one vault run one after the other. A
browser that goes away stops nothing; a server that is killed takes its workers with it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING

from reveil.studio.problems import Problem, StudioError, not_here
from reveil.studio.worker import DONE, STAGE, work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.studio.folder import StudioFolder
    from reveil.studio.tasks.base import StudioTask, TaskResult

WAITING, RUNNING, FINISHED, REFUSED, STOPPED = "waiting", "running", "finished", "refused", "stopped"
_REMEMBERED = 200  # jobs; the oldest that are over are forgotten, with their files


@dataclass
class StudioJob:
    """One task that somebody asked for."""

    id: str
    task: StudioTask
    who: str
    private: Path
    created: float = field(default_factory=time.time)
    state: str = WAITING
    stages: list[tuple[str, float]] = field(default_factory=list)
    began: float | None = None
    ended: float | None = None
    outcome: TaskResult | None = None
    problem: Problem | None = None
    usual_seconds: float | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in (FINISHED, REFUSED, STOPPED)

    @property
    def seconds(self) -> float:
        """How long it has been running, or ran."""
        return 0.0 if self.began is None else (self.ended or time.time()) - self.began

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take, by the last time the same was done; None if nobody knows."""
        if self.usual_seconds is None or self.over or self.began is None:
            return None
        return max(self.usual_seconds - self.seconds, 0.0)

    def to_json(self) -> dict[str, JSON]:
        """Return what a program is told."""
        return {
            "id": self.id,
            "command": self.task.command,
            "state": self.state,
            "who": self.who,
            "stages": [{"name": name, "seconds": round(at, 2)} for name, at in self.stages],
            "seconds": round(self.seconds, 2),
            "seconds_left": None if self.seconds_left is None else round(self.seconds_left, 1),
            "result": None if self.outcome is None else self.outcome.content,
            "files": [] if self.outcome is None else sorted(self.outcome.files),
            "problem": None if self.problem is None else self.problem.to_json(),
        }


class JobBoard:
    """All the jobs, and the workers that do them."""

    def __init__(self, folder: StudioFolder, private: Path, *, workers: int, most_waiting: int) -> None:
        self.folder, self.private, self.most_waiting = folder, private, most_waiting
        self._jobs: OrderedDict[str, StudioJob] = OrderedDict()
        self._changed = threading.Condition()
        self._busy: set[str] = set()  # vaults in which somebody is at work, by their config
        self._usual: dict[tuple[str, str], float] = {}
        self._workers: dict[int, SpawnProcess | None] = {}
        self._now: dict[int, str] = {}  # which job each worker does
        self._awake = self._closing = False
        self._threads = [threading.Thread(target=self._attend, args=(n,), daemon=True) for n in range(workers)]

    def start(self) -> None:
        """Look after workers; they start as processes of their own when they are called."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Let the workers start: for the first job, or earlier, when nobody waits for a page.

        What they import takes all the cores of a small machine, which the first page needs itself.
        """
        with self._changed:
            self._awake = True
            self._changed.notify_all()

    def add(self, task: StudioTask, who: str, sent: Mapping[str, Path]) -> StudioJob:
        """Take a task with the tables that were sent for it, or refuse it where too many wait already."""
        with self._changed:
            waiting = sum(job.state == WAITING for job in self._jobs.values())
            if waiting >= self.most_waiting:
                raise StudioError(
                    Problem(429, f"{waiting} jobs are waiting already.", None, "Try again when some of them are done.")
                )
            job = StudioJob(secrets.token_urlsafe(12), task, who, self.private / secrets.token_hex(8))
            (job.private / "sent").mkdir(mode=0o700, parents=True)
            for name, path in sent.items():
                path.rename(job.private / "sent" / name)
            job.usual_seconds = self._usual.get(_alike(task))
            self._jobs[job.id] = job
            self._forget_old()
            self.wake()
            return job

    def get(self, key: str) -> StudioJob:
        """Return a job by its number."""
        job = self._jobs.get(key)
        if job is None:
            raise not_here("This job is not known here. The studio may have been started again since.")
        return job

    def listed(self) -> list[StudioJob]:
        """Return the jobs, the latest first."""
        with self._changed:
            return list(reversed(self._jobs.values()))

    def wait(self, job: StudioJob, seconds: float) -> None:
        """Wait a moment for a job that may be done soon."""
        with self._changed:
            self._changed.wait_for(lambda: job.over, seconds)

    def stop(self, job: StudioJob) -> None:
        """End a job: one that waits at once, one that runs by ending its worker, as a kill would."""
        with self._changed:
            if job.state == WAITING:
                self._end(job, STOPPED)
                return
            number = next((n for n, key in self._now.items() if key == job.id), None)
            process = None if number is None else self._workers.get(number)
            if process is not None and process.pid is not None:
                job.problem = Problem(
                    409,
                    "Somebody stopped this job.",
                    None,
                    "A release that is pending is finished on its series' page.",
                )
                _kill(process.pid)

    def is_busy(self, config: str) -> bool:
        """Return whether a job is at work in the vault of a config."""
        with self._changed:
            return config in self._busy

    @contextlib.contextmanager
    def reading(self, config: str, seconds: float) -> Iterator[bool]:
        """Keep jobs away from a vault while a page reads it; the block is given whether that is possible."""
        with self._changed:
            free = self._changed.wait_for(lambda: config not in self._busy, seconds)
            if free:
                self._busy.add(config)
        try:
            yield free
        finally:
            if free:
                with self._changed:
                    self._busy.discard(config)
                    self._changed.notify_all()

    def close(self) -> None:
        """End everything."""
        with self._changed:
            self._closing = True
            processes = [process for process in self._workers.values() if process is not None]
            self._changed.notify_all()
        for process in processes:
            if process.pid is not None:
                _kill(process.pid)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(10)

    # Inside

    def _attend(self, number: int) -> None:
        """Look after one worker: give it what is next, and start another where it died."""
        context = get_context("spawn")
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._awake)
        while not self._closing:
            here, there = context.Pipe()
            process = context.Process(target=work, args=(there, self.folder))
            process.start()
            there.close()
            with self._changed:
                self._workers[number] = process
            try:
                self._feed(number, here)
            finally:
                here.close()
                with self._changed:
                    self._workers[number] = None
                if process.pid is not None:
                    _kill(process.pid)
                process.join()

    def _feed(self, number: int, pipe: Connection) -> None:
        """Give a worker tasks until it dies or the studio ends."""
        while True:
            job = self._next(number)
            if job is None:
                return
            try:
                pipe.send((job.task, job.private))
                self._listen(job, pipe)
            except (EOFError, OSError):
                with self._changed:
                    if job.problem is None:
                        job.problem = Problem(
                            500, "The process that did this ended.", None, "Was there too little memory? Try it again."
                        )
                    self._end(job, STOPPED)
                return
            finally:
                with self._changed:
                    self._now.pop(number, None)
                    for config in _vaults(job.task):
                        self._busy.discard(config)
                    self._changed.notify_all()

    def _next(self, number: int) -> StudioJob | None:
        """Wait for a job whose vault is free, and take it."""

        def ready() -> StudioJob | None:
            return next(
                (
                    job
                    for job in self._jobs.values()
                    if job.state == WAITING and not any(config in self._busy for config in _vaults(job.task))
                ),
                None,
            )

        with self._changed:
            self._changed.wait_for(lambda: self._closing or ready() is not None)
            job = ready()
            if self._closing or job is None:
                return None
            job.state, job.began = RUNNING, time.time()
            self._busy.update(_vaults(job.task))
            self._now[number] = job.id
            self._changed.notify_all()
            return job

    def _listen(self, job: StudioJob, pipe: Connection) -> None:
        while not job.over:
            kind, said = pipe.recv()
            with self._changed:
                if kind == STAGE:
                    job.stages.append((said, job.seconds))
                elif kind == DONE:
                    job.outcome = said
                    self._end(job, FINISHED)
                    self._usual[_alike(job.task)] = job.seconds
                else:
                    job.problem = said
                    self._end(job, REFUSED)
                self._changed.notify_all()

    def _end(self, job: StudioJob, state: str) -> None:
        job.state, job.ended = state, time.time()
        shutil.rmtree(job.private / "sent", ignore_errors=True)
        self._changed.notify_all()

    def _forget_old(self) -> None:
        for key in [key for key, job in self._jobs.items() if job.over][: max(len(self._jobs) - _REMEMBERED, 0)]:
            shutil.rmtree(self._jobs.pop(key).private, ignore_errors=True)


def _vaults(task: StudioTask) -> tuple[str, ...]:
    return (task.config,) if task.opens_vault and task.config else ()


def _alike(task: StudioTask) -> tuple[str, str]:
    """Return what two tasks have in common that take about as long: a trial run takes as long as the release."""
    return task.command, str(task.config)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
