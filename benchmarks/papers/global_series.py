"""The series of Wong, Fu, Liu, Wang and Xu, section 8: a table of stays in hospital, divided among the rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from benchmarks.global_guarantee import releases
from benchmarks.papers.common import SHARED

SENSITIVE = "diagnosis"
QUASI = ["age", "gender", "race", "payer"]
RARE = 0.1  # the share of values, the rarest ones, that the source bounds
CARRIED = CHANGED = 0.2
ROUNDS = 20


@dataclass(frozen=True)
class Data:
    """The snapshots, the list of all people, and the values by frequency, the rarest first."""

    snapshots: list[pl.DataFrame]
    everybody: pl.DataFrame
    values: list[str]
    words: str

    @property
    def quasi(self) -> list[str]:
        """The columns that others may know."""
        return self.everybody.columns[1:]

    @property
    def listed(self) -> pl.DataFrame:
        """The people of the list whose words occur in every round: boxes are written in the words of a round."""
        words = [name for name, dtype in self.everybody.schema.items() if dtype == pl.String]
        kept = self.everybody
        for frame in self.snapshots:
            kept = kept.filter(pl.col(name).is_in(frame[name].unique().implode()) for name in words)
        return kept

    @property
    def common(self) -> tuple[str, ...]:
        """The values that the source does not bound."""
        return tuple(self.values[max(round(RARE * len(self.values)), 1) :])


def data(rounds: int, tuples: int | None = None, seed: int = 0) -> Data:
    """Return the source's series: a part of the table each time, a fifth of the last one, a fifth of values changed."""
    path = SHARED / "diabetes130.parquet"
    if not path.is_file():
        frames = list(releases((tuples or 105_420) // ROUNDS, rounds))
        quasi = [name for name in frames[0].columns if name.startswith("q")]
        frames = [f.select("pid", *quasi, pl.col("disease").cast(pl.String).alias(SENSITIVE)) for f in frames]
        words = "The real tables are not at hand: a generated one stands in."
        return Data(frames, *_listed(frames, quasi), words)
    table = pl.read_parquet(path, columns=["patient_nbr", "age", "gender", "race", "payer_code", "diag_1"])
    table = (  # gender is known of all but three
        table.filter(pl.col("gender") != "Unknown/Invalid")
        .select(
            pl.col("patient_nbr").alias("pid"),
            pl.col("age").str.extract(r"(\d+)").cast(pl.Int64),
            "gender",
            pl.col("race").fill_null("unknown"),
            pl.col("payer_code").fill_null("none").alias("payer"),
            pl.col("diag_1").fill_null("unknown").alias(SENSITIVE),
        )
        .with_columns(pl.col(QUASI).first().over("pid"))
    )  # what others know of a person does not change here
    table = table.sample(fraction=1, shuffle=True, seed=seed + 1).head(tuples or table.height)
    frames = _course(table, rounds, np.random.default_rng(seed))
    everybody, values = _listed([table], QUASI)
    words = (
        f"Diabetes, 130 US hospitals: {table.height:,} stays of {everybody.height:,} people, {len(values)} first "
        f"diagnoses; quasi {', '.join(QUASI)}."
    )
    return Data(frames, everybody, values, words)


def _course(table: pl.DataFrame, rounds: int, rng: np.random.Generator) -> list[pl.DataFrame]:
    """Divide a table among the rounds, carry a fifth over each time, and change a fifth of the values."""
    drawn = table[SENSITIVE]
    part = table.height // rounds
    frames: list[pl.DataFrame] = []
    for number in range(rounds):
        own = table[number * part : (number + 1) * part]
        if frames:
            before = frames[-1]
            carried = before[np.flatnonzero(rng.random(before.height) < CARRIED)]
            own = pl.concat([own, carried])
        own = own.unique("pid", keep="first", maintain_order=True)
        if frames:
            changed = np.flatnonzero(rng.random(own.height) < CHANGED)
            others = drawn.gather(rng.integers(0, table.height, len(changed)))
            own = own.with_columns(own[SENSITIVE].scatter(changed, others))
        frames.append(own)
    return frames


def _listed(frames: list[pl.DataFrame], quasi: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Return everybody with their quasi values, and the values by frequency, the rarest first."""
    both = pl.concat(frames)
    counts = both[SENSITIVE].value_counts(sort=True).sort("count", SENSITIVE)
    return both.select("pid", *quasi).unique("pid", keep="first", maintain_order=True), counts[SENSITIVE].to_list()
