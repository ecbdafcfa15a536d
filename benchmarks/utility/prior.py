"""What somebody guesses right who knows what people usually have, under every guarantee: beside the prior alone.

No guarantee is about this attacker: the bounds take all values as equally likely beforehand. They know everybody's
quasi values, who is in which release, and (except under possible worlds, where rows have ranges of their own and
nobody is known to be in any) who is in which group, as the counted proofs take them to. What people like these have
they learnt from a table of other people. Every guess is made at the last release, over all releases together.

``python -m benchmarks.utility.prior`` stores the result in ``docs/evidence``; ``--fast`` stores nothing.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import reveil as rv
from benchmarks.papers.common import Cell, Experiment, Table, main, progress, short
from benchmarks.utility.tables import changing, pool_of, table_named
from reveil.core.effort import Effort
from reveil.guarantees.signatures.forms import ReleaseForm
from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.guarantees.base import Guarantee

PERSONS, OTHERS, CONTROL, RELEASES = 3_000, 12_000, 4_000, 3
NUMBERED = 10**9  # from here on, the other people of the hospital
HEAD = ["guarantee", "table", "bound", "prior alone", "guesses right", "low", "high", "same guesses about others"]


@dataclass(frozen=True)
class Trial:
    """A guarantee; ``still``: nobody comes or goes, and no value changes (possible worlds ask for that)."""

    words: str
    guarantee: Guarantee
    still: bool = False


TRIALS = (
    Trial("static, k 10, l 3", rv.Static(k=10, l=3)),
    Trial("m-invariance, m 4, quick", rv.MInvariance(m=4, effort=Effort.QUICK)),
    Trial("m-invariance, m 4", rv.MInvariance(m=4)),
    Trial("tau-safety, m 4, quick", rv.TauSafety(m=4, effort=Effort.QUICK)),
    Trial("tau-safety, m 4", rv.TauSafety(m=4)),
    Trial("tau-safety, m 4, angelized", rv.TauSafety(m=4, form=ReleaseForm.ANGELIZED)),
    Trial("tau-safety, m 4, exact", rv.TauSafety(m=4, form=ReleaseForm.EXACT)),
    Trial("tau-safety, m 4, blind", rv.TauSafety(m=4, blind=True)),
    Trial("refinement, k 10, l 3, roomy", rv.Refinement(k=10, l=3, slack="roomy")),
    Trial("refinement, k 10, l 3", rv.Refinement(k=10, l=3)),
    Trial("global, l 2, constant ratio", rv.GlobalGuarantee(2, rv.ConstantRatio(releases=4))),
    Trial("global, l 2, spread", rv.GlobalGuarantee(2, rv.EvenSpread(releases=4))),
    Trial("worlds, l 4", rv.PossibleWorlds(l=4), still=True),
    Trial("worlds, l 4, blind", rv.PossibleWorlds(l=4, blind=True), still=True),
)
FAST = ("static, k 10, l 3", "tau-safety, m 4")


def tables(persons: int) -> Iterator[tuple[str, rv.Schema, list[pl.DataFrame], pl.DataFrame]]:
    """Yield a generated and a real table: snapshots, and people who are in none of them."""
    others = hospital.month(OTHERS + CONTROL, seed=77).with_columns(pl.col("pid") + NUMBERED)
    filled = pl.col("diagnosis").fill_null("unknown")  # blind groups have no domain with a missing value in it
    frames = [frame.with_columns(filled) for frame in hospital.year(persons, months=RELEASES)]
    yield "hospital", hospital.schema(), frames, others.with_columns(filled)
    table = table_named("adult")
    if table is not None:
        pool = pool_of("adult")
        frames = list(changing(pool, persons, RELEASES))
        yield "adult", table.schema, frames, pool.tail(OTHERS + CONTROL)


def guessed(trial: Trial, schema: rv.Schema, frames: list[pl.DataFrame], others: pl.DataFrame) -> dict[str, Any]:
    """Publish the snapshots; return the bound of the series and what the attack says of itself."""
    guarantee, person, sensitive = trial.guarantee, str(schema.person), schema.sensitive[0]
    everybody = pl.concat(frames).unique(person, keep="first", maintain_order=True)
    if isinstance(guarantee, rv.TauSafety) and guarantee.blind:
        values = pl.concat([everybody[sensitive], others[sensitive]]).unique().sort()
        guarantee = replace(guarantee, domain=tuple(map(str, values.to_list())))
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, guarantee, name="prior", seed=0)
        where = None
        if trial.still:
            frames = [frames[0], frames[0]]
            keep = [[*schema.quasi, sensitive], [*schema.quasi[:-1], sensitive]]
            releases = [series.publish(frame, columns=own) for frame, own in zip(frames, keep, strict=True)]
        else:
            releases = [series.publish(frame) for frame in frames]
            # Rows may be of people who are gone, so all are looked for.
            where = [series.placements(n, everybody) for n in range(1, len(frames) + 1)]
        learnt, control = others.head(OTHERS).drop(person), others.tail(CONTROL)
        audit = rv.audit(
            releases, schema, truth=frames, placements=where, prior=learnt, control=control, attacks="prior", seed=0
        )
    return {"promised": releases[-1].manifest.promise.bound, **audit.attacks["prior"]}


def run(fast: bool) -> Experiment:  # noqa: FBT001
    """Attack every guarantee on each table."""
    rows: list[list[Cell]] = []
    for name, schema, frames, others in tables(400 if fast else PERSONS):
        for trial in TRIALS:
            if fast and trial.words not in FAST:
                continue
            progress(name, trial.words)
            found = guessed(trial, schema, frames, others)
            own = found["series"]
            told = (
                found["promised"],
                own["baseline"]["rate"],
                *(own["attack"][key] for key in ("rate", "low", "high")),
            )
            told = (*told, None if own["control"] is None else own["control"]["rate"])
            rows.append([trial.words, name, *(None if one is None else short(float(one), 3) for one in told)])
    return Experiment(
        "utility_prior",
        "What somebody guesses who knows what people usually have",
        "our own question; no guarantee bounds it, and no verdict rests on it",
        [
            f"{PERSONS:,} people, {RELEASES} releases (possible worlds: one table, two sets of columns). The attacker",
            f"learnt from {OTHERS:,} other people what people with such quasi values have (naive Bayes), and knows",
            "who is in which release and group (worlds: quasi values only). Shares of people whose value at the",
            "last release is guessed right, with the 95 % interval; beside them the same attacker without any",
            "release, and what the same guesses are worth about people who are in no release.",
            "Quick is the way that there was before efforts; roomy and the constant ratio were the defaults before.",
        ],
        [],
        [Table("Guesses that are right (shares)", HEAD, rows)],
    )


if __name__ == "__main__":
    raise SystemExit(main(run))
