# %% [markdown]
# # An audit of another tool's files
#
# Nothing in this notebook is published with Reveil. Three months were recoded as a spreadsheet or a common tool would do
# it: bands of ages, regions instead of towns, years instead of days, and rows of small or uniform classes left out. Every
# file has k = 5 and three different diagnoses in every class. What does somebody find out who has all three?

# %%
import polars as pl
from IPython.display import SVG

import reveil as rv
from reveil.reporting import charts
from reveil.testing import hospital

months = [table.drop("name", "income", "ward") for table in hospital.year(1_500, months=3, seed=4)]
region = {town: str(number // 4 + 1) for number, town in enumerate(sorted(set(months[0]["town"])))}
quasi = ["age", "sex", "town", "admitted"]


def recoded(table):
    """Recode as a tool would, and leave out the rows of classes that are too small or too uniform."""
    low = pl.col("age") // 20 * 20
    wide = table.select(
        age=pl.format("{}-{}", low, low + 19),
        sex="sex",
        town=pl.format("region {}", pl.col("town").replace_strict(region, default="5")),
        admitted=pl.format("[{}-01-01, {}-12-31]", pl.col("admitted").dt.year(), pl.col("admitted").dt.year()),
        diagnosis="diagnosis",
    )
    sound = (pl.len() >= 5) & (pl.col("diagnosis").n_unique() >= 3)
    return wide.filter(sound.over(quasi)).sort(*quasi, "diagnosis")


for number, table in enumerate(months, 1):
    recoded(table).write_csv(f"month-{number}.csv")
pl.read_csv("month-3.csv").head(4)

# %% [markdown]
# ## One file, and all of them
#
# The audit reads the files as they come. It is told what the labels of the regions mean, as everybody can read it in the
# atlas, and what the attacker knows: who was there when, with which age, sex, town and day, and whose diagnosis changed.

# %%
towns = {f"region {number}": [] for number in sorted({*region.values(), "5"})}
for town in sorted({town for table in months for town in table["town"].drop_nulls()}):
    towns[f"region {region.get(town, '5')}"].append(town)
towns = {name: inside for name, inside in towns.items() if inside}
schema = rv.Schema(
    person="pid", quasi=quasi, sensitive="diagnosis", hierarchies={"town": towns}, types={"admitted": "date"}
)

files = [f"month-{number}.csv" for number in (1, 2, 3)]
found = [
    rv.audit(files[:held], schema, truth=months[:held], known="events", table_risks=False).summary for held in (1, 2, 3)
]
for held, one in enumerate(found, 1):
    print(
        f"{held} in hand: {one['certain']:>4,} of {one['persons']:,} diagnoses certain, {one['certain_and_right']:,} of them right"
    )
assert found[0]["certain"] == 0
assert found[-1]["certain"] == found[-1]["certain_and_right"] > 0

# %% [markdown]
# ## Who, and how
#
# Of every person the audit says how sure the attacker is, and which releases it took.

# %%
audit = rv.audit(files, schema, truth=months, known="events")
worst = audit.to_json()["persons"][:5]
pl.DataFrame(worst).select("belief", "attack", "releases", "exact", "right")

# %%
print(audit.to_json()["sentence"])

# %% [markdown]
# ## The same months as a series

# %%
series = rv.Series.open("months.vault", schema, rv.TauSafety(m=3), name="months", seed=1)
kept = [series.publish(month) for month in months]
safe = rv.audit(kept, schema, truth=months, known="events", table_risks=False).summary
assert safe["certain"] == 0
widths = {
    "recoded by hand": [rv.measure(month, file, schema)["gcp"] for month, file in zip(months, files, strict=True)],
    "tau-safety, m = 3": [rv.measure(month, one, schema)["gcp"] for month, one in zip(months, kept, strict=True)],
}
print(f"Certain: {found[-1]['certain']:,} with the recoded files, {safe['certain']} with the series.")
SVG(
    charts.svg(
        charts.bars("Mean width of a cell", ["1", "2", "3"], widths, x_label="month", y_label="share of the domain"),
        file=True,
    )
)

# %% [markdown]
# Real files of ARX, anonypy and ANJANA are audited in [other tools](../other-tools.md); every attack is defined in
# [attacks](../attacks.md).
