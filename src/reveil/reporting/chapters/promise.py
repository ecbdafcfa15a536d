"""What is promised: in plain words, in the claim's, and in the papers'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.reporting.docstring_sections import SECTIONS
from reveil.reporting.parts import Chapter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.reporting.parts import Parts

Terms = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class GroupModel:
    """What a model asks of each group, in the papers' words."""

    name: str
    in_full: Terms


@dataclass(frozen=True)
class PromiseChapter(Chapter):
    """The chapter; ``limits_in_full`` stands where a guarantee has no plain ``limits``: one from elsewhere."""

    key: ClassVar[str] = "promise"
    title: ClassVar[str] = "What is promised"
    template: ClassVar[str] = "report/promise.html.j2"
    kind: str
    plain: tuple[str, ...]
    claim: str | None
    grade: str | None
    limits: tuple[str, ...]
    limits_in_full: str | None
    assumes: tuple[str, ...]
    in_full: Terms
    models: tuple[GroupModel, ...]


def promise(parts: Parts) -> PromiseChapter:
    """Say what the guarantee promises, assumes and does not protect against."""
    given = parts.content["guarantee"]
    in_full = given["sections"].get("does_not_protect")
    models = given["models"] if given["grouped"] else ()
    return PromiseChapter(
        kind=given["kind"],
        plain=tuple(given["plain"]),
        claim=given["claim"],
        grade=given["grade_means"],
        limits=tuple(given["plain_limits"]),
        limits_in_full=_sentence(in_full) if in_full else None,
        assumes=tuple(given["assumes"]),
        in_full=_in_full(given["sections"]),
        models=tuple(GroupModel(model["name"], _in_full(model["sections"])) for model in models),
    )


def _in_full(sections: Mapping[str, str]) -> Terms:
    return tuple((SECTIONS[key], _sentence(text)) for key, text in sections.items())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
