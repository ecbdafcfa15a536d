"""``audit``: what somebody finds out who holds these files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from reveil.adversary.guess_sentences import guessed, read_off
from reveil.adversary.in_shards import audit_where_asked
from reveil.adversary.verdicts import verdict
from reveil.core.errors import InputError
from reveil.core.json_values import thawed
from reveil.series.config import load_config
from reveil.series.simulating import SimulatedSeries
from reveil.studio.tasks.base import CONFIG, TABLE, Bench, StudioTask, TaskResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.adversary import Audit
    from reveil.core.json_values import JSON

SHOWN = 50  # persons on the page; the file has all of them
_BINS = 10
_BUILT_IN_PRIORS = ("uniform", "releases")


@dataclass(frozen=True)
class AuditTask(StudioTask):
    """Attack releases of any tool."""

    release_paths: tuple[str, ...]
    config_path: str
    population: tuple[str, ...] = ()
    truth: tuple[str, ...] = ()
    known: Literal["nothing", "presence", "events", "ids", "values"] | None = None
    values_known: int = 1
    attacks: tuple[str, ...] = ()
    prior: str | None = None
    control: str | None = None
    pairs: str | None = None
    minutes: float = 1.0
    learn_labels: bool = False
    sample: int | None = None
    population_size: int | None = None
    threshold: float | None = None
    placements: tuple[str, ...] = ()
    everybody: bool = False
    seed: int = 0

    command: ClassVar[str] = "audit"
    title: ClassVar[str] = "Audit"
    paths: ClassVar[Mapping[str, str]] = {
        "release_paths": TABLE,
        "config_path": CONFIG,
        "population": TABLE,
        "truth": TABLE,
        "control": TABLE,
        "placements": TABLE,
    }
    opens_vault: ClassVar[bool] = False

    def run(self, bench: Bench) -> TaskResult:
        """Attack them, and say what was found."""
        config = load_config(bench.folder.config(self.config_path))
        truth = tuple(str(bench.table(text)) for text in self.truth)
        if "program" in self.attacks and not truth:
            raise InputError(
                "the attack 'program' needs the tables that the releases were made of", hint="Choose them, in order."
            )
        people = [str(bench.table(text)) for text in self.population]
        prior = self.prior if self.prior is None or self.prior in _BUILT_IN_PRIORS else str(bench.table(self.prior))
        pairs = self.pairs if self.pairs in (None, "truth") else str(bench.table(str(self.pairs)))
        found = audit_where_asked(
            config.engine,
            [str(bench.table(text)) for text in self.release_paths],
            config.schema,
            (people if len(people) > 1 else people[0]) if people else None,
            list(truth) or None,
            self.known,
            [str(bench.table(text)) for text in self.placements] or None,
            self.threshold,
            list(self.attacks) or None,
            self.seed,
            everybody=self.everybody,
            guarantee=config.guarantee,
            values_known=self.values_known,
            prior=prior,
            control=None if self.control is None else str(bench.table(self.control)),
            pairs=pairs,
            program=SimulatedSeries.of(config, truth) if "program" in self.attacks else None,
            minutes=self.minutes,
            learn_labels=self.learn_labels,
            sample=self.sample,
            population_size=self.population_size,
            stage=bench.stage,
        )
        whole = bench.private / "audit.json"
        text = json.dumps(found.to_json(everybody=self.everybody), indent=2, ensure_ascii=False, default=str)
        whole.write_text(text + "\n", encoding="utf-8")
        return TaskResult(_shown(found, self), {"audit.json": whole}, good=found.held)


def _shown(found: Audit, task: AuditTask) -> dict[str, JSON]:
    """Return what the page shows: the sentence, beliefs against the bound, and those who are exposed."""
    shown = found.breaches.head(SHOWN)
    exposed: list[JSON] = [
        {
            "person": str(row["person"]),
            "belief": row["belief"],
            "exact": row["exact"],
            "value": None if row["value"] is None else str(row["value"]),
            "attack": row["attack"],
            "releases": list(row["releases"]),
            "right": row["right"],
        }
        for row in shown.iter_rows(named=True)
    ]
    beliefs = found.persons["belief"].fill_null(0.0).to_list()
    counts = [0] * _BINS
    for belief in beliefs:
        counts[min(int(belief * _BINS), _BINS - 1)] += 1
    counts[0] += max(int(found.summary["persons"]) - len(beliefs), 0)  # of whom nothing is believed
    return {
        "releases": list(task.release_paths),
        "known": found.known,
        "sentence": found.sentence,
        "guesses": [*guessed(found), *read_off(found)],
        "verdict": verdict(found),
        "held": found.held,
        "summary": thawed(found.summary),
        "beliefs": list(counts),
        "exposed": exposed,
        "exposed_in_all": found.breaches.height,
        "ran": list(found.ran),
        "not_run": dict(found.not_run),
        "notes": list(found.notes),
        "risks": thawed(found.risks),
        "with_truth": bool(task.truth),
    }
