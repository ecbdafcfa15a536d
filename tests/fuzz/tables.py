"""Valid random tables and what becomes of them: everything a table may be that nobody thinks of."""

import datetime

import numpy as np
import polars as pl

DAY = datetime.date(2000, 1, 1)
LOOK_ALIKE = ["flu", "Flu", "flu ", " flu", "ﬂu", "f lu", "f  lu", "FLU", "flü", "flu\u0308"]
ODD = [
    "*",
    "[1, 2]",
    "{a}",
    '"',
    "",
    "null",
    "a,b",
    "a;b",
    "=1+1",
    "é",
    "e\u0301",
    "日本",
    "\U0001f600",
    "a\nb",
    "'",
    "-",
    "nan",
    "0",
    "00",
]
QUASI = [
    "small", "small", "wide", "huge", "float", "odd float", "date", "datetime", "few", "few", "unicode", "alike",
    "one", "nulls", "boolean", "order", "taxonomy",
]  # fmt: skip
SENSITIVE = [
    "few", "few", "few", "many", "alike", "odd", "number", "binned", "order", "nulls", "one", "date", "float",
    "boolean", "taxonomy",
]  # fmt: skip
ORDER = ["low", "middle", "high", "highest"]


class History:
    """The snapshots of a random series, and the [columns] of its config.

    Quasi columns are ``q0``, ``q1``..., sensitive ones ``s0``..., and every sensitive text contains a planted secret.
    """

    def __init__(self, dice, releases):
        self.dice = dice
        self.kinds = {f"q{n}": dice.pick(QUASI) for n in range(dice.pick({1: 3, 2: 4, 3: 2, 4: 1}))}
        self.kinds |= {f"s{n}": dice.pick(SENSITIVE) for n in range(dice.pick({1: 12, 2: 2, 0: 1}))}
        self.plain, self.identified = dice.chance(0.08), dice.chance(0.5)
        self.person = dice.pick({"number": 5, "text": 5, "none": 1})
        self.csv, self.typed = dice.chance(0.6), dice.chance(0.6)
        self.sticky = dice.pick([0.0, 0.0, 0.3, 1.0])  # how often a record has the quasi values of another
        many = dice.pick({2: 1, 5: 1, 12: 3, 24: 5, 40: 5, 90: 1})
        self.leaving = dice.pick([0.0, 0.0, 0.1, 0.4])
        self.changing = dice.pick([0.0, 0.0, 0.1, 0.5])
        self.width = dice.pick([2, 3, 6, 30])  # of how many values a column is
        self.everybody = self._people(many + releases * dice.pick([0, 3, 10]))
        self.there = list(range(many))
        self.next = many

    def _people(self, many):
        columns = {name: [self._value(name, kind) for _ in range(many)] for name, kind in self.kinds.items()}
        quasi = [values for name, values in columns.items() if name.startswith("q")]
        for row in range(1, many if self.sticky else 0):
            if self.dice.chance(self.sticky):
                other = self.dice.below(row)
                for values in quasi:
                    values[row] = values[other]
        return columns

    def _value(self, name, kind):
        """Draw one value of a column."""
        dice, secret = self.dice, "zqx " if name.startswith("s") else ""
        if kind in ("nulls", "odd float") and dice.chance(0.4):
            return None if kind == "nulls" else dice.pick([float("nan"), float("inf"), -0.0, 1e300, None])
        n = dice.below(self.width)
        drawn = {
            "small": lambda: n,
            "wide": lambda: dice.number(-1_000_000, 1_000_000),
            "huge": lambda: dice.pick([2**62, -(2**62), 2**53 + 1, 2**53]) + n,
            "float": lambda: n / 7,
            "odd float": lambda: n * 0.1,
            "number": lambda: 88_170_000 + n,
            "binned": lambda: 88_170_000 + dice.below(200),
            "date": lambda: DAY + datetime.timedelta(days=n * dice.pick([1, 400])),
            "datetime": lambda: datetime.datetime(2001, 2, 3) + datetime.timedelta(seconds=n * 1_801),
            "unicode": lambda: dice.pick(ODD),
            "odd": lambda: secret + dice.pick(ODD),
            "alike": lambda: secret + dice.pick(LOOK_ALIKE) + str(n % 3),
            "one": lambda: f"{secret}same",
            "many": lambda: f"{secret}{dice.below(500)}",
            "boolean": lambda: n % 2 == 0,
            "order": lambda: secret + ORDER[n % len(ORDER)],
            "taxonomy": lambda: f"{secret}{n % 5}",
        }  # fmt: skip
        return drawn.get(kind, lambda: f"{secret}v{n}")()

    def step(self):
        """Let people leave, return, come and change before the next snapshot."""
        dice, many = self.dice, len(self._ids())
        gone = [p for p in range(self.next) if p not in set(self.there)]
        self.there = [p for p in self.there if not dice.chance(self.leaving)] or self.there[:1]
        self.there += [p for p in gone if dice.chance(0.3)]
        come = min(many - self.next, dice.number(0, 12))
        self.there += range(self.next, self.next + come)
        self.next += come
        for name, kind in self.kinds.items():
            for person in self.there:
                if dice.chance(self.changing * 0.5):
                    self.everybody[name][person] = self._value(name, kind)

    def _ids(self):
        return next(iter(self.everybody.values()))

    def frame(self):
        """Return the present snapshot, its records in any order."""
        rows = [self.there[i] for i in self.dice.rng.permutation(len(self.there))]
        columns = {}
        if self.person != "none":
            columns["pid"] = [f"pzqx{row}" if self.person == "text" else 881_700_000 + row for row in rows]
        if self.identified:
            columns["name"] = [f"nzqx {row}" for row in rows]
        columns |= {name: [values[row] for row in rows] for name, values in self.everybody.items()}
        if self.plain:
            columns["ward"] = ["east" if row % 3 else "west" for row in rows]
        return pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()})

    def write(self, folder, number):
        """Write the present snapshot and return its name."""
        name = f"s{number}.csv" if self.csv else f"s{number}.parquet"
        frame = self.frame()
        if self.csv:
            frame.write_csv(
                folder / name, quote_style=self.dice.pick(["necessary", "always"]) if frame.width > 1 else "always"
            )
        else:
            frame.write_parquet(folder / name)
        return name

    def columns(self, folder):
        """Return the [columns] section, and write the hierarchies it names."""
        lines = ["[columns]"]
        lines += [] if self.person == "none" else ['pid = "person"']
        lines += ['name = "identifier"'] if self.identified else []
        for name, kind in self.kinds.items():
            lines.append(f"{name} = {{ {', '.join(self._settings(folder, name, kind))} }}")
        lines += ['ward = "plain"'] if self.plain else []
        return "\n".join(lines) + "\n"

    def _settings(self, folder, name, kind):
        secret = "zqx " if name.startswith("s") else ""
        yield f'role = "{"sensitive" if secret else "quasi"}"'
        if kind == "order":
            listed = ", ".join(f'"{secret}{value}"' for value in ORDER)
            yield f"order = [{listed}]"
        elif kind == "taxonomy":
            path = folder / f"{name}.hierarchy.csv"
            path.write_text("".join(f"{secret}{n};{secret}part {n % 2};*\n" for n in range(5)))
            yield f'hierarchy = "{path.name}"'
        elif kind == "binned":
            yield f'type = "number", bins = {self.dice.pick([2, 5, 20])}'
        elif kind in ("date", "datetime", "boolean"):
            yield f'type = "{kind}"'
        elif kind in ("small", "wide", "huge", "float", "odd float", "number"):
            if self.typed:
                yield 'type = "number"'
        elif self.csv or self.typed:
            yield 'type = "text"'

    def values(self):
        """Return the sensitive values of the first sensitive column, as texts."""
        own = self.everybody.get("s0", [])
        return sorted({str(value) for value in own if value is not None})[:12]


def expression(dice, history):
    """Return a query about one or two columns."""
    parts = []
    for name in dice.some(history.kinds, 2) or [next(iter(history.kinds))]:
        values = [value for value in history.everybody[name] if value is not None]
        value = dice.pick(values) if values else 0
        text = f"'{value}'" if isinstance(value, str) and "'" not in value else str(value)
        text = text.lower() if isinstance(value, bool) else text
        parts.append(
            dice.pick([f"{name} = {text}", f"not {name} = {text}", f"{name} is null", f"{name} in {{{text}}}"])
        )
        if isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value):
            parts.append(f"{name} >= {text}")
    return dice.pick([" and ", " or "]).join(parts)
