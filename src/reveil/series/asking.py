"""What a config asks for, as the judge is told it: settings, no code of the publisher."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reveil.core.defaults import filled
from reveil.verification import Promised

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.base import Guarantee


def described(method: Grouper | None) -> dict[str, JSON] | None:
    """Return a method as a manifest names it."""
    if method is None:
        return None
    found: dict[str, JSON] = json.loads(json.dumps({"kind": method.name, **method.parameters()}))
    return found


def asked_for(guarantee: Guarantee, method: Grouper | None) -> Promised:
    """Return what the settings of a guarantee and its method ask for."""
    return Promised.of_guarantee(filled(guarantee), method=described(None if method is None else filled(method)))
