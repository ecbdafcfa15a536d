"""Chooses a guarantee for a table and its releases (docs/which-guarantee.md), with numbers that the table can keep.

What a guarantee cannot have here is not proposed: the next one is, with the reason. Reasons speak of columns and
counts, never of values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from reveil.guarantees.lifetime.strategies import ConstantRatio
from reveil.tables import feasible
from reveil.tables.schema import Role, Type, toml_key

if TYPE_CHECKING:
    from reveil.series.proposing.answers import Answers
    from reveil.tables.profiling import ColumnProfile, Profile

Setting = str | int | bool
_WIDEST_M = 10
_EVER_L = 2
MANY_SENSITIVE = 3


@dataclass(frozen=True)
class Choice:
    """A guarantee with its settings, why it is proposed, and what the counts say that it costs.

    ``warnings`` are what the steward must not overlook; they are said as well as written.
    """

    kind: str
    settings: Mapping[str, Setting]
    reasons: tuple[str, ...]
    costs: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def in_series(self) -> bool:
        """Whether releases are bounded together."""
        return self.kind != "static"

    @property
    def in_words(self) -> str:
        """The guarantee and its numbers."""
        said = [f"{key} = {str(value).lower() if isinstance(value, bool) else value}" for key, value in self._numbers]
        return ", ".join([self.kind, *said])

    @property
    def _numbers(self) -> list[tuple[str, Setting]]:
        return [(key, value) for key, value in self.settings.items() if not isinstance(value, str)]

    def because(self, *reasons: str) -> Choice:
        """Return the choice with reasons before its own."""
        return replace(self, reasons=(*reasons, *self.reasons))


def choose(found: Profile, answers: Answers) -> Choice:
    """Return the guarantee to propose for a table whose columns have these roles."""
    return _with_warnings(_chosen(found, answers), found)


def _chosen(found: Profile, answers: Answers) -> Choice:
    if not found.names(Role.PERSON):
        why = (
            "Only static is possible: no column says whom a row is about, so that nobody can be found again in the "
            'next release. A series needs a number that stays the same, with the role "person".'
        )
        choice = _static(found).because(why)
        return replace(choice, warnings=(why,)) if answers.several else choice
    if answers.once:
        return _static(found).because("This table is published once, and never again about these people.")
    asked = _first_asked(found, answers)
    refused: list[str] = []
    for way in asked:
        proposed = way(found, answers)
        if isinstance(proposed, Choice):
            return proposed.because(_as_answered(answers), *refused)
        refused.append(proposed)
    return _refinement(found).because(_as_answered(answers), *refused)


Way = Callable[["Profile", "Answers"], "Choice | str"]


def _first_asked(found: Profile, answers: Answers) -> Iterable[Way]:
    """Return the guarantees that fit the answers, the best first; what they cannot keep here, refinement does."""
    if answers.columns_only:
        return (_worlds, _tau_safety)
    if answers.ever:
        return (_global, _tau_safety)
    if answers.parts:
        # Parts go with tau-safety, too; which one is asked for is k, or the bound against whoever knows changes.
        return (_tau_safety,) if answers.changing and len(found.names(Role.SENSITIVE)) == 1 else ()
    return (_tau_safety,)


def _as_answered(answers: Answers) -> str:
    if answers.columns_only:
        return "Several recipients get other columns of the same table, and nobody leaves and nothing changes."
    if answers.ever:
        return "Values change, and the question is whether somebody ever had one."
    if answers.parts:
        return "Recipients get parts of the table."
    if answers.several:
        return "The table is published again, and whoever holds several releases must not learn more than from one."
    return "There is a person column, so it is taken that the table will be published again (init --once: it will not)."


def _tau_safety(found: Profile, answers: Answers) -> Choice | str:
    fixed = answers.changing is False
    obstacle = _obstacle("tau-safety", found)
    if obstacle is not None:
        return obstacle
    exact = _sensitive(found)[0]
    column = feasible.in_ranges(exact)
    m = feasible.largest_m(column, fixed=fixed)
    if m < 2:
        return f"It is not tau-safety: {_price(column, 2, fixed=fixed)}."
    reasons = [
        f"m = {m}: over all the releases together, nobody's {column.name!r} is told with more than 1/{m}, though "
        "people come, go, return" + ("" if fixed else " and change") + "."
    ]
    if column is not exact:
        reasons.append(
            f"{column.name!r} has so many different numbers that they are published in about {feasible.BINS} ranges: "
            "neighbours would count as different values otherwise, and the bound would protect little."
        )
    if fixed:
        reasons.append("fixed: nobody's value ever changes; a table in which one does is refused.")
    settings: dict[str, Setting] = {"m": m, "fixed": True} if fixed else {"m": m}
    return Choice(
        "tau-safety", settings, tuple(reasons), (*_larger_m(column, m, fixed=fixed), *_lasts(column, m, fixed))
    )


def _larger_m(column: ColumnProfile, m: int, *, fixed: bool) -> Iterable[str]:
    yield f"{_begun(_price(column, m, fixed=fixed))}; later releases add some where people leave or change."
    largest = feasible.largest_m(column, fixed=fixed, most=_WIDEST_M)
    if largest > m:
        yield f"m = {largest} would be possible with at most {feasible.FEW_COUNTERFEITS:.0%} made-up rows."
    elif m < _WIDEST_M:
        yield f"{_begun(_price(column, m + 1, fixed=fixed))}."


def _lasts(column: ColumnProfile, m: int, fixed: bool) -> Iterable[str]:  # noqa: FBT001
    if not fixed:
        times = feasible.values_of(column) // m - 1
        yield (
            f"Somebody whose value leaves the values of their group goes on in another group, at most {times:,} times; "
            "then they rest."
        )


def _price(column: ColumnProfile, m: int, *, fixed: bool) -> str:
    """Say what m costs in a first release, or why it cannot be."""
    values, needed = feasible.values_of(column), feasible.values_needed(m, fixed=fixed)
    share, rows = feasible.top_share(column), feasible.made_up(column, m)
    if values < needed:
        more = "" if fixed else f" (or {m}, where values never change: init --fixed)"
        return f"m = {m} needs {needed} different values{more}, and {column.name!r} has {values:,}"
    if rows == 0 and column.type is Type.NUMBER and column.distinct == feasible.BINS:  # nobody has counted them yet
        ranges = f"of about {feasible.BINS} ranges of {column.name!r} none should have more than {_at_most(share)}"
        return f"{ranges}: m = {m} needs no made-up rows at first"
    if rows == 0:
        return f"no value of {column.name!r} has more than {_at_most(share)}: m = {m} needs no made-up rows at first"
    return f"one value of {column.name!r} has {share:.0%}: m = {m} needs about {rows:.2g} made-up rows per person"


def _at_most(share: float) -> str:
    """Return a share as a percentage that it does not exceed."""
    return f"{max(1, math.ceil(round(100 * share, 6)))}%"


def _begun(text: str) -> str:
    """Begin a sentence with a capital; the name of a setting stays as it is written."""
    return text if text.startswith("m =") else text[:1].upper() + text[1:]


def _worlds(found: Profile, _answers: Answers) -> Choice | str:
    obstacle = _obstacle("worlds", found, plain=True)
    if obstacle is not None:
        return obstacle
    column = _sensitive(found)[0]
    l, share = feasible.largest_share_l(column), feasible.top_share(column)
    if l < 2:
        return f"It is not worlds: one value of {column.name!r} has {share:.0%}, and l = 2 allows at most half."
    return Choice(
        "worlds",
        {"l": l},
        (f"l = {l}: all the releases fit {l} tables equally well, of which yours is one.",),
        (f"No value of {column.name!r} has more than {share:.0%}, and l = {l} allows {1 / l:.0%}; nobody rests.",),
    )


def _global(found: Profile, _answers: Answers) -> Choice | str:
    obstacle = _obstacle("global", found)
    if obstacle is not None:
        return f"{obstacle} Whether somebody ever had a value is not bounded then."
    column = _sensitive(found)[0]
    share = feasible.top_share(column)
    allowed = {releases: ConstantRatio(releases=releases).share(Fraction(_EVER_L)) for releases in (3, 2)}
    releases = next((releases for releases, most in allowed.items() if share <= most), None)
    if releases is None:
        return (
            f"It is not global: one value of {column.name!r} has {share:.0%}, and a bound over 2 releases allows "
            f"{allowed[2]:.0%} of one value in a group. If that value needs no bound (none, check-up), list it in "
            "harmless = [...]. Whether somebody ever had a value is not bounded otherwise."
        )
    return Choice(
        "global",
        {"l": _EVER_L, "strategy": "constant-ratio", "releases": releases},
        (f"l = {_EVER_L}: nobody is told ever to have had a value with more than 1/{_EVER_L}.",),
        (
            (
                f"The budget lasts for {releases} releases in which somebody is linked with the same value; then they "
                "rest (reveil history --budget). More releases need larger groups."
            ),
            f"No group has more than {allowed[releases]:.0%} of one value; here one has {share:.0%} of all.",
        ),
    )


def _obstacle(kind: str, found: Profile, *, plain: bool = False) -> str | None:
    """Say why a guarantee of one sensitive column cannot be; None where it can."""
    sensitive = found.names(Role.SENSITIVE)
    if not sensitive:
        return f"It is not {kind}: no column is sensitive."
    if len(sensitive) > 1 and kind == "tau-safety":
        return _several(_sensitive(found))
    if len(sensitive) > 1:
        one = _best(_sensitive(found))
        would = f", and {one.name!r} is the one with which it costs least" if one is not None else ""
        return (
            f"It is not {kind}, which takes one sensitive column: there are {len(sensitive)}. To have it, leave the "
            f"others out (identifier){would}."
        )
    if found.names(Role.PLAIN) and not plain:
        return f"It is not {kind}: plain columns would link a person's rows from release to release."
    return None


def _several(columns: list[ColumnProfile]) -> str:
    """Say of each of several sensitive columns which m fits, and what becomes of those for which none does."""
    fits = {column.name: _largest_alone(column) for column in columns}
    able = {name: m for name, m in fits.items() if m > 1}
    lacking = [column for column in columns if fits[column.name] < 2]
    one = _best(columns)
    said = (
        f"It is not tau-safety as it stands: there are {len(columns)} sensitive columns, which it takes in the form "
        "angelized, each with an m of its own, where no column decides another."
    )
    if able:
        by_column = ", ".join(f"{toml_key(name)} = {m}" for name, m in able.items())
        cost = _cost_at_first([column for column in columns if column.name in able], able)
        said += f' These could have it, by form = "angelized" and m = {{ {by_column} }}: {cost}.'
    said += "".join(f" {reason}." for reason in _why_not(lacking))
    if lacking:
        said += (
            " For these: leave them out (identifier), make one value of several (together), take finer values or bins, "
            "or stay with refinement or static."
        )
    if one is not None:
        said += f" With one column only, it costs least with {one.name!r}."
    return said


def _cost_at_first(columns: list[ColumnProfile], m: Mapping[str, int]) -> str:
    """Say what a first release costs in each of several columns, those that cost nothing together."""
    rows = {column.name: feasible.made_up(column, m[column.name]) for column in columns}
    free = ", ".join(repr(name) for name, many in rows.items() if not many)
    said = [f"no made-up values at first for {free}"] if free else []
    said += [f"about {many:.2g} per person for {name!r}" for name, many in rows.items() if many]
    return ", ".join(said) + "; later releases add some where people leave or change"


def _largest_alone(column: ColumnProfile) -> int:
    return 1 if _needs_bins(column) else feasible.largest_m(column, fixed=False)


def _needs_bins(column: ColumnProfile) -> bool:
    return column.type is not Type.TEXT


def _why_not(columns: list[ColumnProfile]) -> Iterable[str]:
    """Say why there is no m for these columns, those with the same reason together."""
    numbers = [column for column in columns if _needs_bins(column)]
    texts = [column for column in columns if not _needs_bins(column)]
    few = [column for column in texts if feasible.values_of(column) < feasible.values_needed(2, fixed=False)]
    if numbers:
        names = ", ".join(repr(column.name) for column in numbers)
        yield (
            f"{names} could not as they are: numbers and dates need bins, named (bins = [10, 20, 30]) or counted "
            "(bins = 20: about so many with round ends, which the first release fixes)"
        )
        ranged = {column.name: feasible.largest_m(feasible.in_ranges(column), fixed=False) for column in numbers}
        fits = [f"{toml_key(c.name)} = {ranged[c.name]}" for c in numbers if feasible.many_numbers(c)]
        if fits:
            yield f"In {feasible.BINS} such bins about m = {{ {', '.join(fits)} }} would fit"
    if few:
        names = ", ".join(repr(column.name) for column in few)
        counts = ", ".join(str(feasible.values_of(column)) for column in few)
        yield (
            f"{names} could not: m = 2 needs {feasible.values_needed(2, fixed=False)} different values, or 2 where "
            f"values never change (init --fixed), and there are {counts}"
        )
    for column in texts:
        if column not in few:
            yield f"{column.name!r} could not: {_price(column, 2, fixed=False)}"


def _best(columns: list[ColumnProfile]) -> ColumnProfile | None:
    """Return the sensitive column with which tau-safety is possible for the largest m; text before numbers."""
    able = {column.name: feasible.largest_m(feasible.in_ranges(column), fixed=False) for column in columns}
    return max(
        (column for column in columns if able[column.name] > 1),
        key=lambda column: (able[column.name], not _needs_bins(column), -feasible.top_share(column)),
        default=None,
    )


def _refinement(found: Profile) -> Choice:
    settings, reasons = _k_and_l(found)
    about = (
        "refinement: whoever follows every row from release to release cannot tell a smaller or more uniform set of "
        "people apart."
    )
    if found.names(Role.PLAIN):
        settings["dirty"] = "never"
        reasons.append("dirty = never: with plain columns nobody is published again as they were.")
    rest = "No made-up rows. Where people leave, those who would be told apart are held back or published as they were."
    missing = "refinement promises nothing against somebody who knows whose value changed between two releases"
    return Choice("refinement", settings, (about, *reasons), (rest,), (missing,) if found.names(Role.SENSITIVE) else ())


def _static(found: Profile) -> Choice:
    settings, reasons = _k_and_l(found)
    return Choice("static", settings, ("static: this release is judged alone, as if it were the only one.", *reasons))


def _k_and_l(found: Profile) -> tuple[dict[str, Setting], list[str]]:
    """Return k and l that these rows can keep, and in plain words what the numbers mean and why these."""
    people = feasible.people_of(found.columns)
    k = feasible.usual_k(people)
    reasons = [f"k = {k}: whatever others know of a person from the quasi columns fits at least {k} records."]
    if k < 10:
        reasons.append(f"k is not 10 because there are only {people:,} rows to hide among.")
    sensitive = _sensitive(found)
    if not sensitive:
        reasons.append(
            "No column is sensitive, so nothing is asked of what the records of a group have in common. If a "
            "column holds what must not become known of a person, make it sensitive and add l = 3."
        )
        return {"k": k}, reasons
    reach = {column.name: feasible.reachable_l(column, k) for column in sensitive}
    l = min(reach.values())
    least = ", ".join(repr(name) for name, reached in reach.items() if reached == l)
    if l < 2:
        reasons.append(
            f"There is no l: nearly all records agree in {least}, so that hardly any group could hold different "
            "values. Who finds a person's group may then learn the value. Without this as a sensitive column, l "
            "could be asked of the others."
        )
        return {"k": k}, reasons
    reasons.append(f"l = {l}: every group has at least {l} different values in each sensitive column.")
    if l < 3:
        reasons.append(f"l is not 3 because of {least}: too few values, or one that most records share.")
    return {"k": k, "l": l}, reasons


def _with_warnings(choice: Choice, found: Profile) -> Choice:
    number = len(found.names(Role.SENSITIVE))
    warnings = list(choice.warnings)
    if number > 1:
        warnings.append(
            "several sensitive columns are published in the same row, and each is protected by itself: whoever knows "
            "one of somebody's values may find the row by it and read the others"
        )
    many = [column for column in _sensitive(found) if feasible.many_numbers(column)]
    if many and choice.kind != "tau-safety":
        names = ", ".join(repr(column.name) for column in many)
        warnings.append(
            f"so many different numbers in {names} that neighbours count as different values, which is little "
            "protection: the config says at the column how to publish or count ranges (bins)"
        )
    if number > MANY_SENSITIVE:
        warnings.append(
            f"with {number} sensitive columns, many rows are the only ones with some two of their values (in a real "
            "hospital table with 15 such columns more than a quarter): leave out those that recipients do not need"
        )
    return replace(choice, warnings=tuple(warnings))


def _sensitive(found: Profile) -> list[ColumnProfile]:
    return [column for column in found.columns if column.role is Role.SENSITIVE]
