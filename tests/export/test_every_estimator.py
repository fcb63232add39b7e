"""Every public classifier goes to every target, or is refused in words that name it; none fails otherwise."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import ClassifierMixin
from tests.export import test_sql
from tests.files import models

import softmargin as sm
from softmargin import export

NAMES = [
    name for name in sm.__all__ if inspect.isclass(getattr(sm, name)) and issubclass(getattr(sm, name), ClassifierMixin)
]
ROWS = pd.DataFrame(
    np.vstack([models.X, 3 * np.random.default_rng(0).normal(size=(20, 3))]), columns=["x0", "x1", "x2"]
)
CONSTANT = pd.DataFrame(np.ones((60, 3)), columns=ROWS.columns)
FEW = {"n_components": 8, "n_rules": 6, "effort": "fast", "random_state": 0}


def _new(name):
    kind = getattr(sm, name)
    if name in ("ScoreCalibrator", "TunedClassifier"):
        return kind(sm.MarginClassifier())
    known = inspect.signature(kind).parameters
    return kind(**{argument: value for argument, value in FEW.items() if argument in known})


def run(model, frame):
    """The outputs of the exported model by name."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    made = export.to_onnx(model)
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    outputs = [one.name for one in session.get_outputs()]
    return dict(zip(outputs, session.run(None, {"X": frame.to_numpy(dtype=np.float64)}), strict=True))


def graph_agrees(model, frame):
    found = run(model, frame)
    np.testing.assert_array_equal(found["label"], model.predict(frame))
    np.testing.assert_allclose(found["scores"], model.decision_function(frame), atol=1e-6, rtol=1e-6)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(frame), atol=1e-6)


@pytest.mark.parametrize("y", [models.SIGN, models.NAMES], ids=["two", "three"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_every_classifier_is_a_graph(name, y):
    graph_agrees(_new(name).fit(ROWS[:60], y), ROWS)


@pytest.mark.parametrize("y", [models.SIGN, models.NAMES], ids=["two", "three"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_every_classifier_is_a_query(name, y):
    test_sql.agree(_new(name).fit(ROWS[:60], y), ROWS, "duckdb")


@pytest.mark.parametrize("y", [models.SIGN, models.NAMES], ids=["two", "three"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_a_classifier_of_constant_columns_answers_every_row(name, y):
    model = _new(name).fit(CONSTANT, y)
    graph_agrees(model, CONSTANT[:7])
    for dialect in ("sqlite", "duckdb"):
        test_sql.agree(model, CONSTANT[:7], dialect)


@pytest.mark.parametrize("size", [30, 120])
@pytest.mark.filterwarnings("ignore")
def test_a_mixture_may_have_machines_that_read_nothing(size):
    rng = np.random.default_rng(size)
    frame = pd.DataFrame({"x0": rng.normal(size=size), "x1": 1.0, "x2": np.nan})
    for y in (rng.integers(2, size=size), (frame["x0"] > 0).astype(int), rng.integers(3, size=size)):
        for parameters in ({"effort": "fast"}, {"effort": "balanced"}, {"interpretable": True}):
            model = sm.AutoClassifier(**parameters, random_state=0).fit(frame, y)
            graph_agrees(model, frame)
            test_sql.agree(model, frame, "sqlite")


@pytest.mark.parametrize("level", [1.4, 1.5, 3.0])
@pytest.mark.parametrize("y", [models.SIGN, models.NAMES], ids=["two", "three"])
@pytest.mark.filterwarnings("ignore")
def test_many_class_weights_are_one_choice(level, y):
    model = sm.TruncatedLogisticRegression(scheme=2, level=level).fit(ROWS[:60], y)
    graph_agrees(model, ROWS)
    if level > 1.4:  # hundreds of columns are no pleasure to a database
        test_sql.agree(model, ROWS, "sqlite")


def test_what_has_no_formula_is_refused_with_its_name():
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    text = pd.DataFrame({"said": [f"the {a} and the {b} of it" for a in words for b in words]})
    auto = sm.AutoClassifier(effort="fast").fit(text, np.arange(100) % 2)
    own = sm.MarginClassifier(kernel=lambda A, B: A @ B.T).fit(models.X, models.SIGN)
    for model, words in ((auto, "'said' was read as text"), (own, "code of your own")):
        for write in (export.to_onnx, lambda model: export.to_sql(model, "t")):
            with pytest.raises(export.NotExportable, match=words):
                write(model)
