"""Changes one line of a config, as a person would: comments and everything else stay."""

from __future__ import annotations

import re
import tomllib

from reveil.core.errors import ConfigError
from reveil.tables.schema import toml_key, toml_text


def with_hierarchy(text: str, column: str, file: str) -> str:
    r"""Return the text of a config in which a column has a hierarchy in a file.

    >>> print(with_hierarchy('[columns]\\nzip = "quasi"  # public', "zip", "zip.csv"))
    [columns]
    zip = { role = "quasi", hierarchy = "zip.csv" }  # public
    """
    before = tomllib.loads(text)
    given = before.get("columns", {}).get(column)
    settings = dict(given) if isinstance(given, dict) else {"role": given}
    settings.pop("order", None)
    wanted = {**before, "columns": {**before.get("columns", {}), column: {**settings, "hierarchy": file}}}
    simple = {name: _toml(value) for name, value in {**settings, "hierarchy": file}.items()}
    line = f"{toml_key(column)} = {{ {', '.join(f'{name} = {value}' for name, value in simple.items())} }}"
    pattern = re.compile(rf"^\s*{re.escape(toml_key(column))}\s*=[^#\n]*?(\s*#.*)?$", re.MULTILINE)
    made = pattern.sub(lambda found: line + (found[1] or ""), text, count=1)
    try:
        same = tomllib.loads(made) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise ConfigError(
            "this config is written in a way that cannot be changed line by line",
            hint=f"The hierarchy was saved. Write it yourself under [columns]: {line}",
        )
    return made


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return toml_text(value) if isinstance(value, str) else str(value)
