"""What a guarantee says of itself in its docstring, and what the grades mean.

The docstring of a guarantee or a model is the one place that says what it promises, assumes and does not protect
against; a page that says it again in other words would be wrong one day.
"""

from __future__ import annotations

import inspect
import re

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


GRADES = {
    "blind": "Blind: the bound holds even against somebody who knows the program and everything but the dice.",
    "counted": "Counted: every table that fits the releases is taken as equally likely; somebody who asks why the "
    "program made these very groups may know more.",
    "worlds": "Worlds: the bound holds against somebody who knows the program and everything but the dice, and takes "
    "the buckets, in which values change places, as given; somebody who asks why they are as they are may know more.",
    "none": "No grade: nothing is bounded.",
}
