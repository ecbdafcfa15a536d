"""A publisher in miniature: turns rows of text into what the vault is told."""

import struct
from dataclasses import fields

import duckdb
import numpy as np
import polars as pl

from reveil.series.book import VaultBook
from reveil.series.signatures import SIGNATURES, TOLD_SIGNATURES, entries_of
from reveil.vault import Change, Records, ReleaseRow, Vault

DISEASE = "disease"
# What makes format 5 of format 6, but for the seals.
FORMAT_5 = (
    "CREATE TABLE signatures (signature INTEGER, members TEXT)",
    "INSERT INTO signatures SELECT signature, string_agg(code, ',' ORDER BY code) FROM ledger_signatures GROUP BY ALL",
    "CREATE TABLE told (person INTEGER, signature INTEGER)",
    "INSERT INTO told SELECT person, signature FROM ledger_told",
    "INSERT INTO settings SELECT 'next_signature', CAST(COUNT(*) AS TEXT) FROM signatures",
    "DROP TABLE ledger_signatures",
    "DROP TABLE ledger_told",
    "DELETE FROM ledgers WHERE name IN ('signatures', 'told')",
    "DELETE FROM migrations WHERE version > 5",
)


def pseudonym(vault, person):
    high, low = vault.key.pseudonyms(pl.Series([person]))
    return int(high[0]), int(low[0])


def change_of(vault, rows, told=None, *, release=None, state="pending", archive=True, **more):
    """``rows``: {person: {attribute: text or None}}; ``told``: {person: the diseases of the group}."""
    high, low = vault.key.pseudonyms(pl.Series(list(rows), dtype=pl.String))
    known = vault.recall(high, low)
    names = list(next(iter(rows.values()))) if rows else []
    dictionary, records = {}, {}
    changed = (known.person < 0) | ~known.present
    # Diseases of groups are values too, even if nobody has them now.
    extra = sorted({value for group in (told or {}).values() for value in group})
    for name in names:
        values = pl.Series([row[name] for row in rows.values()] + (extra if name == DISEASE else []), dtype=pl.String)
        codes = vault.lookup(name, values)
        fresh = values.filter(pl.Series(codes < 0)).unique(maintain_order=True)
        dictionary[name] = fresh
        first = vault.next_code(name)
        given = {value: first + n for n, value in enumerate(fresh)}
        codes = np.array([given.get(v, c) for v, c in zip(values, codes, strict=True)], np.int32)
        records[name] = codes[: len(rows)]
        if name == DISEASE:
            code_of = dict(zip(values.to_list(), codes.tolist(), strict=True))
        last = known.last.get(name, np.full(len(rows), -1, np.int32))
        changed |= records[name] != last
    place = {person: n for n, person in enumerate(rows)}
    members = [",".join(map(str, sorted(code_of[v] for v in group))) for group in (told or {}).values()]
    members = pl.Series("members", members, dtype=pl.String)
    record = pl.Series("record", [place[p] for p in told or {}], dtype=pl.Int32)
    spots = pl.DataFrame(
        {"record": np.arange(len(rows)), "place": np.arange(len(rows))[::-1] + 10, "grp": np.arange(len(rows)) // 2}
    )
    told = pl.DataFrame([record, members])
    entries = entries_of(VaultBook.of_nobody(vault), told, replaces=more.pop("replaces", False))
    return change(
        **{
            "release": vault.head() + 1 if release is None else release,
            "state": state,
            "created": "2024-01-01T00:00:00Z",
            "snapshot": "sha256:0",
            "request": {"columns": names},
            "types": dict.fromkeys(names, "text"),
            "dictionary": dictionary,
            "high": high,
            "low": low,
            "person": known.person,
            "changed": changed,
            "codes": records,
            "gone": known.gone,
            "placements": spots if archive else None,
            **more,
            "settings": {"signed": DISEASE, **more.get("settings", {})},
            "entries": (*entries, *more.get("entries", ())),
        }
    )


def change(**given):
    """A change from all of its parts by name."""

    def part(kind):
        return kind(**{name: given.pop(name) for name in [f.name for f in fields(kind)] if name in given})

    row, records = part(ReleaseRow), part(Records)
    return Change(row, records, **given)


def publish(vault, rows, told=None, **more):
    made = change_of(vault, rows, told, **more)
    vault.prepare(made)
    if made.row.state == "pending":
        vault.confirm(made.row.release)
    return made.row.release


def last_records(vault, persons):
    """{person: {attribute: value}} as the vault remembers it."""
    high, low = vault.key.pseudonyms(pl.Series(persons, dtype=pl.String))
    known = vault.recall(high, low)
    values = {name: dict(vault.values(name).iter_rows()) for name in vault.attributes()}
    return {
        person: {name: values[name][int(codes[n])] for name, codes in known.last.items() if codes[n] >= 0}
        for n, person in enumerate(persons)
        if known.person[n] >= 0
    }


def signatures_of(vault, persons):
    """{person: the set of groups of diseases that they were told in}."""
    values = dict(vault.values(DISEASE).iter_rows())
    members = {}
    for signature, code in vault.ledger(SIGNATURES).iter_rows():
        members.setdefault(signature, set()).add(values[code])
    out = {person: set() for person in persons}
    for record, signature in told_of(vault, persons):
        out[persons[record]].add(frozenset(members[signature]))
    return out


def told_of(vault, persons):
    """The place of each person, and the number of each signature that they were told, in order."""
    high, low = vault.key.pseudonyms(pl.Series(persons, dtype=pl.String))
    place = {int(person): n for n, person in enumerate(vault.recall(high, low).person) if person >= 0}
    return sorted(
        (place[person], number) for person, number in vault.ledger(TOLD_SIGNATURES).iter_rows() if person in place
    )


def in_bytes(folder, *wanted):
    """Which of these texts and numbers are in the bytes of the folder's files."""
    content = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    return [w for w in wanted if (struct.pack("<q", w) if isinstance(w, int) else w.encode()) in content]


def by_hand(folder, *statements, sealed=True):
    """Do something to the database behind the vault's back; ``sealed``: the vault takes it for its own."""
    connection = duckdb.connect(str(folder / "vault.duckdb"))
    for statement in [*statements, "INSERT INTO settings VALUES ('unsealed', 'true')"][: None if sealed else -1]:
        connection.execute(statement).fetchall()
    connection.close()


def opened(folder):
    return Vault.open(folder)
