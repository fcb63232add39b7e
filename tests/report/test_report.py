"""A report holds the numbers the library computes, opens offline, and whatever the data say stays text."""

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from softmargin import MarginClassifier, MulticategorySVC, report

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "<img src=x onerror=alert(1)>"])
    y = np.where(X["a"] + 0.8 * rng.logistic(size=400) > 0, "yes </script><script>alert(1)</script>", 'no "&"')
    model = MarginClassifier().fit(X[:200], y[:200])
    return model, X[200:], y[200:]


def test_scores_are_those_of_scikit_learn(fitted):
    model, X, y = fitted
    scores = report.summarise(model, X, y)["scores"]["MarginClassifier"]
    P = model.predict_proba(X)
    assert scores["log_loss"]["estimate"] == pytest.approx(log_loss(y, P))
    assert scores["error"]["estimate"] == pytest.approx(1 - model.score(X, y))
    assert scores["auc"]["estimate"] == pytest.approx(roc_auc_score(y == model.classes_[1], P[:, 1]))
    assert scores["brier"]["estimate"] == pytest.approx(2 * brier_score_loss(y == model.classes_[1], P[:, 1]))
    for score in scores.values():
        assert score["low"] <= score["estimate"] <= score["high"]


def test_every_threshold_counts_the_rows_above_it(fitted):
    model, X, y = fitted
    told = report.summarise(model, X, y)["thresholds"]
    p, positive = model.predict_proba(X)[:, 1], y == model.classes_[1]
    for at, found, alarms in zip(told["grid"], told["true_positive"], told["false_positive"], strict=True):
        assert found == int((positive & (p > at)).sum())
        assert alarms == int((~positive & (p > at)).sum())


def test_true_probabilities_pass_the_calibration_test_and_extreme_ones_do_not():
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 4000)

    class Stated:
        classes_ = np.array([0, 1])

        def __init__(self, p):
            self.p = p

        def predict_proba(self, X):
            return np.column_stack([1 - self.p, self.p])

    y = (rng.random(4000) < p).astype(int)
    X = np.zeros((4000, 1))
    assert abs(report.summarise(Stated(p), X, y)["reliability"]["z"]) < 4
    extreme = np.where(p > 0.5, 0.99, 0.01)
    assert abs(report.summarise(Stated(extreme), X, y)["reliability"]["z"]) > 10


def test_hostile_names_and_labels_are_inert(fitted, tmp_path):
    model, X, y = fitted
    report.build(model, X, y, tmp_path / "r.html", title="<script>alert(2)</script>")
    page = (tmp_path / "r.html").read_text()
    assert page.count("<script") == 2  # the numbers and our own
    assert "<img" not in page
    assert "alert(2)</script>" not in page.replace("&lt;script&gt;alert(2)&lt;/script&gt;", "")
    numbers = json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.S).group(1))
    assert numbers["data"]["classes"] == [str(label) for label in model.classes_]
    assert "http://" not in page
    assert "https://" not in page


def test_several_classes_have_a_page_without_thresholds(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = MarginClassifier(C=0.1).fit(X[::2], y[::2])
    numbers = report.build(model, X[1::2], y[1::2], tmp_path / "r.html")
    assert numbers["thresholds"] is None
    assert np.array(numbers["confusion"]).sum() == len(y[1::2])
    assert 'id="slider"' not in (tmp_path / "r.html").read_text()


def test_what_cannot_be_reported_is_refused(fitted, tmp_path):
    model, X, y = fitted
    with pytest.raises(TypeError, match="ScoreCalibrator"):
        report.build(MulticategorySVC().fit(X, y), X, y, tmp_path / "r.html")
    with pytest.raises(ValueError, match="none of the model's classes"):
        report.build(model, X, np.repeat("maybe", len(y)), tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_the_page_computes_what_the_library_computes(fitted, tmp_path):
    """In a real browser: the slider starts at one half, and the table of suspects is filled."""
    model, X, y = fitted
    numbers = report.build(model, X, y, tmp_path / "r.html")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--dump-dom",
    ]
    done = subprocess.run(
        [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "r.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "<html" not in done.stdout:
        pytest.skip(f"Chromium does not start here: {done.stderr[-200:]}")
    at = numbers["thresholds"]["grid"].index(0.5)
    assert f'<b id="tp">{numbers["thresholds"]["true_positive"][at]}</b>' in done.stdout
    assert f'<b id="fp">{numbers["thresholds"]["false_positive"][at]}</b>' in done.stdout
    assert done.stdout.count('aria-label="decision for row') == len(numbers["suspects"])
