"""One release that satisfies a model by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from reveil.core.errors import VerificationError
from reveil.core.json_values import object_in
from reveil.verification.exact import written
from reveil.verification.judges.base import other_promise
from reveil.verification.judges.guarantee import GuaranteeJudge

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema
    from reveil.verification.promised import Promised

# Methods that look at who has which value, whatever they are asked for.
_READ_VALUES = frozenset(["anatomy", "fragmentation", "microaggregation", "sabre", "stack-deal"])


class Static(GuaranteeJudge):
    """Judge a release alone: its groups, what was left out, and the grade."""

    kind: ClassVar[str] = "static"
    own_settings: ClassVar[frozenset[str]] = frozenset(["suppress", "bins", "beta", "epsilon", "delta"])
    may_count: ClassVar[frozenset[str]] = frozenset(["suppressed"])

    @classmethod
    def check_counts(cls, manifest: Manifest, asked: Promised, schema: Schema, records: int) -> None:
        """Refuse more suppressed records than were allowed, and other bins than the schema has."""
        super().check_counts(manifest, asked, schema, records)
        told: dict[str, JSON] = dict(manifest.promise.guarantee())
        bins = {name: n for name in schema.sensitive if isinstance(n := schema[name].bins, int)}
        if (told.get("bins") or {}) != bins:
            raise other_promise("other bins")
        sampled = {"beta", "epsilon"} & told.keys()
        method = asked.settings.get("method")
        if isinstance(method, dict) and {"beta", "epsilon"} <= method.keys():
            wrong = [key for key in ("beta", "epsilon") if told.get(key) != method[key]]
            if wrong or told.get("method") != method:
                raise other_promise("a sample on another grid, or another one")
        elif isinstance(method, dict) and sampled:
            raise other_promise("no sample")
        if sampled:
            if manifest.suppressed is not None:
                raise VerificationError("the manifest tells how many records a sample leaves out")
            return
        limit = math.floor(written("suppress", asked.settings.get("suppress") or 0) * records)
        if manifest.suppressed is None or manifest.suppressed > limit:
            raise VerificationError(f"more records are left out than the config allows ({limit:,})")

    @classmethod
    def grades(cls, manifest: Manifest, told: Promised, asked: Promised) -> set[str]:  # noqa: ARG003
        """Blind is what no sensitive value decided; a sample by dice is, whatever it leaves out."""
        settings = told.settings
        if "beta" in settings:
            return {"blind"}
        method = settings.get("method")
        method = method if isinstance(method, dict) else {}
        looks = told.reads_values or method.get("kind") in _READ_VALUES or method.get("choose") == "gain"
        return {"counted"} if looks else {"blind", "counted"}

    @classmethod
    def states(cls, claim: str, told: Promised) -> bool:
        """Return whether the claim has the numbers of the model, and those of a sample."""
        settings = told.settings
        sample = "beta" not in settings or (
            f"probability {settings['beta']:g} " in claim and f"e^{settings['epsilon']:g} " in claim
        )
        bins = all(
            f"{name} are judged in {n} bins" in claim for name, n in object_in(settings.get("bins") or {}).items()
        )
        return super().states(claim, told) and sample and bins
