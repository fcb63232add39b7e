"""Every classifier says in words and as JSON what it is."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.export import tables
from tests.files import models

import softmargin as sm
from softmargin import export, paths

NAMES = [name for name in models.MAKERS if not name.endswith("path")]


@pytest.mark.parametrize("name", NAMES)
def test_every_model_has_a_card_and_words(name):
    model = models.make(name)
    last = model[-1] if hasattr(model, "steps") else model
    card = json.loads(export.to_json(model))
    assert card["classes"] == last.classes_.tolist()
    assert card["model"] == type(last).__name__
    words = last.describe()
    assert type(last).__name__ in words.splitlines()[0]
    assert str(last.classes_[1]) in words


def test_a_linear_card_is_the_score():
    model = sm.MarginClassifier().fit(models.X, models.SIGN)
    score = json.loads(export.to_json(model))["score"]
    row = models.X[3]
    value = score["intercepts"][0] + sum(w * row[int(name[1:])] for name, w in score["terms"][0].items())
    assert value == pytest.approx(float(model.decision_function(row[None])[0]))


def test_a_card_of_rules_names_columns_and_points(tmp_path):
    model = sm.RuleBoostClassifier(n_rules=5).fit(tables.TABLE, tables.WORDS)
    score = json.loads(export.to_json(model, tmp_path / "card.json"))["score"]
    assert len(score["rules"]) == len(model.rule_list_)
    assert any("age" in rule["if"] for rule in score["rules"])
    assert json.loads((tmp_path / "card.json").read_text())["score"] == score


def test_a_table_says_how_its_columns_were_read():
    model = sm.AutoClassifier(effort="fast").fit(tables.TABLE, tables.WORDS)
    card = json.loads(export.to_json(model))
    assert sum(card["score"]["members"].values()) == pytest.approx(1)
    assert "sex: category" in model.describe()


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_dates_are_labels_in_words(unit):
    dates = np.array(["2020-01-01", "2021-06-01"], dtype=f"M8[{unit}]")[(models.SIGN > 0).astype(int)]
    model = sm.MarginClassifier().fit(models.X, dates)
    assert [label[:10] for label in json.loads(export.to_json(model))["classes"]] == ["2020-01-01", "2021-06-01"]
    assert "THEN '2021-06-01" in export.to_sql(model, "t")


@pytest.mark.parametrize("model", [None, 3, sm.MarginClassifier])
def test_what_is_no_fitted_object_is_refused(model):
    with pytest.raises(export.NotExportable, match="scorecard"):
        export.to_json(model)
    with pytest.raises(ValueError, match="model must be a classifier"):
        export.to_sql(model, "t")


def test_a_model_before_its_fit_is_not_exported():
    for write in (export.to_json, lambda model: export.to_sql(model, "t")):
        with pytest.raises(NotFittedError):
            write(sm.MarginClassifier())


def test_what_is_no_classifier_has_no_card():
    with pytest.raises(export.NotExportable, match="Path"):
        export.to_json(paths.weight_path(models.X, models.SIGN))
