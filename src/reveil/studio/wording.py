"""Messages of the command line, in the words of a page: options become the names that fields have here.

Reveil's messages name options and commands, which is right in a terminal. Whoever reads one on a page finds neither.
"""

from __future__ import annotations

import re

# Longer ones first: what is replaced is not looked at again.
_SAID_HERE = {
    "reveil history --check DIR": "“Check the folder” on the page of the series",
    "reveil history --check": "“Check the folder” on the page of the series",
    "reveil history --budget": "“Show what is left” on the page of the series",
    "reveil history --abandon": "“Give it up instead” on the page of the series, release",
    "reveil history": "the page of the series",
    "reveil adopt SNAPSHOT RELEASE": "“Adopt”",
    "reveil adopt": "“Adopt”",
    "reveil forget PERSON": "“Forget”",
    "reveil verify --series": "“Verify the series”",
    "reveil audit --known values": "“Audit” with the last choice of what the attacker knows",
    "reveil audit": "“Audit”",
    "reveil measure": "“Measure”",
    "init --once": "if you answer no",
    "init --fixed": "if you answer that values do not change",
}
# Options, and the labels of their fields; a test compares them with the forms.
LABELS = {
    "again": "Publish it anew",
    "attack": "Run these attacks only",
    "bins": "Numbers in ranges",
    "cluster": "Categories that look alike",
    "columns": "Columns",
    "dates": "Dates by period",
    "minutes": "Begin nothing new after so many minutes",
    "new-series": "This is another series",
    "order": "Steps of an order",
    "pairs": "Attack by which values of two sensitive columns occur together",
    "population-size": "Of how many people the tables are a sample",
    "prefix": "Codes by their first characters",
    "prior": "Guess by what people usually have",
    "releases": "Releases, in order",
    "sample": "How many people to take",
    "threshold": "The belief that is too much",
    "tombstone": "Keep a tombstone",
    "truth": "The tables they were made of, if you have them",
    "try": "Settings, one on each line",
    "where": "Only those who satisfy",
}
_COMMANDS = re.compile("`?(" + "|".join(re.escape(said) for said in sorted(_SAID_HERE, key=len, reverse=True)) + ")`?")
_OPTIONS = re.compile(r"--(" + "|".join(LABELS) + r")\b(?: (?:EXPR|F)\b)?")


def on_a_page(text: str) -> str:
    """Return a message in the words of the pages.

    >>> on_a_page("It looks like raw data. Choose another name with -o.")
    'It looks like raw data. Choose another name.'
    >>> on_a_page("See reveil history, or publish it again: --again.")
    'See the page of the series, or publish it again: “Publish it anew”.'
    """
    found = _COMMANDS.sub(lambda match: _SAID_HERE[match[1]], text.replace(" with -o", ""))
    return _OPTIONS.sub(lambda match: f"“{LABELS[match[1]]}”", found)
