"""The recipes of CONTRIBUTING.md do what they say, as they stand."""

import re
from pathlib import Path

import numpy as np
import pytest

from softmargin import MarginClassifier, export, losses, penalties
from softmargin.expansions import kernels
from softmargin.tuning import criteria

TEXT = (Path(__file__).resolve().parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, "yes", "no")


def recipe(what):
    """The names that the first block of code after "**A ``what``**" defines."""
    found = re.search(rf"\*\*An? {what}\*\*.*?```python\n(.*?)```", TEXT, re.DOTALL)
    assert found, f"CONTRIBUTING.md has no recipe for a {what}"
    made = {"__name__": "recipe", "source": found.group(1)}
    exec(found.group(1), made)
    return made


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """What recipes register is forgotten afterwards."""
    from softmargin.expansions.kernels import function
    from softmargin.export import _models
    from softmargin.losses import _registry
    from softmargin.penalties import registry

    for module, name in (
        (function, "_KNOWN"),
        (registry, "_KNOWN"),
        (_registry, "_LOSSES"),
        (_models, "_TRANSLATIONS"),
    ):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))


def test_a_loss():
    loss = recipe("loss")["SmoothedHinge"](width=0.5)
    assert losses.check_loss(loss).ok
    losses._registry.register(type(loss))
    model = MarginClassifier(loss="smoothed_hinge").fit(X, Y)
    assert model.solution_.converged
    assert model.score(X, Y) > 0.7


def test_a_penalty():
    recipe("penalty")
    assert "log" in penalties.available()
    model = MarginClassifier(penalty="log", C=0.15).fit(X, Y)
    assert model.solution_.converged
    assert np.count_nonzero(model.coef_) < 3


def test_a_kernel_function():
    recipe("kernel function")
    assert "cauchy" in kernels.available()
    model = MarginClassifier(kernel="cauchy", gamma=0.7).fit(X, Y)
    distances = np.square(X[:, None] - X).sum(axis=2)
    given = MarginClassifier(kernel="precomputed").fit(1 / (1 + 0.7 * distances), Y)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(1 / (1 + 0.7 * distances)))


def test_a_criterion(tmp_path, monkeypatch):
    made = recipe("criterion")
    (tmp_path / "charged.py").write_text(made["source"])
    monkeypatch.setattr(criteria, "__path__", [*criteria.__path__, str(tmp_path)])
    found = criteria.find_formulas()
    assert set(found) == {*criteria.FORMULAS, "charged"}
    model = MarginClassifier().fit(X, Y)
    ones, y = np.ones(60), np.where(Y == "yes", 1.0, -1.0)
    fit = criteria.Fitted(model.loss_, y, model.decision_function(X), ones, 1.0, 0.1 * ones, ones)
    assert fit.base < found["charged"](fit) < 2 * fit.base


def test_a_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = recipe("picture")["ScoreDisplay"].from_estimator(MarginClassifier().fit(X, Y), X, Y)
    assert display.ax_.get_xlabel() == "score"
    matplotlib.pyplot.close("all")


def test_an_export():
    duckdb = pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    model = recipe("export")["LinearDiscriminantAnalysis"]().fit(X, Y)
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    with duckdb.connect() as base:
        base.register("cases", table)
        answers = base.sql(export.to_sql(model, "cases", dialect="duckdb")).df()
    np.testing.assert_array_equal(answers["label"], model.predict(X))
    np.testing.assert_allclose(answers["probability_yes"], model.predict_proba(X)[:, 1], atol=1e-9)
