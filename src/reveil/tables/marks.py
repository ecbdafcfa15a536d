"""What stands for no value of the table: texts that nobody may have written into it."""

from __future__ import annotations

SUPPRESSED_VALUE = "\x00*"  # what a suppressed cell is in a column of values, where a raw ``*`` is a text like others
