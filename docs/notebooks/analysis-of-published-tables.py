# %% [markdown]
# # Analysis of published tables
#
# You received four monthly releases and nothing else. This notebook counts, averages, follows a trend and fits a model with
# them. At the end it does what a recipient cannot: it compares with the tables they were made of.

# %%
import numpy as np
import polars as pl
from IPython.display import SVG

import reveil as rv
from reveil.reporting import charts
from reveil.testing import hospital

months = [table.drop("name", "income") for table in hospital.year(2_000, months=4, seed=5)]
columns = rv.Schema(person="pid", quasi=["age", "sex", "town", "admitted", "ward"], sensitive="diagnosis")
series = rv.Series.open("hospital.vault", columns, rv.TauSafety(m=3), name="hospital", seed=1)
for number, month in enumerate(months, 1):
    series.publish(month).write(f"public-{number}.csv")
del series, columns  # from here on there are published files only

files = [f"public-{number}.csv" for number in range(1, 5)]
release = rv.Release.read(files[-1])
release.table.head(3)

# %% [markdown]
# ## Counting
#
# A count has an estimate, an interval that is meant to hold the number in 95 of 100 questions (`low`, `high`), and bounds
# that hold always (`lower`, `upper`).

# %%
questions = [
    "age >= 65",
    "sex = f",
    "age >= 65 and sex = f",
    "ward = cardiology",
    "diagnosis = asthma",
    "age < 30 and diagnosis = asthma",
]
answers = [release.count(question) for question in questions]
table = pl.DataFrame(
    {
        "question": questions,
        "estimate": [round(one.estimate, 1) for one in answers],
        "low": [round(one.low, 1) for one in answers],
        "high": [round(one.high, 1) for one in answers],
        "lower": [one.lower for one in answers],
        "upper": [one.upper for one in answers],
    }
)
table

# %%
age = release.mean("age", "ward = cardiology")
median = release.quantile("age", 0.5, "sex = f")
print(f"mean age in cardiology {age.estimate:.1f} ({age.low:.1f} to {age.high:.1f})")
print(f"median age of women {median.estimate:.0f} ({median.low:.0f} to {median.high:.0f})")

# %% [markdown]
# ## A trend over the releases

# %%
trend = rv.trend(files, "age >= 65").table
SVG(
    charts.svg(
        charts.lines(
            "People of 65 or older",
            trend["release"].to_list(),
            {name: trend[name].to_list() for name in ("estimate", "low", "high")},
            x_label="release",
            y_label="people",
        ),
        file=True,
    )
)

# %% [markdown]
# ## A model, with plain records that agree with the release
#
# `sample` draws plain records from the cells. A regression on several of them shows how much of its result is the
# drawing; here, how the chance of hypertension rises with age.


# %%
def slope(records):
    """Return how the share with hypertension rises with ten years of age, by least squares."""
    age = records["age"].to_numpy()
    sick = (records["diagnosis"] == "hypertension").fill_null(False).to_numpy().astype(float)
    return float(np.polyfit(age, sick, 1)[0] * 10)


slopes = [slope(release.sample(seed=seed).drop_nulls("age")) for seed in range(10)]
print(f"per ten years: {np.mean(slopes):+.3f}, over ten samples from {min(slopes):+.3f} to {max(slopes):+.3f}")

# %% [markdown]
# ## What only the publisher can know

# %%
raw = months[-1]
truth = [
    raw.filter(pl.col("age") >= 65).height,
    raw.filter(pl.col("sex") == "f").height,
    raw.filter((pl.col("age") >= 65) & (pl.col("sex") == "f")).height,
    raw.filter(pl.col("ward") == "cardiology").height,
    raw.filter(pl.col("diagnosis") == "asthma").height,
    raw.filter((pl.col("age") < 30) & (pl.col("diagnosis") == "asthma")).height,
]
compared = table.with_columns(true=pl.Series(truth)).select(
    "question", "true", "estimate", "low", "high", "lower", "upper"
)
assert compared.select((pl.col("lower") <= pl.col("true")) & (pl.col("true") <= pl.col("upper"))).to_series().all()
inside = compared.filter((pl.col("low") <= pl.col("true")) & (pl.col("true") <= pl.col("high"))).height
print(f"The bounds hold in all {len(truth)} questions, the intervals in {inside}.")
print(f"The slope in the raw table is {slope(raw.drop_nulls('age')):+.3f} per ten years.")
compared

# %% [markdown]
# The samples draw ages evenly inside a cell, and values inside a group, so a relation that is finer than a cell is not in
# them; the spread over samples shows the drawing, not the error of the cells. So prefer counts, which come with
# intervals. [For analysts](../analysts.md) says more.
