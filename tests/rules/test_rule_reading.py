"""What a rule model says about itself: the table, the scorecard in words and SQL, explanations, the picture."""

import sqlite3
import sys
from contextlib import closing

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from softmargin import RuleBoostClassifier
from softmargin.expansions.rules.sql import DIALECTS

pd = pytest.importorskip("pandas")


def mixed(n=300, seed=0):
    """Numbers with gaps, names with gaps, booleans, a pandas categorical and a column whose name needs quoting."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            'dose "mg"': rng.normal(size=n),
            "colour": pd.Series(rng.choice(["red", "it's blue", "green"], size=n), dtype=object),
            "smoker": rng.random(n) < 0.4,
            "ward": pd.Categorical(rng.choice(["a", "b", "c", "d"], size=n)),
        }
    )
    signal = (
        frame.iloc[:, 0]
        + (frame["colour"] == "red") * 1.5
        - frame["smoker"] * 1.0
        + (frame["ward"] == "b")
        + rng.normal(size=n)
    )
    y = np.where(signal > 0.4, "ill", "healthy")
    frame.iloc[rng.random(n) < 0.15, 0] = np.nan
    frame.loc[rng.random(n) < 0.15, "colour"] = None
    return frame, y


def run_sql(model, frame):
    with closing(sqlite3.connect(":memory:")) as connection:
        frame.astype({"ward": object, "smoker": object}).to_sql("patients", connection, index=False)
        return np.array(connection.execute(model.sql("patients")).fetchall())


def test_sql_scores_equal_decision_function_on_gaps_names_and_unseen_categories():
    frame, y = mixed()
    model = RuleBoostClassifier(n_rules=40, max_literals=3).fit(frame, y)
    assert {literal.op for rule in model.rule_list_ for literal in rule.literals} >= {0, 1, 2, 3}
    new, _ = mixed(200, seed=1)
    new.loc[:20, "colour"] = "violet"
    np.testing.assert_allclose(run_sql(model, new)[:, 0], model.decision_function(new), atol=1e-9)


ODD = [
    "it's",
    "back\\slash",
    "\\' OR 1=1 --",
    'double "quote"',
    "line\nbreak",
    "`tick`",
    "[bracket]",
    "\\\\",
    "''",
    "plain",
]


def test_sql_reads_odd_names_and_values_exactly():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: pd.Series(rng.choice(ODD, size=400), dtype=object) for name in ODD[:4]})
    y = (frame.isin(ODD[:5]).sum(axis=1) + rng.normal(size=400) > 2).astype(int)
    model = RuleBoostClassifier(n_rules=60).fit(frame, y)
    with closing(sqlite3.connect(":memory:")) as connection:
        frame.to_sql('od"d', connection, index=False)
        scores = np.array(connection.execute(model.sql('od"d', dialect="sqlite")).fetchall())[:, 0]
    np.testing.assert_allclose(scores, model.decision_function(frame), atol=1e-9)


def unescaped(text, dialect):
    """What a database of the dialect reads at the start of ``text``, a quoted string, and how much of it."""
    at = text.index("'") + 1
    escapes, doubled, read = dialect.backslash_escapes, dialect.doubled_quotes, ""
    while True:
        if escapes and text[at] == "\\":
            read, at = read + {"n": "\n", "r": "\r"}.get(text[at + 1], text[at + 1]), at + 2
        elif text[at] == "'" and doubled and text[at + 1 : at + 2] == "'":
            read, at = read + "'", at + 2
        elif text[at] == "'":
            return read, at + 1
        else:
            read, at = read + text[at], at + 1


@pytest.mark.parametrize("name", DIALECTS)
def test_a_string_ends_where_it_should_in_every_dialect(name):
    dialect = DIALECTS[name]
    for value in ODD:
        quoted = dialect.string(value)
        assert unescaped(quoted, dialect) == (value, len(quoted))
        column = dialect.name(value)
        first, last = dialect.names
        inside = column[len(first) : -len(last)]
        bare = (
            inside.replace("\\\\", "").replace("\\" + last, "")
            if dialect.escaped_names
            else inside.replace(2 * last, "")
        )
        assert last not in bare
    with pytest.raises(ValueError, match="NUL"):
        dialect.string("a\0b")


def test_an_unknown_dialect_is_named():
    frame, y = mixed()
    model = RuleBoostClassifier(n_rules=2).fit(frame, y)
    with pytest.raises(ValueError, match=r"dialect must be one of .*'mysql'"):
        model.sql(dialect="access")


def test_a_model_without_rules_can_still_be_read():
    for labels in (np.arange(10) % 2, np.arange(10) % 3):
        model = RuleBoostClassifier().fit(np.zeros((10, 1)), labels)
        assert len(model.rules_) == 0
        assert (model.explain(np.zeros((3, 1)))["rule"] == "(baseline)").all()
        assert len(model.to_text().splitlines()) == 2
        assert "CASE" not in model.sql()
        assert np.isfinite(list(model.staged_decision_function(np.zeros((3, 1))))).all()


def test_sql_has_a_score_per_class_when_there_are_more_than_two():
    frame, y = mixed()
    y = np.where((y == "ill") & frame["smoker"], "very ill", y)
    model = RuleBoostClassifier(n_rules=15).fit(frame, y)
    np.testing.assert_allclose(run_sql(model, frame), model.decision_function(frame), atol=1e-9)


def test_contributions_add_up_to_the_score():
    frame, y = mixed()
    model = RuleBoostClassifier(n_rules=12).fit(frame, y)
    lines = model.explain(frame[:25])
    np.testing.assert_allclose(lines.groupby("row")["contribution"].sum(), model.decision_function(frame[:25]))
    assert (lines.groupby("row")["rule"].first() == "(baseline)").all()
    X, labels = load_iris(return_X_y=True)
    many = RuleBoostClassifier(n_rules=5).fit(X, labels)
    sums = many.explain(X[::10]).groupby("row")[["0", "1", "2"]].sum()
    np.testing.assert_allclose(sums, many.decision_function(X[::10]))


def test_the_table_of_rules_holds_support_and_precision_of_the_training_rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    model = RuleBoostClassifier(n_rules=6).fit(X, y, sample_weight=weight)
    table = model.rules_
    assert list(table.columns) == ["text", "coefficient", "points", "class", "support", "precision"]
    for rule, line in zip(model.rule_list_, table.itertuples(), strict=True):
        covered = rule.holds(model._prediction_set(X))
        assert line.support == pytest.approx(weight[covered].sum() / weight.sum())
        label = table["class"][line.Index]
        assert line.precision == pytest.approx(weight[covered & (y == label)].sum() / weight[covered].sum())
        assert (label == 1) == (line.coefficient > 0)


def test_text_names_every_rule_and_rounds_only_what_is_shown():
    frame, y = mixed()
    model = RuleBoostClassifier(n_rules=5).fit(frame, y)
    text = model.to_text()
    assert text.startswith("Score for ill against healthy")
    assert all(rule.text(model._names()) in text for rule in model.rule_list_)
    assert len(text.splitlines()) == 2 + len(model.rule_list_)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = RuleBoostClassifier(n_rules=3).fit(X, y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        model.rules_
    with pytest.raises(ImportError, match="explain returns a DataFrame"):
        model.explain(X[:1])


def test_staged_scores_end_at_the_decision_function():
    frame, y = mixed()
    model = RuleBoostClassifier(n_rules=7).fit(frame, y)
    stages = list(model.staged_decision_function(frame))
    assert len(stages) == 8
    np.testing.assert_allclose(stages[0], model._stages[0][0][0])
    np.testing.assert_allclose(stages[-1], model.decision_function(frame))


def test_the_picture_shows_every_rule_with_its_points():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from softmargin.plots import RuleDisplay

    frame, y = mixed()
    model = RuleBoostClassifier(n_rules=6).fit(frame, y)
    display = RuleDisplay.from_estimator(model, most=4)
    assert len(display.ax_.patches) == 4
    widths = sorted((abs(bar.get_width()) for bar in display.ax_.patches), reverse=True)
    np.testing.assert_allclose(widths, np.sort(np.abs(2 * model.coef_[0]))[::-1][:4])
    with pytest.raises(ValueError, match="most"):
        RuleDisplay.from_estimator(model, most=0)
