"""How pages are written: templates that escape whatever they are given, from the folder ``templates``.

No code of this package makes markup or declares any text to be markup (``Markup``, ``|safe``): a chart is a template,
too. So whatever a config, a table or a manifest says is text on every page, and a name that a template uses and a view
lacks is an error, not an empty place.
"""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


def fill(template: str, **views: object) -> str:
    """Return a template filled with views: what is shown; how is the template's business."""
    return _environment().get_template(template).render(**views)


@cache
def _environment() -> Environment:
    """Return the one environment of all pages; its templates are part of the package and do not change."""
    return Environment(
        loader=PackageLoader("reveil.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
