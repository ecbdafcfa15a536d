"""What each column of a table is.

Every column is named and has one role. There is no default role: a column that nobody declared is an error,
because a column that silently becomes harmless is how people are found.
"""

from __future__ import annotations

from reveil.tables.schema.column import EXACT, FOLDED, LABEL, Column, Role, Type, looks_alike, make_column
from reveil.tables.schema.schema import Schema, undeclared
from reveil.tables.schema.toml_text import toml_key, toml_text

__all__ = [
    "EXACT",
    "FOLDED",
    "LABEL",
    "Column",
    "Role",
    "Schema",
    "Type",
    "looks_alike",
    "make_column",
    "toml_key",
    "toml_text",
    "undeclared",
]
