"""A vault in plain Python: what the relations of a real one must say after any series of changes.

Persons and values are texts here; a real vault is told them by :func:`tell` and asked for them by :func:`known`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from reveil.vault.changes import Change, Records
from reveil.vault.protocol import PENDING, Entries, Ledger, ReleaseRow
from reveil.vault.settings import SIGNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.vault import Vault

Row: TypeAlias = "Mapping[str, str | None]"
Table: TypeAlias = "Mapping[str, Row]"

SENSITIVE = "disease"
# What each person was told: values, and how often; the last of them; and what is about nobody in particular.
MARKS = Ledger("contract_marks", keys=("value",), whole=("links",), real=("left",), coded="value")
SHORT = Ledger("contract_short", whole=("cell",), outlives=False)
SIZES = Ledger("contract_sizes", keys=("cell",), whole=("size",), personal=False)


def tell(vault: Vault, table: Table, *, state: str = PENDING, release: int | None = None) -> Change:
    """Return what a publisher of a table would write: everybody's record, place and marks."""
    persons, names = list(table), sorted({name for row in table.values() for name in row})
    high, low = vault.key.pseudonyms(pl.Series(persons, dtype=pl.String))
    recalled = vault.recall(high, low)
    dictionary, codes = {}, {}
    for name in names:
        texts = pl.Series(name, [row[name] for row in table.values()], dtype=pl.String)
        found = vault.lookup(name, texts)
        dictionary[name] = texts.filter(pl.Series(found < 0)).unique(maintain_order=True)
        new = {text: vault.next_code(name) + n for n, text in enumerate(dictionary[name])}
        pairs = zip(texts, found, strict=True)
        codes[name] = np.array([new.get(text, code) for text, code in pairs], np.int32)
    everybody = np.arange(len(persons), dtype=np.int32)
    number = vault.head() + 1 if release is None else release
    marks = pl.DataFrame({"record": everybody, "value": codes[SENSITIVE], "links": number, "left": 1.0 / number})
    sizes = pl.DataFrame({"cell": [number % 2], "size": [len(persons)]})
    return Change(
        ReleaseRow(number, state, "2024-01-01T00:00:00Z", f"snapshot {number}", {"columns": names}, digest=f"{number}"),
        Records(
            high=high,
            low=low,
            person=recalled.person,
            changed=np.ones(len(persons), np.bool_),
            codes=codes,
            gone=recalled.gone,
            types=dict.fromkeys(names, "text"),
            dictionary=dictionary,
        ),
        entries=(
            Entries(MARKS, marks),
            Entries(
                SHORT, pl.DataFrame({"record": everybody, "cell": everybody // 2}), pl.DataFrame({"record": everybody})
            ),
            Entries(SIZES, sizes),
        ),
        settings={SIGNED: SENSITIVE, "note": number},
        placements=pl.DataFrame({"record": everybody, "place": everybody[::-1], "grp": everybody // 2}),
    )


@dataclass
class PlainVault:
    """What a vault knows, by the texts of persons."""

    releases: list[str] = field(default_factory=list)  # their states
    number: dict[str, int] = field(default_factory=dict)
    issued: int = 0  # numbers of persons, those of erased ones included
    present: set[str] = field(default_factory=set)
    last: dict[str, dict[str, str | None]] = field(default_factory=dict)
    codes: dict[str, dict[str | None, int]] = field(default_factory=dict)
    next_code: dict[str, int] = field(default_factory=dict)
    marks: dict[tuple[str, int], tuple[int, float]] = field(default_factory=dict)
    short: dict[str, int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    placed: dict[int, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def tell(self, table: Table, state: str) -> None:
        """Take a table as the next release."""
        self.releases.append(state)
        release = len(self.releases)
        for name in sorted({name for row in table.values() for name in row}):
            known = self.codes.setdefault(name, {})
            for row in table.values():
                if row[name] not in known:
                    known[row[name]] = self.next_code.get(name, 0)
                    self.next_code[name] = known[row[name]] + 1
        for person, row in table.items():
            if person not in self.number:
                self.number[person], self.issued = self.issued, self.issued + 1
            self.last.setdefault(person, {}).update(row)
            self.marks[person, self.codes[SENSITIVE][row[SENSITIVE]]] = (release, 1.0 / release)
        self.present = set(table)
        self.short |= {person: n // 2 for n, person in enumerate(table)}
        self.sizes[release % 2] = len(table)
        self.placed[release] = {person: (len(table) - 1 - n, n // 2) for n, person in enumerate(table)}

    def forget(self, person: str, *, tombstone: bool) -> bool:
        """Erase a person; return whether there was anything to erase."""
        if person not in self.number:
            return False
        placed = any(person in placements for placements in self.placed.values())
        if tombstone and not (person in self.present or self.last.get(person) or person in self.short or placed):
            return False
        self.present.discard(person)
        self.last.pop(person, None)
        self.short.pop(person, None)
        for placements in self.placed.values():
            placements.pop(person, None)
        if not tombstone:
            del self.number[person]
            self.marks = {key: value for key, value in self.marks.items() if key[0] != person}
        for name, known in self.codes.items():
            used = {row[name] for row in self.last.values() if name in row}
            told = {code for _, code in self.marks} if name == SENSITIVE else set()
            self.codes[name] = {text: code for text, code in known.items() if text in used or code in told}
        return True

    def known(self, everybody: Sequence[str]) -> dict[str, object]:
        """Return all that is known, to be compared with :func:`known` of a vault."""
        return {
            "releases": [(n, state) for n, state in enumerate(self.releases, start=1)],
            "person": [self.number.get(person, -1) for person in everybody],
            "present": [person in self.present for person in everybody],
            "gone": sorted(self.number[person] for person in self.present),
            "last": {
                name: [known[self.last[p][name]] if name in self.last.get(p, {}) else -1 for p in everybody]
                for name, known in self.codes.items()
            },
            "values": {name: sorted(known.items(), key=lambda item: item[1]) for name, known in self.codes.items()},
            "next": {name: self.next_code[name] for name in self.codes},
            "marks": sorted((self.number[p], code, *more) for (p, code), more in self.marks.items()),
            "short": sorted((self.number[p], cell) for p, cell in self.short.items()),
            "sizes": sorted(self.sizes.items()),
            "placed": {
                release: [(everybody.index(p), *placements[p]) for p in everybody if p in placements]
                for release, placements in self.placed.items()
            },
            "note": len(self.releases) or None,
        }


def known(vault: Vault, everybody: Sequence[str]) -> dict[str, object]:
    """Return all that a vault knows of some persons, in plain Python."""
    high, low = vault.key.pseudonyms(pl.Series(list(everybody), dtype=pl.String))
    recalled, names, rows = vault.recall(high, low), list(vault.attributes()), vault.releases()
    persons, present = vault.presence()
    last = vault.last(recalled.person)
    codes = {name: column.tolist() for name, column in recalled.last.items()}
    assert codes == {name: column.tolist() for name, column in last.items()}, (
        "a record is the same by pseudonym and number"
    )
    assert persons[present].tolist() == vault.recall(high[:0], low[:0]).gone.tolist(), "who was there is there"
    archived = {row.release: vault.archived(row.release).height for row in rows}
    placed = {row.release: vault.placements(row.release, high, low).rows() for row in rows}
    assert {n: len(placements) for n, placements in placed.items()} == archived, (
        "everybody is among those who are asked for"
    )
    assert all(vault.has_archive(n) == bool(placements) for n, placements in placed.items())
    return {
        "releases": [(row.release, row.state) for row in rows],
        "person": recalled.person.tolist(),
        "present": recalled.present.tolist(),
        "gone": persons[present].tolist(),
        "last": codes,
        "values": {name: [(text, code) for code, text in vault.values(name).iter_rows()] for name in names},
        "next": {name: vault.next_code(name) for name in names},
        "marks": sorted(vault.ledger(MARKS).rows()),
        "short": sorted(vault.ledger(SHORT).rows()),
        "sizes": sorted(vault.ledger(SIZES).rows()),
        "placed": placed,
        "note": vault.setting("note"),
    }
