"""Names and texts as a config file spells them."""

from __future__ import annotations

import json


def toml_key(name: str) -> str:
    """Return a column name as a TOML key."""
    bare = name and all(ch.isascii() and (ch.isalnum() or ch in "_-") for ch in name)
    return name if bare else toml_text(name)


def toml_text(value: str) -> str:
    """Return a TOML string. JSON's escapes are TOML's, except that TOML has one for DEL too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
