"""The report: the page says what the JSON says, both say nothing raw, and what is missing is named."""

import copy
import json
import re
import shutil

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core import registry
from reveil.core.errors import ConfigError, FileError
from reveil.reporting import render, report
from reveil.reporting.docstring_sections import SECTIONS, sections
from reveil.reporting.parts import at, display
from reveil.reporting.progress import Progress
from reveil.series.config import load_config
from reveil.series.publishing import publish_file
from tests.reporting.conftest import published
from tests.reporting.html_reader import sound
from tests.series.cases import STATIC, VALUES, config, snapshot, written

# What a docstring may give as an example would look like somebody's on a page about people.
ILLNESSES = re.compile(r"\b(" + "|".join([*VALUES, "influenza", "hiv", "cancer", "diabetes"]) + r")\b", re.IGNORECASE)
GLOBAL = 'kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 3'


def numbers_agree(text, content):
    """Compare every number of a page with the JSON; return the paths."""
    page = sound(text)
    carried = [element for element in page.elements if "data-key" in element.attributes]
    for element in carried:
        value = at(content, element.attributes["data-key"])
        how = element.attributes["data-as"]
        assert element.text == display(value, how), element.attributes["data-key"]
        if isinstance(value, int | float) and how not in ("answer", "text"):
            scale = 100 if how == "share" else 1
            assert float(element.text.rstrip("%").replace(",", "")) / scale == pytest.approx(value, rel=1e-3, abs=6e-4)
    cells = [element for element in page.all("td") if re.fullmatch(r"[\d.,%]+", element.text)]
    assert all("data-key" in element.attributes for element in cells)
    return {element.attributes["data-key"] for element in carried}


def nothing_raw(text):
    words = [*VALUES, "Ash", "Birk", "Corn", "Dale"]
    return not re.search(r"\b(" + "|".join(words) + r")\b", text)


def test_the_page_says_what_the_json_says(ward):
    path, _, _, content, text = ward
    assert json.loads(path.with_name("report.json").read_text()) == content
    keys = numbers_agree(text, content)
    assert {"series.releases", "releases.2.gcp", "risk.persons", "trend.mean", "comparing.1.churn"} <= keys
    assert {"releases.1.inserted", "releases.1.query_error.mean", "risk.columns.0.attacks.0.median.2"} <= keys


def test_every_figure_about_beliefs_names_the_attacker(ward):
    *_, text = ward
    chapter = text.partition('<h2 id="risk">')[2].partition("<h2 ")[0]
    captions = re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", chapter, re.DOTALL)
    assert len(captions) >= 3
    assert all("somebody who knows who is in which release" in caption for caption in captions)
    assert re.search(r"\(linkage\) by somebody who knows", chapter)
    assert "the highest belief that is proven, of somebody who knows who is in which release" in text
    assert "<th" in chapter
    for heading in ("somebody who knows", "by"):  # of the tables by level and by attack
        assert re.search(rf"<th[^>]*>{heading}<", chapter), heading


def test_nothing_raw_is_told(ward):
    *_, content, text = ward
    assert nothing_raw(text)
    assert nothing_raw(json.dumps(content))
    assert "series.seed" not in text


def test_what_happened_and_what_is_left(ward):
    path, raws, outs, content, _ = ward
    assert content["format"] == 1
    releases = content["releases"]
    assert [own["persons"] for own in releases] == [40, 48, 58]
    assert [own["inserted"] for own in releases] == [40, 12, 8]
    assert [own["returned"] for own in releases] == [0, 0, 2]
    assert [own["deleted"] for own in releases] == [0, 4, 0]
    assert [own["file"] for own in releases] == [out.name for out in outs]
    measured = rv.measure(raws[1], outs[1], load_config(path).schema, 200)
    assert releases[1]["gcp"] == pytest.approx(measured["gcp"])
    assert releases[1]["query_error"]["mean"] == measured["query_error"]["mean"]
    for own in releases:
        assert sum(bar["groups"] for bar in own["group_sizes"]) == own["groups"]
    audit = rv.audit(outs, load_config(path).schema, truth=raws, known="events")
    assert content["risk"]["sentence"] == audit.sentence
    (column,) = content["risk"]["columns"]
    assert [step["releases"] for step in column["steps"]] == [1, 2, 3]
    assert column["steps"][-1]["highest_proven"] == audit.summary["highest_proven"]
    for own in column["attacks"]:
        assert own["highest"][-1] == audit.attacks[own["name"]]["highest"]
        assert all(0 <= median <= high for median, high in zip(own["median"], own["highest"], strict=True))
    first = rv.audit(outs[:1], load_config(path).schema, truth=raws[:1], known="events")
    assert column["steps"][0]["highest_proven"] == first.summary["highest_proven"]


def test_the_config_alone_will_do_and_missing_files_are_named(ward, tmp_path):
    folder = shutil.copytree(ward[0].parent, tmp_path / "copy")
    # The vault of the copy still names the files of the first folder: one is not there, another was changed.
    first, second = ward[2][:2]
    before = second.read_bytes()
    away = first.rename(first.with_suffix(".away"))
    try:
        second.write_bytes(before.replace(b"\n", b" \n", 1))
        content = report(folder / "reveil.toml", out=folder / "r.html")
        with pytest.raises(FileError):
            report(folder / "reveil.toml", [away])
    finally:
        away.rename(first)
        second.write_bytes(before)
    assert [own["release"] for own in content["missing"]] == [1, 2]
    assert [own["at_hand"] for own in content["releases"]] == [False, False, True]
    text = (folder / "r.html").read_text()
    numbers_agree(text, content)
    assert "r1.csv" in text
    assert [own["gcp"] is not None for own in content["releases"]] == [True] * 3  # kept in the vault
    assert all(own["group_sizes"] for own in content["releases"])
    assert content["risk"] is content["trend"] is None
    assert "--truth" in text


def test_files_that_moved_are_given(ward, tmp_path):
    folder = shutil.copytree(ward[0].parent, tmp_path / "copy")
    moved = tmp_path / "moved"
    moved.mkdir()
    for own in folder.glob("r?.*"):
        own.rename(moved / own.name)
    content = report(folder / "reveil.toml", [moved / "r2.csv"], [folder / "raw2.csv"])
    assert content["missing"] == []
    assert "not all releases could be attacked" in render(content)
    assert [own["query_error"] is not None for own in content["releases"]] == [False, True, False]
    assert content["risk"]["releases"] == 1


def test_snapshots_are_those_of_their_releases(ward, tmp_path):
    path, raws, outs, whole, _ = ward
    with pytest.raises(ConfigError, match="given for release 1 is that of release 2"):
        report(path, truth=[raws[1], raws[0], raws[2]])
    with pytest.raises(ConfigError, match="twice"):
        report(path, [outs[0], outs[0]])
    # Somebody was erased from the first snapshot: it is not what was published, and nothing is measured against it.
    cleansed = tmp_path / "raw1.csv"
    cleansed.write_text("".join(line for line in raws[0].read_text().splitlines(True) if not line.startswith("7,")))
    content = report(path, truth=[cleansed, *raws[1:]])
    assert "release 1 is not the one it was made of" in content["notes"][0]
    assert [own["query_error"] is None for own in content["releases"]] == [True, False, False]
    assert [own["gcp"] for own in content["releases"]] == pytest.approx([own["gcp"] for own in whole["releases"]])
    assert [own["churn"] is None for own in content["comparing"]] == [True, False]
    assert content["risk"]["releases"] == 3


@pytest.mark.slow
def test_who_is_in_a_part_of_the_table_is_known_to_the_attacks(tmp_path):
    """The adversary of the report knows who is in which release, also where a release is of a part of the people."""
    path = config(tmp_path, 'kind = "static"\nk = 2')
    path.write_text(path.read_text().replace('disease = "s', 'ward = "plain"\ndisease = "s'))
    ward = pl.Series("ward", np.random.default_rng(1).choice(["x", "y"], 60))
    frame = snapshot(0, 60).with_columns(ward)
    series, columns = rv.Series.load(path), ["age", "town", "disease"]
    releases = [series.publish(frame, columns=columns), series.publish(frame, columns=columns, where="ward = x")]
    with pytest.raises(ConfigError, match="release 2 is of a part of the table") as refused:
        report(path, releases, [frame, frame])
    assert "'ward'" in refused.value.hint
    content = report(path, releases, [frame, frame], where=["age < 3", "ward = x"])
    known = [frame, frame.filter(pl.col("ward") == "x")]
    assert report(path, releases, known)["risk"] == content["risk"]  # the part itself will do
    assert content["risk"]["certain"] == rv.audit(releases, series.schema, truth=known).summary["certain"]
    assert content["trend"] is None  # the releases are of different parts


def test_releases_without_a_vault(tmp_path):
    path = config(tmp_path, STATIC)
    path.write_text(path.read_text().replace('vault = "ward.vault"\n', ""))
    raws = [written(tmp_path, "raw1.csv", 0, 30), written(tmp_path, "raw2.csv", 0, 36)]
    outs = [tmp_path / "a.csv", tmp_path / "b.parquet"]
    for raw, out in zip(raws, outs, strict=True):
        publish_file(load_config(path), raw, out)
    with pytest.raises(ConfigError, match="nothing was published") as refused:
        report(path)
    assert "--releases" in refused.value.hint
    content = report(path, outs, raws, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    numbers_agree(text, content)
    assert nothing_raw(text)
    assert content["series"]["remembered"] is False
    assert content["guarantee"]["bound"] is None
    assert content["comparing"][0]["churn"] is None
    assert [own["release"] for own in content["releases"]] == content["trend"]["releases"] == [1, 2]
    assert content["trend"]["mean"] is not None
    with pytest.raises(ConfigError, match="snapshots"):
        report(path, outs, raws[:1])
    with pytest.raises(ConfigError, match=r"release 1 \(a\.csv\) and its snapshot do not fit"):
        report(path, outs, raws[::-1])
    objects = report(load_config(path), [rv.Release.read(own) for own in outs], raws)
    assert objects["releases"][1]["gcp"] == content["releases"][1]["gcp"]


def test_the_budget_is_told_without_values(tmp_path):
    path, _, _ = published(tmp_path, GLOBAL)
    content = report(path, out=tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "budget.releases_left" in numbers_agree(text, content)
    assert nothing_raw(text + json.dumps(content))
    rows = rv.Series.load(path).budget()
    assert content["budget"]["links"] == sum(row["persons"] for row in rows)
    assert content["budget"]["releases_left"] == min(row["releases_left"] for row in rows)


def test_how_k_was_chosen_is_shown(ward):
    from reveil.reporting.gathering import _curve

    content = copy.deepcopy(ward[3])
    curve = {"k": [2, 3, 4], "t": [0.5, 0.4, 0.3], "information_loss": [0.1, 0.2, 0.4], "holds": [True] * 3}
    content["releases"][2]["auto"] = _curve({"auto": {"chosen": 3, "weight": 0.5, **curve}})
    assert "releases.2.auto.chosen" in numbers_agree(render(content), content)


@pytest.mark.parametrize("name", ["report.txt", "no/report.html", "raw1.html"])
def test_where_a_report_cannot_be_written(ward, tmp_path, name):
    (tmp_path / "raw1.html").mkdir()
    with pytest.raises(FileError):
        report(ward[0], out=tmp_path / name)


def test_a_report_never_replaces_what_it_reads(ward):
    path, raws, *_ = ward
    page = path.with_name("own.html")
    shutil.copy(raws[0], page.with_suffix(".json"))
    with pytest.raises(FileError, match="replace"):
        report(path, truth=[*raws[:2], page.with_suffix(".json")], out=page)


@pytest.mark.parametrize("kind", registry.names("guarantees"))
def test_every_guarantee_says_what_it_promises(kind):
    found = sections(registry.find("guarantees", kind))
    assert list(found) == list(SECTIONS)
    assert all(len(text) > 10 and "`" not in text for text in found.values())
    assert not ILLNESSES.search(" ".join(found.values()))


@pytest.mark.parametrize("kind", registry.names("models"))
def test_every_model_says_what_it_promises(kind):
    found = sections(registry.find("models", kind))
    assert {"guarantee", "source"} <= set(found)
    assert not ILLNESSES.search(" ".join(found.values()))


WARD = rv.Schema(person="pid", quasi="x", sensitive="s")


def plain_words(guarantee):
    bound = guarantee.promise(WARD, None).bound
    return guarantee.explained.in_plain_words(bound, guarantee.traits.settings)


def plain_limits(guarantee):
    return guarantee.explained.not_covered


def test_plain_words():
    assert "1 in 4" in plain_words(rv.TauSafety(m=4))[0]
    assert "no number" in plain_words(rv.TauSafety(m=4, strict=False))[0]
    assert "at least 5 people" in plain_words(rv.Static(k=5))[0]
    assert "1 in 3" in plain_words(rv.GlobalGuarantee(3, rv.Geometric(alpha=3.0)))[0]
    others = (rv.MInvariance(m=2), rv.PossibleWorlds(2), rv.Refinement(k=2))
    assert len({tuple(plain_words(own)) for own in others}) == 3
    assert len({tuple(plain_limits(own)) for own in (*others, rv.TauSafety(m=4), rv.Static(k=5))}) == 5
    assert not ILLNESSES.search(" ".join(text for own in others for text in (*plain_words(own), *plain_limits(own))))


def test_the_headline_says_who_and_attacks_that_were_not_made_are_not_said_to_find_nothing(tmp_path):
    schema = rv.Schema(person="pid", quasi=["x"], sensitive="s", types={"x": "number"})
    first = pl.DataFrame({"pid": range(8), "x": range(8), "s": list("abcdabcd")})
    second = first.with_columns(s=pl.Series(list("abcdabce")))
    config = tmp_path / "reveil.toml"
    config.write_text(
        '[series]\nname = "two"\n[columns]\npid = "person"\nx = "quasi"\ns = "sensitive"\n'
        '[guarantee]\nkind = "static"\nk = 4\n'
    )
    releases = []
    for number, frame in enumerate((first, second), start=1):
        frame.write_csv(tmp_path / f"raw{number}.csv")
        release = rv.anonymize(frame, schema, rv.KAnonymity(4), seed=number)
        releases.append(release.write(tmp_path / f"r{number}.csv"))
    truth = [tmp_path / "raw1.csv", tmp_path / "raw2.csv"]
    content = report(config, releases, truth, tmp_path / "report.html")
    risk, page = content["risk"], (tmp_path / "report.html").read_text()
    assert "by somebody who knows who is in which release;" in risk["sentence"]
    # One value changed, and whoever knows whose reads it off.
    assert (risk["certain"], risk["knows_more"]["certain"]) == (0, 1)
    # The worst comes first, and says who that is; then what the promise is about.
    worst = risk["levels"][risk["worst"]]
    assert (worst["known"], worst["promised"], worst["certain"]) == ("events", False, 1)
    assert "The worst first (this series promises nothing against them): 1 person" in page
    assert page.index("The worst first") < page.index("At the level of the promise: Nobody")
    assert [level["known"] for level in risk["levels"]] == ["nothing", "presence", "events"]
    assert {level["known"]: level["why"] for level in risk["levels_not_tried"]} == {
        "ids": "no archive says whose record is in which row",
        "values": "there is one sensitive column",
    }
    own = risk["columns"][0]
    assert "minimality" in [attack["name"] for attack in own["not_run"]]
    assert not {"minimality", "linkage"} & set(own["found_nothing"])
    assert page.index("Not made, so that nothing is known") < page.index("minimality (no publisher")
    assert own["linkage"] == 0.25
    one = own["steps"][0]
    assert one["last_release"] == one["highest_proven"] > 0


def test_who_knows_less_and_finds_out_as_much_is_said_in_one_sentence(tmp_path):
    path = tmp_path / "ward.csv"
    pl.DataFrame({"pid": range(12), "x": range(12), "s": list("abcd") * 3}).write_csv(path)
    config = tmp_path / "ward.toml"
    config.write_text(
        '[series]\nname = "ward"\nvault = "ward.vault"\n[columns]\npid = "person"\nx = "quasi"\ns = "sensitive"\n'
        '[guarantee]\nkind = "m-invariance"\nm = 2\n'
    )
    publish_file(load_config(config), path, tmp_path / "out.csv")
    content = report(config, truth=[path])
    levels, page = content["risk"]["levels"], render(content)
    worst, own = levels[content["risk"]["worst"]], next(level for level in levels if level["promised"])
    assert not worst["promised"]
    assert (worst["certain"], worst["highest_proven"]) == (own["certain"], own["highest_proven"]) == (0, 0.5)
    assert content["risk"]["sentence"] in page.replace("&#39;", "'")
    assert "Somebody who knows no more than who could be in the tables finds out as much." in page
    assert "The worst first" not in page
    assert 'data-as="answer">no</td>' in page


def test_what_the_last_release_cost_is_at_a_glance_where_it_is_not_zero(tmp_path):
    frame = pl.DataFrame(
        {"pid": range(60), "age": range(60), "disease": ["gout"] * 30 + [f"v{i % 12}" for i in range(30)]}
    )
    schema = rv.Schema(person="pid", quasi="age", sensitive="disease")
    series = rv.Series.open(tmp_path / "v", schema, rv.TauSafety(3), seed=1)
    series.publish(frame)
    content = rv.report(series)
    assert content["releases"][0]["made_up"] == 1 / 3
    assert content["releases"][0]["left_out"] == {"suppressed": 0.0, "withheld": 0.0}
    page = render(content)
    assert "of its rows are counterfeits" in page
    assert "groups in the last release" in page
    assert "were suppressed" not in page
    assert "were withheld" not in page


def test_a_part_of_the_people_tells_of_everybody_with_an_error(ward):
    path, raws, *_ = ward
    content = report(path, truth=raws, sample=20)
    risk = content["risk"]
    assert (risk["sample"]["attacked"], risk["sample"]["of"]) == (20, risk["persons"])
    promised = next(level for level in risk["levels"] if level["promised"])
    assert promised["sample"]["certain"]["low"] == 0.0 < promised["sample"]["certain"]["high"]
    page = render(content)
    assert "20 people were drawn and attacked" in page
    assert "but only some of the people were attacked" in page
    assert "Held: no attack" not in page
    assert 'data-key="risk.levels.0.sample.certain.high" data-as="whole"' in page


def test_the_figures_of_the_field_are_those_of_an_audit(ward):
    path, raws, outs, content, page = ward
    found = rv.audit(outs, load_config(path).schema, truth=raws, attacks="linkage")
    assert content["risk"]["risks"] == found.risks
    assert content["risk"]["table_risks"] == [own.to_json() for own in found.table_risks]
    assert "riskiest" not in content["risk"]
    assert "Risk as other tools count it" in page


@pytest.mark.slow
def test_progress_says_how_long_it_takes_yet():
    said, now = [], [0.0]
    progress = Progress(said.append, 5, clock=lambda: now[0])
    for name in "abcde":
        progress(name)
        now[0] += 2.0
    assert said == ["a", "b", "c", "d (3 of about 5, about 4 s left)", "e (4 of about 5, about 2 s left)"]
