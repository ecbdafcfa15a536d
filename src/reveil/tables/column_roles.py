"""What a column is proposed to be, from its name and its counts: the safe side of every guess, with its reason.

Only :mod:`reveil.tables.profiling` reads this. A rule that knows something decides, the first of them for each column;
then the columns are looked at together: what goes with what, and which of them would take the protection of the others
away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.tables import column_hints as hints
from reveil.tables.feasible import people_of, reachable_l, usual_k
from reveil.tables.schema import Role, Type

if TYPE_CHECKING:
    from reveil.tables.profiling import ColumnProfile

UNKNOWN = "unknown: treated as something others may know"
_FEW = 50  # rows; below this, that all values differ means nothing
_OFTEN_ENOUGH = 1000  # identities that repeat are still identities if there are so many of them


def with_roles(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns with a role proposed for each."""
    person = _person(columns)
    columns = _together([_proposal(column, person) for column in columns])
    if not any(column.role is Role.SENSITIVE for column in columns):
        columns = _money_as_sensitive(columns)
    return _uniform_left_out(columns)


def _identity(column: ColumnProfile) -> int:
    """Return how much the name speaks of an identity: 4 a person's number ... 1 some number, 0 none."""
    name = column.name
    tokens = hints.words_of(name)
    number = hints.says(name, hints.NUMBER) is not None
    if column.type is not Type.TEXT and not column.whole:
        return 0  # as a float or a date, two identities could become one
    if column.drop or hints.says(name, hints.DIRECT) or hints.says(name, hints.COUNTER):
        return 0
    if hints.says(name, hints.NATIONAL):
        return 2
    ends_so = bool(tokens) and hints.says(tokens[-1], hints.NUMBER) is not None and tokens[-1] != "code"
    about = hints.topic(name, hints.QUASI) or hints.topic(name, hints.SENSITIVE) or hints.says(name, hints.MONEY)
    if about and not ends_so:
        return 0
    if hints.says(name, hints.PERSON):
        return 4 if number or len(tokens) == 1 else 0 if hints.says(name, hints.NAME) else 3
    return 3 if number and len(tokens) == 1 else int(number)


def _person(columns: list[ColumnProfile]) -> str | None:
    """Choose the column that says whom a row is about.

    A number of persons that repeats is chosen before a number of visits that does not: with the visit as the person,
    the promise would be about visits, and somebody with ten of them would be a group alone. Publishing then stops at
    the repeated person, which is what has to be mended.
    """
    unique = [(c, score) for c in columns if c.unique and (score := _identity(c)) > 0]
    best = max(unique, key=lambda found: found[1], default=None)
    if best is not None and best[1] == 4:
        return best[0].name
    for column in columns:
        many = column.share >= 0.2 or column.distinct >= _OFTEN_ENOUGH
        if _identity(column) == 4 and many and column.distinct > 1:
            return column.name
    return None if best is None else best[0].name


def _proposal(column: ColumnProfile, person: str | None) -> ColumnProfile:
    """Propose a role; the first rule that knows something decides."""
    if column.name == person:
        return _as_person(column)
    return _left_out(column, person) or _published(column)


def _left_out(column: ColumnProfile, person: str | None) -> ColumnProfile | None:
    """Propose to drop what points at a person directly."""
    name = column.name
    if column.drop is not None:
        return column.proposed(Role.IDENTIFIER, column.drop)
    direct = hints.says(name, hints.DIRECT) or hints.says(name, hints.NATIONAL)
    if direct:
        return column.proposed(Role.IDENTIFIER, f"its name ({direct}) speaks of a direct identifier: dropped")
    if column.unique and column.rows > 1 and _identity(column):
        return column.proposed(Role.IDENTIFIER, f"every value occurs once: another number beside {person!r}, dropped")
    if column.unique and column.whole and hints.says(name, hints.COUNTER):
        return column.proposed(Role.IDENTIFIER, "by its name it counts the rows, which says nothing lasting: dropped")
    if _identity(column) and column.share >= 0.5:
        why = "by its name a number, and most rows have one of their own: dropped"
        return column.proposed(Role.IDENTIFIER, why, decide=True)
    called = hints.says(name, hints.NAME)
    topic = hints.topic(name, hints.QUASI) or hints.topic(name, hints.SENSITIVE)
    if called and column.type is Type.TEXT and topic is None:
        return column.proposed(Role.IDENTIFIER, f"its name ({called}) speaks of a person's name: dropped")
    if column.type is Type.NUMBER and hints.says(name, hints.SURVEY):
        why = "by its name a weight of a survey, which singles people out and is about nobody: dropped"
        return column.proposed(Role.IDENTIFIER, why, decide=True)
    if _is_household_key(column):
        why = "by its name the key of a household: it tells who belongs together, and a number is no range: dropped"
        return column.proposed(Role.IDENTIFIER, why, decide=True)
    return None


def _is_household_key(column: ColumnProfile) -> bool:
    """Return whether a name ends in a word for a number and speaks of people who belong together."""
    tokens = hints.words_of(column.name)
    ends_so = len(tokens) > 1 and hints.says(tokens[-1], hints.NUMBER) is not None
    short = len(tokens) == 1 and hints.says(column.name, hints.HOUSEHOLD_KEY) is not None
    single = column.whole or column.type is Type.TEXT
    return single and (short or (ends_so and hints.says(column.name, hints.HOUSEHOLD) is not None))


def _published(column: ColumnProfile) -> ColumnProfile:
    """Propose quasi or sensitive, or to drop what nobody can tell and singles everybody out."""
    name = column.name
    known, secret = hints.topic(name, hints.QUASI), hints.topic(name, hints.SENSITIVE)
    if column.type in (Type.DATE, Type.DATETIME, Type.TIME):
        return column.proposed(Role.QUASI, "a date or time: others may know when something happened")
    if secret and (known is None or secret[0] >= known[0]):
        why = f"its name speaks of {secret[1]}: must not become known of a person"
        return column.proposed(Role.SENSITIVE, why, decide=known is not None)
    if hints.says(name, hints.MONEY) or hints.says(name, hints.BENEFITS):
        why = "its name speaks of income or benefits, a candidate for sensitive: others may know it, or it must not "
        return column.proposed(Role.QUASI, why + "become known", decide=True)
    if known:
        return column.proposed(
            Role.QUASI, f"its name speaks of {known[1]}: others may know it", decide=secret is not None
        )
    if column.rows >= _FEW and column.share >= 0.9 and (column.whole or column.type is Type.TEXT):
        why = "unknown, and nearly every row has a value of its own: it would single everybody out, so it is dropped"
        return column.proposed(Role.IDENTIFIER, why, decide=True)
    if column.distinct == 1 and not column.nulls:
        return column.proposed(Role.QUASI, UNKNOWN, "the same in every row now, which may change", decide=True)
    return column


def _as_person(column: ColumnProfile) -> ColumnProfile:
    """Say why this column is the person, and what stands in the way."""
    if column.unique:
        why = "every value occurs once, none is empty, and its name speaks of an identity: whom the row is about"
        return column.proposed(Role.PERSON, why + "; never published")
    why = "by its name, whom the row is about; never published"
    return column.proposed(Role.PERSON, why, *column.obstacles, decide=True)


def _money_as_sensitive(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Take income as sensitive in a table in which nothing else is; benefits and gains where there is no income."""
    for what, words in (("income", hints.MONEY), ("benefits or gains", hints.BENEFITS)):
        found = {c.name for c in columns if c.role is Role.QUASI and hints.says(c.name, words)}
        if found:
            why = f"its name speaks of {what}, and nothing else here is sensitive: must not become known of a person"
            return [c.proposed(Role.SENSITIVE, why, decide=True) if c.name in found else c for c in columns]
    return columns


def _together(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Take columns that nothing is known of for what another one is: those of drugs or tests have the same few values.

    A list of drugs has a column for each, and the names of few of them are known here.
    """
    known = [c for c in columns if c.role is Role.SENSITIVE and len(c.few) > 2 and _is_health(c)]
    found = []
    for column in columns:
        like = next((c.name for c in known if column.few and column.few <= c.few), None)
        if like is None or column.role is not Role.QUASI or column.reasons[0] != UNKNOWN:
            found.append(column)
            continue
        why = f"it has the values of {like!r} and no others: columns of drugs or tests go together"
        found.append(column.proposed(Role.SENSITIVE, why, decide=True))
    return found


def _uniform_left_out(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Leave out sensitive columns in which nearly everybody agrees, where there are others.

    No group could hold different values of them, so that l could be asked of none.
    """
    k = usual_k(people_of(columns))
    sensitive = [column for column in columns if column.role is Role.SENSITIVE]
    uniform = {column.name for column in sensitive if reachable_l(column, k) < 2}
    if not uniform or len(uniform) == len(sensitive):
        return columns
    why = "nearly all records agree in it, so that no group could hold different values: left out, for beside it no "
    return [
        c.proposed(Role.IDENTIFIER, *c.reasons, why + "l could be asked of the others", decide=True)
        if c.name in uniform
        else c
        for c in columns
    ]


def _is_health(column: ColumnProfile) -> bool:
    found = hints.topic(column.name, hints.SENSITIVE)
    return found is not None and found[1] == hints.HEALTH
