"""What somebody guesses who knows what people usually have: measured beside the promise, which is not about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reveil.adversary import audit
from reveil.adversary.guess_sentences import guessed
from reveil.reporting.placing import placements_of_all

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.core.json_values import JSON
    from reveil.reporting.holdings import Held, Holdings

KEYS = ("attack", "attack_one_by_one", "baseline", "control", "advantage")


def guessing(about: Holdings, *, stage: Callable[[str], None]) -> dict[str, JSON] | None:
    """Guess with a prior that the releases teach; None without snapshots.

    Where the vault kept who is in which group, the adversary knows it, too: the counted proofs take it as known.
    """
    able = [held for held in about.at_hand if held.truth is not None]
    if not able or not about.schema.sensitive:
        return None
    stage("guessing by what people usually have")
    sources = [held.source if held.adopted else held.release for held in able]
    placements = placements_of_all(about, able)
    known = placements is not None
    found = audit(
        sources, about.schema, truth=[held.truth for held in able], placements=placements,
        attacks="prior", guarantee=about.guarantee, prior="releases", table_risks=False,
    )  # fmt: skip
    summaries = found.attacks["prior"]
    columns = {about.schema.sensitive[0]: summaries} if "about" in summaries else summaries
    made = {name: guesses for name, guesses in columns.items() if guesses.get("ran", True)}
    if not made:
        return None
    return {
        "prior": "releases",
        "groups_known": known,
        "sentences": guessed(found),
        "columns": [_column(name, guesses, able) for name, guesses in made.items()],
    }


def _column(name: str, guesses: dict[str, Any], able: list[Held]) -> dict[str, JSON]:
    releases = [
        {"release": held.number, **{key: each[key] for key in KEYS}}
        for held, each in zip(able, guesses["releases"], strict=True)
    ]
    return {"name": name, "attacker": guesses["attacker"], "series": guesses["series"], "releases": releases}
