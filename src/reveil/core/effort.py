"""How long a search for narrower cells may take."""

from __future__ import annotations

from enum import StrEnum


class Effort(StrEnum):
    """What ``effort`` may say under [method] and [guarantee]: never what is promised, only how narrow cells become."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"
