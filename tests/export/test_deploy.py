"""The service of the page "Deploy" answers like the model it was made from."""

import pathlib
import re
import sys
import types

import numpy as np
import pytest
from tests.files import models

import softmargin as sm
from softmargin import export

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "deploy.md"


def _fastapi():
    """FastAPI, or as much of it as a decorator needs."""
    stand_in = types.ModuleType("fastapi")
    stand_in.FastAPI = type("FastAPI", (), {"post": lambda self, path: lambda function: function})
    return stand_in


def test_the_service_of_the_page_answers_like_the_model(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 15
    model = sm.CoherenceClassifier(kernel="rbf").fit(models.X, models.NAMES)
    monkeypatch.chdir(tmp_path)
    export.to_onnx(model, "model.onnx")
    try:
        import fastapi  # noqa: F401
    except ImportError:
        monkeypatch.setitem(sys.modules, "fastapi", _fastapi())
    names: dict = {}
    exec(code, names)
    told = names["predict"](models.X[:5].tolist())
    assert told["label"] == model.predict(models.X[:5]).tolist()
    np.testing.assert_allclose(told["probabilities"], model.predict_proba(models.X[:5]), atol=1e-6)
