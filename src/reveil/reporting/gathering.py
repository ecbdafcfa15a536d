"""From a series to the numbers of its report: the JSON, of which the page is a picture and nothing more.

Nothing here is a raw value: counts, shares, names of columns and files, digests and settings. Lists in the settings may
be of sensitive values, and are counted only. Who is above a bound is counted, too, and never named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reveil.analysis.measures.aggregates import aggregates
from reveil.analysis.measures.base import Subject, Workload
from reveil.analysis.measures.entropy import Entropy
from reveil.analysis.measures.privacy_loss import PrivacyLoss
from reveil.analysis.measures.query_error import QueryError
from reveil.core.errors import ConfigError, ReveilError
from reveil.guarantees.settings import paths_of
from reveil.models.any_group import AnyGroup
from reveil.releases.groups import groups_of
from reveil.releases.made_up import MadeUp, made_up_of
from reveil.releases.manifest import version
from reveil.releases.respelling import respelled
from reveil.reporting.attackable import Attackable
from reveil.reporting.docstring_sections import GRADES, sections
from reveil.reporting.guessing import guessing
from reveil.reporting.known_values import knowing
from reveil.reporting.levels import AttackRequest
from reveil.reporting.over_time import comparing, risk, trend
from reveil.reporting.owner import owners_part
from reveil.reporting.progress import Progress
from reveil.series.agreement import described
from reveil.series.lines import line
from reveil.series.published import silent

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.reporting.holdings import Held, Holdings
    from reveil.tables.schema import Schema

FORMAT = 1
QUERIES = 200
HAPPENED = ("persons", "inserted", "deleted", "updated", "returned")
MEASURES = (Entropy, PrivacyLoss, QueryError)  # beside the aggregates; cheap ones
BARS = 24  # of a histogram of sizes, which has one for each size where they are fewer


def gather(
    about: Holdings, asked: AttackRequest | None = None, *, stage: Callable[[str], None] = silent
) -> tuple[dict[str, JSON], dict[str, JSON] | None]:
    """Return all that the report says, as JSON has it, and what is for the owner alone; None without snapshots."""
    asked = AttackRequest() if asked is None else asked
    stage = Progress.of(about, stage)
    notes = _unknown(about)
    releases = []
    for held in about.releases:
        stage(f"measuring release {held.number}")
        releases.append(_release(held, about.schema, notes))
    values, values_audit = knowing(about, asked.values_known, stage=stage)
    open_to = Attackable.of(about)
    attacked = risk(open_to, notes, asked, values_audit, stage=stage)
    measured = {
        "risk": None if attacked is None else attacked.content,
        "knowing": values,
        "guessing": guessing(open_to, stage=stage),
        "trend": trend(about, notes, QUERIES, stage=stage),
        "comparing": comparing(about, stage=stage),
    }
    found: dict[str, JSON] = {
        "format": FORMAT,
        "reveil": version(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "series": _series(about, releases),
        "guarantee": _guarantee(about),
        "releases": releases,
        "missing": [
            {"release": held.number, "file": held.name, "why": held.missing}
            for held in about.releases
            if held.missing is not None
        ],
        **measured,
        "budget": _budget(about),
        "configuration": _configuration(about),
        "notes": notes,
    }
    owner = owners_part(about, found, None if attacked is None else attacked.audit, stage=stage)
    return _finite(found), _finite(owner)


def _unknown(about: Holdings) -> list[str]:
    """Say which releases the vault does not know, and which snapshots are not those that were published."""
    strange = [held.number for held in about.releases if held.strange]
    notes = [
        f"The snapshot given for release {number} is not the one it was made of: it is attacked, but not measured."
        for number in strange
    ]
    if about.series is None:
        return notes
    more = [
        f"Release {held.number} ({held.name}) is not one that the vault knows: it comes from elsewhere, or the vault "
        "is an old one (reveil history --check)."
        for held in about.releases
        if held.row is None
    ]
    return notes + more


def _series(about: Holdings, releases: list[dict[str, Any]]) -> dict[str, JSON]:
    dates = [release["created"] for release in releases if release["created"] is not None]
    return {
        "name": about.name,
        "remembered": about.series is not None,
        "releases": len(releases),
        "at_hand": len(about.at_hand),
        "rows": sum(release["rows"] or 0 for release in releases),
        "first": min(dates, default=None),
        "last": max(dates, default=None),
        "sensitive": list(about.schema.sensitive),
        "quasi": list(about.schema.quasi),
    }


def _guarantee(about: Holdings) -> dict[str, JSON]:
    promises = [held.manifest.promise for held in about.releases if held.manifest is not None and not held.adopted]
    last = promises[-1] if promises else None
    grade = None if last is None else last.grade
    guarantee = about.guarantee
    traits, bound = guarantee.traits, guarantee.promise(about.schema, about.method).bound
    model = about.guarantee.model_for(about.schema)
    parts = getattr(model, "parts", (model,))
    return {
        "kind": about.guarantee.kind,
        "bound": bound,
        "grade": grade,
        "grade_means": GRADES.get(str(grade)),
        "claim": None if last is None else last.claim,
        "assumes": [] if last is None else list(last.assumes),
        "plain": guarantee.explained.in_plain_words(bound, traits.settings),
        "plain_limits": list(guarantee.explained.not_covered),
        "sections": sections(type(about.guarantee)),
        "grouped": not isinstance(model, AnyGroup),
        "models": [{"name": type(part).__name__, "sections": sections(type(part))} for part in parts],
        "series_wide": traits.remembers,
    }


def _release(held: Held, schema: Schema, notes: list[str]) -> dict[str, JSON]:
    """Return one release: what happened, what was published, and what is left of the table."""
    manifest, row = held.manifest, held.row
    facts = {} if row is None else row.facts
    history = {} if row is None else line(row)
    kept = facts.get("measures") or {}
    measured = _measured(held, notes)
    sizes = _sizes(held, kept.get("group_sizes"))
    columns = measured.get("columns") or kept.get("columns") or {}
    return {
        "release": held.number,
        "created": row.created if row is not None else manifest and manifest.created,
        "state": None if row is None else row.state,
        "file": held.name,
        "at_hand": held.release is not None,
        **{key: history.get(key) for key in HAPPENED},
        "records": kept.get("records") or measured.get("records"),
        "rows": manifest and manifest.rows,
        "groups": manifest and manifest.groups,
        "group_sizes": sizes,
        "counterfeits": manifest and manifest.counterfeits.total,
        **_made_up(held),
        "suppressed": manifest and manifest.suppressed,
        "withheld": manifest and manifest.withheld,
        "left_out": _left_out(manifest),
        "delta": None if manifest is None else manifest.promise.settings.get("delta"),
        "dirty": manifest and manifest.dirty,
        "smallest": None if not sizes else sizes[0]["from"],
        "largest": None if not sizes else sizes[-1]["to"],
        "achieved": _flat({} if manifest is None else manifest.achieved),
        "gcp": measured.get("gcp", kept.get("gcp")),
        "columns": [{"name": name, "gcp": columns[name]} for name in schema.quasi if name in columns],
        "em_mean": measured.get("em_mean"),
        "privacy_loss": measured.get("privacy_loss"),
        "query_error": measured.get("query_error"),
        "auto": _curve(facts),
        "digest": row.digest if row is not None else manifest and manifest.digest,
        "manifest_digest": None if row is None else row.manifest_digest,
    }


def _made_up(held: Held) -> dict[str, JSON]:
    """Return the share of the rows that are counterfeit; where columns have tables, of the values of one, and which."""
    manifest, release = held.manifest, held.release
    if manifest is None or not manifest.rows or (release is None and manifest.second_tables):
        return {"made_up": None, "made_up_in": None}
    found = MadeUp(manifest.counterfeits.total, manifest.rows) if release is None else made_up_of(release)
    return {"made_up": found.share, "made_up_in": found.column}


def _left_out(manifest: Manifest | None) -> dict[str, JSON]:
    """Return which shares of the records were suppressed and withheld; None where that is not told."""
    if manifest is None:
        return {"suppressed": None, "withheld": None}
    lost = manifest.withheld + (manifest.suppressed or 0)
    records = max(manifest.real_rows - manifest.dirty + lost, 1)
    suppressed = None if manifest.suppressed is None else manifest.suppressed / records
    return {"suppressed": suppressed, "withheld": manifest.withheld / records}


def _measured(held: Held, notes: list[str]) -> dict[str, Any]:
    """Measure a release against its snapshot, where both are there."""
    if held.release is None or held.snapshot is None or held.strange:
        return {}
    try:
        release = respelled(held.release, held.snapshot)
        subject = Subject(held.snapshot, release, Workload(QUERIES))
        measured = aggregates(held.snapshot, release)
        found: dict[str, Any] = {key: value for each in MEASURES for key, value in each().of(subject).items()}
    except ReveilError as misfit:
        if held.row is None:
            raise ConfigError(
                f"release {held.number} ({held.name}) and its snapshot do not fit: {misfit.message}",
                hint="Give for each release the snapshot that it was made of, in the same order.",
            ) from None
        if not held.adopted:
            raise
        notes.append(f"Release {held.number} was made elsewhere, and its cells cannot be measured.")
        return {}
    losses = found["privacy_loss"] or {}
    loss = [{"release": held.number, "name": name, "t": value} for name, value in losses.items()]
    error = found["query_error"]
    return {
        **measured,
        "em_mean": found["em_mean"],
        "privacy_loss": loss,
        "query_error": None if error is None else {key: error[key] for key in ("mean", "median", "skipped")},
    }


def _sizes(held: Held, kept: dict[str, list[int]] | None) -> list[dict[str, JSON]] | None:
    """Return a histogram of group sizes: one bar for each, or for a run of them where they are many."""
    if kept is None and held.release is None:
        return None
    if kept is None and held.release is not None:
        size, many = np.unique(groups_of(held.release).rows, return_counts=True)
    else:
        size, many = (np.array((kept or {})[key], np.int64) for key in ("size", "groups"))
    if not len(size):
        return []
    if len(size) <= BARS:
        return [{"from": int(s), "to": int(s), "groups": int(n)} for s, n in zip(size, many, strict=True)]
    edges = np.unique(np.geomspace(size[0], size[-1] + 1, BARS + 1).round().astype(np.int64))
    place = np.searchsorted(edges, size, "right") - 1
    totals = np.bincount(place, many, len(edges) - 1).astype(np.int64)
    return [
        {"from": int(edges[n]), "to": int(edges[n + 1]) - 1, "groups": int(total)} for n, total in enumerate(totals)
    ]


def _flat(achieved: Mapping[str, JSON], prefix: str = "") -> list[dict[str, JSON]]:
    """Return the levels that a release achieves as a list: ``k``, ``l``, ``t of income``."""
    found: list[dict[str, JSON]] = []
    for key, value in achieved.items():
        name = f"{prefix} of {key}" if prefix else str(key)
        found += _flat(value, name) if isinstance(value, Mapping) else [{"name": name, "value": value}]
    return found


def _curve(facts: Mapping[str, object]) -> dict[str, JSON] | None:
    """Return how k was chosen, where a method chose it: columns of equal length that its facts hold as ``auto``."""
    chosen = facts.get("auto")
    if not isinstance(chosen, Mapping) or not isinstance(chosen.get("k"), list):
        return None
    size = len(chosen["k"])
    named = {str(key): value for key, value in chosen.items() if isinstance(value, list) and len(value) == size}
    return {"chosen": chosen.get("chosen"), "weight": chosen.get("weight"), "curve": named}


def _budget(about: Holdings) -> dict[str, JSON] | None:
    """Return what is left of everybody's budget, over all values: which values these are is not told here."""
    if about.series is None:
        return None
    try:
        rows = about.series.budget()
    except ConfigError:  # a guarantee that spends none
        return None
    persons = sum(row["persons"] for row in rows)
    left = [row["releases_left"] for row in rows if row["releases_left"] is not None]
    return {
        "values": len(rows),
        "links": persons,
        "used_up": sum(row["used_up"] for row in rows),
        "least_left": min((row["least_left"] for row in rows), default=None),
        "average_left": sum(row["average_left"] * row["persons"] for row in rows) / persons if persons else None,
        "quarters": [sum(row["quarters"][part] for row in rows) for part in range(4)],
        "releases_left": min(left, default=None),
    }


def _configuration(about: Holdings) -> list[dict[str, JSON]]:
    """Return the settings, without the seed; what is a list may be of values, and is counted only."""
    flat = described(about.name, None, about.declared, about.guarantee, about.method)
    paths = {f"guarantee.{key}" for key in paths_of(type(about.guarantee))}
    return [
        {"key": key, "value": Path(value).name if key in paths and isinstance(value, str) else _counted(value)}
        for key, value in flat.items()
        if value is not None
    ]


def _counted(value: object) -> Any:
    if isinstance(value, list):
        return f"({len(value)} value{'' if len(value) == 1 else 's'})"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_counted(item)}" for key, item in value.items())
    return value


def _finite(value: object) -> Any:
    """Return what JSON has: an infinite number is none."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        return _finite(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
