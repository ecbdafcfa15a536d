"""The pages in a real browser, wide and narrow, light and dark: numbers are those of the JSON, and nothing spills."""

import json
import os
from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil.cli import demo_page
from reveil.reporting.exploring.page import render as render_exploration
from reveil.reporting.parts import at, display
from tests.browser import SCREENS
from tests.reporting.test_exploring import point
from tests.reporting.test_hostile_words import outcomes

pytestmark = pytest.mark.browser
LEAST = 9.0  # pixels of the letters of a chart


@pytest.fixture(scope="session")
def pages(ward, tmp_path_factory):
    """Return the pages by name, each with its numbers; the demo has none beside it."""
    folder = tmp_path_factory.mktemp("pages")
    report, owner = (ward[0].with_name(name) for name in ("report.html", "report.owner.html"))
    points = [
        point(n, 0.5 - n / 20, 0.1 + n / 30, named=f"m = {n}", frontier=n % 2 == 0, words="It costs.", seconds=1.5)
        for n in range(8)
    ]
    head = {"format": 1, "reveil": "0", "created": "2026-01-01T00:00:00+00:00", "sample": None, "snapshots": 1}
    explored = {**head, "points": points, "current": 2, "refused": []}
    (folder / "explore.html").write_text(render_exploration(explored))
    (folder / "demo.html").write_text(demo_page.render(outcomes()))
    return {
        "report": (report, json.loads(report.with_suffix(".json").read_text())),
        "owner": (owner, json.loads(owner.with_suffix(".json").read_text())),
        "explore": (folder / "explore.html", explored),
        "demo": (folder / "demo.html", None),
    }


@pytest.mark.parametrize(("size", "scheme"), SCREENS)
@pytest.mark.parametrize("name", ["report", "owner", "explore", "demo"])
def test_a_page(pages, visit, name, size, scheme):
    path, content = pages[name]
    opened = visit(path.as_uri(), size, scheme)
    if (kept := os.environ.get("REVEIL_SCREENSHOTS")) is not None:  # for those who look at them
        opened.page.screenshot(path=Path(kept) / f"{name}-{size[0]}-{scheme}.png", full_page=True)
    assert opened.complaints == []
    assert opened.requests == []
    assert opened.overflows() == []
    shown = opened.shown()
    assert (len(shown) > 20) == (content is not None)
    for key, how, text in shown:
        assert text == display(at(content, key), how), key
    assert (
        opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == {
            "light": "rgb(253, 252, 249)",
            "dark": "rgb(22, 25, 30)",
        }[scheme]
    )
    # Letters of charts are read without a lens, and charts are seen as a whole.
    letters = opened.page.evaluate(
        "() => [...document.querySelectorAll('svg.chart text')].map(own => own.getScreenCTM().a * "
        "parseFloat(getComputedStyle(own).fontSize))"
    )
    assert min(letters, default=LEAST) >= LEAST
    assert opened.page.evaluate(
        "() => [...document.querySelectorAll('svg.chart')].every(own => own.getBoundingClientRect().width <= "
        "own.parentElement.clientWidth + 1)"
    )


def test_a_distribution_before_and_after(tmp_path):
    before = pl.DataFrame({"pid": range(40), "age": [20 + n % 40 for n in range(40)], "s": list("abcd") * 10})
    before.write_csv(tmp_path / "raw.csv")
    config = tmp_path / "reveil.toml"
    config.write_text(
        '[columns]\npid = "person"\nage = "quasi"\ns = "sensitive"\n[guarantee]\nkind = "static"\nk = 4\n'
    )
    schema = rv.Schema(person="pid", quasi="age", sensitive="s")
    release = rv.anonymize(before, schema, rv.KAnonymity(4), seed=1).write(tmp_path / "r.csv")
    rv.report(config, [release], [tmp_path / "raw.csv"], tmp_path / "report.html")
    owner = json.loads((tmp_path / "report.owner.json").read_text())
    age, s = owner["columns"]
    assert (age["name"], s["name"]) == ("age", "s")
    assert [bar["before"] for bar in s["bars"]] == [bar["after"] for bar in s["bars"]] == [10] * 4
    assert sum(bar["before"] for bar in age["bars"]) == sum(bar["after"] for bar in age["bars"]) == 40
    (crossed,) = owner["crossed"]
    assert (crossed["down"], crossed["across"], crossed["columns"]) == ("age", "s", ["a", "b", "c", "d"])
    assert sum(sum(row["before"]) for row in crossed["rows"]) == 40
    assert [own["alike"] for own in owner["riskiest"][0]["before"]] == [1] * 20
