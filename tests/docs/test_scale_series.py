"""The table of the long series is that of its evidence."""

import json

from benchmarks.scale_series import EVIDENCE, FIGURES, MARK, PAGE, table


def test_the_page_has_the_figures_of_the_evidence():
    found = json.loads((EVIDENCE / "scale_series.json").read_text())
    assert f"{MARK}\n\n{table(found)}\n\n" in PAGE.read_text()
    for figure in FIGURES:
        assert (EVIDENCE / f"scale_series_{figure}.svg").is_file()
        assert f"evidence/scale_series_{figure}.svg" in PAGE.read_text()


def test_what_the_page_says_of_the_series_holds():
    """Nobody is above the bound, and nothing grows with the number of releases beside the vault."""
    found = json.loads((EVIDENCE / "scale_series.json").read_text())
    for series in found.values():
        rows = series["releases"]
        assert [row["release"] for row in rows] == list(range(1, len(rows) + 1))
        assert all(row["withheld"] == 0 for row in rows)
        assert all(row["gcp"] <= 1.8 * rows[0]["gcp"] for row in rows)
        assert rows[-1]["gcp"] <= max(row["gcp"] for row in rows[len(rows) // 4 :])
        assert max(row["counterfeits"] / row["rows"] for row in rows) < 0.05
        if series["audit"] is not None:
            assert series["audit"]["held"]
            assert series["audit"]["certain"] == 0
    assert any(series["audit"] for series in found.values())
