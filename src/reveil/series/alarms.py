"""Figures beyond which a release is not worth publishing: what [limits] refuses, and what the owner is warned of.

They are looked at when a release is put together and before anything of it is written, remembered or told. A refusal is
for the owner alone: somebody outside who learns of it learns something about the values (docs/promise.md).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, RefusedError
from reveil.releases.made_up import MadeUp, made_up_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.assembly import Prepared
    from reveil.guarantees.base import Guarantee
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema

_SUPPRESS, _DELTA = "suppress", "delta"
# Two ways out of each, beside raising the limit.
_WAYS_OUT = {
    "counterfeits": "Split the most common sensitive value into finer ones, or ask for a smaller m (before the first "
    "release)",
    "withheld": "Publish the people together who were published together before, or wait until more of them are there",
    "suppressed": "Ask for a smaller k, l or a larger t, or leave quasi columns out (--columns)",
    "width": "Leave quasi columns out (--columns), or ask for a smaller k, l or m",
    "delta": "Ask for a larger k, or draw a smaller sample (beta)",
    "groups": "Publish more records at once, or ask for a smaller k, l or m",
}


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """The section [limits]: how much of each there may be at most; ``groups`` is how many there must be at least.

    ``counterfeits`` are a share of the rows (where sensitive columns have tables of their own: of the values of the
    column that has most), ``withheld`` and ``suppressed`` of the records, ``width`` the mean width
    of a cell, ``delta`` that of a sampled release. None: no limit, and a warning beyond what is usual.
    """

    counterfeits: float | None = None
    withheld: float | None = None
    suppressed: float | None = None
    width: float | None = None
    delta: float | None = None
    groups: int | None = None

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if setting.name == "groups":
                if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                    raise ConfigError("[limits]: groups must be a whole number from 1 up", hint="Write groups = 10.")
            elif value is not None and (isinstance(value, bool) or not 0 <= value <= 1):
                raise ConfigError(
                    f"[limits]: {setting.name} must be a share from 0 to 1",
                    hint=f"Write {setting.name} = 0.1 for ten per cent.",
                )

    def check(self, schema: Schema, guarantee: Guarantee, method: Grouper | None) -> None:
        """Refuse limits that contradict what is asked for, before any data is read."""
        may = guarantee.traits.settings.get(_SUPPRESS)
        if self.suppressed is not None and isinstance(may, int | float) and may > self.suppressed:
            raise ConfigError(
                f"[limits] allows {self.suppressed:g} of the records to be left out, suppress = {may:g} allows more",
                hint="Lower suppress under [guarantee], or raise suppressed under [limits].",
            )
        if self.delta is None and self.suppressed is None:
            return
        told = guarantee.promise(schema, method).settings
        delta = told.get(_DELTA)
        if self.delta is not None and not isinstance(delta, int | float):
            raise ConfigError(
                "[limits] has a delta, and nothing here is sampled",
                hint='Take it out, or use the method "safe-grid", which has one.',
            )
        if self.delta is not None and isinstance(delta, int | float) and delta > self.delta:
            raise ConfigError(
                f"[limits] allows a delta of {self.delta:g}, and k, beta and epsilon give {delta:.3g}",
                hint=f"{_WAYS_OUT['delta']}, or raise delta under [limits].",
            )
        if self.suppressed is not None and delta is not None:
            raise ConfigError(
                "how many records a sampled release leaves out is kept secret, and no limit may depend on it",
                hint="Take suppressed out of [limits].",
            )

    def judge(self, figures: Mapping[str, AlarmFigure]) -> list[str]:
        """Refuse a release that is beyond a limit; return what to warn of where nobody set one."""
        said = []
        if self.width is not None and "width" not in figures:
            raise RefusedError(
                "the width of this release cannot be measured, and [limits] has one: nothing was published",
                hint="Take width out of [limits].",
            )
        for name, figure in figures.items():
            limit = getattr(self, name)
            if limit is None:
                if figure.unusual:
                    said.append(f"{figure.words}{figure.usual}")
            elif figure.beyond(limit):
                at = f"at least {limit:,}" if name == "groups" else f"at most {_shown(name, limit)}"
                raise RefusedError(
                    f"{figure.words}, and [limits] asks for {at}: nothing was published",
                    hint=f"{_WAYS_OUT[name]}. Or change {name} under [limits].",
                )
        return said


@dataclass(frozen=True)
class AlarmFigure:
    """One figure of a release in words, whether that is unusual, and what would be usual."""

    value: float
    words: str
    unusual: bool
    usual: str
    least: bool = False  # whether a limit is the least that there must be

    def beyond(self, limit: float) -> bool:
        """Return whether the figure is beyond a limit."""
        return self.value < limit if self.least else self.value > limit


_OFTEN = 0.1  # of rows or records
_WIDE = 0.6
_FEW_GROUPS = 10


def figures_of(prepared: Prepared, measures: Mapping[str, JSON] | None) -> dict[str, AlarmFigure]:
    """Return the figures of a release that was put together; ``measures`` are those that the vault keeps of it."""
    release, n = prepared.release, prepared.draft.snapshot.frame.height
    return dict(_figures(release.manifest, made_up_of(release), measures, n))


def figures_in(manifest: Manifest, measures: Mapping[str, JSON] | None, n: int) -> dict[str, AlarmFigure]:
    """Return the figures of a release of ``n`` records in one table, by its manifest and its measures."""
    return dict(_figures(manifest, MadeUp(manifest.counterfeits.total, manifest.rows), measures, n))


def _figures(
    manifest: Manifest, made_up: MadeUp, measures: Mapping[str, JSON] | None, n: int
) -> Iterator[tuple[str, AlarmFigure]]:
    lost = manifest.withheld + (manifest.suppressed or 0)
    records = max(manifest.real_rows - manifest.dirty + lost, 1)
    delta = manifest.promise.settings.get(_DELTA)
    often = f": more than {_OFTEN:.0%}"
    yield "counterfeits", AlarmFigure(made_up.share, made_up.sentence, made_up.share > _OFTEN, often)
    for name, count in (("withheld", manifest.withheld), ("suppressed", manifest.suppressed)):
        if count is not None:
            words = f"{count:,} of {records:,} records are {name} ({count / records:.1%})"
            yield name, AlarmFigure(count / records, words, name == "withheld" and count / records > _OFTEN, often)
    width = None if measures is None else measures.get("gcp") or 0.0  # where no column is generalised, cells are exact
    if isinstance(width, int | float):
        words = f"a cell is {width:.0%} of its column wide on average"
        sampled = manifest.suppressed is None  # who is not drawn counts as told nothing
        yield (
            "width",
            AlarmFigure(width, words, width > _WIDE and not sampled, f": more than {_WIDE:.0%}, which tells little"),
        )
    if isinstance(delta, int | float):
        # How many of them are in a sample is not what delta is about.
        yield "delta", AlarmFigure(delta, f"delta is {delta:.3g}", delta > 1 / n, f": more than 1/n, 1/{n:,}")
    groups = manifest.groups
    words = f"there {'is' if groups == 1 else 'are'} {groups:,} group{'' if groups == 1 else 's'}"
    yield "groups", AlarmFigure(groups, words, groups < _FEW_GROUPS, f": fewer than {_FEW_GROUPS}", least=True)


def budget_ends(rows: list[dict[str, JSON]]) -> str | None:
    """Say for whom a budget ends with the next release, of what is left of budgets for each value; None: for nobody."""
    ending = [row for row in rows if isinstance(left := row["releases_left"], int) and left <= 1]
    if not ending:
        return None
    return (
        f"the next release uses up the budget of somebody for {len(ending):,} of {len(rows):,} values: who has none "
        "left rests from then on (reveil history --budget)"
    )


def _shown(name: str, limit: float) -> str:
    return f"{limit:g}" if name == _DELTA else f"{limit:.1%}"
