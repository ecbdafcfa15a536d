"""Which tools are compared, and under which models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.peers.checking import Verdict
    from benchmarks.peers.job import Job
    from benchmarks.peers.running import Answer

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
NUMBERS = ["age"]
SUPPRESS = 0.02


@dataclass(frozen=True)
class Tool:
    """A tool and how it is set: with the shared hierarchies or without, and what share of records may be left out.

    ``effort`` is one of Reveil's; the one that it has by itself where nothing is said.
    """

    label: str
    name: str
    labels: bool
    method: str = ""
    suppress: float = 0.0
    effort: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is Reveil."""
        return self.name == "ours"


@dataclass(frozen=True)
class Asked:
    """A model: its words, the columns it is about, its parameters beside k, and the tools that are asked."""

    title: str
    quasi: Sequence[str]
    sensitive: str
    tools: Sequence[Tool]
    l: int | None = None
    t: float | None = None


@dataclass(frozen=True)
class Run:
    """One publication: how long it took, and what was found in it; no verdict where nothing was published."""

    tool: Tool
    job: Job
    answer: Answer
    verdict: Verdict | None

    @property
    def inside(self) -> float:
        """Seconds from file to file in a process that has started."""
        return after_first(self.answer.seconds)

    @property
    def inside_cpu(self) -> float:
        """The same in processor time, over all threads."""
        return after_first(self.answer.cpu)


def after_first(seconds: Sequence[float]) -> float:
    """Return the best of several runs but the first, which loads what was compiled; of one run that one."""
    return min(seconds[1:] or seconds)


def rival(own: Run, found: Sequence[Run]) -> Run | None:
    """Return the run of Reveil's with which a peer's is compared: with hierarchies if the peer has them."""
    return next((other for other in found if other.tool.ours and other.tool.labels == own.tool.labels), None)


FREE = Tool("Reveil, Mondrian", "ours", labels=False, method="mondrian")
SHARED_LABELS = Tool("Reveil, Mondrian, shared hierarchies", "ours", labels=True, method="mondrian")
QUICK = Tool(
    "Reveil, Mondrian, shared hierarchies, effort quick", "ours", labels=True, method="mondrian", effort="quick"
)
DEALT = Tool("Reveil, Stack & Deal", "ours", labels=False, method="stack-deal")
ANONYPY = Tool("anonypy", "anonypy", labels=False)
ANJANA = Tool("ANJANA, shared hierarchies, 2 % suppression", "anjana", labels=True, suppress=SUPPRESS)
ARX = Tool("ARX, shared hierarchies, 2 % suppression", "arx", labels=True, suppress=SUPPRESS)
TOOLS = (FREE, ANONYPY, SHARED_LABELS, QUICK, ANJANA, ARX)
MODELS = {
    "k": Asked("k = 10, eight quasi columns", QUASI, "salary-class", TOOLS),
    "l": Asked("k = 10 and l = 5 (distinct values), seven quasi columns", QUASI[:-1], "occupation", TOOLS, l=5),
    "t": Asked(
        "k = 10 and t = 0.2 (all values equally far), seven quasi columns",
        QUASI[:-1],
        "occupation",
        # First of Reveil's, so that peers are compared with the method that is made for t.
        (DEALT, *TOOLS),
        t=0.2,
    ),
}
