"""What somebody guesses who knows what people usually have: measured beside the promise, which is not about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reveil.adversary import audit
from reveil.adversary.guess_sentences import guessed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.core.json_values import JSON
    from reveil.reporting.attackable import Attackable
    from reveil.reporting.holdings import Held

KEYS = ("attack", "attack_one_by_one", "baseline", "control", "advantage")


def guessing(open_to: Attackable | None, *, stage: Callable[[str], None]) -> dict[str, JSON] | None:
    """Guess with a prior that the releases teach; None without snapshots.

    Where the vault kept who is in which group, the adversary knows it, too: the counted proofs take it as known.
    """
    if open_to is None:
        return None
    about = open_to.about
    stage("guessing by what people usually have")
    known = open_to.placements is not None
    found = audit(
        open_to.sources, about.schema, truth=open_to.truth, placements=open_to.placements,
        attacks="prior", guarantee=about.guarantee, prior="releases", table_risks=False, gathering=open_to.gathering,
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
        "columns": [_column(name, guesses, open_to.held) for name, guesses in made.items()],
    }


def _column(name: str, guesses: dict[str, Any], able: Sequence[Held]) -> dict[str, JSON]:
    releases = [
        {"release": held.number, **{key: each[key] for key in KEYS}}
        for held, each in zip(able, guesses["releases"], strict=True)
    ]
    return {"name": name, "attacker": guesses["attacker"], "series": guesses["series"], "releases": releases}
