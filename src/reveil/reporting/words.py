"""What a guarantee means: in plain words, written here, and in its own, read from its docstring.

The docstring of a guarantee or a model is the one place that says what it promises, assumes and does not protect
against; a page that says it again in other words would be wrong one day.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reveil.guarantees.base import Guarantee

SECTIONS = {
    "guarantee": "Guarantee",
    "assumes": "Assumes",
    "does_not_protect": "Does not protect against",
    "source": "Source",
}
_HEAD = re.compile(rf"^\*?({'|'.join(SECTIONS.values())})\*?:\s*(.*)$")
_OTHER = re.compile(r"^(\*[A-Z][^*]*\*|``[^`]+``):")  # a head of some other kind ends a section, too
_STRONG = re.compile(r"\*(\w+)\*")
_ROLE = re.compile(r":\w+:`~?([^`]+)`")


def sections(subject: object) -> dict[str, str]:
    """Return the sections of a docstring that say what is promised, each as one paragraph.

    >>> class Promise:
    ...     '''A promise.
    ...
    ...     Guarantee: nothing is
    ...     ``told``.
    ...     Source: nowhere.
    ...     '''
    >>> sections(Promise)
    {'guarantee': 'nothing is told.', 'source': 'nowhere.'}
    """
    keys = {head: key for key, head in SECTIONS.items()}
    found: dict[str, list[str]] = {}
    now: list[str] | None = None
    for line in inspect.cleandoc(getattr(subject, "__doc__", None) or "").splitlines():
        head = _HEAD.match(line)
        if head is not None:
            now = found.setdefault(keys[head[1]], [])
            now.append(head[2])
        elif not line.strip() or _OTHER.match(line):
            now = None
        elif now is not None:
            now.append(line)
    return {key: _plain(" ".join(found[key])) for key in SECTIONS if key in found}


def _plain(text: str) -> str:
    """Take the marks of docstrings out of a paragraph."""
    return _STRONG.sub(r"\1", _ROLE.sub(r"\1", text).replace("``", "")).strip()


def plain_words(guarantee: Guarantee) -> list[str]:
    """Return what a guarantee means to somebody who has never heard of it; nothing for one that is not known here."""
    told = _PLAIN.get(guarantee.kind)
    if told is None:
        return []
    bound, part = guarantee.bound, _part(guarantee.settings())
    if bound is None and any("{bound}" in text for text in told):
        return [
            "With these settings no number is promised: they are there to be compared with, not to protect anybody."
        ]
    share = "" if bound is None else f"1 in {1 / bound:.4g}"
    return [text.format(bound=share, part=part) for text in told]


def plain_limits(guarantee: Guarantee) -> list[str]:
    """Return what a guarantee does not protect against, in plain words; nothing for one that is not known here."""
    own = _LIMITS.get(guarantee.kind)
    return [] if own is None else [*own, *_NOBODYS]


def _part(settings: dict[str, Any]) -> str:
    """Say what every group must have."""
    said = []
    if settings.get("k") is not None:
        chosen = isinstance(settings["k"], str)
        said.append("as many people as the method chose" if chosen else f"at least {settings['k']} people")
    if settings.get("l") is not None:
        said.append(f"at least {settings['l']} different values, counted as the config says")
    if settings.get("t") is not None:
        said.append("values that are spread nearly as in the whole table")
    return " and ".join(said) or "what the model of the config asks for"


GRADES = {
    "blind": "Blind: the bound holds even against somebody who knows the program and everything but the dice.",
    "counted": "Counted: every table that fits the releases is taken as equally likely; somebody who asks why the "
    "program made these very groups may know more.",
    "worlds": "Worlds: the bound holds against somebody who knows the program and everything but the dice, and takes "
    "the buckets, in which values change places, as given; somebody who asks why they are as they are may know more.",
    "none": "No grade: nothing is bounded.",
}
_TOGETHER = "Somebody may keep every file of this series and compare them line by line."
_PLAIN: dict[str, tuple[str, str]] = {
    "static": (
        "Every file is judged by itself: whoever is looked up in it is found in a group with {part}.",
        (
            "Nothing is promised about two files together. Somebody who holds two releases about the same people can "
            "subtract one from the other, and often knows who has what."
        ),
    ),
    "m-invariance": (
        (
            f"{_TOGETHER} As long as people only arrive and leave, they can link nobody with a sensitive value by "
            "more than a chance of {bound}."
        ),
        "Where people return or their values change, that is no longer so.",
    ),
    "tau-safety": (
        (
            f"{_TOGETHER} Even if they know who was in the table when, and whose value changed when, they can link "
            "nobody with a sensitive value by more than a chance of {bound}."
        ),
        (
            "To keep that word, made-up rows (counterfeits) may stand among the real ones; how many there are in each "
            "group is told, which ones they are is not. What was added is counted below."
        ),
    ),
    "refinement": (
        f"{_TOGETHER} Whatever crowd of people they can single out that way still has {{part}}.",
        (
            "To keep that word, some people may be published again as they were last told (dirty records), or be held "
            "back for a while."
        ),
    ),
    "global": (
        (
            f"{_TOGETHER} That somebody ever had a certain value can be concluded with a chance of at most "
            "{bound}, over all the releases."
        ),
        (
            "Each release spends a part of a budget. Whoever has none left rests: they are not published any more, "
            "whatever their value is now."
        ),
    ),
    "worlds": (
        (
            f"{_TOGETHER} All of it fits several stories equally well, the true one among them, and they can link "
            "nobody with a sensitive value by more than a chance of {bound}."
        ),
        (
            "Other columns of the same people may be published later; people may be added, but nobody may change or "
            "leave."
        ),
    ),
}
_EVER = (
    "The question whether somebody ever had a value: each change that is known of adds to the answer. Where that is "
    "the question, the global guarantee is for it."
)
_RETURN = "Somebody who was erased without a tombstone and comes back: for them the bound starts again."
_LIMITS: dict[str, tuple[str, ...]] = {
    "static": ("Comparing releases: two files about the same people are not bounded by anything.",),
    "m-invariance": ("Returns, and changes of a value.", _EVER),
    "tau-safety": (_EVER, _RETURN),
    "refinement": (
        "Somebody who knows from elsewhere whose value changed, or, where counterfeits are added, who left.",
        _EVER,
    ),
    "global": ("Somebody who knows that a value did not change.", _RETURN),
    "worlds": (
        (
            "Somebody who knows the value of a person in the table: it can single out one of the stories, and with it "
            "the values of others."
        ),
    ),
}
_NOBODYS = (
    (
        "What is known beforehand: where a value is likelier for somebody than for others, whoever knows that believes "
        "it more strongly than any bound says."
    ),
    "Related people, who share what they have: people are taken one by one.",
    "What others publish about the same people.",
    "Being in the table: that somebody is in it can often be recognised. What is hidden is what they have.",
    "Columns that others know of somebody and that the config does not call quasi.",
)
