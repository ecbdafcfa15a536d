# %% [markdown]
# # A hospital's year
#
# A hospital publishes an extract every month. People come, leave, return and get other diagnoses. This notebook
# publishes half a year twice: every file by itself, as most tools do it, and as a series that remembers what it told.
# Then it attacks both with all the files in hand. The hospital does not exist; the generator that made it is part of
# the package, so everything here can be run anywhere.

# %%
import polars as pl
from IPython.display import SVG

import reveil as rv
from reveil.reporting import charts
from reveil.testing import hospital

months = [table.drop("name", "income") for table in hospital.year(1_000, months=6, seed=1)]
columns = rv.Schema(person="pid", quasi=["age", "sex", "town", "admitted", "ward"], sensitive="diagnosis")
months[0].head(4)

# %% [markdown]
# ## Every file by itself
#
# Each month in groups of at least 10 records with at least 3 different diagnoses. Every file keeps that.

# %%
model = rv.KAnonymity(10) & rv.DistinctDiversity(3)
alone = [rv.anonymize(month, columns, model, seed=number) for number, month in enumerate(months)]
assert all(release.manifest["achieved"]["k"] >= 10 and release.manifest["achieved"]["l"] >= 3 for release in alone)
alone[-1].table.head(3)

# %% [markdown]
# The attacker knows who was there in which month, with which age, sex, town and so on, and whose diagnosis changed;
# not one diagnosis. `truth` gives the audit what the attacker knows, and lets it say afterwards who was right.

# %%
HELD = (1, 2, 4, 6)


def attacked(releases):
    """Attack the first file, the first two, four, six."""
    return [
        rv.audit(releases[:held], columns, truth=months[:held], known="events", table_risks=False).summary
        for held in HELD
    ]


naive = attacked(alone)
last = naive[-1]
print(f"With one file in hand {naive[0]['certain']} diagnoses are certain.")
print(
    f"With all {len(alone)} files {last['certain']:,} of {last['persons']:,} are, and {last['certain_and_right']:,} of them right."
)

# %% [markdown]
# ## As a series
#
# tau-safety with m = 4: over all releases together nobody's diagnosis at any time is told with more than 1/4. The vault
# is a folder that stays in the building. (`seed` is there so that this page says the same every time; a real one is a
# secret, and drawn where none is given.)

# %%
series = rv.Series.open("hospital.vault", columns, rv.TauSafety(m=4), name="hospital", seed=1)
kept = [series.publish(month) for month in months]
safe = attacked(kept)
last = safe[-1]
print(kept[-1].manifest["claim"])
print(
    f"With all {len(kept)} files {last['certain']} diagnoses are certain; the highest belief is {last['highest']:.2f}."
)
assert last["certain"] == 0
assert last["held"]

# %%
SVG(
    charts.svg(
        charts.lines(
            "Diagnoses that can be read off",
            HELD,
            {"each file by itself": [one["certain"] for one in naive], "tau-safety": [one["certain"] for one in safe]},
            x_label="files in hand",
            y_label="people",
        ),
        file=True,
    )
)

# %% [markdown]
# ## What it costs
#
# Cells are wider, and there are counterfeits: rows about nobody, which keep the signature of a group that somebody left.
# The manifest counts them, and counts allow for them.

# %%
price = pl.DataFrame(
    [
        {
            "month": number,
            "width, by itself": rv.measure(month, before, columns)["gcp"],
            "width, tau-safe": rv.measure(month, after, columns)["gcp"],
            "counterfeits": after.manifest["counterfeits"]["total"],
        }
        for number, (month, before, after) in enumerate(zip(months, alone, kept, strict=True), 1)
    ]
)
price

# %%
pl.DataFrame(series.history()).select(
    "release", "persons", "inserted", "deleted", "updated", "returned", "counterfeits"
)

# %% [markdown]
# `series.history()` says who came, left, changed and returned. `reveil report` makes a page of all this for whoever
# answers for the data; [the tutorial](../tutorial.md) does the same with your own file.
