"""Looks at a table nobody has described yet and proposes what each column is, with its reasons.

A proposal is a starting point for somebody who knows the data. It errs on the safe side: what looks like an identity
is left out, what it knows nothing of is treated as something others may know, and nothing is ever proposed as
``plain``, because that a column is harmless cannot be seen from the column. Where it had to guess, ``decide`` is set.

Reasons and facts speak of names and counts. The only values that leave here are the steps of an order, at most ten, and
those are for quasi columns alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from reveil.errors import SHOWN_AT_MOST, DataError, FileError
from reveil.schema import Role, Type
from reveil.snapshot.csv_file import check_path, read_text_table
from reveil.snapshot.parquet_file import read_parquet
from reveil.snapshot.types import canonical_text, infer_type, type_of

UNKNOWN = "unknown: treated as something others may know"
CHOSEN = "chosen by you"

# A word of five letters or more may stand anywhere in a name (German joins its nouns); a shorter one must be a word of
# the name, or with a star the start of one.
_DIRECT = (
    "email mail* phone telefon telephone mobile handy fax iban bic passport ausweis surname lastname firstname fullname "
    "username vorname nachname familienname prenom apellido cognome maiden birthname geburtsname signature address "
    "adresse street strasse indirizzo direccion url website photo ip"
)
_NAME = "name nom nombre naam nome"
_NATIONAL = (
    "ssn ahv nhs bsn dni nino cpf svnr socialsec sozialvers versichertennummer versichertennr insurancenumber "
    "insuranceid taxid steuerid nationalid personnummer"
)
_PERSON = (
    "person patient participant subject proband client klient customer kunde employee mitarbeiter student schuler pupil "
    "member mitglied citizen resident einwohner respondent paciente persona user userid pid mrn"
)
_NUMBER = "id ids nr no num nbr number nummer numero key uuid guid uid ident* kennung code ref pk caseid recordid"
_COUNTER = "row rowid rownum index unnamed zeile lfd"
_FREE = "comment note notes remark bemerkung notiz description anamnese text freetext commentaire"
_ZIP = "zip zipcode plz postcode postal postleitzahl"

_QUASI = {
    "age or birth": "age ages alter altersgruppe edad leeftijd birth born dob geburt geb naissance nacimiento nascita",
    "sex": "sex gender geschlecht sexe sexo geslacht",
    "a place": f"{_ZIP} city town region ort wohnort stadt kreis gemeinde ville ciudad comune county country state district "
    "kanton canton bundesland provinc nation municipal location residence latitude longitude lat lon gps",
    "origin": "race ethnic nationality citizen language hispanic nativity herkunft",
    "family": "marital married family familienstand household relationship children kids kinder enfants spouse",
    "schooling or work": "education school degree ausbildung occupation job profession beruf employ workclass work "
    "industry employer",
    "what can be seen": "height weight hair eye eyes groesse grosse gewicht",
    "a stay or a visit": "admitted admission discharge visit ward department station hospital clinic unit insurance payer",
    "time": "date datum fecha year jahr month monat day tag time timestamp",
}
_MONEY = "income wage earnings einkommen revenu ingreso"
_SENSITIVE = {
    "health": "disease diagnos diag dx icd icd10 illness krank drug drugs medic medik med meds rx hiv* outcome test tests "
    "result befund symptom allerg cancer tumor tumour pregnan schwanger disab behinder treatment therap behandlung "
    "prescri dose lab blood glucose cholesterol mental addict genetic mutation death died mortality readmi injury "
    "severity prognos patholog procedure surgery enfermedad maladie malattia",
    "pay or debt": "salary salaries lohn gehalt debt credit salaire sueldo stipendio",
    "belief, politics or the law": "religi politic sexual union crime criminal convict offence offense vote partei",
}

_SCALES = [
    "very low|low|medium|high|very high",
    "very low|low|moderate|high|very high",
    "very low|low|normal|high|very high",
    "none|mild|moderate|severe|critical",
    "none|primary|secondary|tertiary",
    "never|rarely|sometimes|often|always",
    "never|seldom|sometimes|often|always",
    "poor|fair|good|very good|excellent",
    "strongly disagree|disagree|neutral|agree|strongly agree",
    "xs|s|m|l|xl|xxl",
    "small|medium|large",
    "sehr niedrig|niedrig|mittel|hoch|sehr hoch",
    "keine|gering|mittel|hoch",
    "keine|leicht|mittel|schwer",
    "nie|selten|manchmal|oft|immer",
    "faible|moyen|eleve",
    "i|ii|iii|iv|v|vi|vii|viii|ix|x",
]
_ROMAN = {numeral: value for value, numeral in enumerate(_SCALES[-1].split("|"), 1)}
_STEP = re.compile(r"(stage|grade|level|phase|class|stadium|grad|stufe|klasse)\s*(\d+|[ivx]+)")
_BAND = re.compile(r"[\[(]?(\d+)\s*(?:-|–|to|bis)\s*(\d+)[\])]?|(\d+)\s*\+|(<|>)=?\s*(\d+)")
_MARKS = ("?", "-", ".", "NA", "N/A", "n/a", "NULL", "null", "None", "missing", "unknown")
_FOREIGN = {
    "dates not written as 2024-12-31": r"^\d{1,2}[./]\d{1,2}[./]\d{2,4}$",
    "numbers with a decimal comma": r"^-?\d+,\d+$",
}


@dataclass(frozen=True)
class ColumnProfile:
    """What was seen in one column and what is proposed for it. ``distinct`` and ``common`` leave empty cells out.

    ``type`` is None where a cell is no single value. ``common`` is the number of records with the most common value,
    ``order`` the values as steps of a known scale, ``marks`` cells that look like marks for "missing".
    """

    name: str
    type: Type | None
    rows: int
    distinct: int
    nulls: int
    common: int
    role: Role = Role.QUASI
    reasons: tuple[str, ...] = (UNKNOWN,)
    decide: bool = False
    order: tuple[str, ...] | None = field(default=None, repr=False)
    scale: bool = False
    marks: tuple[str, ...] = field(default=(), repr=False)
    whole: bool = False
    zip: bool = False
    free: bool = False

    @property
    def share(self) -> float:
        """Different values per row."""
        return self.distinct / self.rows

    @property
    def unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self.distinct == self.rows

    @property
    def facts(self) -> str:
        """The counts in words, without a value."""
        kind = "no single values" if self.type is None else self.type.value
        if self.nulls == self.rows:
            return f"{kind}, every cell empty"
        values = f"{self.distinct:,} different values" if self.distinct > 1 else "one value"
        of = ", one for each row" if self.unique and self.rows > 1 else f" in {self.rows:,} rows"
        return f"{kind}, {values}{of}, " + (f"{self.nulls:,} empty" if self.nulls else "none empty")

    def proposed(self, role: Role, *reasons: str, decide: bool = False) -> ColumnProfile:
        """Return the column with this proposal."""
        return replace(self, role=role, reasons=reasons, decide=decide)


@dataclass(frozen=True)
class Proposal:
    """The static guarantee to start with; ``reasons`` say in plain words what the numbers mean and why these."""

    k: int
    l: int | None  # noqa: E741  (the config's own name)
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """A table as it was found."""

    path: Path
    rows: int
    columns: tuple[ColumnProfile, ...]

    def names(self, role: Role) -> tuple[str, ...]:
        """Return the columns proposed for a role."""
        return tuple(column.name for column in self.columns if column.role is role)

    def with_roles(self, roles: Mapping[str, Role]) -> Profile:
        """Return the profile with the roles that the steward chose, which need no further decision."""
        columns = [c if c.name not in roles else _choose(c, roles[c.name]) for c in self.columns]
        return replace(self, columns=tuple(columns))

    @property
    def guarantee(self) -> Proposal:
        """A guarantee that these rows can keep under these roles."""
        people = next((c.distinct for c in self.columns if c.role is Role.PERSON), self.rows)
        k = next((k for least, k in ((1000, 10), (20, 5), (6, 3)) if people >= least), 2)
        reasons = [f"k = {k}: nobody can be narrowed down to fewer than {k} records."]
        if k < 10:
            reasons[0] += f" With {people:,} rows to hide among it is not 10."
        sensitive = [c for c in self.columns if c.role is Role.SENSITIVE]
        if not sensitive:
            reasons.append(
                "No sensitive column is declared, so nothing is asked of what a group has in common (no l). If a column "
                "holds what must not be known of a person, make it sensitive and add l = 3."
            )
            return Proposal(k, None, tuple(reasons))
        reach = {column.name: _diversity(column, k) for column in sensitive}
        l = min(reach.values())  # noqa: E741
        least = next(name for name, reached in reach.items() if reached == l)
        if l < 2:
            reasons.append(
                f"There is no l: nearly all records agree in {least!r}, so a group could hardly hold different values. "
                "Who finds a group may learn what all of it has in common; consider dropping the column."
            )
            return Proposal(k, None, tuple(reasons))
        reasons.append(f"l = {l}: every group has at least {l} different values in each sensitive column.")
        if l < 3:
            reasons[-1] += f" It is not 3 because {least!r} has few values, or one that nearly all share."
        return Proposal(k, l, tuple(reasons))


def profile(path: str | Path) -> Profile:
    """Read a .csv or .parquet file and propose a role for each of its columns."""
    path = Path(path)
    check_path(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":
        frame = read_text_table(path)
    elif suffix == ".parquet":
        frame = read_parquet(path, lambda _: None)
    else:
        raise FileError("this is neither a .csv nor a .parquet file", file=path, hint="Export the table as one of them.")
    if frame.height == 0:
        raise DataError("this table has no rows", file=path, hint="A proposal needs records to look at.")
    columns = [_look(cells, text=suffix == ".csv") for cells in frame.get_columns()]
    person = _find_person(columns)
    return Profile(path, frame.height, tuple(_propose(c, person, len(columns)) for c in columns))


def _look(cells: pl.Series, *, text: bool) -> ColumnProfile:
    """Count what can be counted."""
    rows, name = len(cells), cells.name
    kind = type_of(cells.dtype)
    if kind is None:
        return ColumnProfile(name, None, rows, 0, cells.null_count(), 0)
    if cells.dtype in (pl.Categorical, pl.Enum, pl.Null):
        cells = cells.cast(pl.String)
    cells = infer_type(cells) if text else cells.fill_nan(None) if cells.dtype.is_float() else cells
    kind = type_of(cells.dtype) or Type.TEXT
    values = cells.drop_nulls()
    if kind is Type.TEXT:
        values = canonical_text(values)
    counts = values.value_counts(name="n")
    distinct = counts[name]
    seen = ColumnProfile(name, kind, rows, len(distinct), rows - len(values), int(counts["n"].max() or 0))  # type: ignore[arg-type]
    whole = cells.dtype.is_integer()
    zipped = _says(name, _ZIP) is not None and (whole or (kind is Type.TEXT and bool(values.str.contains(r"\d").all())))
    seen = replace(seen, whole=whole, zip=zipped)
    return _look_at_text(seen, values, distinct) if kind is Type.TEXT and len(values) else seen


def _look_at_text(seen: ColumnProfile, values: pl.Series, distinct: pl.Series) -> ColumnProfile:
    """Find scales, prose, and what other programs write for numbers, dates and nothing."""
    if values.str.contains(r"^\S+@\S+\.\S+$").mean() > 0.8:  # type: ignore[operator]
        return seen.proposed(Role.IDENTIFIER, "its cells look like e-mail addresses: dropped")
    steps = _steps(distinct.head(100).to_list()) if len(distinct) <= 100 else None
    words = float((values.str.count_matches(r"\s+") + 1).mean())  # type: ignore[arg-type, operator]
    length = float(values.str.len_chars().mean())  # type: ignore[arg-type]
    spread = len(distinct) / len(values)
    prose = (words >= 4 and spread >= 0.5 and len(distinct) >= 20) or (length >= 80 and spread >= 0.1)
    marks = tuple(mark for mark in _MARKS if mark in set(distinct.filter(distinct.is_in(_MARKS))))
    if marks:
        rest = distinct.filter(~distinct.is_in(_MARKS))
        marks = marks if len(rest) and infer_type(rest).dtype != pl.String else ()
    return replace(
        seen,
        order=tuple(steps) if steps and len(steps) <= SHOWN_AT_MOST else None,
        scale=steps is not None,
        free=prose or (_says(seen.name, _FREE) is not None and words >= 3),
        marks=marks,
        reasons=tuple(f"its cells look like {what}" for what, form in _FOREIGN.items() if distinct.str.contains(form).all()),
    )
