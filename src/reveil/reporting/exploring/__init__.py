"""What privacy costs here: candidates for a table, each published on trial, attacked and measured.

Everything is done in vaults that are thrown away. The result is for the owner's eyes.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from multiprocessing import get_context
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError
from reveil.guarantees.base import Guarantee
from reveil.releases.manifest import version
from reveil.reporting.exploring.candidates import Candidate
from reveil.reporting.exploring.frontier import marked as with_frontier
from reveil.reporting.exploring.frontier import named, point_in_words
from reveil.reporting.exploring.trying import CandidateTask, sampled, try_out
from reveil.series.published import Stage, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reveil.grouping.groupers.base import Grouper
    from reveil.reporting.exploring.points import Exploration, PointFigures, RefusedPoint, TriedPoint
    from reveil.tables.schema import Schema

__all__ = ["Candidate", "explore", "explored"]

FORMAT = 1
TOO_LATE = "the time was over before it began"


def explore(
    frames: object,
    schema: Schema,
    candidates: Iterable[Guarantee | tuple[Guarantee, Grouper | None]] | None = None,
    *,
    guarantee: Guarantee | None = None,
    method: Grouper | None = None,
    sample: int | None = None,
    minutes: float | None = None,
    workers: int | None = None,
    seed: int = 0,
    stage: Stage = silent,
) -> Exploration:
    """Publish, attack and measure a table under several settings, and say which of them are worth a choice.

    ``frames``: a table, or several snapshots as a series in their order. ``candidates``: guarantees, or pairs of a
    guarantee and a method; by default some around ``guarantee`` and ``method``, which are the current choice.
    ``sample``: of so many persons only; ``minutes``: no candidate begins later; ``workers``: processes (one: this one),
    by default as many as there are cores. Each is one point: ``risk`` (the
    highest belief of any attack, the mean over everybody, and the share of right guesses with a learnt ``prior``),
    ``loss``, ``counterfeits``, ``withheld``, ``seconds``; ``frontier``: no other has less risk for no more loss.
    Nothing is published or remembered.
    """
    listed = [] if candidates is None else [_candidate(given) for given in candidates]
    if guarantee is not None:
        configured = Candidate.of(guarantee, method)
        listed = [one for one in (listed or configured.neighbours()) if one != configured]
        listed.append(configured)
    if not listed:
        raise ConfigError(
            "there is nothing to explore", hint="Give candidates, or a guarantee around which to look for some."
        )
    tables = list(frames) if isinstance(frames, list | tuple) else [frames]
    current = len(listed) if guarantee is not None else None
    return explored(
        tables, schema, listed, current, sample=sample, minutes=minutes, workers=workers, seed=seed, stage=stage
    )


def explored(
    frames: Sequence[object],
    schema: Schema,
    candidates: Sequence[Candidate],
    current: int | None,
    *,
    sample: int | None = None,
    minutes: float | None = None,
    workers: int | None = None,
    seed: int | None = 0,
    stage: Stage = silent,
) -> Exploration:
    """Try candidates side by side on the cores; ``current`` is the number of the present choice, counted from 1."""
    if sample is not None and sample < 1:
        raise ConfigError("a sample has at least one person", hint="Leave --sample out to take everybody.")
    if minutes is not None and not minutes > 0:
        raise ConfigError("minutes must be more than none", hint="Leave --minutes out to try every candidate.")
    stage("reading")
    tables = list(frames) if sample is None else sampled(frames, schema, sample)
    jobs = [CandidateTask(one.guarantee, one.method, schema, tuple(tables), seed) for one in candidates]
    found: list[TriedPoint] = []
    refused: list[RefusedPoint] = []
    for n, (candidate, outcome) in enumerate(zip(candidates, _run(jobs, minutes, workers, stage), strict=True), 1):
        settings = dict(candidate.settings)
        if isinstance(outcome, str):
            refused.append({"n": n, "settings": settings, "named": named(settings), "why": outcome})
        else:
            found.append({"n": n, "settings": settings, "named": named(settings), **outcome})
    points = with_frontier(found)
    return {
        "format": FORMAT,
        "reveil": version(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "snapshots": len(tables),
        "sample": sample,
        "points": [
            {**point, "words": point_in_words(point, points) if point["frontier"] else None} for point in points
        ],
        "current": current if any(point["n"] == current for point in points) else None,
        "refused": refused,
    }


def _candidate(given: object) -> Candidate:
    guarantee, method = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(guarantee, Guarantee):
        raise ConfigError(
            "a candidate is a guarantee, or a pair of a guarantee and a method",
            hint="For example rv.TauSafety(m=4), or (rv.Static(k=5), rv.BangA()).",
        )
    return Candidate.of(guarantee, method)


def _run(
    jobs: Sequence[CandidateTask], minutes: float | None, workers: int | None, stage: Stage
) -> list[PointFigures | str]:
    """Return what each job found, or why not; as many at once as there are workers, none begun after the time."""
    began = time.monotonic()
    outcomes: list[PointFigures | str] = [TOO_LATE] * len(jobs)
    waiting = list(enumerate(jobs))
    workers = max(min(workers or os.cpu_count() or 1, len(jobs)), 1)
    running: dict[Future[PointFigures | str], int] = {}
    done = 0
    stage(f"0 of {len(jobs)} candidates")
    with _pool(workers) as pool:
        while waiting or running:
            late = minutes is not None and time.monotonic() - began > 60 * minutes
            while waiting and len(running) < workers and not late:
                place, job = waiting.pop(0)
                running[pool.submit(try_out, job)] = place
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                outcomes[running.pop(future)] = future.result()
                done += 1
            left = (time.monotonic() - began) / done * (len(jobs) - done)
            stage(f"{done} of {len(jobs)} candidates, about {left:.0f} s left")
    return outcomes


def _pool(workers: int) -> Executor:
    """Return processes of their own, begun anew so that they share nothing; for one worker a thread of this process."""
    return ThreadPoolExecutor(1) if workers == 1 else ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
