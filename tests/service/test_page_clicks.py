"""The page in a browser: clicked through, live, narrow, dark, without a complaint of axe."""

from contextlib import contextmanager

import pytest
from browser import CHROMIUM, DRIVER, browser, complaints, console, overflow, resize
from hostile import HOSTILE, hostile_run
from lives import ask, live, unlabelled
from loaned import serving
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

import ffml
from ffml.service.app import create_app
from ffml.service.tokens import make_token
from ffml.store.copying import copy_ledger

pytestmark = pytest.mark.skipif(
    None in (CHROMIUM, DRIVER), reason="needs chromium and chromium-driver"
)


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clicks") / "loans"
    live(folder).close()
    return folder


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("browser")) as driver:
        yield driver


@pytest.fixture
def driver(started):
    """One browser for all, with an empty page and an empty console."""
    started.get("about:blank")
    console(started)
    return started


@contextmanager
def served(folder):
    """Serve a run; at the end it must stop although a page is open."""
    app = create_app({folder.name: str(folder)})
    with serving(app) as at:
        yield at, app.state.streams


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def until(driver, tell, what):
    swapped = [StaleElementReferenceException]  # meanwhile, the page was brought up to date
    WebDriverWait(driver, 20, ignored_exceptions=swapped).until(lambda _: tell(), what)


def text(driver, selector):
    found = driver.find_elements(By.CSS_SELECTOR, selector)
    return found[0].text if found else ""


def test_a_person_clicks_through(loans, driver, tmp_path):
    folder = tmp_path / "loans"
    copy_ledger(loans, folder)
    with served(folder) as (at, streams):
        driver.get(at)
        until(driver, lambda: driver.find_elements(By.LINK_TEXT, "loans"), "the list")
        assert complaints(driver) == []
        driver.find_element(By.LINK_TEXT, "loans").click()
        until(driver, lambda: text(driver, "#state") == "Live", "a live page")
        sentences = str(ffml.open(folder, write=False).answer).splitlines()
        assert text(driver, ".lead") == sentences[0]
        assert [one.text for one in driver.find_elements(By.CSS_SELECTOR, ".answer li")] == (
            sentences[1:]
        )
        a_period_is_picked(driver)
        numbers_are_shown(driver)
        it_is_well_made(driver)
        assert console(driver) == []
        it_changes_by_itself(driver, folder)
        driver.get(f"{at}/runs/loans/page?start=nowhere")
        until(driver, lambda: text(driver, "#state") == "Live", "all, if a period is not there")
        assert any("400" in line for line in console(driver))
        driver.get("about:blank")
        until(driver, lambda: streams.open == 0, "streams of closed pages end")


def a_period_is_picked(driver):
    Select(find(driver, "select[name=start]")).select_by_visible_text("2024-03")
    until(driver, lambda: "in this part" in text(driver, "#part-period"), "the part")
    assert driver.current_url.endswith("?start=2024-03")  # tasks that come later are shown too
    places = driver.find_elements(By.CSS_SELECTOR, "#chart-rates-0 .hit")
    assert len(places) == 3
    assert driver.switch_to.active_element.get_attribute("name") == "start"  # keys go on there
    driver.refresh()  # the address has it
    until(driver, lambda: "in this part" in text(driver, "#part-period"), "the part again")
    find(driver, "button[type=reset]").click()
    until(driver, lambda: "in this part" not in text(driver, "#part-period"), "everything")
    assert len(driver.find_elements(By.CSS_SELECTOR, "#chart-rates-0 .hit")) == 5


def numbers_are_shown(driver):
    plot = find(driver, "#chart-rates-0 svg.plot")
    places = plot.find_elements(By.CSS_SELECTOR, ".hit")
    ActionChains(driver).move_to_element(places[1]).perform()
    until(driver, lambda: text(driver, ".tip").startswith("2024-02: "), "hover")
    driver.execute_script("arguments[0].focus()", plot)
    ActionChains(driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    assert text(driver, ".tip") == places[3].get_attribute("data-tip")
    assert text(driver, ".tip").startswith("counter: F ")
    ActionChains(driver).send_keys(Keys.ESCAPE).perform()
    assert text(driver, ".tip") == ""


def it_is_well_made(driver):
    for width, dark in ((1280, False), (390, False), (390, True)):
        resize(driver, width, 900, dark)
        assert overflow(driver) == 0
        assert complaints(driver) == []
        paper = find(driver, "body").value_of_css_property("background-color")
        assert (sum(map(int, paper[5:-4].split(","))) < 200) is dark
    resize(driver, 1280)


def it_changes_by_itself(driver, folder):
    find(driver, "#chart-gaps-0 summary").click()
    run = ffml.open(folder)
    run.decide(unlabelled(8, 7), task="new people")
    [(people,)] = ask(folder, "select count(*) from people where decision is not null")
    until(driver, lambda: text(driver, ".tiles strong") == str(people), "the new people")
    assert "new people" in text(driver, "#part-labels")
    assert find(driver, "#chart-gaps-0 details").get_attribute("open") == "true"
    assert console(driver) == []
    run.close()


def test_hostile_names_are_shown_and_nothing_else_happens(driver, tmp_path):
    hostile_run(tmp_path / "it's <b>").close()
    with served(tmp_path / "it's <b>") as (at, _):
        driver.get(at)
        until(driver, lambda: driver.find_elements(By.LINK_TEXT, "it's <b>"), "the list")
        driver.find_element(By.LINK_TEXT, "it's <b>").click()
        until(driver, lambda: text(driver, "#state") == "Live", "a live page")
        assert HOSTILE in text(driver, ".lead")
        for width in (1280, 390):
            resize(driver, width)
            assert overflow(driver) == 0
        assert complaints(driver) == [] and console(driver) == []
        resize(driver, 1280)


def test_a_token_is_asked_for_once(loans, driver, tmp_path):
    folder = tmp_path / "loans"
    copy_ledger(loans, folder)
    run = ffml.open(folder)
    token = make_token(run.store, "officer", ["read"])
    run.close()
    with served(folder) as (at, _):
        driver.get(f"{at}/runs/loans/page")
        until(driver, lambda: find(driver, "#door").is_displayed(), "the door")
        assert complaints(driver) == [] and console(driver) == []
        find(driver, "#token").send_keys("ffml_wrong" + Keys.ENTER)
        until(driver, lambda: "ffml token" in text(driver, "#problem"), "a refusal")
        assert any("401" in line for line in console(driver))
        find(driver, "#token").send_keys(token + Keys.ENTER)
        until(driver, lambda: text(driver, "#state") == "Live", "a live page")
        assert not find(driver, "#door").is_displayed() and token not in driver.current_url
        assert "Id" not in [
            e.text for e in driver.find_elements(By.CSS_SELECTOR, "#part-newest th")
        ]
        driver.refresh()
        until(driver, lambda: text(driver, "#state") == "Live", "the token is remembered")
        driver.find_element(By.LINK_TEXT, "All runs").click()
        until(driver, lambda: driver.find_elements(By.LINK_TEXT, "loans"), "the list")
        assert console(driver) == []
