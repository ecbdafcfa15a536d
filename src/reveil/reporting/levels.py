"""The same releases for everybody: what is found out at each level of knowledge that the tables allow."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from reveil.adversary import audit
from reveil.adversary.counting import STATES
from reveil.adversary.evidence import KNOWN
from reveil.adversary.rates import Rate
from reveil.adversary.sentences import known_to

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.adversary import Audit
    from reveil.core.json_values import JSON
    from reveil.reporting.attackable import Attackable
    from reveil.reporting.holdings import Held

LARGE = 400_000  # persons times sensitive columns, beyond which other levels attack a part of the people
SAMPLE = 5_000
ONCE = "judging"  # what an audit says once for each column


@dataclass(frozen=True)
class AttackRequest:
    """What is asked of the attacks of a report.

    How many persons they look for, how large the population is, and how many sensitive values of a person are known.
    """

    sample: int | None = None
    population_size: int | None = None
    values_known: int = 1


@dataclass(frozen=True)
class KnowledgeLevel:
    """What somebody finds out who ``knows`` this much: ``promised``, the guarantee is against them.

    ``stronger``: they know more than those. ``sample``: how many were attacked, where these are not all.
    """

    known: str
    knows: str
    promised: bool
    stronger: bool
    persons: int
    certain: int
    certain_and_right: int | None
    highest_proven: float
    above_half: int
    sentence: str
    sample: dict[str, JSON] | None = field(default=None)

    @classmethod
    def of(cls, found: Audit, base: Audit, knows: str) -> KnowledgeLevel:
        """Take from an audit what is told of a level."""
        summary = found.summary
        return cls(
            known=found.known,
            knows=knows,
            promised=found is base,
            stronger=KNOWN.index(found.known) > KNOWN.index(base.known),
            persons=summary["persons"],
            certain=summary["certain"],
            certain_and_right=summary["certain_and_right"],
            highest_proven=summary["highest_proven"] or 0.0,
            above_half=summary["above"]["0.5"],
            sentence=found.sentence,
            sample=summary.get("sample"),
        )

    @property
    def badness(self) -> tuple[float, ...]:
        """What makes a level worse than another: values read off, then the highest belief, then how little it asks.

        Where a part of the people was attacked, what it says of everybody is compared.
        """
        attacked = self.persons if self.sample is None else self.sample["attacked"]
        share = Rate(self.certain, attacked if isinstance(attacked, int) else self.persons).rate
        return share * self.persons, self.highest_proven, -float(KNOWN.index(self.known))

    def to_json(self) -> dict[str, JSON]:
        """Return what is written of it."""
        return asdict(self)


def at_every_level(
    open_to: Attackable,
    base: Audit,
    asked: AttackRequest,
    values: Audit | None,
    *,
    stage: Callable[[str], None],
) -> tuple[list[KnowledgeLevel], list[dict[str, JSON]]]:
    """Return what each level of knowledge finds out, the weakest first, and the levels that were not tried, with why.

    ``base`` is what was found at the level that the guarantee is against. Others attack some of the people where
    everybody would take long: their figures come with an interval then. ``values`` is what the last release tells
    somebody who knows sensitive values of their target.
    """
    about = open_to.about
    columns = len(about.schema.sensitive)
    sample = asked.sample
    if sample is None and base.summary["persons"] * columns > LARGE:
        sample = max(SAMPLE // columns, 500)
    levels: list[KnowledgeLevel] = []
    not_tried: list[dict[str, JSON]] = []
    for known in KNOWN:
        if known == base.known:
            levels.append(KnowledgeLevel.of(base, base, known_to(known)))
            continue
        if known == "values" and values is not None:
            knows = f"{known_to(known, asked.values_known)}, in the last release alone"
            levels.append(KnowledgeLevel.of(values, base, knows))
            continue
        placements = open_to.placements if known == "ids" else None
        why = _impossible(known, open_to.held, placements)
        if why is not None:
            not_tried.append({"known": known, "knows": known_to(known, int(known == "values")), "why": why})
            continue
        found = audit(
            open_to.sources, about.schema, truth=open_to.truth, known=known, guarantee=about.guarantee,
            placements=placements, sample=sample, table_risks=False, states=STATES // (2 * columns),
            gathering=open_to.gathering,
            stage=_once_a_column(stage, f"attacking as somebody who knows {known_to(known)}"),
        )  # fmt: skip
        levels.append(KnowledgeLevel.of(found, base, known_to(known)))
    return levels, not_tried


def _once_a_column(stage: Callable[[str], None], saying: str) -> Callable[[str], None]:
    """Return what an audit may tell its stages: the same for each column, once."""

    def pass_on(name: str) -> None:
        if name == ONCE:
            stage(saying)

    return pass_on


def _impossible(known: str, able: Sequence[Held], placements: object | None) -> str | None:
    """Return why nobody can be taken to know this, or None."""
    if known == "events" and len(able) < 2:
        return "there is one release, in which no value changed"
    if known == "ids" and placements is None:
        return "no archive says whose record is in which row"
    if known == "values":
        return "there is one sensitive column"
    return None
