"""The judge of the guarantee, with the rule of its series."""

from __future__ import annotations

from reveil.verification.judges.guarantee import GuaranteeJudge
from reveil.verification.record import Entry, Kept
from reveil.verification.shown import unsafe

LEAST = Kept("toy_least", whole=("rows",))  # the smallest group that each person was published in


class Crowd(GuaranteeJudge):
    """Judge every release by its groups, and the series by the smallest group of each person."""

    kind = "crowd"
    remembers = True
    fixed = ("k",)

    @classmethod
    def grades(cls, manifest, told, asked):
        return {"blind"}

    @classmethod
    def rule(cls, shown, promised, record):
        who, rows = shown.who[shown.real], shown.groups.real[shown.group]
        if (record.of(LEAST, who)["rows"] < promised.settings["k"]).any() or (rows < promised.settings["k"]).any():
            raise unsafe("somebody is in a smaller group than the series promises")
        now = LEAST.frame(who=who, rows=rows)
        least = now.vstack(record.of(LEAST, who)).group_by("who").min()
        return (Entry(LEAST, least.select(now.columns)),)
