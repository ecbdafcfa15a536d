"""How things are damaged: bytes, texts, the cells of a table, JSON, TOML."""

import json
import re
from collections.abc import Mapping

TEXTS = [
    "", " ", '"', '""', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\x00", "\ufeff", "\ufeff=1+1", "=1+1", "-", "*",
    "{a, b}", "[1, 2]", "[1, 2] | null", "{", "[", "]", '"\\u0000"', '"\\ud800"', "\u2028", "\u0301", "\u202e",
    "\U0001f600", "İ", "ß", "NA", "null", "None", "true", "nan", "NaN", "inf", "-inf", "-0", "-0.0", "0", "00",
    "1e400", "1e-400", "0x10", "1_000", "1,5", "1.0", "½", "٣", "9" * 30, "9" * 5_000, "1" + "0" * 400,
    "0." + "1" * 400, "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "170141183460469231731687303715884105728", "2024-02-30", "0000-00-00", "0001-01-01", "9999-12-31", "10000-01-01",
    "-0001-01-01", "2024-13-01", "24:00:00", "2024-01-01T00:00:00+25:00", "1970-01-01 00:00:00.000000001", "x" * 300,
    "x" * 70_000, "x" * 200_000, "../x", "/dev/null", "%s%n", "${HOME}", "a\\", "group", "level", "count", "pid",
    "age", "disease",
]  # fmt: skip
DIGITS = "a number of many digits"  # which Python itself does not write
VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 10**6, 2**31, 2**63, 2**64, 10**40, DIGITS, -0.0, 0.5, 1.5, 1e308,
    float("inf"), float("nan"), "", " ", "x", "*", "age", "disease", "Int64", "String", "interval", "sha256:00",
    "quasi", "9" * 5_000, "x" * 70_000, "\x00", "\ud7ff", [], {}, [None], [[]], [1, 2], ["a", "a"], {"a": 1},
    {"": None}, [{}], {"name": "age"}, ["age"], [1, "a", None],
]  # fmt: skip
_SEPARATORS = (",", ";", "\t", "|")
_SECTIONS = ("[series]", "[x]", "[[columns]]", "[guarantee.t]", "[method]", "[", "[columns.age]")


def bytes_(dice, content):
    """Damage a file anywhere, once to a few times."""
    for _ in range(dice.pick({1: 6, 2: 2, 5: 1, 20: 1})):
        content = _once(dice, content)
    return content


def _once(dice, content):
    start = dice.below(len(content) + 1)
    end = min(len(content), start + dice.pick({1: 4, 4: 2, 40: 2, 1_000: 1}))
    before, piece, after = content[:start], content[start:end], content[end:]
    what = dice.pick(
        ["flip", "flip", "delete", "double", "insert", "insert", "cut", "zero", "move", "text", "text", "empty"]
    )
    if what == "flip" and piece:
        place = dice.below(len(piece))
        piece = piece[:place] + bytes([piece[place] ^ (1 << dice.below(8))]) + piece[place + 1 :]
    elif what == "delete":
        piece = b""
    elif what == "double":
        piece = piece * dice.pick({2: 5, 50: 1})
    elif what == "insert":
        piece = dice.rng.bytes(dice.number(1, 8)) + piece
    elif what == "cut":
        return before
    elif what == "zero":
        piece = bytes(len(piece))
    elif what == "move":
        other = dice.below(len(after) + 1)
        return before + after[:other] + piece + after[other:]
    elif what == "text":
        piece = dice.pick(TEXTS).encode() + (piece if dice.chance(0.5) else b"")
    elif what == "empty" and dice.chance(0.1):
        return b""
    return before + piece + after


def cells(dice, content):
    """Damage the cells, lines and columns of a CSV file, as people and their tools do."""
    lines = content.decode("utf-8", "replace").split("\n")
    for _ in range(dice.pick({1: 6, 2: 2, 5: 1})):
        lines = _lines(dice, lines)
    text = "\n".join(lines)
    encoding = dice.pick({"utf-8": 30, "utf-16": 1, "latin-1": 1, "utf-8-sig": 2, "cp1252": 1})
    return text.encode(encoding, "replace")


def _lines(dice, lines):
    """Damage one cell, or whole lines and columns."""
    row = dice.below(len(lines))
    if dice.chance(0.6):
        return [*lines[:row], _words(dice, lines[row].split(",")), *lines[row + 1 :]]
    separator, ending, text = dice.pick(_SEPARATORS), dice.pick(["\r", "\r\r", " "]), dice.pick(TEXTS)
    names, other = lines[0].split(","), dice.below(len(lines))
    place = dice.below(len(names))
    names[place] = dice.pick([*names, *TEXTS])
    ways = {
        "no header": lambda: lines[1:],
        "another header": lambda: [",".join(names), *lines[1:]],
        "header twice": lambda: [lines[0], *lines],
        "header last": lambda: [*lines[1:], lines[0]],
        "gone": lambda: [*lines[:row], *lines[row + dice.pick([1, 1, 5, 1_000]) :]],
        "twice": lambda: [*lines[:row], *[lines[row]] * dice.pick([2, 2, 40]), *lines[row + 1 :]],
        "one value": lambda: [lines[0], *(_with(line.split(","), place, text) for line in lines[1:])],
        "swap": lambda: [
            lines[other] if n == row else lines[row] if n == other else own for n, own in enumerate(lines)
        ],
        "separator": lambda: [line.replace(",", separator) for line in lines],
        "separators": lambda: [*lines[:row], lines[row].replace(",", separator), *lines[row + 1 :]],
        "endings": lambda: [line + ending for line in lines],
        "short": lambda: lines[: dice.pick([1, 2])],
        "blank": lambda: [*lines[:row], dice.pick(["", " ", ",", ",,,,,,"]), *lines[row:]],
    }
    weights = {name: 4 if "header" in name else 1 for name in ways}  # people without a first line are people shown
    return ways[dice.pick(weights)]() or [""]


def _words(dice, words):
    """Damage one cell of a line, or the number of its cells."""
    place = dice.below(len(words))
    old = words[place]
    what = dice.pick({"cell": 6, "quote": 4, "less": 1, "more": 1})
    if what == "less":
        return ",".join(words[:place] + words[place + 1 :])
    if what == "more":
        return ",".join([*words[:place], dice.pick([old, *TEXTS]), *words[place:]])
    quoted = dice.pick([f'"{old}', f'{old}"', f'"{old}" x', f"'{old}'"])
    return _with(words, place, dice.pick(TEXTS) if what == "cell" else quoted)


def _with(words, place, text):
    return ",".join([text if n == place else word for n, word in enumerate(words)])


def deep(dice):
    """Return text that is nested deeper than a reader may follow."""
    many = dice.pick([50, 1_000, 20_000, 200_000])
    return dice.pick(["[" * many, "[" * many + "]" * many, '{"a":' * many + "1" + "}" * many])


def json_(dice, content):
    """Damage a JSON file: mostly its values, sometimes its bytes."""
    if dice.chance(0.2):
        return bytes_(dice, content)
    if dice.chance(0.05):
        return dice.pick([deep(dice), "null", "1", '"x"', "[]", "{}", "NaN"]).encode()
    tree = json.loads(content)
    for _ in range(dice.pick({1: 6, 2: 2, 4: 1})):
        _alter(dice, tree)
    text = json.dumps(tree).replace(f'"{DIGITS}"', "9" * 5_000)
    if dice.chance(0.03):
        text = text.replace("null", deep(dice), 1)
    return text.encode("utf-8", "surrogatepass")


def _alter(dice, tree):
    """Replace, remove, double or rename one thing of a tree of JSON, at any depth."""
    place, node = None, tree
    while isinstance(node, dict | list) and node and (place is None or dice.chance(0.65)):
        key = dice.pick(list(node)) if isinstance(node, dict) else dice.below(len(node))
        place, node = (node, key), node[key]
    if place is None:
        return
    inside, key = place
    what = dice.pick({"value": 6, "text": 2, "gone": 2, "copy": 1, "wrap": 1})
    if what == "value":
        inside[key] = dice.pick(VALUES)
    elif what == "text":
        inside[key] = dice.pick(TEXTS)
    elif what == "gone":
        inside.pop(key)
    elif what == "wrap":
        inside[key] = dice.pick([[node], {"x": node}, str(node)])
    elif isinstance(inside, dict):
        inside[dice.pick(TEXTS)] = node
    else:
        inside.insert(dice.below(len(inside)), node)


def toml(dice, content, known):
    """Damage a config: its lines and values; ``known`` are settings that exist somewhere, with good values."""
    if dice.chance(0.15):
        return bytes_(dice, content)
    lines = content.decode().split("\n")
    for _ in range(dice.pick({1: 6, 2: 3, 4: 1})):
        lines = _settings(dice, lines, known) or [""]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _settings(dice, lines, known):
    """Damage one line of a config, or set what is known elsewhere."""
    row = dice.below(len(lines))
    line, before, after = lines[row], lines[:row], lines[row + 1 :]
    key, _, value = line.partition("=")
    what = dice.pick({"value": 5, "known": 6, "inside": 3, "gone": 2, "twice": 1, "move": 1, "key": 1, "section": 1})
    if what == "known":
        section, name, good = dice.pick(known)
        return _set(lines, section, name, good if dice.chance(0.6) else toml_value(dice))
    if what == "gone":
        return before + after
    if what == "move":
        place = dice.below(len(lines))
        return [*(before + after)[:place], line, *(before + after)[place:]]
    changed = {
        "value": lambda: [f"{key}= {toml_value(dice)}"],
        "inside": lambda: [f"{key}={_inside(dice, value)}"],
        "twice": lambda: [line, line],
        "key": lambda: [f"{dice.pick(['x', 'k', 'kind', 'a.b', json.dumps(dice.pick(TEXTS)), '', ' '])} ={value}"],
        "section": lambda: [line, dice.pick(_SECTIONS)],
    }
    return before + changed[what]() + after


def _inside(dice, value):
    """Damage one value of an inline table."""
    parts = re.findall(r"(\w+) = ", value) or ["role"]
    part = dice.pick(parts)
    return re.sub(rf"{part} = (\"[^\"]*\"|\[[^\]]*\]|\w+)", lambda _: f"{part} = {toml_value(dice)}", value)


def _set(lines, section, name, value):
    """Give a setting of a section another value, or add it."""
    out, inside, done = [], False, False
    for line in lines:
        if line.startswith("["):
            inside = line.strip() == f"[{section}]"
        if inside and line.partition("=")[0].strip() == name:
            line, done = f"{name} = {value}", True  # noqa: PLW2901
        out.append(line)
        if inside and line.startswith("[") and not any(own.partition("=")[0].strip() == name for own in lines):
            out.append(f"{name} = {value}")
            done = True
    return out if done else [*lines, f"[{section}]", f"{name} = {value}"]


def toml_value(dice):
    """Return a value as TOML writes it, right or wrong."""
    what = dice.pick({"value": 5, "text": 3, "number": 4, "other": 1, "deep": 0.2})
    if what == "value":
        return toml_text(dice.pick(VALUES))
    if what == "text":
        return toml_text(dice.pick(TEXTS))
    if what == "number":
        return str(dice.pick([-1, 0, 1, 2, 3, 5, 40, 49, 1_000_000, 0.5, 0.01, 1e-9, 2.5, 1.0]))
    if what == "deep":
        many = dice.pick([50, 2_000, 60_000])
        return dice.pick(["[" * many + "]" * many, "{ a = " * many + "1" + " }" * many])
    return dice.pick(
        [
            "1979-05-27",
            "07:32:00",
            "1979-05-27T07:32:00Z",
            "0xff",
            "1_000",
            "'''x",
            '"x',
            "",
            "nan",
            "-inf",
            "[1,",
            "truee",
        ]
    )


def toml_text(value):
    """Return a Python value in TOML's notation."""
    if value == DIGITS:
        return "9" * 5_000
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        inner = ", ".join(f"{json.dumps(str(key))} = {toml_text(own)}" for key, own in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "{}" if value is None else str(value)
