"""What ``reveil warm-up`` goes through: tiny series of every guarantee and method, published, attacked and measured.

A kernel is compiled for the types that it is called with, and only a call knows these. So nothing here lists kernels:
each rehearsal is a config, and what it takes to publish, attack and measure a few releases under it is compiled by
doing so. ``tests/cli/test_warm_up.py`` holds that nothing is left to compile for what can be published.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import ReveilError

if TYPE_CHECKING:
    from reveil.releases.release import Release

PEOPLE, MONTHS, QUERIES = 160, 3, 20
# What is declared where columns and their types are part of the promise.
_DECLARED = {
    'age = "quasi"': 'age = { role = "quasi", type = "number" }',
    'sex = "quasi"': 'sex = "identifier"',
    'income = "quasi"': 'income = "identifier"',
    'admitted = { role = "quasi", type = "date" }': 'admitted = "identifier"',
    'ward = "quasi"': 'ward = "identifier"',
    'diagnosis = "sensitive"': 'diagnosis = { role = "sensitive", type = "text" }',
}
_RECIPIENTS = (("income", "admitted", "diagnosis"), ("town", "ward", "diagnosis"), ("age", "sex", "diagnosis"))


@dataclass(frozen=True)
class Rehearsal:
    """One tiny series: what stands under ``[guarantee]``, and under ``[method]`` where the default is not meant."""

    guarantee: str
    method: str = ""
    recipients: bool = False  # other columns of the same table in each release
    declared: bool = False  # age and town alone, with their types
    remembered: bool = False  # with a vault also where the guarantee needs none

    @property
    def text(self) -> str:
        """The sections of a config, the guarantee first."""
        return self.guarantee + (f"\n\n[method]\n{self.method}" if self.method else "")


def _static(settings: str, method: str = "") -> Rehearsal:
    return Rehearsal(f'kind = "static"\n{settings}', method)


_K, _KL, _KT = "k = 4", "k = 4\nl = 2", "k = 4\nt = 0.6"
_TAU = 'kind = "tau-safety"\nm = 2'
_REFINEMENT = f'kind = "refinement"\n{_KL}'
_WORLDS = 'kind = "worlds"\nl = 2'
# Those that compile most come first, so that processes have equal work at the end.
REHEARSALS = (
    Rehearsal('kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 4'),
    Rehearsal(_TAU),
    Rehearsal(_REFINEMENT),
    Rehearsal(_WORLDS, recipients=True),
    Rehearsal(_REFINEMENT, 'kind = "bang"\nblock = 2'),
    _static(_KL, 'kind = "stack-deal"'),
    _static(_KT, 'kind = "microaggregation"'),
    Rehearsal('kind = "m-invariance"\nm = 2'),
    _static(_KT, 'kind = "microaggregation"\nvariant = "t-first"'),
    _static(_KT, 'kind = "fragmentation"'),
    Rehearsal(f'kind = "static"\n{_KL}', 'kind = "bang"', remembered=True),
    _static(_KL, 'kind = "rtree"'),
    _static(_KL, 'kind = "mondrian"\nchoose = "width"\neffort = "quick"'),
    _static(_KL, 'kind = "mondrian"\ncut = "relaxed"\nchoose = "degeneracy"\neffort = "quick"'),
    _static(f'{_KL}\ndiversity = "entropy"\nsuppress = 0.05'),
    _static(_K, 'kind = "bang"\nform = "nested"'),
    Rehearsal(
        f'kind = "static"\n{_K}',
        'kind = "safe-grid"\nbeta = 0.9\nepsilon = 3.0\nscales = { age = [0, 40, 120], town = 1 }',
        declared=True,
    ),
    _static("l = 3", 'kind = "anatomy"'),
    _static(_KT, 'kind = "stack-deal"\ndeal = "source"'),
    _static('k = "auto"', 'kind = "stack-deal"\nweight = 0.5'),
    _static(_KT, 'kind = "sabre"'),
    _static(_KT),
    Rehearsal(f'{_TAU}\neffort = "thorough"'),
    Rehearsal(f'{_TAU}\neffort = "quick"'),
    Rehearsal(f'{_TAU}\nform = "angelized"'),
    Rehearsal(_TAU, 'kind = "bang"'),
    Rehearsal('kind = "global"\nl = 2\nstrategy = "geometric"\nalpha = 3.0'),
    Rehearsal(f"{_REFINEMENT}\nblind = true"),
    Rehearsal(f'{_WORLDS}\nplacement = "greedy"', recipients=True),
)


def go_through(rehearsal: Rehearsal, *, people: int = PEOPLE, seed: int = 1) -> int:
    """Publish a tiny series in a folder that is gone afterwards, attack and measure it; return how many releases.

    What a guarantee refuses it refuses here, too: it is compiled up to there, as it would be for anybody.
    """
    from reveil.adversary import audit
    from reveil.analysis.measures import measure
    from reveil.series.config import load_config
    from reveil.series.publishing import publish_file
    from reveil.testing import hospital

    with tempfile.TemporaryDirectory(prefix="reveil-") as made:
        folder = Path(made)
        path = folder / "reveil.toml"
        text = hospital.config(rehearsal.text, vault="its.vault" if rehearsal.remembered else None)
        for role, declared in _DECLARED.items() if rehearsal.declared else ():
            text = text.replace(role, declared)
        path.write_text(text)
        config = load_config(path)
        truth = [folder / f"{month}.csv" for month in range(MONTHS)]
        for raw, month in zip(truth, hospital.year(people, months=MONTHS, seed=seed), strict=True):
            month.write_csv(raw)
        if rehearsal.recipients:
            truth = truth[:1] * MONTHS
        releases: list[Release] = []
        with contextlib.suppress(ReveilError):
            for number, raw in enumerate(truth):
                columns = _RECIPIENTS[number] if rehearsal.recipients else None
                releases.append(publish_file(config, raw, folder / f"public{number}.csv", columns=columns).release)
        if releases:
            with contextlib.suppress(ReveilError):
                measure(truth[len(releases) - 1], releases[-1], config.schema, queries=QUERIES)
                releases[-1].count("age >= 40")
                audit(releases, config.schema, truth=truth[: len(releases)])
    return len(releases)
