"""A whole series judged anew: from the files that were published and the archived placements, not from its books."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import ReveilError, VerificationError
from reveil.releases.release import Release
from reveil.series.asking import asked_for
from reveil.series.finding import find_file
from reveil.series.judging import VaultRecord, selection_of
from reveil.series.reading import submission_of
from reveil.tables.joint import joint_schema
from reveil.vault.protocol import ABANDONED, ADOPTED, PENDING
from reveil.verification import Promised, verify
from reveil.verification.one_release import check_alone
from reveil.verification.series import Expected, Replay, strangers
from reveil.verification.shown import Shown
from reveil.verification.surface import check_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee
    from reveil.series.release_context import Submission
    from reveil.tables.schema import Schema
    from reveil.vault import ReleaseRow, Vault


@dataclass
class Replayed:
    """What was found: how many releases were judged, what is broken, what could not be found, and what to know."""

    releases: int = 0
    truths: int = 0
    broken: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class _Incomplete(Exception):  # noqa: N818 -- not an error: something is missing
    """Something is missing that judging a release needs."""


def replay(
    vault: Vault,
    schema: Schema,
    guarantee: Guarantee,
    method: Grouper | None,
    truths: Sequence[Path],
    where: Sequence[str] = (),
) -> Replayed:
    """Judge every release of a series, in order, beside those before it; and the vault's books in the end.

    Releases whose snapshot is among ``truths`` are compared with it record by record; ``where`` are the expressions
    with which parts of a table were published.
    """
    found = Replayed()
    asked = asked_for(guarantee, method)
    replayed = Replay(asked)
    rows = vault.releases()
    jobs = [
        (path, row, submission)
        for path in truths
        for row in rows
        if (submission := _submission(vault, schema, guarantee, path, row, where)) is not None
    ]
    used = {path for path, _, _ in jobs}
    found.missing += [f"{path} is the snapshot of no release" for path in truths if path not in used]
    previous = None
    for row in rows:
        submission = next((job for _, other, job in jobs if other is row), None)
        try:
            _judge(vault, row, previous, submission, schema, guarantee, method, replayed)
        except _Incomplete as error:
            found.missing.append(f"release {row.release}: {error}")
            if asked.judge.remembers:
                return found  # what comes later rests on it
        except VerificationError as error:
            found.broken.append(f"release {row.release}: {error.message}")
            if asked.judge.remembers:
                return found
        else:
            found.releases += 1
            found.truths += submission is not None
        previous = row.manifest_digest
    if asked.judge.remembers and rows:
        try:
            none = np.zeros(0, np.int32)
            names = joint_schema(schema, guarantee.traits.together).sensitive
            replayed.compare(VaultRecord(vault, none, names), vault.head())
        except VerificationError as error:
            found.broken.append(error.message)
    return found


def _submission(
    vault: Vault, schema: Schema, guarantee: Guarantee, path: Path, row: ReleaseRow, given: Sequence[str]
) -> Submission | None:
    """Return a snapshot cut as a release asked for it, if the release was made of it."""
    try:
        traits = guarantee.traits
        declared = traits.declared_by(joint_schema(schema, traits.together))
        submission = submission_of(
            vault,
            schema,
            path,
            row,
            given,
            any_columns=traits.any_columns,
            declared=declared,
            binned=traits.by_column,
        )
    except ReveilError:
        return None
    return submission if submission.is_that_of(row) else None


def _judge(
    vault: Vault,
    row: ReleaseRow,
    previous: str | None,
    submission: Submission | None,
    schema: Schema,
    guarantee: Guarantee,
    method: Grouper | None,
    replayed: Replay,
) -> None:
    asked, remembers = replayed.asked, replayed.asked.judge.remembers
    if row.state == ADOPTED and not row.facts.get("exact"):
        raise _Incomplete("it was adopted, and nobody can say which row is whose")
    if row.state in (PENDING, ABANDONED) and find_file(vault, row) is None:
        raise _Incomplete(f"it is {row.state}, and no copy of it is left")
    path = find_file(vault, row)
    if path is None:
        where = "" if row.path is None else f" (it was written to {row.path})"
        raise _Incomplete(f"no file holds it any more as it was published{where}")
    release = Release.read(path)
    Expected(row.release, vault.series_id, previous).check(release.manifest)
    check_files(release)
    promised = asked if remembers else Promised.told(release.manifest.promise.guarantee())
    check_alone(release, schema, promised)
    if not remembers and submission is None:
        return
    who = np.full(len(release.classes), -1, np.int64)
    archived = vault.archived(row.release)
    if archived.height and int(archived["place"].max()) < len(who):  # type: ignore[arg-type]
        who[archived["place"].to_numpy()] = archived["person"].to_numpy()
    elif remembers:
        raise _Incomplete('no placements of it are kept (archive = "all" keeps them)')
    shown = Shown(release, row.release, who, schema=schema)
    known, gone = strangers(who, shown.groups.fakes, shown.groups.of_row, row.release << 32)
    replayed.erased |= gone > 0
    if gone and promised.judge.needs_everybody(promised):
        raise _Incomplete(f"{gone:,} of its people were erased since, and nobody can say in which sets they were")
    population = getattr(guarantee, "population", None)
    if population is not None and submission is None:
        raise _Incomplete("its groups are diluted by a registration list, which needs its snapshot (--truth)")
    if submission is not None:
        _compare(vault, release, submission, None if gone else who, promised, guarantee, method)
    if remembers:
        snapshot = submission.snapshot if submission is not None and population is not None else None
        replayed.add(
            Shown(
                release,
                row.release,
                known.astype(np.int64),
                snapshot=snapshot,
                population=population,
                selection=None if submission is None else selection_of(submission),
                schema=schema,
            )
        )


def _compare(
    vault: Vault,
    release: Release,
    submission: Submission,
    who: np.ndarray | None,
    promised: Promised,
    guarantee: Guarantee,
    method: Grouper | None,
) -> None:
    """Compare a release with its snapshot: row by row, where every row is a record's with its own value.

    Without knowing ``who`` is in which row (somebody was erased, whose record the snapshot still has) an assignment is
    searched, as for any file.
    """
    asked = promised if promised.judge.remembers else asked_for(guarantee, method)
    loose = asked.judge.loose(release, asked)
    if loose or release.manifest.dirty or who is None or not (who >= 0).any():
        verify(release, submission.snapshot, asked, loose=loose)
        return
    person = vault.recall(submission.high, submission.low).person
    record = np.full(max(int(who.max()), int(person.max(initial=-1))) + 2, -1, np.int64)
    record[person[person >= 0]] = np.flatnonzero(person >= 0)
    verify(release, submission.snapshot, asked, placement=record[who])
