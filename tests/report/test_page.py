"""The page in a real browser: no errors, and at every position of a slider the numbers the library computes."""

import csv
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from softmargin import MarginClassifier, report

pytest.importorskip("jinja2")
selenium = pytest.importorskip("selenium", reason="selenium is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no Chromium with its driver is installed")

HOSTILE = ["<img src=x onerror=alert(1)>", "\"'`;--", "שלום ‮ abc", "😀\n</script>"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(360, 4)), columns=HOSTILE)
    score = X.iloc[:, 0] - 0.7 * X.iloc[:, 1] + 0.5 * rng.logistic(size=360)
    y = np.where(score > 0, "yes </script><script>alert(1)</script>", 'no "&"')
    model = MarginClassifier().fit(X[:120], y[:120])
    numbers = report.build(model, X[120:], y[120:], folder / "r.html", baselines={}, title="<b>title</b>")
    return folder, numbers, model


@pytest.fixture(scope="module")
def browser(page):
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={page[0] / 'profile'}")
    options.add_experimental_option("prefs", {"download.default_directory": str(page[0])})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    try:
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    except WebDriverException as error:
        pytest.skip(f"Chromium does not start here: {str(error)[:200]}")
    driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(page[0]), "eventsEnabled": False}
    )
    driver.get((page[0] / "r.html").as_uri())
    yield driver
    driver.quit()


def text(browser, id):
    return browser.execute_script("return document.getElementById(arguments[0]).textContent", id)


def put(browser, id, value):
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))",
        id,
        str(value),
    )


def test_it_loads_without_errors_and_hostile_names_are_text(browser):
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.execute_script("return document.scripts.length") == 2
    assert browser.execute_script("return document.querySelector('h1').textContent") == "<b>title</b>"
    shown = browser.execute_script("return [...document.querySelectorAll('#columns tr th')].map((e) => e.textContent)")
    assert {" ".join(name.split()) for name in shown} >= {" ".join(name.split()) for name in HOSTILE}


@pytest.mark.parametrize("width", [390, 1400])
def test_it_fits_the_window(browser, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_threshold_counts_are_those_of_the_library(browser, page):
    told = page[1]["thresholds"]
    for at in np.linspace(0, len(told["grid"]) - 1, 20).astype(int):
        put(browser, "slider", at)
        found, alarms = told["true_positive"][at], told["false_positive"][at]
        expected = [found, told["positive"] - found, alarms, told["negative"] - alarms]
        assert [int(text(browser, id)) for id in ("tp", "fn", "fp", "tn")] == expected


@pytest.mark.parametrize("name", ["weight", "cost", "balance"])
def test_exact_paths_are_those_of_the_library(browser, page, name):
    """At 20 positions: coefficients and counts by the stored segments, which another test holds against the library."""
    told = page[1]["paths"]
    knots, coef, ends = (np.array(told["paths"][name][key]) for key in ("knots", "coef", "intercept"))
    Z, positive = np.array(told["rows"]), np.array(told["positive"])
    put(browser, "path-name", name)
    for position in np.linspace(3, 997, 20).astype(int):
        put(browser, "path-slider", position)
        t = browser.execute_script("return pathValue(arguments[0], arguments[1])", name, int(position))
        i = min(int(np.searchsorted(knots, t, "right")) - 1, len(knots) - 2)
        share = (t - knots[i]) / (knots[i + 1] - knots[i])
        beta, b = coef[i] + share * (coef[i + 1] - coef[i]), ends[i][0] + share * (ends[i][1] - ends[i][0])
        cells = browser.execute_script(
            "return [...document.querySelectorAll('#path-coef td.n')].map((e) => +e.textContent)"
        )
        np.testing.assert_allclose(cells, [*beta, b], atol=2e-6)
        called = Z @ beta + b > 0
        counts = [(called & positive).sum(), (~called & positive).sum(), (called & ~positive).sum()]
        assert [int(text(browser, id)) for id in ("path-tp", "path-fn", "path-fp")] == counts


def test_typed_values_move_the_probability_as_the_model_does(browser, page):
    _, numbers, model = page
    names = [column["name"] for column in numbers["reading"]["columns"]]
    for example in numbers["reading"]["examples"][:20]:
        p = browser.execute_script("return read(arguments[0]).probability[1]", example["values"])
        row = pd.DataFrame([dict(zip(names, example["values"], strict=True))])[HOSTILE]
        assert p == pytest.approx(model.predict_proba(row)[0, 1], abs=0.01)
    assert len(names) == 4
    browser.execute_script("document.querySelector('#fields input').value = '';")
    put(browser, "reading-class", 0)
    assert "NaN" not in text(browser, "reading-numbers")


def test_the_table_sorts_filters_and_decisions_are_downloaded(browser, page):
    from selenium.webdriver.support.ui import WebDriverWait

    folder, numbers, _ = page
    suspects = numbers["labels"]["suspects"]

    def rows():
        return browser.execute_script(
            "return [...document.querySelectorAll('#suspect-table tbody tr')].map((e) => +e.cells[0].textContent)"
        )

    assert rows() == [s["row"] for s in suspects]
    browser.execute_script("document.querySelector('#suspect-table th[data-key=row] button').click()")
    assert rows() == sorted(s["row"] for s in suspects)
    browser.execute_script("document.querySelector('#suspect-table th[data-key=row] button').click()")
    assert rows() == sorted((s["row"] for s in suspects), reverse=True)
    for place, word in ((0, "relabel"), (1, "drop"), (2, "keep")):
        browser.execute_script(
            "const s = document.querySelectorAll('#suspect-table select')[arguments[0]]; s.value = arguments[1];"
            "s.dispatchEvent(new Event('change'))",
            place,
            word,
        )
    decided = rows()[:3]
    assert text(browser, "decided") == "3 decided"
    browser.execute_script("document.getElementById('download').click()")
    path = folder / "decisions.csv"
    WebDriverWait(browser, 20).until(lambda _: path.exists() and path.stat().st_size > 0)
    with path.open(encoding="utf-8", newline="") as file:
        told = {int(line["row"]): (line["decision"], line["label"]) for line in csv.DictReader(file)}
    suggested = {s["row"]: s["suggested"] for s in suspects}
    assert told == {
        decided[0]: ("relabel", suggested[decided[0]]),
        decided[1]: ("drop", ""),
        decided[2]: ("keep", ""),
    }
    put(browser, "filter", "no such text")
    assert rows() == []
    put(browser, "filter", "")


def test_the_page_holds_the_numbers_that_build_returns(page):
    text = (page[0] / "r.html").read_text(encoding="utf-8")
    numbers = json.loads(re.search(r'id="numbers">(.*?)</script>', text, re.S).group(1))
    assert numbers["labels"]["n_suspects"] == page[1]["labels"]["n_suspects"]
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
