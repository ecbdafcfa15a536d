"""Manifests that say something else, for tests: changed as a file would be, and read back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reveil.core.json_values import frozen_object
from reveil.releases.manifest import Manifest
from reveil.releases.promise import Promise

NUMBERS = ("rows", "groups", "suppressed", "withheld", "dirty", "stale")


def altered(manifest: Manifest, **changes: Any) -> Manifest:
    """Return a manifest with other values under some keys of the file; numbers may be such as no file may have."""
    numbers = {key: changes.pop(key) for key in NUMBERS if key in changes}
    return replace(_read(manifest, changes), **numbers)


def _read(manifest: Manifest, changes: dict[str, Any]) -> Manifest:
    told = {**manifest.to_json(), **changes}
    if "promise" in told:
        return Manifest.from_json({**told, "promise": mirrored(told)})
    return Manifest.from_json(told)


def mirrored(told: dict[str, Any]) -> dict[str, Any]:
    """Return the promise of a file whose guarantee or assumptions were changed: with the same change."""
    settings = {key: value for key, value in told["guarantee"].items() if key not in ("kind", "grade")}
    grade = told["guarantee"].get("grade")
    return {**told["promise"], "grade": grade, "parameters": settings, "assumes": told["assumes"]}


def promising(manifest: Manifest, **settings: Any) -> Manifest:
    """Return a manifest that promises something else: another kind, grade, or parameter."""
    return altered(manifest, guarantee={**manifest.promise.guarantee(), **settings})


def promise_of(guarantee: dict[str, Any], claim: str = "") -> Promise:
    """Return the promise of a manifest of the first format, of which limits follow by its kind."""
    own = {key: value for key, value in guarantee.items() if key not in ("kind", "grade")}
    return Promise(guarantee["kind"], claim, guarantee.get("grade"), frozen_object(own))


def claiming(manifest: Manifest, claim: str) -> Manifest:
    """Return a manifest that claims something else in words."""
    return replace(manifest, promise=replace(manifest.promise, claim=claim))
