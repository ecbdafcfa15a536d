"""Tries every sabotage and writes what caught it: ``python -m tests.sabotage.evidence``, then the page of evidence."""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

from reveil.core.errors import VerificationError
from tests.sabotage import columns, forgeries, groupers, guarantees, limits, models
from tests.sabotage.registry import KEY, SABOTAGES, Sabotage

FILE = Path(__file__).parents[2] / "docs" / "evidence" / "sabotage.json"
assert all((columns, forgeries, groupers, guarantees, limits, models))


def caught_by(sabotage: Sabotage) -> str | None:
    """Return the check that refused a sabotage, None if nothing did."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setenv("REVEIL_KEY", KEY)
        try:
            sabotage.run(patch, Path(folder))
        except VerificationError as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if "/reveil/" in frame.filename and frame.name[:1] != "<"]
            last = own[-1] if own else None
            if last is None or frames[-1].filename.endswith("scenes.py"):
                return "verify --series"
            named = next((f for f in reversed(own) if not f.name.startswith("_")), last)
            return f"{Path(named.filename).stem}.{named.name}"
    return None


def main() -> None:
    """Try them all."""
    parts: dict[str, dict[str, object]] = {}
    each: dict[str, dict[str, object]] = {}
    for sabotage in SABOTAGES.values():
        check = caught_by(sabotage)
        each[sabotage.name] = {"check": check or "nothing"}
        for about in sabotage.about:
            own = parts.setdefault(about, {"tried": 0, "caught": 0, "by": []})
            own["tried"] += 1  # type: ignore[operator]
            own["caught"] += check is not None  # type: ignore[operator]
            if check is not None and check not in own["by"]:  # type: ignore[operator]
                own["by"].append(check)  # type: ignore[attr-defined]
        print(f"{check or 'NOTHING':40} {sabotage.name}", flush=True)  # noqa: T201
    tried, caught = len(each), sum(own["check"] != "nothing" for own in each.values())
    told = {"all": {"tried": tried, "caught": caught}, "by part": dict(sorted(parts.items())), "each": each}
    FILE.write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(caught < tried)


if __name__ == "__main__":
    main()
