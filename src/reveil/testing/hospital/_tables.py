"""What the invented hospital looks like: places, wards, diagnoses and how they hang together.

All weights are whole numbers, so that the tables made of them are the same on every machine.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

# Part of the country -> region -> towns. The first town of a region is its city.
REGIONS: dict[str, dict[str, list[str]]] = {
    "North": {
        "Fellmark": ["Aldwick", "Brenholt", "Corrin", "Dunmere", "Eskdal"],
        "Seaboard": ["Farhaven", "Gullness", "Hadley Quay", "Inverlan", "Jarrow Sands"],
    },
    "East": {
        "Marshland": ["Kelsham", "Lowfen", "Merrowby", "Netherlode", "Osierton"],
        "Lakeside": ["Pellwater", "Quarnford", "Reedmoor", "Silverlade", "Tarnby"],
    },
    "South": {
        "Vineyards": ["Ulmenau", "Verrano", "Weinfeld", "Yarrowhill", "Zellbruck"],
        "Riverbend": ["Ambleford", "Bridgewell", "Copperton", "Dovesey", "Elmstead"],
    },
    "West": {
        "Highmoor": ["Gorsedale", "Heatherly", "Ironbeck", "Kestrel Rock", "Larkrigg"],
        "Harbours": ["Mainport", "Nordlock", "Oystermouth", "Pilots Rest", "Queensgate"],
    },
}
TOWNS = [town for regions in REGIONS.values() for towns in regions.values() for town in towns]
TOWNS_PER_REGION = 5
REGION_PEOPLE = (9, 14, 5, 8, 11, 17, 4, 32)
REGION_WEALTH = (82, 96, 76, 100, 108, 104, 72, 132)  # per cent of the country's income
TOWN_SHARE = (12, 5, 3, 2, 1)

SEXES = ["f", "m", "x"]
SEX_SHARE = (515, 475, 10)
AGE_BANDS = (0, 15, 30, 50, 70)
MAX_AGE = 100  # of those who come; who stays or returns may grow older

# Ward: its share in each age band, then for f, m, x.
WARDS: dict[str, tuple[tuple[int, ...], tuple[int, int, int]]] = {
    "internal": ((2, 10, 16, 24, 34), (10, 10, 10)),
    "cardiology": ((1, 2, 6, 18, 24), (8, 12, 10)),
    "surgery": ((6, 16, 16, 14, 10), (10, 10, 10)),
    "orthopedics": ((5, 10, 10, 12, 13), (10, 10, 10)),
    "obstetrics": ((0, 24, 20, 0, 0), (10, 0, 3)),
    "pediatrics": ((80, 0, 0, 0, 0), (10, 10, 10)),
    "psychiatry": ((3, 14, 12, 6, 3), (10, 10, 16)),
    "neurology": ((2, 5, 6, 8, 10), (10, 10, 10)),
    "oncology": ((2, 3, 8, 14, 9), (10, 10, 10)),
    "urology": ((1, 3, 4, 8, 9), (6, 14, 10)),
}

# Diagnosis: the wards that treat it, its weight in each age band, then for f, m, x. Most frequent first.
DIAGNOSES: dict[str, tuple[str, tuple[int, ...], tuple[int, int, int]]] = {
    "hypertension": ("internal cardiology", (0, 1, 4, 7, 8), (10, 11, 10)),
    "pneumonia": ("internal pediatrics", (8, 3, 3, 6, 12), (9, 11, 10)),
    "fracture": ("orthopedics surgery pediatrics", (6, 6, 4, 4, 7), (11, 10, 10)),
    "delivery": ("obstetrics", (0, 12, 10, 0, 0), (10, 0, 10)),
    "diabetes": ("internal", (1, 2, 6, 12, 12), (9, 11, 10)),
    "depression": ("psychiatry", (1, 10, 10, 8, 6), (13, 8, 16)),
    "asthma": ("pediatrics internal", (12, 6, 4, 3, 2), (10, 10, 10)),
    "appendicitis": ("surgery pediatrics", (9, 12, 6, 3, 1), (9, 11, 10)),
    "arthrosis": ("orthopedics", (0, 1, 4, 12, 14), (12, 9, 10)),
    "infarction": ("cardiology", (0, 0, 4, 12, 13), (6, 14, 10)),
    "stroke": ("neurology internal", (0, 1, 3, 9, 16), (10, 10, 10)),
    "bronchitis": ("pediatrics internal", (14, 4, 4, 5, 8), (10, 10, 10)),
    "arrhythmia": ("cardiology", (1, 2, 4, 9, 14), (9, 11, 10)),
    "gastritis": ("internal surgery", (2, 8, 9, 7, 5), (10, 10, 10)),
    "carcinoma": ("oncology surgery", (0, 1, 6, 14, 12), (11, 10, 10)),
    "influenza": ("internal pediatrics", (9, 6, 5, 5, 9), (10, 10, 10)),
    "anxiety": ("psychiatry", (3, 12, 10, 6, 4), (13, 8, 16)),
    "hernia": ("surgery", (4, 4, 8, 11, 8), (4, 16, 10)),
    "migraine": ("neurology", (4, 12, 12, 5, 1), (15, 6, 10)),
    "gallstones": ("surgery internal", (0, 4, 9, 11, 8), (13, 8, 10)),
    "dementia": ("neurology psychiatry", (0, 0, 0, 4, 24), (12, 9, 10)),
    "cystitis": ("urology", (3, 8, 8, 8, 10), (16, 5, 10)),
    "kidney stones": ("urology", (1, 6, 10, 9, 5), (7, 13, 10)),
    "addiction": ("psychiatry", (0, 10, 12, 9, 2), (6, 14, 12)),
    "epilepsy": ("neurology pediatrics", (10, 7, 5, 5, 6), (10, 10, 10)),
    "prostatitis": ("urology", (0, 2, 6, 14, 14), (0, 20, 5)),
    "lymphoma": ("oncology", (5, 7, 6, 9, 9), (9, 11, 10)),
    "preeclampsia": ("obstetrics", (0, 10, 10, 0, 0), (10, 0, 10)),
    "hepatitis": ("internal", (2, 8, 10, 7, 4), (8, 12, 10)),
    "hiv": ("internal", (1, 10, 11, 5, 1), (5, 15, 12)),
    "schizophrenia": ("psychiatry", (0, 12, 9, 4, 2), (8, 12, 10)),
    "leukemia": ("oncology pediatrics", (10, 4, 3, 6, 8), (9, 11, 10)),
}
UNCODED = len(DIAGNOSES)  # the diagnosis nobody has written down yet: null in the extract
AT_HOME = 22  # how much likelier a diagnosis is in a ward that treats it
UNCODED_PER_MILLE = 8

GIVEN = (
    "Ada Anouk Bela Carla Dilay Edda Fenja Greta Hana Ilka Jonna Kaja Leonie Malin Nadia Olga "
    "Pia Romy Selma Thea Una Vera Wanda Xenia Yara Zoe Alma Britt Cora Dunja Elif Frida "
    "Arne Boris Cem Dario Emil Falk Goran Henk Ivo Jasper Kai Lars Marek Nils Oskar Pavel "
    "Ruben Sven Till Udo Vito Wim Xaver Yusuf Zeno Aron Bruno Cyril Dirk Elias Finn Gustav"
)
NAME_START = (
    "Ahl Bor Brand Cal Dorn Eber Fal Gar Hag Holm Ims Jan Kal Kess Lan Lind "
    "Mar Mel Nor Oster Pel Quint Ras Rod Sand Stor Tal Thorn Ull Vor Wes Zim"
)
NAME_END = "a berg by dal en feld gren hoff ik ler mann ner ov sen stad witz"


def age_weights() -> Ints:
    """How many patients have each age: newborns, few children, then more and more until 78."""
    at = (0, 1, 5, 14, 20, 30, 40, 50, 60, 70, 78, 86, 94, MAX_AGE)
    height = (3400, 900, 500, 420, 800, 1050, 950, 1150, 1500, 1950, 2200, 1400, 330, 40)
    return np.rint(np.interp(np.arange(MAX_AGE + 1), at, height)).astype(np.int64)


def town_weights() -> Ints:
    """How many patients come from each town."""
    return np.outer(REGION_PEOPLE, TOWN_SHARE).reshape(-1).astype(np.int64)


def stay_weights() -> Ints:
    """How many patients of the first extract came d days before it: what nine per cent leaving a month gives."""
    return np.array([10**9 * 997**day // 1000**day for day in range(1000)], dtype=np.int64)


def ward_weights() -> Ints:
    """Wards given age band and sex, one row per (band, sex)."""
    rows = [
        [ages[band] * sexes[sex] for ages, sexes in WARDS.values()]
        for band in range(len(AGE_BANDS))
        for sex in range(len(SEXES))
    ]
    return np.array(rows, dtype=np.int64)


def diagnosis_weights() -> Ints:
    """Diagnoses given age band, sex and ward, one row per (band, sex, ward); the last outcome is "not coded"."""
    rows = []
    for band in range(len(AGE_BANDS)):
        for sex in range(len(SEXES)):
            for ward in WARDS:
                row = [
                    (1_000_000 // (rank + 9) ** 2) * ages[band] * sexes[sex] * (AT_HOME if ward in home.split() else 1)
                    for rank, (home, ages, sexes) in enumerate(DIAGNOSES.values())
                ]
                rows.append([*row, sum(row) * UNCODED_PER_MILLE // 1000])
    return np.array(rows, dtype=np.int64)


@cache
def band_of_age() -> Ints:
    """Return the age band of each age."""
    return np.searchsorted(AGE_BANDS, np.arange(MAX_AGE + 1), side="right") - 1


@cache
def income_base() -> Ints:
    """Household income by (age, region) before chance: highest at fifty."""
    ages = np.arange(MAX_AGE + 1)
    country = np.interp(ages, (0, 17, 20, 30, 50, 62, 70, 100), (36, 40, 19, 33, 48, 44, 27, 23))
    return np.rint(country * 10).astype(np.int64)[:, None] * np.array(REGION_WEALTH, dtype=np.int64)


@cache
def names() -> list[str]:
    """All full names: half of them with the given names of each sex."""
    return [
        f"{given} {start}{end}" for given in GIVEN.split() for start in NAME_START.split() for end in NAME_END.split()
    ]
