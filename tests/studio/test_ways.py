"""Each way through the studio, from start to end, in a real browser: wide and narrow, light and dark, mouse and keys.

One walk is one test: what a later way needs, an earlier one made, as it is for a newcomer.
"""

import hashlib
import json

import pytest

from reveil.testing import hospital
from tests.browser import SCREENS
from tests.browsing import check_page, watched, with_keys
from tests.studio.served import KEY, MONTHS, command, fill, serving
from tests.test_real_tables import table as real_table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def done(page):
    """Wait until the page that was asked for is there, and its job over: a click may still be on its way to it."""
    page.wait_for_function(
        "() => document.readyState === 'complete' && !document.querySelector('html[data-left], [data-events]')",
        timeout=900_000,
    )


def press(page, target):
    """Press what leads to another page, and wait for it: the old one is marked and not taken for it."""
    page.evaluate("document.documentElement.dataset.left = ''")
    (page.locator(target) if isinstance(target, str) else target).click()
    done(page)


def headed(page, words):
    """Wait for the page with this heading: a click may still be on its way to it."""
    page.wait_for_selector(f'h1:text-is("{words}")', timeout=600_000)


class Clicks:
    """Counts what a newcomer presses."""

    def __init__(self, page):
        self.page, self.number = page, 0

    def __call__(self, selector):
        self.number += 1
        press(self.page, selector)


@pytest.fixture
def keyed(monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", KEY)


def test_from_a_dropped_file_to_an_audited_release(browser, tmp_path, keyed):
    folder, outside = tmp_path / "empty", tmp_path / "outside"
    folder.mkdir()
    fill(outside)
    with serving(folder) as served, watched(browser, served.url) as page:
        page.goto(served.first)
        assert "token" not in page.url
        check_page(page, "first-page-empty")
        click = Clicks(page)
        page.set_input_files("input[type=file]", outside / MONTHS[0])  # dropped or chosen: it is sent at once
        click.number += 1
        page.wait_for_url("**/jobs/*")
        done(page)
        headed(page, "What are these columns?")
        page.wait_for_selector(".owner")
        check_page(page, "new-series-columns")
        page.select_option("select[name='roles.ward']", "quasi")
        click("button:has-text('Propose a guarantee')")
        assert "a chance of 1 in 4" in page.locator(".lead").inner_text()
        assert "tau-safety, m = 4" in page.inner_text("main")
        check_page(page, "new-series-proposal")
        click("button:has-text('Save and go on')")
        assert (folder / "january.toml").read_text().startswith("# What becomes of january.csv")
        check_page(page, "publish")
        click("button:has-text('Trial run')")
        check_page(page, "publish-trial-run")
        assert not (folder / "january.vault").exists()
        click("button:has-text('Publish release 1')")
        headed(page, "Published")
        check_page(page, "publish-done")
        with page.expect_download() as told:
            page.click("a:has-text('january-release-1.csv')")
        manifest = json.loads((folder / "january-release-1.manifest.json").read_text())
        assert "sha256:" + hashlib.sha256(told.value.path().read_bytes()).hexdigest() == manifest["digest"]
        click("a:has-text('Audit it')")
        check_page(page, "audit")
        click("button:has-text('Attack them')")
        headed(page, "The promise holds")
        check_page(page, "audit-findings")
        assert click.number <= 12
        click("button:has-text('Write a report')")
        check_page(page, "report-done")
        with page.expect_download() as told:
            page.click("a:has-text('Download the page')")
        assert told.value.path().read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_series_is_explored_goes_on_and_is_looked_after(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records")
    with serving(folder) as served, watched(browser, served.url) as page:
        page.goto(served.first)
        check_page(page, "first-page")
        click = Clicks(page)
        page.goto(f"{served.url}/explore?config=hospital.toml")
        check_page(page, "explore")
        for name in MONTHS[1:]:
            page.uncheck(f"input[name=data][value='{name}']")
        page.check(f"input[name=data][value='{MONTHS[0]}']")
        page.fill("#f-sample", "200")
        page.click("summary:has-text('Which settings')")
        page.fill("#f-tries", "m=2,3,4")
        click("button:has-text('Try them')")
        assert page.locator(".point:visible").count() == 1
        check_page(page, "explore-frontier")
        page.locator("a.dot-link").first.click()
        page.wait_for_selector(".point:visible tbody tr:nth-child(10)")
        assert page.locator(".point:visible tbody tr").count() == 10
        check_page(page, "explore-point")
        before = (folder / "hospital.toml").read_text()
        chosen = page.locator(".point:visible h2").inner_text()
        press(page, page.locator(".point:visible button:has-text('Take this one')"))
        after = (folder / "hospital.toml").read_text()
        assert "# kept" in after
        assert after != before
        assert chosen.split()[-1] in after
        for month in MONTHS:
            page.goto(f"{served.url}/publish?config=hospital.toml&data={month}")
            click("button:has-text('Trial run')")
            click("button:has-text('Publish release')")
            headed(page, "Published")
        page.goto(f"{served.url}/series?config=hospital.toml")
        assert page.locator("tbody tr").count() == 3
        assert page.locator("svg.chart").count() == 1
        check_page(page, "series")
        click("button:has-text('Check the folder')")
        headed(page, "All is well")
        page.goto(f"{served.url}/series?config=hospital.toml")
        click("button:has-text('Verify the series')")
        headed(page, "The series is sound")
        check_page(page, "verify-series")
        page.goto(f"{served.url}/report?config=hospital.toml")  # the tables of the releases are chosen, in their order
        assert page.locator("input[name=truth]:checked").count() == 3
        check_page(page, "report-series")
        click("button:has-text('Write it')")
        page.wait_for_selector("p:has-text('highest belief')")


def test_other_tools_files_are_audited_and_found_out(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records", guarantee='kind = "static"\nk = 2')
    frame = hospital.month(240, seed=5)
    for n, width in enumerate((10, 7), 1):  # two groupings of one table, each safe by itself, as any tool makes them
        ages = frame["age"] // width * width
        cells = [f"[{low}, {low + width - 1}]" for low in ages]
        frame.select("sex", "ward", "diagnosis").insert_column(0, ages.__class__("age", cells)).write_csv(
            folder / f"other-{n}.csv"
        )
    with serving(folder) as served, watched(browser, served.url) as page:
        page.goto(served.first)
        page.goto(f"{served.url}/audit?config=hospital.toml")
        page.check("input[name=release_paths][value='other-1.csv']")
        page.check("input[name=release_paths][value='other-2.csv']")
        page.check("input[name=truth][value='january.csv']")
        page.select_option("#f-known", "presence")
        page.click("summary:has-text('More')")
        page.fill("#f-threshold", "0.5")
        press(page, "button:has-text('Attack them')")
        headed(page, "The promise is broken")
        assert page.locator("tbody tr").count() > 5
        check_page(page, "audit-other-tools")
        with page.expect_download() as told:
            page.click("a:has-text('Download the findings')")
        assert json.loads(told.value.path().read_text())["releases"]


def test_a_hierarchy_is_made_moved_and_used(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records", guarantee='kind = "static"\nk = 4')
    with serving(folder) as served, watched(browser, served.url) as page:
        page.goto(served.first)
        page.goto(f"{served.url}/hierarchies")
        check_page(page, "hierarchies")
        page.select_option("#f-data", MONTHS[0])
        page.fill("#f-column", "age")
        page.select_option("#f-config_path", "hospital.toml")
        page.fill("#f-bins", "10,20")
        press(page, "button:has-text('Make it')")
        press(page, "button:has-text('Look at it as a tree')")
        page.wait_for_selector(".tree")
        check_page(page, "hierarchy-tree")
        page.locator("summary:has-text('0 to 9')").first.click()
        page.locator("[data-value='9']").drag_to(page.locator("[data-parent='10 to 19']"))
        page.wait_for_url("**moved=9")
        page.fill("#f-value", "8")
        page.select_option("#f-parent", "10 to 19")
        page.click("button:text-is('Move')")
        page.wait_for_url("**moved=8")
        check_page(page, "hierarchy-moved")
        page.click("button:text-is('Save')")
        page.wait_for_url("**/series?**")
        lines = (folder / "age-hierarchy.csv").read_text().splitlines()
        assert "9;10 to 19;0 to 19;*" in lines
        assert "8;10 to 19;0 to 19;*" in lines
        assert 'age = { role = "quasi", hierarchy = "age-hierarchy.csv" }' in (folder / "hospital.toml").read_text()
        page.goto(f"{served.url}/hierarchies")
        page.locator("button:has-text('look at it')").first.click()
        page.wait_for_selector(".tree")


@pytest.mark.many
@pytest.mark.shared
@pytest.mark.parametrize(("size", "scheme"), SCREENS)
def test_a_real_table_goes_every_way(browser, tmp_path, keyed, size, scheme):
    folder = tmp_path / "records"
    folder.mkdir()
    real_table("adult_uci_full").head(1500).with_row_index("pid", 1).write_csv(folder / "adult.csv")
    with serving(folder) as served, watched(browser, served.url, color_scheme=scheme) as page:
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        page.goto(served.first)
        click = Clicks(page)
        page.goto(f"{served.url}/new?data=adult.csv")
        click("form[action='/new/look'] button")
        click("button:has-text('Propose a guarantee')")
        click("button:has-text('Save and go on')")
        click("button:has-text('Trial run')")
        click("button:has-text('Publish release 1')")
        headed(page, "Published")
        click("a:has-text('Audit it')")
        click("button:has-text('Attack them')")
        headed(page, "The promise holds")
        page.goto(f"{served.url}/explore?config=adult.toml&data=adult.csv")
        page.fill("#f-sample", "200")
        click("button:has-text('Try them')")
        assert page.locator(".point:visible").count() == 1
        page.goto(f"{served.url}/series?config=adult.toml")
        click("button:has-text('Verify the series')")
        headed(page, "The series is sound")
        page.goto(f"{served.url}/hierarchies")
        page.select_option("#f-data", "adult.csv")
        page.fill("#f-column", "age")
        page.fill("#f-bins", "10,20")
        click("button:has-text('Make it')")
        press(page, "button:has-text('Look at it as a tree')")
        page.wait_for_selector(".tree")


def test_the_keyboard_alone_suffices(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records")
    with serving(folder) as served, watched(browser, served.url, color_scheme="dark") as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(served.first)
        with_keys(page, "a[href='/new']")
        page.wait_for_url("**/new")
        with_keys(page, "#f-data", None)
        page.keyboard.type("february")
        with_keys(page, "form[action='/new/look'] button")
        page.wait_for_url("**/jobs/*")
        done(page)
        with_keys(page, "select[name='roles.diagnosis']", None)
        assert page.evaluate("document.activeElement.value") == "sensitive"
        with_keys(page, "form[action='/new/propose'] button")
        page.wait_for_selector("form[action='/new/save']", timeout=600_000)
        with_keys(page, "form[action='/new/save'] button")
        page.wait_for_url("**/publish?**")
        with_keys(page, "button[name=dry_run]")
        page.wait_for_selector("button:has-text('Publish release 1')", timeout=600_000)
        with_keys(page, "form[action='/publish'] button")
        page.wait_for_selector("h1:has-text('Published')", timeout=600_000)
        with_keys(page, "a.button[href^='/audit?config=february']")
        page.wait_for_url("**/audit?**")
        with_keys(page, "form[action='/audit'] button")
        page.wait_for_url("**/jobs/*")
        done(page)
        headed(page, "The promise holds")


def test_the_other_pages(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records")
    with serving(folder) as served, watched(browser, served.url) as page:
        page.goto(served.first)
        page.goto(f"{served.url}/publish?config=hospital.toml&data={MONTHS[0]}")
        press(page, "button:has-text('Trial run')")
        press(page, "button:has-text('Publish release 1')")
        page.goto(f"{served.url}/query?release=hospital-release-1.csv")
        check_page(page, "ask")
        page.fill("#f-question", "age >= 65")
        press(page, "button:text-is('Ask')")
        headed(page, "The answer")
        check_page(page, "ask-answer")
        page.goto(f"{served.url}/query?release=hospital-release-1.csv")
        page.fill("#f-question", "crosstab(sex, ward)")
        press(page, "button:text-is('Ask')")
        assert page.locator("tbody tr").count() > 3
        page.goto(f"{served.url}/verify?config=hospital.toml&data={MONTHS[0]}")
        check_page(page, "verify")
        press(page, "button:has-text('Verify it')")
        headed(page, "The release is sound")
        page.goto(f"{served.url}/measure?config=hospital.toml&data={MONTHS[0]}&release=hospital-release-1.csv")
        page.fill("#f-queries", "20")
        check_page(page, "measure")
        press(page, "button:has-text('Measure it')")
        assert page.locator("th:text-is('gcp')").count() == 1
        check_page(page, "measure-done")
        page.goto(f"{served.url}/forget?config=hospital.toml")
        check_page(page, "forget")
        page.fill("#f-person", "nobody-of-this-name")
        press(page, "button:has-text('Erase')")
        headed(page, "There is nothing to forget")
        (folder / "elsewhere.toml").write_text((folder / "hospital.toml").read_text().replace("hospital", "elsewhere"))
        page.goto(f"{served.url}/adopt?config=elsewhere.toml")
        check_page(page, "adopt")
        page.select_option("#f-snapshot", MONTHS[0])
        page.select_option("#f-release", "hospital-release-1.csv")
        press(page, "button:has-text('Adopt it')")
        headed(page, "Adopted as release 1")
        check_page(page, "adopt-done")
        page.goto(f"{served.url}/report?config=hospital.toml")
        check_page(page, "report")
        page.goto(f"{served.url}/jobs")
        check_page(page, "jobs")


def test_a_refusal_says_what_to_do_and_leads_back(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records", 60)
    with serving(folder, workers=1) as served, watched(browser, served.url) as page:
        page.goto(served.first)
        page.goto(f"{served.url}/publish?config=hospital.toml")
        page.select_option("#f-data", MONTHS[1])
        page.fill("#f-out", "january.csv")
        press(page, "button:has-text('Trial run')")
        page.wait_for_selector("[role=alert]")
        check_page(page, "refused")
        page.click("a:has-text('try again')")
        page.wait_for_selector(f"#f-data:has(option[value='{MONTHS[1]}']:checked)")


def test_a_server_that_is_killed_is_said_to_be_gone_and_the_same_click_finishes(browser, tmp_path, keyed):
    folder = fill(tmp_path / "records", 20_000)  # published in seconds, so that there is a middle
    context = browser.new_context()
    page = context.new_page()
    with command(folder) as served:
        page.goto(served.first)
        page.goto(f"{served.url}/publish?config=hospital.toml&data={MONTHS[0]}")
        press(page, "button:has-text('Trial run')")
        page.click("button:has-text('Publish release 1')")
        page.wait_for_selector("[data-stage]")
        served.process.kill()
        served.process.wait()
        page.wait_for_selector("[data-lost]:visible")
        assert "A release in the middle is pending" in page.inner_text("[data-lost]")
    with command(folder) as served:
        page.goto(served.first)
        page.goto(f"{served.url}/series?config=hospital.toml")
        if page.locator("button:has-text('Finish release 1')").count():
            press(page, "button:has-text('Finish release 1')")
        else:  # killed before anything was told
            page.goto(f"{served.url}/publish?config=hospital.toml&data={MONTHS[0]}")
            press(page, "button:has-text('Trial run')")
            press(page, "button:has-text('Publish release 1')")
        page.wait_for_selector("h1:has-text('Published'), h1:has-text('Finished'), h1:has-text('already')")
    context.close()
