"""The chapters of the page about what was measured: risk, groups, what is left, what was added, what it costs.

Each returns the anchor, the title and the inside of a section, or None where there is nothing to say.
"""

from __future__ import annotations

from html import escape
from typing import Any

from reveil.reporting import charts
from reveil.reporting.marks import Column, Marks, figure, folded, paragraph, terms

SIX = 6  # lines that a chart still tells apart
ABOUT = {"value": "a value at some time", "ever": "a value at any time", "range": "a range of values"}
KNOWS = {
    "nothing": "who could be in the table, and their quasi values",
    "presence": "who is in which release, and their quasi values",
    "events": "who is in which release, their quasi values, and whose value changed when",
    "ids": "which rows are the same person's",
    "values": "who is in which release, their quasi values, and other sensitive values of whom they look for",
}
LOSSES = {"t": "privacy loss (t)", "information_loss": "information loss", "cost": "both, weighted"}
HOW_TO = "Give the snapshots, in the order of the releases: reveil report -c … -o … --truth one.csv two.csv"
Part = tuple[str, str, str]


def risk(marks: Marks) -> Part:
    """Show how strongly values could be believed as the releases came out."""
    key, title, found = "risk", "What can be found out", marks.content["risk"]
    if found is None:
        words = paragraph("Not measured: the attacks need to know whom to look for.")
        return key, title, words + paragraph(HOW_TO, "quiet")
    many, of = found["releases"], marks.content["series"]["releases"]
    steps = {1: "", 2: ": on the first alone, and on both together"}.get(
        many, ": on the first alone, on ever more of them, and on all together"
    )
    words = (
        f"<p>The attacks know {escape(KNOWS.get(found['known'], found['known']))}. They were made on "
        f"{marks.value('risk.releases')} of {marks.value('series.releases')} releases{steps}. They looked for "
        f"{marks.value('risk.persons')} people. {_certain(marks)} The values of {marks.value('risk.above_half')} can "
        "be guessed with more than one half.</p>"
    )
    if many < of:
        words += paragraph("Whoever holds the other releases, too, may know more.")
    parts = [
        _attacked(marks, f"risk.columns.{place}", own, found["bound"], many=len(found["columns"]) > 1)
        for place, own in enumerate(found["columns"])
    ]
    return key, title, words + "".join(parts)


def _certain(marks: Marks) -> str:
    """Say whose values are certain."""
    found = marks.content["risk"]
    if not found["certain"]:
        return f"The values of {marks.value('risk.certain')} can be read off with certainty."
    right = f", and {marks.value('risk.certain_and_right')} of these are right"
    unknown = found["certain_and_right"] is None
    return f"The values of {marks.value('risk.certain')} can be read off with certainty{'' if unknown else right}."


def _attacked(marks: Marks, path: str, own: dict[str, Any], bound: float | None, *, many: bool) -> str:
    """Draw what was believed of one column as the releases came out."""
    places = [step["releases"] for step in own["steps"]]
    known = {
        "highest that is proven": [step["highest_proven"] for step in own["steps"]],
        "the newest release alone": [step["last_release"] for step in own["steps"]],
        "the table as a whole alone": [step["table"] for step in own["steps"]],
    }
    held = "releases that the adversary holds"
    title = f"Belief in somebody's {own['name']}"
    parts = [f"<h3>{escape(own['name'])}</h3>"] if many else []
    caption = (
        f"The highest belief in a value of {own['name']} that is proven, from the releases together; beside it what "
        "one would believe without comparing them."
    )
    parts.append(figure(caption, charts.lines(title, places, known, bound=bound, x_label=held, y_label="belief")))
    attacks = own["attacks"]
    if attacks:
        names = [attack["name"] + ("" if attack["judged"] else " (not bounded)") for attack in attacks]
        highest, median = (
            {name: attack[key] for name, attack in zip(names, attacks, strict=True)} for key in ("highest", "median")
        )
        for words, lines in (("The highest belief", highest), ("The median belief over everybody", median)):
            picture = charts.lines(
                f"{words}, attack by attack", places, lines, bound=bound, x_label=held, y_label="belief"
            )
            parts.append(figure(f"{words}, attack by attack; an estimate where nothing is proven.", picture))
        last = len(places) - 1
        parts.append(_attacks(marks, path, attacks, last))
    if own["found_nothing"]:
        parts.append(paragraph(f"Nothing was found by: {', '.join(own['found_nothing'])}.", "quiet"))
    if own["not_run"]:
        reasons = "; ".join(f"{attack['name']} ({attack['why']})" for attack in own["not_run"])
        parts.append(paragraph(f"Not made, so that nothing is known of what they would find: {reasons}.", "quiet"))
    if own["linkage"] is not None:
        chance = marks.value(f"{path}.linkage", "number")
        words = f"The row of somebody can be found with a chance of up to {chance} (linkage)."
        parts.append(f'<p class="quiet">{words}</p>')
    return "".join(parts)


def _attacks(marks: Marks, path: str, attacks: list[dict[str, Any]], last: int) -> str:
    columns = [Column("attack", "name", "text"), Column("about", "about", "text")]
    columns += [
        Column("highest belief", f"highest.{last}", "number"),
        Column("proven", f"highest_proven.{last}", "number"),
    ]
    columns += [Column("median", f"median.{last}", "number"), Column("certain", f"certain.{last}")]
    table = marks.table(
        "The attacks on all releases together", columns, [f"{path}.attacks.{n}" for n in range(len(attacks))]
    )
    about = sorted({attack["about"] for attack in attacks})
    words = "; ".join(f"{name}: {ABOUT.get(name, name)}" for name in about)
    aside = [attack["name"] for attack in attacks if not attack["judged"]]
    more = f" What {', '.join(aside)} says is not what this guarantee bounds." if aside else ""
    return table + paragraph(f"About {words}.{more}", "quiet")


def groups(marks: Marks) -> Part | None:
    """Show how large the groups are."""
    if not marks.content["guarantee"]["grouped"]:
        words = "Every row has ranges of its own under this guarantee, and there are no groups."
        return "groups", "How large the groups are", paragraph(words)
    sized = [n for n, own in enumerate(marks.content["releases"]) if own["group_sizes"]]
    if not sized:
        return None
    last = sized[-1]
    sizes = marks.content["releases"][last]["group_sizes"]
    names = [_span(own) for own in sizes]
    title = f"Group sizes of release {marks.labels[last]}"
    picture = charts.bars(title, names, [own["groups"] for own in sizes], y_label="groups", x_label="rows in a group")
    columns = [Column("release", "release"), Column("groups", "groups"), Column("smallest", "smallest")]
    columns += [Column("largest", "largest")]
    table = marks.table("Groups of each release, in rows", columns, [f"releases.{n}" for n in sized])
    bars = [Column("from", "from"), Column("to", "to"), Column("groups", "groups")]
    full = marks.table(title, bars, [f"releases.{last}.group_sizes.{n}" for n in range(len(sizes))])
    inside = figure(f"How many rows the groups of release {marks.labels[last]} have.", picture)
    inside += folded("The numbers of this chart", full) + table + _unlike(marks)
    return "groups", "How large the groups are", inside


def _unlike(marks: Marks) -> str:
    """Show how far the values of a group are from those of the whole table, where that was measured."""
    found = [
        f"releases.{n}.privacy_loss.{place}"
        for n, own in enumerate(marks.content["releases"])
        for place in range(len(own["privacy_loss"] or ()))
    ]
    columns = [
        Column("release", "release"),
        Column("column", "name", "text"),
        Column("largest distance", "t", "number"),
    ]
    caption = "How far a group's values are from the whole table's at most: t, which only t-closeness bounds"
    return marks.table(caption, columns, found) if found else ""


def _span(own: dict[str, Any]) -> str:
    return str(own["from"]) if own["from"] == own["to"] else f"{own['from']}–{own['to']}"


def utility(marks: Marks) -> Part | None:
    """Show what is left of the table: widths of cells, and answers to counts."""
    releases = marks.content["releases"]
    if all(own["gcp"] is None for own in releases):
        return "utility", "What is left of the table", paragraph("Not measured.") + paragraph(HOW_TO, "quiet")
    names = list(dict.fromkeys(column["name"] for own in releases for column in own["columns"]))
    by_column = {name: [_width(own, name) for own in releases] for name in names[:SIX]}
    places = marks.numbers
    parts = [
        paragraph(
            "A published cell stands for a range of values. How wide it is on average, as a share of all the values of "
            "its column, says what is lost: 0% is exact, 100% tells nothing."
        ),
        figure(
            "The mean width of a cell, column by column; less is better.",
            charts.lines("Mean width of a cell", places, by_column, x_label="release", y_label="share of the range"),
        ),
    ]
    columns = [Column("release", "release"), Column("mean width", "gcp", "share")]
    if any(own["em_mean"] is not None for own in releases):
        columns.append(Column("bits that a cell leaves open", "em_mean", "number"))
    if any(own["query_error"] for own in releases):
        parts.append(_queries(marks, places))
    parts.append(marks.table("The mean width of a cell, over all columns", columns, marks.rows))
    last = max(n for n, own in enumerate(releases) if own["gcp"] is not None)
    own = [f"releases.{last}.columns.{n}" for n in range(len(releases[last]["columns"]))]
    widths = [Column("column", "name", "text"), Column("mean width", "gcp", "share")]
    parts.append(marks.table(f"The columns of release {marks.labels[last]}", widths, own))
    return "utility", "What is left of the table", "".join(parts)


def _width(release: dict[str, Any], name: str) -> float | None:
    return next((column["gcp"] for column in release["columns"] if column["name"] == name), None)


def _queries(marks: Marks, places: list[int]) -> str:
    """Draw how wrong counts are."""
    errors = marks.values("query_error")
    lines = {key: [None if own is None else own[key] for own in errors] for key in ("mean", "median")}
    asked = [f"releases.{n}.query_error" for n, own in enumerate(errors) if own is not None]
    drawn = figure(
        "Counting records in a random window of the table: how far the release's answer is off, relative to the truth.",
        charts.lines("Relative error of counts", places, lines, x_label="release", y_label="relative error"),
    )
    head = [Column("mean", "mean", "share"), Column("median", "median", "share")]
    rows = [path.rpartition(".")[0] for path in asked]
    own = [Column(each.head, f"query_error.{each.key}", each.how) for each in head]
    table = marks.table(
        "Relative error of random counts",
        [Column("release", "release"), *own, Column("empty windows", "query_error.skipped")],
        rows,
    )
    return drawn + folded("The numbers of this chart", table)


def comparing(marks: Marks) -> Part | None:
    """Show how well one release can be compared with the one before it."""
    pairs, trend = marks.content["comparing"], marks.content["trend"]
    if not pairs:
        return None
    places = [own["to"] for own in pairs]
    lines = {"the same boxes": [own["comparability"] for own in pairs]}
    if any(own["churn"] is not None for own in pairs):
        lines["unchanged people in another box"] = [own["churn"] for own in pairs]
    parts = []
    if trend is not None:
        parts.append(
            f"<p>A trend, read off the releases by asking the same count again and again, is off by "
            f"{marks.value('trend.mean', 'share')} of the count from one release to the next on average (median "
            f"{marks.value('trend.median', 'share')}, over {marks.value('trend.queries')} random windows, "
            f"{marks.value('trend.skipped')} of them empty).</p>"
        )
    parts.append(
        figure(
            "Two releases in a row: on which share of the space their boxes are the same, and which share of the "
            "people about whom nothing changed is published in another box.",
            charts.lines("Comparing releases", places, lines, x_label="release", y_label="share"),
        )
    )
    columns = [Column("release", "to"), Column("compared with", "from"), Column("same boxes", "comparability", "share")]
    columns += [Column("unchanged people", "unchanged"), Column("of these in another box", "churn", "share")]
    rows = [f"comparing.{n}" for n in range(len(pairs))]
    parts.append(marks.table("Releases beside the ones before them", columns, rows))
    lacking = []
    if trend is None:
        lacking.append("Trends need the snapshots of two releases or more that are of the same part of the table.")
    if any(own["churn"] is None for own in pairs):
        lacking.append("Who is in another box needs the snapshots, and a vault that keeps who was where.")
    parts += [paragraph(words, "quiet") for words in lacking]
    return "comparing", "How releases compare", "".join(parts)


def extras(marks: Marks) -> Part:
    """Show which rows were added and which records are missing."""
    drawn = ""
    named = {"counterfeits": "counterfeits", "withheld": "withheld", "suppressed": "suppressed", "dirty": "dirty"}
    series = {name: marks.values(key) for key, name in named.items()}
    if any(value for own in series.values() for value in own):
        picture = charts.bars(
            "Rows added and records left out", marks.labels, series, y_label="rows", x_label="release"
        )
        drawn = figure("Rows that were added, and records that were left out.", picture)
    columns = [Column("release", "release"), *(Column(name, key) for key, name in named.items())]
    if any(marks.values("made_up")):
        columns.append(Column("of the rows made up", "made_up", "share"))
    meaning = terms(
        [
            ("counterfeits", "Made-up rows. How many a group has is in the manifest."),
            ("withheld", "Records held back because of what earlier releases told."),
            ("suppressed", "Records left out because of this release alone; not told where the method must not tell."),
            ("dirty", "Rows of people who are not in the table any more, as they were last published."),
        ]
    )
    table = marks.table("Added and left out, release by release", columns, marks.rows)
    return "extras", "What was added and left out", drawn + table + folded("What these words mean", meaning)


def budget(marks: Marks) -> Part | None:
    """Show what is left to be spent, under a guarantee that spends a budget."""
    own = marks.content["budget"]
    if own is None:
        return None
    if not own["links"]:
        return "budget", "What is left of the budget", paragraph("Nobody was linked with any value yet.")
    cards = [
        marks.card("links of a person with a value so far", "budget.links"),
        marks.card("of these are used up", "budget.used_up"),
        marks.card("left on average", "budget.average_left", "share"),
        marks.card("releases for which it lasts at least, at the pace so far", "budget.releases_left"),
    ]
    labels = ["up to a quarter", "up to a half", "up to three quarters", "up to all"]
    picture = charts.bars("Links by what is left of them", labels, own["quarters"], y_label="links", x_label="left")
    drawn = figure("The links that are not used up, by how much of the budget they have left.", picture)
    return "budget", "What is left of the budget", f'<dl class="cards">{"".join(cards)}</dl>' + drawn


def auto(marks: Marks) -> Part | None:
    """Show how k was chosen, where a method chose it."""
    found = [n for n, own in enumerate(marks.content["releases"]) if own["auto"] is not None]
    if not found:
        return None
    path = f"releases.{found[-1]}.auto"
    curve = marks.get(f"{path}.curve")
    series = {words: curve[key] for key, words in LOSSES.items() if key in curve}
    picture = charts.lines("How k was chosen", curve["k"], series, x_label="k", y_label="loss", log_x=True)
    words = (
        f"<p>The method chose k = {marks.value(f'{path}.chosen')}, where the sum of both losses is least; privacy has "
        f"the weight {marks.value(f'{path}.weight', 'number')} in it.</p>"
    )
    caption = "What is lost of privacy, of information, and of both as weighted, with each k."
    return "auto", "How k was chosen", words + figure(caption, picture)
