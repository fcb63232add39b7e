"""A report holds the numbers the library computes, opens offline, and whatever the data say stays text."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from softmargin import MarginClassifier, MulticategorySVC, audit_labels, paths, report
from softmargin.report._baselines import crossed_baselines, fit_baselines
from softmargin.report._held_out import HeldOut
from softmargin.report._paths import _split
from softmargin.report._reliability import reliability

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
    scores = report.summarise(model, X, y, baselines={})["scores"]["MarginClassifier"]
    P = model.predict_proba(X)
    assert scores["log_loss"]["estimate"] == pytest.approx(log_loss(y, P))
    assert scores["error"]["estimate"] == pytest.approx(1 - model.score(X, y))
    assert scores["auc"]["estimate"] == pytest.approx(roc_auc_score(y == model.classes_[1], P[:, 1]))
    assert scores["brier"]["estimate"] == pytest.approx(2 * brier_score_loss(y == model.classes_[1], P[:, 1]))
    for score in scores.values():
        assert score["low"] <= score["estimate"] <= score["high"]


def test_every_threshold_counts_the_rows_above_it(fitted):
    model, X, y = fitted
    told = report.summarise(model, X, y, baselines={})["thresholds"]
    p, positive = model.predict_proba(X)[:, 1], y == model.classes_[1]
    for at, found, alarms in zip(told["grid"], told["true_positive"], told["false_positive"], strict=True):
        assert found == int((positive & (p > at)).sum())
        assert alarms == int((~positive & (p > at)).sum())


class Stated:
    classes_ = np.array([0, 1])

    def __init__(self, p):
        self.p = p

    def predict_proba(self, X):
        p = np.resize(self.p, len(X))
        return np.column_stack([1 - p, p])


@pytest.mark.parametrize("test", ["spiegelhalter", "cumulative"])
def test_true_probabilities_pass_the_calibration_tests_and_extreme_ones_do_not(test):
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 4000)
    y = (rng.random(4000) < p).astype(int)
    X = np.zeros((4000, 1))

    def value(stated):
        return report.summarise(Stated(stated), X, y, baselines={})["reliability"][test]["p_value"]

    assert value(p) > 1e-4
    assert value(np.where(p > 0.5, 0.99, 0.01)) < 1e-6


def test_the_cumulative_test_has_its_level():
    rng = np.random.default_rng(2)
    X, found = np.zeros((400, 1)), []
    for _ in range(60):
        p = rng.uniform(0, 1, 400)
        found.append(
            reliability(Stated(p).predict_proba(X), (rng.random(400) < p).astype(int))["cumulative"]["p_value"]
        )
    assert 0.2 < np.mean(np.array(found) < 0.5) < 0.8


def test_paths_are_exact_between_breakpoints(fitted):
    """The page's rule, a straight line between knots, gives what the library computes at any value."""
    model, X, y = fitted
    told = report.summarise(model, X, y, baselines={})["paths"]
    held = HeldOut(model, X, np.searchsorted(model.classes_, y), model.classes_, model.predict_proba(X))
    fit, _ = _split(held.codes, np.random.default_rng([0, 5]))
    columns = [held.columns[[c.name for c in held.columns].index(name)].values for name in told["columns"]]
    Z = np.column_stack(columns)
    Z = (Z - Z[fit].mean(axis=0)) / Z[fit].std(axis=0)
    labels = np.where(held.codes == 1, 1, -1)
    exact = {
        "weight": paths.weight_path(Z[fit], labels[fit]),
        "cost": paths.cost_path(Z[fit], labels[fit], C_max=100.0),
        "balance": paths.balance_path(Z[fit], labels[fit]),
    }
    for name, path in exact.items():
        knots, coef, ends = (np.array(told["paths"][name][key]) for key in ("knots", "coef", "intercept"))
        for t in np.random.default_rng(0).uniform(knots[0], knots[-1], 20):
            i = min(int(np.searchsorted(knots, t, "right")) - 1, len(knots) - 2)
            share = (t - knots[i]) / (knots[i + 1] - knots[i])
            solution = path.at(t)
            np.testing.assert_allclose(coef[i] + share * (coef[i + 1] - coef[i]), solution.coef, atol=1e-6)
            assert ends[i][0] + share * (ends[i][1] - ends[i][0]) == pytest.approx(solution.intercept, abs=1e-6)


def test_a_linear_machine_is_read_exactly(fitted):
    model, X, y = fitted
    told = report.summarise(model, X, y, baselines={})
    assert told["reading"]["fidelity"] > 0.999
    assert {c["name"] for c in told["reading"]["columns"]} == {c["name"] for c in told["columns"]}
    assert told["columns"][0]["name"] == "a"
    assert told["terms"]["title"] == "Its coefficients"


def test_labels_are_audited_by_the_model_that_has_not_seen_them(fitted):
    model, X, y = fitted
    told = report.summarise(model, X, y, baselines={})["labels"]
    audit = audit_labels(None, X, y, probabilities=model.predict_proba(X))
    assert told["n_errors"]["estimate"] == pytest.approx(audit.n_errors.value)
    assert told["n_suspects"] == len(audit.suspects())
    rows = [suspect["row"] for suspect in told["suspects"]]
    assert set(rows) <= set(X.index)  # rows are called by the frame's numbers
    assert rows[0] == audit.index[0]


def test_baselines_are_fitted_to_training_rows_or_to_other_folds():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=120), "town": rng.choice(["x", "y", None], 120)})
    X.loc[::9, "a"] = np.nan
    y = np.where(np.nan_to_num(X["a"]) + 0.5 * rng.logistic(size=120) > 0, "yes", "no")
    names = {"class shares", "logistic regression", "gradient boosting"}
    assert set(fit_baselines(X[:60], y[:60], X[60:], np.array(["no", "yes"]))) == names
    found = crossed_baselines(X, (y == "yes").astype(int), 2)
    assert set(found) == names
    for P in found.values():
        np.testing.assert_allclose(P.sum(axis=1), 1)


def test_other_forms_hold_the_same_numbers(fitted, tmp_path):
    model, X, y = fitted
    numbers = report.build(model, X, y, tmp_path / "r.json", baselines={}, about={"seed": 3})
    stored = json.loads((tmp_path / "r.json").read_text())
    assert stored["scores"]["MarginClassifier"]["error"] == numbers["scores"]["MarginClassifier"]["error"]
    assert stored["made"]["seed"] == "3"
    page = report.to_markdown(numbers, "a | b <script>")
    assert "# a \\| b \\<script\\>" in page
    assert "<img" not in page.replace("\\<img", "")


def test_hostile_names_and_labels_are_inert(fitted, tmp_path):
    model, X, y = fitted
    report.build(model, X, y, tmp_path / "r.html", title="<script>alert(2)</script>", baselines={})
    page = (tmp_path / "r.html").read_text()
    assert page.count("<script") == 2  # the numbers and our own
    assert len(page) < 2e6
    assert "<img" not in page
    assert "alert(2)</script>" not in page.replace("&lt;script&gt;alert(2)&lt;/script&gt;", "")
    numbers = json.loads(re.search(r'id="numbers">(.*?)</script>', page, re.S).group(1))
    assert numbers["data"]["classes"] == [str(label) for label in model.classes_]
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")  # the name of SVG, not an address
    assert "https://" not in page


class _Markup(HTMLParser):
    """The tags of a page, each with the names of its attributes."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, *(name for name, _ in attrs)))


HOSTILE = [
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' autofocus='",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</style><img src=x onerror=alert(1)>",
    "</title><b>",
    "\u2028\u2029]]>",
    "&lt;svg/onload=alert(1)&gt;",
]


@pytest.mark.parametrize("k", [2, 3])
def test_the_markup_of_a_page_does_not_depend_on_what_anything_is_called(k, tmp_path):
    """Columns, classes, rows, the title and what it is about, of which file names are a part."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(260, len(HOSTILE)))
    rank = np.digitize(values[:, 0] + 0.7 * rng.normal(size=260), np.linspace(-0.5, 0.5, k + 1)[1:-1])
    found = []
    for names in ([f"c{j}" for j in range(len(HOSTILE))], HOSTILE):
        X = pd.DataFrame(values, columns=names, index=[f"{names[5]}{i}" for i in range(260)])
        y = np.array(sorted(names)[:k])[rank]
        model = MarginClassifier().fit(X[:100], y[:100])
        about = dict(zip(names[:4], names[4:8], strict=True))
        report.build(model, X[100:], y[100:], tmp_path / "r.html", baselines={}, title=names[3], about=about)
        found.append(_Markup((tmp_path / "r.html").read_text()).tags)
    assert found[0] == found[1]


def test_several_classes_have_a_page_without_thresholds(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = MarginClassifier(C=0.1).fit(X[::2], y[::2])
    numbers = report.build(model, X[1::2], y[1::2], tmp_path / "r.html", baselines={})
    assert numbers["thresholds"] is None
    assert numbers["paths"] is None
    assert np.array(numbers["confusion"]["table"]).sum() == len(y[1::2])
    assert 'id="slider"' not in (tmp_path / "r.html").read_text()


def test_what_cannot_be_reported_is_refused(fitted, tmp_path):
    model, X, y = fitted
    with pytest.raises(TypeError, match="ScoreCalibrator"):
        report.build(MulticategorySVC().fit(X, y), X, y, tmp_path / "r.html")
    with pytest.raises(ValueError, match="y must hold labels"):
        report.build(model, X, np.repeat("maybe", len(y)), tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_the_page_stays_small_whatever_the_data(tmp_path):
    rng = np.random.default_rng(4)
    labels = np.array(["label " * 40 + str(i) for i in range(120)])
    codes = rng.integers(120, size=3000)

    class Wide:
        classes_ = np.sort(labels)

        def predict_proba(self, X):
            P = np.full((len(X), 120), 0.5 / 119)
            P[np.arange(len(X)), np.arange(len(X)) % 120] = 0.5
            return P

    X = pd.DataFrame(rng.normal(size=(3000, 300)), columns=["column " * 50 + str(j) for j in range(300)])
    report.build(Wide(), X, Wide.classes_[codes], tmp_path / "r.html", baselines={})
    assert (tmp_path / "r.html").stat().st_size < 2e6


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"y": None}, "y must hold one label per row"),
        ({"y": ["no"]}, "y must hold one label per row"),
        ({"path": "r.pdf"}, "path must be"),
        ({"path": "r.html.gz"}, "path must be"),
        ({"path": None}, "path must be"),
        ({"about": "x"}, "about must be"),
        ({"training": "x"}, "training must be"),
        ({"baselines": []}, "baselines must be"),
        ({"random_state": None}, "random_state must be"),
    ],
)
def test_arguments_that_are_not_meant_are_named_and_nothing_is_written(fitted, tmp_path, monkeypatch, change, word):
    model, X, y = fitted
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=word):
        report.build(**({"model": model, "X": X, "y": y, "path": "r.html", "baselines": {}} | change))
    assert not list(tmp_path.iterdir())


def test_a_model_before_its_fit_has_no_report(fitted, tmp_path):
    model, X, y = fitted
    with pytest.raises(NotFittedError):
        report.build(clone(model), X, y, tmp_path / "r.html")


@pytest.mark.parametrize("name", ["r.html", "r.HTM", "r"])
def test_a_page_may_end_in_nothing(fitted, tmp_path, name):
    model, X, y = fitted
    report.build(model, X, y, tmp_path / name, baselines={})
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")
