"""What is found out beside all promises, in sentences for people: guesses by a prior, and what more knowledge gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reveil.adversary.result import Audit


def guessed(found: Audit) -> list[str]:
    """Say how many guesses are right, beside the prior alone and a control group; nothing where none was made."""
    guesses = found.attacks.get("prior", {})
    columns = {found.column: guesses} if "about" in guesses else guesses
    return [_one(column, each, found.summary["bound"]) for column, each in columns.items() if each.get("ran", True)]


def _one(column: str, guesses: dict[str, Any], bound: float | None) -> str:
    series = guesses["series"]
    who = f"beside all promises: {guesses['attacker']}"
    if series["attack"] is None:
        mean, before = series["belief"]["mean"], series["belief"]["prior_mean"]
        mine = f"believes their guess of somebody's {column} with {mean:.2f} on average"
        return f"{who}, {mine}, without the releases {before:.2f}"
    right, before = _share(series["attack"]), _share(series["baseline"])
    text = f"{who}, guesses {right} of people's {column} right; without the releases {before}"
    if series["control"] is not None:
        text += f", and of people who are not in the data {_share(series['control'])}"
    beyond = series["beyond"]
    what = "the bound of" if bound is not None and beyond["belief"] == bound else "a chance of"
    text += (
        f". {beyond['persons']:,} are believed with more than {what} {beyond['belief']:.4g} ({beyond['right']:,} right)"
    )
    return text + "; no promise is about what people know beforehand"


def read_off(found: Audit) -> list[str]:
    """Say what somebody finds out who knows more than any promise takes people to know; nothing where nobody tried."""
    said = []
    for attack in found.attacks.values():
        columns = {found.column: attack} if "about" in attack else attack
        for column, each in columns.items():
            if each.get("about") == "given" and each.get("ran", True):
                right = each["certain_and_right"]
                many = f"{each['certain']:,} persons' {column}" + ("" if right is None else f" ({right:,} right)")
                highest = f"the highest belief that is proven is {each['highest_proven']:.4g}"
                said.append(f"beside all promises: {each['attacker']}, reads {many} off; {highest}")
    return said


def _share(rate: dict[str, Any]) -> str:
    return f"{100 * rate['rate']:.1f} % ({100 * rate['low']:.1f} to {100 * rate['high']:.1f})"
