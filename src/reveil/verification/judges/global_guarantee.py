"""The global guarantee: nobody is told ever to have had a value with more than 1/l."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.json_values import list_in, text_in
from reveil.releases.respelling import folded_values, folds
from reveil.tables.alike import folded
from reveil.tables.notation import SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import Ints, halves, mark_of, marks_of, whole
from reveil.verification.exact import shown as number_shown
from reveil.verification.exact import written
from reveil.verification.judges.base import other_promise
from reveil.verification.judges.frequency_diversity import FrequencyDiversity
from reveil.verification.judges.guarantee import GuaranteeJudge
from reveil.verification.judges.k_anonymity import KAnonymity
from reveil.verification.meaning import PromisedMeaning, believed
from reveil.verification.population import absent_in
from reveil.verification.record import Entry, Kept
from reveil.verification.shown import forgotten, unsafe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.releases.promise import Against
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import Bools
    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, Update
    from reveil.verification.shown import Shown

# What is left of each pair of a person and a value: the product of 1 - n_s/n over the releases that linked them.
LEFT = Kept("judged_survival", keys=("high", "low"), real=("survival",))
# Who shared a group with a permanent value: that group, by release and number, and what each was told with.
COHORT = Kept("judged_cohorts", whole=("release", "grp", "high", "low"), outlives=False)  # the value is their own
SIZE = Kept("judged_cohort_sizes", keys=("release", "grp"), whole=("size",), personal=False)
# The vault's own books of it.
_SURVIVAL = Kept("survival", keys=("value",), whole=("links",), real=("survival",))
_COHORTS = Kept("cohorts", whole=("cohort", "value"))
_HAIR = 1e-12  # more than products of so few floats can be off
_ROUNDING = 1e-9  # between products in another order


class GlobalGuarantee(GuaranteeJudge):
    """Judge the product of what all the releases leave of every pair of a person and a value."""

    kind: ClassVar[str] = "global"
    remembers: ClassVar[bool] = True
    own_settings: ClassVar[frozenset[str]] = frozenset(
        ["l", "strategy", "releases", "alpha", "harmless", "permanent", "when_exhausted", "largest", "population"]
    )
    fixed: ClassVar[tuple[str, ...]] = ("when_exhausted",)
    may_count: ClassVar[frozenset[str]] = frozenset(["withheld"])

    @classmethod
    def demands(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Ask of each group what one release may tell, where every row of it has a value that counts."""
        size = KAnonymity(1)
        listed = told.get("population")  # a list, or in a manifest whether there is one
        if listed is not None and listed is not False:
            return (size,)
        if told.get("harmless") or told.get("when_exhausted", "rest") == "suppress":
            return (size,)
        return (size, FrequencyDiversity(written("l", told.get("l"))))

    @classmethod
    def check_counts(cls, manifest: Manifest, asked: Promised, schema: Schema, records: int) -> None:
        """Refuse a weaker l, or other values that are not bounded, or last."""
        super().check_counts(manifest, asked, schema, records)
        told = manifest.promise.guarantee()
        settings = asked.settings
        if written("l", told.get("l")) < written("l", settings.get("l")):
            raise other_promise("a larger l")
        for key in ("harmless", "permanent"):
            if _texts(told, key) != _texts(settings, key):
                raise other_promise(f"other {key} values")
        if bool(told.get("population")) != (settings.get("population") is not None):
            raise other_promise("a registration list, or none")

    @classmethod
    def states(cls, claim: str, told: Promised) -> bool:
        """Return whether the claim has l, and says what it leaves out."""
        settings = told.settings
        apart = not settings.get("harmless") or "declared harmless" in claim
        hidden = not settings.get("population") or "does not know who is in the table" in claim
        return f"more than 1/{number_shown(written('l', settings.get('l')))}" in claim and apart and hidden

    @classmethod
    def needs_everybody(cls, promised: Promised) -> bool:
        """Cohorts must be seen to be whole."""
        return bool(promised.settings.get("permanent"))

    @classmethod
    def meaning(cls, told: Promised) -> PromisedMeaning:
        """At most one l-th ever, and so at any time, but for what is harmless; whom a list hides nobody knows of."""
        settings = told.settings
        free = {key: _texts(settings, key) for key in ("harmless", "permanent")}
        against: Against = "nothing" if settings.get("population") else "presence"
        return PromisedMeaning(
            "ever", believed(float(1 / written("l", settings["l"])), "ever", "value", **free), against
        )

    @classmethod
    def excused(cls, shown: Shown, promised: Promised, record: Record) -> Bools:
        """Rows may be suppressed where the settings say so; a cohort may be shown as it was first told."""
        good = np.zeros(len(shown.who), np.bool_)
        mark = shown.row_marks(shown.one_column)
        free = np.zeros(len(mark), np.bool_)
        if promised.settings.get("when_exhausted", "rest") == "suppress":
            free |= mark == mark_of(SUPPRESSED_VALUE)
        if promised.settings.get("permanent"):
            told = record.of(COHORT, shown.who[shown.real])
            rows = pl.DataFrame({"who": shown.who[shown.real], "mark": mark}).with_row_index("row")
            known = told.select("who", mark=pl.Series(whole(told["high"].to_numpy(), told["low"].to_numpy())))
            free[rows.join(known, on=["who", "mark"], how="semi")["row"].to_numpy()] = True
        good[shown.real] = free
        return good

    @classmethod
    def loose(cls, release: Release, promised: Promised) -> int:
        """Rows may be suppressed, where the settings say so, or in a group that is published as it was first told."""
        groups, values = release.group_values()
        texts = canonical_text(values.to_series())
        hidden = np.zeros(len(texts), np.bool_)
        if promised.settings.get("when_exhausted", "rest") == "suppress":
            hidden = (texts == SUPPRESSED_VALUE).fill_null(False).to_numpy()
        permanent = pl.Series(_texts(promised.settings, "permanent"), dtype=pl.String)
        if folds(release.manifest, values.columns[0]):
            texts, permanent = folded_values(texts), folded(permanent)
        with_permanent = np.unique(groups[texts.is_in(permanent.implode()).fill_null(False).to_numpy()])
        return int((hidden | np.isin(groups, with_permanent)).sum())

    @classmethod
    def rule(cls, shown: Shown, promised: Promised, record: Record) -> Update:
        """Refuse a release after which somebody's pair with a value has less than 1 - 1/l left."""
        settings = promised.settings
        group, mark, count = shown.members
        harmless = marks_of(pl.Series([*_texts(settings, "harmless"), SUPPRESSED_VALUE], dtype=pl.String))
        permanent_marks = marks_of(pl.Series(_texts(settings, "permanent"), dtype=pl.String))
        sizes = shown.groups.rows
        if shown.population is not None:
            sizes = sizes + absent_in(shown)
        bounded = ~np.isin(mark, harmless)
        links = pl.DataFrame({"group": group[bounded], "mark": mark[bounded], "n": count[bounded]})
        links = links.with_columns(now=1 - pl.col("n") / pl.Series(sizes[group[bounded]]))
        people = pl.DataFrame({"who": shown.who[shown.real], "group": shown.group.astype(np.int64)})
        pairs = people.join(links, on="group").select("who", "group", "mark", "now")
        known = record.of(LEFT, shown.who[shown.real])
        known = known.select(
            "who", "survival", mark=pl.Series(whole(known["high"].to_numpy(), known["low"].to_numpy()))
        )
        pairs = pairs.join(known, on=["who", "mark"], how="left")
        once = pl.col("mark").is_in(pl.Series(permanent_marks).implode()) & pl.col("survival").is_not_null()
        entries: list[Entry] = []
        if len(permanent_marks):
            entries += cls._cohorts(shown, people, pairs.filter(once), permanent_marks, record)
        left = pl.when(once).then("survival").otherwise(pl.col("survival").fill_null(1.0) * pl.col("now"))
        pairs = pairs.with_columns(left=left)
        l = float(written("l", settings["l"]))
        broken = pairs.filter(1 - pl.col("left") > 1 / l + _HAIR)["who"].n_unique()
        if broken:
            raise unsafe(f"{broken:,} persons would be told ever to have had a value with more than 1/{l:g}")
        high, low = halves(pairs["mark"].to_numpy())
        return (Entry(LEFT, LEFT.frame(who=pairs["who"], high=high, low=low, survival=pairs["left"])), *entries)

    @classmethod
    def _cohorts(
        cls,
        shown: Shown,
        people: pl.DataFrame,
        again: pl.DataFrame,
        permanent_marks: Ints,
        record: Record,
    ) -> list[Entry]:
        """Refuse cohorts that are not published whole, with their permanent values as they were; return new ones."""
        wrong = again.filter((pl.col("survival") - pl.col("now")).abs() > _ROUNDING).height
        known = record.of(COHORT, people["who"].to_numpy())
        there = known.join(people, on="who")
        of_group = people.group_by("group").len("n")
        whole_ones = there.group_by("release", "grp").agg(
            pl.col("group").n_unique().alias("groups"), pl.col("group").first(), pl.len().alias("own")
        )
        sizes = record.rows(SIZE, "release", whole_ones["release"].to_numpy())
        apart = whole_ones.join(of_group, on="group").join(sizes, on=["release", "grp"], how="left")
        wrong += apart.filter(
            (pl.col("groups") > 1) | (pl.col("n") != pl.col("own")) | (pl.col("size") != pl.col("own"))
        ).height
        if wrong:
            raise unsafe("persons who share a permanent value would not be published together as they were")
        group, mark, _ = shown.members
        touched = np.unique(group[np.isin(mark, permanent_marks)])
        new = people.filter(pl.Series(np.isin(people["group"].to_numpy(), touched)))
        new = new.join(known, on="who", how="anti")
        high, low = halves(shown.row_marks(shown.one_column))
        told = people.with_columns(high=pl.Series(high), low=pl.Series(low))
        mine = new.join(told.select("who", "high", "low"), on="who")
        number = shown.groups.numbers
        rows = COHORT.frame(
            who=mine["who"],
            release=np.full(mine.height, shown.number),
            grp=number[mine["group"].to_numpy()],
            high=mine["high"],
            low=mine["low"],
        )
        # Who is told with a permanent value is told with it for good.
        became = told.join(known.select("who", "release", "grp"), on="who")
        became = became.filter(
            pl.Series(np.isin(whole(became["high"].to_numpy(), became["low"].to_numpy()), permanent_marks))
        )
        rows = pl.concat([rows, became.select(rows.columns).cast(dict(rows.schema))])  # type: ignore[arg-type]
        made = mine.group_by("group").len("size")
        size = SIZE.frame(
            release=np.full(made.height, shown.number), grp=number[made["group"].to_numpy()], size=made["size"]
        )
        return [Entry(COHORT, rows), Entry(SIZE, size)]

    @classmethod
    def told_before(cls, books: Books, number: int) -> Update:  # noqa: ARG003
        """Return what the vault says is left of everybody's budget, and who must stay together."""
        name = books.first_sensitive()
        texts = books.codes(name)
        rows = books.rows(_SURVIVAL).join(texts, left_on="value", right_on="code", how="left")
        high, low = halves(marks_of(rows["text"]))
        found = [Entry(LEFT, LEFT.frame(who=rows["who"], high=high, low=low, survival=rows["survival"]))]
        cohorts = books.rows(_COHORTS).join(texts, left_on="value", right_on="code", how="left")
        high, low = halves(marks_of(cohorts["text"]))
        none = np.zeros(cohorts.height, np.int64)
        sizes = cohorts.group_by("cohort").len("size")
        found.append(
            Entry(COHORT, COHORT.frame(who=cohorts["who"], release=none, grp=cohorts["cohort"], high=high, low=low))
        )
        found.append(
            Entry(SIZE, SIZE.frame(release=np.zeros(sizes.height, np.int64), grp=sizes["cohort"], size=sizes["size"]))
        )
        return tuple(found)

    @classmethod
    def compare(cls, record: Record, told: Update, *, since: bool = False, number: int = 0) -> None:  # noqa: ARG003
        """Refuse books in which more is left of a budget than what was published leaves."""
        keys = ["who", "high", "low"]
        both = record.rows(LEFT).join(told[0].rows, on=keys, how="left", suffix="_told")
        lost = both.filter(
            pl.col("survival_told").is_null() | (pl.col("survival_told") > pl.col("survival") + _ROUNDING)
        )
        if lost.height:
            raise forgotten(f"{lost['who'].n_unique():,} persons were told more than it remembers")


def _texts(settings: Mapping[str, JSON], key: str) -> tuple[str, ...]:
    """Return the values that a setting lists, sorted."""
    return tuple(sorted(text_in(value) for value in list_in(settings.get(key) or ())))
