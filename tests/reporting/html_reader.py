"""Reads a page as a machine does: its elements in order, and the text of those that carry a number."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

VOID = {"meta", "br", "hr", "img", "link", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict
    parents: tuple
    text: str = ""
    children: list = field(default_factory=list)


class Reader(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert not self._open, f"<{self._open[-1].tag}> is never closed"

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs), tuple(own.tag for own in self._open))
        if self._open:
            self._open[-1].children.append(element)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, dict(attrs), tuple(own.tag for own in self._open)))

    def handle_endtag(self, tag):
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element.text += data

    def all(self, *tags):
        return [element for element in self.elements if element.tag in tags]


def sound(text):
    """Assert what every reader of a page relies on: structure, names, tables, charts, and nothing from elsewhere."""
    page = Reader(text)
    assert [len(page.all(tag)) for tag in ("h1", "main", "header", "footer", "nav")] == [1] * 5
    levels = [int(element.tag[1]) for element in page.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in page.elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on")
            assert "http" not in (value or "") or name in ("http-equiv",)
            if name == "href":
                assert value.startswith("#")
                assert value[1:] in ids
            if name in ("aria-labelledby", "aria-describedby"):
                assert set(value.split()) <= set(ids)
            assert name not in ("src", "srcset", "action", "data")
    assert not page.all("script", "link", "iframe", "img", "object", "embed")
    for table in page.all("table"):
        assert table.children[0].tag == "caption"
        assert table.children[0].text
    assert all("scope" in element.attributes for element in page.all("th"))
    for chart in page.all("svg"):
        assert chart.attributes["role"] == "img"
        assert [child.tag for child in chart.children[:2]] == ["title", "desc"]
        assert all(child.text for child in chart.children[:2])
    return page
