"""The verdict on releases in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.adversary.sentences import broken

if TYPE_CHECKING:
    from reveil.adversary.result import Audit


def verdict(found: Audit) -> str:
    """Say whether the releases keep their word, and what would be believed without comparing them."""
    bound, base = found.summary["bound"], found.summary["baseline"]
    columns = [base] if "table" in base else list(base.values())
    alone = max(each["last_release"]["highest_proven"] for each in columns)
    guess = max(each["table"] for each in columns)
    beside = f"(the table alone: {guess:.4g}, the last release alone: {alone:.4g})"
    invalid = sum((each.get("cells") or {}).get("invalid", 0) for each in found.attacks.values())
    wrong = broken(found.limits)
    if invalid:
        wrong.insert(
            0, f"{invalid:,} sets of people that the releases tell apart are smaller or more uniform than promised"
        )
    if bound is None and found.known == "values":
        return f"no guarantee is about somebody who knows sensitive values, and no --threshold given {beside}"
    if found.summary["above"]["bound"]:
        wrong.append(f"{found.summary['above']['bound']:,} persons above {bound:.4g} {beside}")
    if wrong:
        return "BROKEN: " + "; ".join(wrong)
    # What nobody can read excludes nobody, and proves nothing either.
    word = "held, as far as the labels can be read" if found.unread else "held"
    tried = [f"not tried in shards: {', '.join(found.left_out)}"] if found.left_out else []
    if sample := found.summary.get("sample"):
        tried.append(f"{sample['attacked']:,} of {sample['of']:,} persons attacked")
    word += f", as far as it was tried ({'; '.join(tried)})" if tried else ""
    judged = [each["says"] for each in found.limits if each["held"] and each["over"] == "release"]
    if bound is None:
        alone_only = f"{word}, each release by itself: {', and '.join(judged)}. " if judged else ""
        return f"{alone_only}No bound is promised for the releases together, and no --threshold given {beside}"
    return f"{word}: nothing above {bound:.4g} was found {beside}"
