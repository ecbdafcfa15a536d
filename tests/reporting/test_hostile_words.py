"""Whatever columns, labels, series and claims are called, on a page they are text."""

import copy
import json
import re
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from tomllib import loads
from xml.etree import ElementTree

import polars as pl
import pytest
from jinja2 import UndefinedError

import reveil
from reveil.cli import demo_page
from reveil.cli import demo_stories as stories
from reveil.reporting import charts, render, report
from reveil.reporting.owner_page import render_owner
from reveil.reporting.templating import fill
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from tests.reporting.html_reader import sound
from tests.reporting.test_report import numbers_agree

HOSTILE = """</desc></title></style><script>alert(1)</script>" onload="x()' & &lt; {{ 7 * 7 }} {% raw %} {# no #} ]]>"""
SOURCE = Path(reveil.__file__).parent


def hostile(value):
    """Return the same JSON with hostile words in every text."""
    if isinstance(value, dict):
        return {key: hostile(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [hostile(inside) for inside in value]
    return HOSTILE + value if isinstance(value, str) else value


def shape(page):
    """Return the elements of a page in order, with the names of their attributes."""
    return [(element.tag, tuple(element.attributes)) for element in page.elements]


def words(text):
    return " ".join(text.split())


def outcomes(mischief=""):
    summary = {"certain": 5, "certain_and_right": 4, "persons": 50_000, "bound": 0.25, "highest": 0.5}
    summary["baseline"] = {"last_release": {"certain": 17}}
    counted = {"rows": 9, "counterfeits": 8, "withheld": 7, "dirty": 6, "loss": 0.1, "error": 0.2}
    counted["held"] = [(1, 3), (12, 5)]
    header, sample = [f"{mischief}age", f"{mischief}diagnosis"], [[f"{mischief}1", f"{mischief}flu"]]
    told = {"claim": f"{mischief}claim", "assumes": [f"{mischief}terms"], "header": header, "sample": sample}
    return {
        story.name: stories.Outcome(name=story.name, summary=summary, **told, **counted) for story in stories.STORIES
    }


def test_no_text_of_the_report_is_markup(ward):
    content = copy.deepcopy(ward[3])
    content["notes"] = ["a note"]
    content["missing"] = [{"release": 1, "file": "r1.csv", "why": "it is gone"}]
    content["risk"]["knows_more"] = {"sentence": "a sentence"}
    content["risk"]["broken"] = ["something broke"]
    content["risk"]["columns"] = [{**column, "found_nothing": ["tau"]} for column in content["risk"]["columns"]]
    mischief = hostile(content)
    page = render(mischief)
    numbers_agree(page, mischief)
    assert shape(sound(page)) == shape(sound(render(content)))
    for place in ("claim", "kind"):
        assert words(mischief["guarantee"][place]) in words(sound(page).all("main")[0].text)
    (title,), (heading,) = sound(page).all("h1"), [one for one in sound(page).all("title") if "head" in one.parents]
    assert (title.text, heading.text) == (HOSTILE + "ward", HOSTILE + "ward: report on the releases")
    (column,) = mischief["risk"]["columns"]
    drawn = [chart.children[0].text for chart in sound(page).all("svg")]
    assert f"Belief in somebody's {column['name']}" in drawn
    captions = {caption.text for caption in sound(page).all("figcaption")}
    assert any(column["name"] in caption for caption in captions)
    assert captions == {  # the name of the part that scrolls, for those who do not see it
        own.attributes["aria-label"].removeprefix("Chart: ")
        for own in sound(page).elements
        if own.attributes.get("aria-label", "").startswith("Chart: ")
    }


CONFIG = f"""
[series]
name = {json.dumps(HOSTILE)}
vault = "v"
[columns]
pid = "person"
{json.dumps(HOSTILE + "age")} = "quasi"
{json.dumps(HOSTILE + "disease")} = "sensitive"
[guarantee]
kind = "static"
k = 4
l = 2
"""


def test_hostile_columns_are_published_and_reported(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    age, disease = f"{HOSTILE}age", f"{HOSTILE}disease"
    rows = {"pid": range(8), age: [1] * 4 + [9] * 4, disease: list("uvwu") * 2}
    pl.DataFrame(rows).write_csv(tmp_path / "raw.csv")
    out = tmp_path / "<b onclick=x>&'{{ 1 }}.csv"
    publish_file(load_config(tmp_path / "reveil.toml"), tmp_path / "raw.csv", out)
    content = report(tmp_path / "reveil.toml", truth=[tmp_path / "raw.csv"], out=tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    numbers_agree(text, content)
    page = sound(text)
    cells = Counter(element.text for element in page.all("td", "th"))
    assert cells[age]
    assert cells[out.name]
    assert not page.all("script", "b")
    assert any(f"Belief in somebody's {disease}" == chart.children[0].text for chart in page.all("svg"))


def test_no_text_of_the_owners_page_is_markup(ward):
    content = json.loads(ward[0].with_name("report.owner.json").read_text())
    plain, page = sound(render_owner(content)), sound(render_owner(hostile(content)))
    assert shape(page) == shape(plain)


def test_no_text_of_the_demo_is_markup(monkeypatch):
    plain = sound(demo_page.render(outcomes()))
    monkeypatch.setattr(stories, "STORIES", tuple(replace(s, title=HOSTILE + s.title) for s in stories.STORIES))
    page = sound(demo_page.render(outcomes(HOSTILE)))
    assert shape(page) == shape(plain)
    cells = {element.text for element in page.all("td", "th")}
    assert {HOSTILE + "age", HOSTILE + "flu"} <= cells
    assert HOSTILE + "terms" in {element.text for element in page.all("li")}
    assert HOSTILE + "claim" in {element.text for element in page.all("p")}
    assert any(cell.startswith(HOSTILE) and cell.endswith("m\u00a0=\u00a04") for cell in cells)


def test_the_demo_says_its_numbers():
    page = sound(demo_page.render(outcomes()))
    (lead,) = [element.text for element in page.all("p") if element.attributes.get("class") == "lead"]
    assert lead == (
        "5 of 50,000 patients lose their secret though every single file is 10-anonymous and 3-diverse. With Reveil: 5."
    )
    rows = [element for element in page.all("tr") if len(element.children) == 8]
    assert [cell.text for cell in rows[1].children[1:]] == [
        *("12", "5", "0.50", "0.25", "10%", "20%"),
        "8 counterfeits, 6 rows not asked for, 7 people held back",
    ]


@pytest.mark.parametrize("draw", ["lines", "bars", "timeline"])
def test_no_text_of_a_chart_is_markup(draw):
    series, words = {HOSTILE: [1, 2], "b": [3, 4]}, {"y_label": HOSTILE + "y", "x_label": HOSTILE + "x"}
    chart = {
        "lines": lambda: charts.lines(HOSTILE, [1, 2], series, bound=1.5, **words),
        "bars": lambda: charts.bars(HOSTILE, [HOSTILE + "1", HOSTILE + "2"], series, **words),
        "timeline": lambda: charts.timeline(HOSTILE, [HOSTILE + "1", "2"], series, {}, {}, **words),
    }[draw]()
    root = ElementTree.fromstring(charts.svg(chart))  # noqa: S314  (made here)
    assert {element.tag for element in root.iter()} <= {"svg", "title", "desc", "path", "rect", "text"}
    assert root.findtext("title") == HOSTILE
    assert HOSTILE in root.findtext("desc")
    texts = {element.text for element in root.iter("text")}
    assert {HOSTILE + "x", HOSTILE + "y", HOSTILE[: charts.LONG - 1] + "…"} <= texts
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in attributes if name.startswith("on")]


def test_nothing_is_declared_to_be_markup():
    for path in SOURCE.rglob("*.py"):
        assert not re.search(
            r"^\s*(from|import) (markupsafe|html)\b|\bMarkup\(|__html__", path.read_text(), re.MULTILINE
        )
    templates = list(SOURCE.rglob("*.j2"))
    assert len(templates) > 20
    for path in templates:
        assert not re.search(r"\|\s*(safe|tojson|xmlattr|urlize)\b|\bautoescape\b", path.read_text()), path


def test_an_attribute_in_a_template_stands_in_quotes():
    """Escaping makes a text safe between quotes; without them a space would end the attribute.

    What follows a question mark or an ampersand is a parameter of an address, which stands in quotes as a whole.
    """
    for path in SOURCE.rglob("*.j2"):
        page = re.sub(r"\{[%#].*?[%#]\}", "", path.read_text(), flags=re.DOTALL)
        assert not re.search(r"(?<![\w?&;-])[\w-]+=\{\{", page), path


def test_a_view_that_lacks_something_is_an_error():
    with pytest.raises(UndefinedError):
        fill("report/auto.html.j2", chapter={"chosen": 1})


def test_templates_are_shipped():
    project = loads((SOURCE.parent.parent / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["reveil.reporting"]
    folder = SOURCE / "reporting"
    for path in (folder / "templates").rglob("*.*"):
        name = path.relative_to(folder)
        assert any(
            len(Path(pattern).parts) == len(name.parts) and fnmatch(str(name), pattern) for pattern in patterns
        ), name
