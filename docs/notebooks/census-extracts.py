# %% [markdown]
# # Census extracts for several recipients
#
# Four recipients get extracts of the same people, with other columns for each. An extract alone says little. Joined by
# the column they share, they say a lot. *Possible worlds* draws, once, as many complete tables as the bound needs, and
# makes every extract fit all of them; the truth is one of these.

# %%
import polars as pl
from IPython.display import SVG

import reveil as rv
from reveil.reporting import charts
from reveil.testing import hospital

census = hospital.month(3_000, seed=3).drop("name")
columns = rv.Schema(person="pid", quasi=["age", "sex", "town", "income", "admitted", "ward"], sensitive="diagnosis")
recipients = {
    "insurer": ["age", "sex", "diagnosis"],
    "region": ["town", "ward", "diagnosis"],
    "economist": ["income", "admitted", "diagnosis"],
    "ministry": ["age", "ward", "admitted", "diagnosis"],
}

# %% [markdown]
# ## Each extract by itself


# %%
def part(names):
    """Say what the columns of one extract are."""
    return rv.Schema(person="pid", quasi=[name for name in names if name != "diagnosis"], sensitive="diagnosis")


model = rv.KAnonymity(10) & rv.DistinctDiversity(3)
alone = [
    rv.anonymize(census.select("pid", *names), part(names), model, seed=number)
    for number, names in enumerate(recipients.values())
]


def attacked(releases):
    """Attack what the first recipients have if they talk to each other."""
    return [
        rv.audit(releases[:held], columns, truth=[census] * held, known="presence", table_risks=False).summary
        for held in range(1, len(releases) + 1)
    ]


naive = attacked(alone)
for held, one in zip(recipients, naive, strict=True):
    print(f"{held:>9}, with those above: {one['certain']:>5,} of {one['persons']:,} diagnoses are certain")

# %% [markdown]
# ## Extracts that fit four worlds

# %%
series = rv.Series.open("census.vault", columns, rv.PossibleWorlds(l=4), name="census", seed=1)
kept = [series.publish(census, columns=names) for names in recipients.values()]
safe = attacked(kept)
print(kept[-1].manifest["claim"])
for held, one in zip(recipients, safe, strict=True):
    print(f"{held:>9}, with those above: {one['certain']:>5,} certain, the highest belief is {one['highest']:.2f}")
assert safe[-1]["certain"] == 0
assert safe[-1]["held"]

# %%
SVG(
    charts.svg(
        charts.bars(
            "Diagnoses that can be read off, of 3,000",
            [f"{held} files" if held > 1 else "1 file" for held in range(1, 5)],
            {
                "each by itself, k = 10, l = 3": [one["certain"] for one in naive],
                "possible worlds, l = 4": [one["certain"] for one in safe],
            },
            y_label="people",
        ),
        file=True,
    )
)

# %% [markdown]
# ## What the recipients still can do
#
# The ministry counts. What is true is known to the office alone; the estimate and its interval are what the file gives.

# %%
ministry = kept[3]
questions = ["age >= 60", "ward = surgery", "age in [30, 49] and ward = internal"]
truth = [
    census.filter(pl.col("age") >= 60).height,
    census.filter(pl.col("ward") == "surgery").height,
    census.filter(pl.col("age").is_between(30, 49) & (pl.col("ward") == "internal")).height,
]
answers = [ministry.count(question) for question in questions]
assert all(answer.lower <= true <= answer.upper for answer, true in zip(answers, truth, strict=True))
pl.DataFrame(
    {
        "question": questions,
        "true": truth,
        "estimate": [round(answer.estimate, 1) for answer in answers],
        "low": [round(answer.low, 1) for answer in answers],
        "high": [round(answer.high, 1) for answer in answers],
    }
)

# %% [markdown]
# New columns and new people may come later; nobody may leave, and values do not change. What exactly is promised:
# [promise](../promise.md).
