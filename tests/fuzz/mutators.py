"""How things are damaged: bytes, texts, the cells of a table, JSON, TOML."""

import json
import re
from collections.abc import Mapping

import polars as pl

TEXTS = [
    "", " ", '"', '""', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\x00", "\ufeff", "\ufeff=1+1", "=1+1", "-", "*", "{a, b}", "[1, 2]",
    "[1, 2] | null", "{", "[", "]", '"\\u0000"', '"\\ud800"', "\u2028", "\u0301", "\u202e", "\U0001f600", "İ", "ß", "NA", "null", "None",
    "true", "nan", "NaN", "inf", "-inf", "-0", "-0.0", "0", "00", "1e400", "1e-400", "0x10", "1_000", "1,5", "1.0", "½", "٣",
    "9" * 30, "9" * 5_000, "1" + "0" * 400, "0." + "1" * 400, "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "170141183460469231731687303715884105728", "2024-02-30", "0000-00-00", "0001-01-01", "9999-12-31",
    "10000-01-01", "-0001-01-01", "2024-13-01", "24:00:00", "2024-01-01T00:00:00+25:00", "1970-01-01 00:00:00.000000001", "x" * 300,
    "x" * 70_000, "x" * 200_000, "../x", "/dev/null", "%s%n", "${HOME}", "a\\", "group", "level", "count", "pid", "age", "disease",
]  # fmt: skip
DIGITS = "a number of many digits"  # which Python itself does not write
VALUES = [  # of JSON and TOML
    None, True, False, 0, 1, -1, 2, 3, 10**6, 2**31, 2**63, 2**64, 10**40, DIGITS, -0.0, 0.5, 1.5, 1e308, float("inf"), float("nan"), "",
    " ", "x", "*", "age", "disease", "Int64", "String", "interval", "sha256:00", "quasi", "9" * 5_000, "x" * 70_000, "\x00", "\ud7ff", [],
    {}, [None], [[]], [1, 2], ["a", "a"], {"a": 1}, {"": None}, [{}], {"name": "age"}, ["age"], [1, "a", None],
]  # fmt: skip
_SEPARATORS = (",", ";", "\t", "|")


def bytes_(dice, content):
    """Damage a file anywhere, once to a few times."""
    for _ in range(dice.pick({1: 6, 2: 2, 5: 1, 20: 1})):
        content = _once(dice, content)
    return content


def _once(dice, content):
    start = dice.below(len(content) + 1)
    end = min(len(content), start + dice.pick({1: 4, 4: 2, 40: 2, 1_000: 1}))
    before, piece, after = content[:start], content[start:end], content[end:]
    what = dice.pick(["flip", "flip", "delete", "double", "insert", "insert", "cut", "zero", "move", "text", "text", "empty"])
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
    row = dice.below(len(lines))
    words = lines[row].split(",")
    place = dice.below(len(words))
    what = dice.pick(
        ["cell"] * 8 + ["header"] * 3 + ["quote"] * 3 + ["less", "more", "gone", "twice", "column", "swap", "separator", "endings", "one", "blank"]
    )  # fmt: skip
    if what == "cell":
        words[place] = dice.pick(TEXTS)
    elif what == "quote":
        words[place] = dice.pick(['"' + words[place], words[place] + '"', f'"{words[place]}" x', f'"{words[place]}', f"'{words[place]}'"])
    elif what == "less":
        words.pop(place)
    elif what == "more":
        words.insert(place, dice.pick([words[place], *TEXTS]))
    if what in ("cell", "quote", "less", "more"):
        return [*lines[:row], ",".join(words), *lines[row + 1 :]]
    if what == "header":
        names = lines[0].split(",")
        names[dice.below(len(names))] = dice.pick([*names, *TEXTS])
        return dice.pick([lines[1:], [",".join(names), *lines[1:]], [lines[0], *lines], [*lines[1:], lines[0]]])
    if what == "gone":
        return [*lines[:row], *lines[row + dice.pick([1, 1, 5, 1_000]) :]]
    if what == "twice":
        return [*lines[:row], *[lines[row]] * dice.pick([2, 2, 40]), *lines[row + 1 :]]
    if what == "column":
        rows = [line.split(",") for line in lines]
        value = dice.pick(TEXTS)
        return [",".join([value if i == place and n else word for i, word in enumerate(own)]) for n, own in enumerate(rows)]
    if what == "swap":
        other = dice.below(len(lines))
        lines[row], lines[other] = lines[other], lines[row]
        return lines
    if what == "separator":
        return [line.replace(",", dice.pick(_SEPARATORS)) for line in lines] if dice.chance(0.5) else [*lines[:row], lines[row].replace(",", ";"), *lines[row + 1 :]]
    if what == "endings":
        ending = dice.pick(["\r", "\r\r", "\n", " "])
        return [line + ending for line in lines]
    if what == "one":
        return lines[: dice.pick([1, 2])]
    return [*lines[:row], dice.pick(["", " ", ",", ",,,,,,"]), *lines[row:]]


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
        row = dice.below(len(lines))
        key, equals, _ = lines[row].partition("=")
        what = dice.pick({"value": 6, "known": 6, "gone": 2, "twice": 1, "move": 1, "inside": 3, "key": 1, "section": 1})
        if what == "value" and equals:
            lines[row] = f"{key}= {toml_value(dice)}"
        elif what == "known":
            section, name, value = dice.pick(known)
            lines = _set(lines, section, name, value if dice.chance(0.6) else toml_value(dice))
        elif what == "gone":
            lines.pop(row)
        elif what == "twice":
            lines.insert(row, lines[row])
        elif what == "move":
            lines.insert(dice.below(len(lines)), lines.pop(row))
        elif what == "inside" and "{" in lines[row]:
            parts = re.findall(r"(\w+) = ", lines[row][len(key) :]) or ["role"]
            lines[row] = re.sub(rf"{dice.pick(parts)} = (\"[^\"]*\"|\[[^\]]*\]|\w+)", lambda found: found.group(0).split(" = ")[0] + " = " + toml_value(dice), lines[row])  # noqa: E501
        elif what == "key" and equals:
            lines[row] = f"{dice.pick(['x', 'k', 'kind', 'a.b', json.dumps(dice.pick(TEXTS)), '', ' '])} ={lines[row].partition('=')[2]}"
        elif what == "section":
            lines.insert(row, dice.pick(["[series]", "[x]", "[[columns]]", "[guarantee.t]", "[method]", "[", "[columns.age]"]))
        if not lines:
            break
    return "\n".join(lines).encode("utf-8", "surrogatepass")


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
    return dice.pick(["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "0xff", "1_000", "'''x", '"x', "", "nan", "-inf", "[1,", "truee"])


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


def parquet(dice, frame, path):
    """Write a table as Parquet with a column of another kind than anybody expects, or with damaged bytes."""
    for _ in range(dice.pick({0: 3, 1: 6, 2: 2})):
        frame = _column(dice, frame)
    frame.write_parquet(path, compression=dice.pick(["zstd", "uncompressed", "snappy"]), row_group_size=dice.pick([None, 7]))
    if dice.chance(0.45):
        path.write_bytes(bytes_(dice, path.read_bytes()))


def _column(dice, frame):
    if not frame.width:
        return frame
    name = dice.pick(frame.columns)
    own = frame[name]
    n = frame.height
    kinds = {
        "rows": lambda: frame.head(dice.pick([0, 1, 2])),
        "drop": lambda: frame.drop(name),
        "add": lambda: frame.with_columns(own.alias(dice.pick([text for text in TEXTS if text not in frame.columns]))),
        "shuffle": lambda: frame.select(dice.some(frame.columns) or [name]),
        "null": lambda: frame.with_columns(pl.lit(None).alias(name)),
        "list": lambda: frame.with_columns(pl.concat_list(name).alias(name)),
        "struct": lambda: frame.with_columns(pl.struct(name).alias(name)),
        "cell": lambda: frame.with_columns(pl.Series(name, [dice.pick(TEXTS), *own.cast(pl.String).to_list()[1:]][:n], pl.String)),
        "binary": lambda: frame.with_columns(own.cast(pl.String).cast(pl.Binary)),
        "categorical": lambda: frame.with_columns(own.cast(pl.String).cast(pl.Categorical)),
        "enum": lambda: frame.with_columns(own.cast(pl.String).cast(pl.Enum(own.cast(pl.String).drop_nulls().unique().sort()))),
        "decimal": lambda: frame.with_columns(pl.Series(name, range(n)).cast(pl.Decimal(38, 3))),
        "uint128": lambda: frame.with_columns(pl.Series(name, [2**127 + i for i in range(n)], dtype=pl.UInt128)),
        "int128": lambda: frame.with_columns(pl.Series(name, [2**100 + i for i in range(n)], dtype=pl.Int128)),
        "uint64": lambda: frame.with_columns(pl.Series(name, [2**64 - 1 - i for i in range(n)], dtype=pl.UInt64)),
        "far dates": lambda: frame.with_columns(pl.Series(name, [2**31 - 1 - i for i in range(n)], dtype=pl.Int32).cast(pl.Date)),
        "far times": lambda: frame.with_columns(
            pl.Series(name, [2**63 - 1 - i for i in range(n)], dtype=pl.Int64).cast(pl.Datetime(dice.pick(["us", "ms", "ns"])))
        ),
        "zones": lambda: frame.with_columns(pl.Series(name, range(n)).cast(pl.Datetime("us", "Europe/Berlin"))),
        "duration": lambda: frame.with_columns(pl.Series(name, range(n)).cast(pl.Duration("us"))),
        "time": lambda: frame.with_columns(pl.Series(name, range(n)).cast(pl.Time)),
        "floats": lambda: frame.with_columns(
            pl.Series(name, [dice.pick([float("nan"), float("inf"), -0.0, 1e308, 5e-324, 0.1]) for _ in range(n)])
        ),
        "float32": lambda: frame.with_columns(pl.Series(name, range(n)).cast(pl.Float32)),
        "boolean": lambda: frame.with_columns(pl.Series(name, [i % 2 == 0 for i in range(n)])),
    }  # fmt: skip
    try:
        return kinds[dice.pick(list(kinds))]()
    except pl.exceptions.PolarsError:
        return frame
