# %% [markdown]
# # A national case table
#
# A health institute publishes a table of cases and adds the new ones every week. Between the weeks somebody asks for a
# part: one region, or the older people. Cases stay in the table and keep their outcome. For that there is *refinement*:
# whoever holds all the answers, and can follow every record from one to the next, finds no set of people that the model
# refuses.

# %%
import polars as pl
from IPython.display import SVG

import reveil as rv
from reveil.reporting import charts
from reveil.testing import hospital

seen = pl.concat([table.drop("name", "income", "ward") for table in hospital.year(1_200, months=4, seed=2)])
cases = seen.unique("pid", keep="first", maintain_order=True).sort("admitted")
weeks = [cases.head(round(cases.height * share)) for share in (0.7, 0.8, 0.9, 1.0)]
columns = rv.Schema(person="pid", quasi=["age", "sex", "town", "admitted"], sensitive="diagnosis")
[week.height for week in weeks]

# %% [markdown]
# ## Files that are put side by side
#
# Published one by one, each file is sound: at least 5 people and 3 different diagnoses in every group. Put side by side, the
# answers cut each other's groups.

# %%
model = rv.KAnonymity(5) & rv.DistinctDiversity(3)
parts = [None, None, None, "age >= 60", "age >= 65", "sex = f", None]
tables = [weeks[0], weeks[1], *[weeks[2]] * 4, weeks[3]]
chosen = {"age >= 60": pl.col("age") >= 60, "age >= 65": pl.col("age") >= 65, "sex = f": pl.col("sex") == "f"}
asked = [table.filter(chosen[part]) if part else table for table, part in zip(tables, parts, strict=True)]
alone = [rv.anonymize(table, columns, model, seed=number) for number, table in enumerate(asked)]
naive = rv.audit(alone, columns, truth=asked, known="presence", table_risks=False).summary
print(f"Of {naive['persons']:,} people, {naive['above']['0.5']} are linked with a diagnosis by more than 1/2.")

# %% [markdown]
# ## The same answers as one series
#
# `where` asks for a part. People whom nobody asked for may be published again, as they were last told (*dirty* records),
# so that the answer singles nobody out; whoever cannot be published without that is held back for now.

# %%
series = rv.Series.open("cases.vault", columns, rv.Refinement(k=5, l=3), name="cases", seed=1)
kept = [series.publish(table, where=part) for table, part in zip(tables, parts, strict=True)]
safe = rv.audit(kept, columns, truth=asked, known="presence", table_risks=False).summary
print(kept[-1].manifest["claim"])
print(f"Of {safe['persons']:,} people, {safe['above']['0.5']} are linked with a diagnosis by more than 1/2.")
assert safe["certain"] == 0
assert safe["above"]["0.5"] < naive["above"]["0.5"]

# %% [markdown]
# Nobody is certain, and in no set of people that the answers leave together are fewer than three diagnoses. That is what the
# model asks, and no more: three different values may be unevenly spread, so some people are still linked by more than
# 1/2. Whoever wants a bound on that asks for `diversity = "frequency"`, or for tau-safety.

# %%
told = pl.DataFrame(
    [
        {
            "release": number,
            "where": part or "everybody",
            "asked for": table.height,
            "rows": release.manifest["rows"],
            "dirty": release.manifest["dirty"],
            "held back": release.manifest["withheld"],
            "groups": release.manifest["groups"],
        }
        for number, (table, part, release) in enumerate(zip(asked, parts, kept, strict=True), 1)
    ]
)
told

# %% [markdown]
# ## The width of a cell over the releases

# %%
whole = [place for place, part in enumerate(parts) if part is None]
width = [rv.measure(asked[place], kept[place], columns)["gcp"] for place in whole]
SVG(
    charts.svg(
        charts.lines(
            "Mean width of a cell, releases of the whole table",
            [place + 1 for place in whole],
            {"refinement, k = 5, l = 3": width},
            x_label="release",
            y_label="share of the domain",
        ),
        file=True,
    )
)

# %% [markdown]
# Refinement is not for outcomes that change: somebody who knows *whose* value changed learns more. Then
# [tau-safety](hospital-year.md) is the guarantee. [Which guarantee](../which-guarantee.md) asks the questions in order.
