"""What the name of a column says, and which texts are the steps of a scale.

Only :mod:`reveil.tables.profiling` reads this. The lists are short on purpose and in a few languages lightly: a name
they miss costs the steward one decision, a name they misread would cost more.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A word of five letters or more may stand anywhere in a name (German joins its nouns); a shorter one must be a word of
# the name, or with a star the start of one. Accents and capitals are taken off before.
DIRECT = (
    "email mail* phone telefon telephone mobile handy fax iban bic passport ausweis surname lastname firstname "
    "fullname username vorname nachname familienname prenom apellido cognome maiden birthname geburtsname signature "
    "address adresse street strasse indirizzo direccion url website photo ip"
)
NAME = "name nom nombre naam nome"
NATIONAL = (
    "ssn ahv nhs bsn dni nino cpf svnr socialsec sozialvers versichertennummer versichertennr insurancenumber "
    "insuranceid taxid steuerid nationalid personnummer"
)
PERSON = (
    "person patient participant subject proband client klient customer kunde employee mitarbeiter student schuler "
    "pupil member mitglied citizen resident einwohner respondent paciente persona user userid pid mrn"
)
NUMBER = (
    "id ids nr no num nbr number nummer numero key uuid guid uid ident* kennung code ref pk "
    "patientid personid clientid memberid caseid recordid"
)
COUNTER = "row rowid rownum index unnamed zeile lfd"
FREE = "comment note notes remark bemerkung notiz description anamnese text freetext commentaire"
ZIP = "zip zipcode plz postcode postal postleitzahl"
MONEY = "income wage earnings einkommen revenu ingreso"
BENEFITS = "benefit welfare dividend capitalgain capitalloss sozialhilfe arbeitslosengeld burgergeld wohngeld"
HOUSEHOLD = "household family haushalt familie foyer hogar dwelling apartment wohnung home couple sibling hh"
HOUSEHOLD_KEY = "householdid hhid familyid haushaltsnr haushaltsid haushaltsnummer familiennr"
SURVEY = (
    "fnlwgt wgt pwgt perwt pweight instanceweight samplingweight sampleweight surveyweight designweight personweight "
    "gewichtung hochrechnung"
)

QUASI = {
    "age or birth": "age ages alter altersgruppe edad leeftijd birth born dob geburt geb naissance nacimiento nascita",
    "sex": "sex gender geschlecht sexe sexo geslacht",
    "a place": f"{ZIP} city town region ort wohnort stadt kreis gemeinde ville ciudad comune county country state "
    "district kanton canton bundesland provinc nation municipal location residence latitude longitude lat lon gps",
    "origin": "race ethnic nationality citizenship language hispanic nativity herkunft",
    "family": "marital married family familienstand household relationship children kids kinder enfants spouse",
    "schooling or work": "education school degree ausbildung occupation job profession beruf employ workclass work "
    "industry",
    "what can be seen": "height weight hair eye eyes grosse gewicht",
    "a stay or a visit": "admitted admission discharge visit ward department station hospital clinic unit insurance "
    "payer",
    "time": "date datum fecha year jahr month monat day tag time timestamp",
}
HEALTH = "health"
SENSITIVE = {
    HEALTH: "disease diagnos diag dx icd illness krank drug drugs medic medik med meds rx hiv* outcome test tests "
    "result befund symptom allerg cancer tumor tumour pregnan schwanger disab behinder treatment therap behandlung "
    "prescri dose lab blood serum insulin glu* glucose cholesterol mental addict genetic mutation death died "
    "mortality readmitted readmission injury severity prognos patholog procedure surgery enfermedad maladie malattia",
    "pay or debt": "salary salaries lohn gehalt debt credit salaire sueldo stipendio",
    "belief, politics or the law": "religi politic sexual union crime criminal convict offence offense vote partei",
}

# For cells without a value, in small letters: wherever they stand, and only among what is no text without them.
_MARKS = "? - . -- na n/a #n/a nan null unknown missing unbekannt k.a."
MARKS = frozenset({*_MARKS.split(), "k. a.", "keine angabe"})
MARKS_AMONG_NUMBERS = MARKS | {"none", "-9", "-99", "-999", "-9999"}
CODES = (-9, -99, -999, -9999)  # among numbers that are otherwise not negative
FOREIGN = {
    "dates; written as 2024-12-31 they would be published as ranges": r"^\d{1,2}[./]\d{1,2}[./]\d{2,4}$",
    "numbers; with a decimal point they would be published as ranges": r"^-?\d+,\d+$",
}

_SCALES = tuple(
    tuple(scale.split("|"))
    for scale in (
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
    )
)
_ROMAN = {numeral: value for value, numeral in enumerate(_SCALES[-1], 1)}
_STEP = re.compile(r"(stage|grade|level|phase|class|stadium|grad|stufe|klasse)\s*(\d{1,18}|[ivx]+)")
_BAND = re.compile(r"[\[(]?(\d{1,18})\s*(?:-|–|to|bis)\s*(\d{1,18})[\])]?|(\d{1,18})\s*\+|([<>])=?\s*(\d{1,18})")
_INSIDE_FROM = 5


def place_of(name: str, words: str) -> tuple[int, str] | None:
    """Return where in a name the last of the words ends, and the word; None if the name has none of them."""
    tokens = words_of(name)
    joined = "".join(tokens)
    found: list[tuple[int, str]] = []
    for word in words.split():
        stem = word.removesuffix("*")
        if len(stem) >= _INSIDE_FROM:
            found += [(joined.rfind(stem) + len(stem), stem)] if stem in joined else []
            continue
        position = 0
        for token in tokens:
            position += len(token)
            if token == stem or (word != stem and token.startswith(stem)):
                found.append((position, stem))
    return max(found, default=None)


def says(name: str, words: str) -> str | None:
    """Return the word of the list that the name contains, or None."""
    found = place_of(name, words)
    return None if found is None else found[1]


def topic(name: str, topics: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the place and the topic of the last word that has one; what follows "of" or "at" does not count."""
    head = (
        re.split(r"(?:^|[\s_.-])(?:of|at|bei|von|am|de|du)(?=[\s_.-])", name, maxsplit=1, flags=re.IGNORECASE)[0]
        or name
    )
    found = [(at[0], what) for what, words in topics.items() if (at := place_of(head, words)) is not None]
    return max(found, default=None)


@cache
def words_of(name: str) -> tuple[str, ...]:
    """Split a name into its words: ``dateOfBirth``, ``Straße_1`` and ``patient nbr`` have their words told apart."""
    bare = "".join(ch for ch in unicodedata.normalize("NFKD", name) if not unicodedata.combining(ch))
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", bare)
    return tuple(re.findall(r"[^\W\d_]+|\d+", apart.casefold()))


def steps(values: Sequence[str]) -> list[str] | None:
    """Return the values in the order of a scale that knows all of them, three at least; else None.

    >>> steps(["high", "low", "medium"])
    ['low', 'medium', 'high']
    >>> steps(["65+", "0-17", "18-64"])
    ['0-17', '18-64', '65+']
    >>> steps(["north", "low", "high"])
    """
    if len(values) < 3:
        return None
    folded = [" ".join(words_of(value)) if value.isalpha() else value.strip().casefold() for value in values]
    keys: list[tuple[float, ...]] | None = None
    for scale in _SCALES:
        if all(value in scale for value in folded):
            keys = [(scale.index(value),) for value in folded]
            break
    keys = keys or _numbered(folded) or _bands(folded)
    if keys is None or len(set(keys)) < len(keys):
        return None
    return [value for _, value in sorted(zip(keys, values, strict=True))]


def _numbered(values: list[str]) -> list[tuple[float, ...]] | None:
    """Read ``stage 1``, ``stage 2`` and ``Grade IV``."""
    found = [_STEP.fullmatch(value) for value in values]
    pairs = [(match[1], match[2]) for match in found if match is not None]
    if len(pairs) < len(values) or len({kind for kind, _ in pairs}) > 1:
        return None
    numbers = [int(number) if number.isdigit() else _ROMAN.get(number) for _, number in pairs]
    return [(number,) for number in numbers if number is not None] if None not in numbers else None


def _bands(values: list[str]) -> list[tuple[float, ...]] | None:
    """Read ``0-17``, ``[10-20)``, ``<18`` and ``65+``."""
    keys: list[tuple[float, ...]] = []
    for value in values:
        match = _BAND.fullmatch(value)
        if match is None:
            return None
        low, high, open_end, side, bound = match.groups()
        if low is not None:
            keys.append((float(low), float(high)))
        elif open_end is not None or side == ">":
            keys.append((float(open_end or bound), float("inf")))
        else:
            keys.append((float("-inf"), float(bound)))
    return keys
