"""An exported model answers like the model: labels the same, probabilities to 1e-6, on rows near and far."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from tests.export import tables
from tests.files import models

import softmargin as sm
from softmargin import export, losses

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

ROWS = np.vstack([models.X, 3 * np.random.default_rng(0).normal(size=(40, 3))])
NAMES = [
    name
    for name in models.MAKERS
    if not name.endswith("path") and name not in ("text", "scaled", "splines", "table", "additive kernel")
]


def run(model, feed, **options):
    """The outputs of the exported model by name."""
    content = export.to_onnx(model, **options).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def agree(model, rows, feed, tolerance=1e-6):
    found = run(model, feed)
    np.testing.assert_array_equal(found["label"], model.predict(rows))
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(rows)
        np.testing.assert_allclose(found["probabilities"], P, atol=tolerance)
        if getattr(model, "probability_prior", "weighted") == "weighted":
            np.testing.assert_array_equal(model.classes_[found["probabilities"].argmax(axis=1)], found["label"])
    else:
        assert "probabilities" not in found
    if "scores" in found and found["scores"].dtype == np.float64:
        np.testing.assert_allclose(found["scores"], model.decision_function(rows), atol=tolerance, rtol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_every_classifier_answers_the_same(name):
    tolerance = 1e-4 if name == "float32" else 1e-6
    agree(models.make(name), ROWS, {"X": ROWS}, tolerance)


@pytest.mark.parametrize("name", losses.available())
def test_every_loss_answers_the_same(name):
    agree(sm.MarginClassifier(loss=name).fit(models.X, models.SIGN), ROWS, {"X": ROWS})


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "matern"])
def test_every_kernel_answers_the_same(kernel):
    agree(sm.MarginClassifier(kernel=kernel).fit(models.X, models.NAMES), ROWS, {"X": ROWS})


def _fitted(kind, y=models.NAMES, **parameters):
    return lambda: getattr(sm, kind)(**parameters).fit(models.X, y)


VARIANTS = {
    "entropy without closed form": _fitted(
        "MarginClassifier", models.SIGN, loss=losses.BalancedConvex(losses.PowerEntropy(0.25))
    ),
    "own loss": _fitted("MarginClassifier", models.SIGN, loss=losses.make_loss(models.decreasing)),
    "population": _fitted(
        "MarginClassifier", class_weight={"ape": 3, "bee": 1, "cat": 2}, probability_prior="population"
    ),
    "truncated, scheme 1": _fitted("TruncatedLogisticRegression", models.SIGN, scheme=1, level=2.0),
    "truncated, scheme 2": _fitted("TruncatedLogisticRegression", scheme=2, level=2.0),
    "path, several": _fitted("ProbabilisticSVC", engine="path"),
    "robust, calibrated": _fitted("RobustSVC", probability="calibrated"),
    "minshift": _fitted("CompositeLeastSquaresClassifier", rescale="minshift", mix=0.2),
    "simplex": _fitted("CompositeLeastSquaresClassifier", rescale="simplex", mix=0.9),
    "composite exponential": _fitted("CompositeMarginClassifier", loss="exponential", mix=0.2),
    "composite coherence": _fitted("CompositeMarginClassifier", loss="coherence", mix=0.0),
    "trees": _fitted("RuleBoostClassifier", learner="trees", n_rules=10, min_leaf_weight=3),
    "given": _fitted("RuleBoostClassifier", learner="given", n_rules=10),
    "sollich": lambda: sm.ScoreCalibrator(sm.BalancingSVC(), method="sollich").fit(models.X, models.SIGN),
    "coherence link": lambda: sm.ScoreCalibrator(sm.MulticategorySVC(), method="coherence").fit(models.X, models.NAMES),
    "calibrated decision": lambda: sm.ScoreCalibrator(sm.MulticategorySVC(), decision="calibrated").fit(
        models.X, models.NAMES
    ),
    "calibrated scikit-learn": lambda: sm.ScoreCalibrator(LogisticRegression()).fit(models.X, models.NAMES),
    "auto": _fitted("AutoClassifier", effort="fast"),
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.filterwarnings("ignore")
def test_every_variant_answers_the_same(name):
    agree(VARIANTS[name](), ROWS, {"X": ROWS})


PIPELINES = {
    "scaled": lambda: make_pipeline(StandardScaler(), sm.MarginClassifier(kernel="rbf")),
    "many steps": lambda: make_pipeline(
        MinMaxScaler(clip=True), PolynomialFeatures(2), RobustScaler(), PCA(3), sm.CoherenceClassifier()
    ),
    "splines": lambda: make_pipeline(SplineTransformer(n_knots=4, extrapolation="linear"), sm.MulticategorySVC()),
    "by skl2onnx": lambda: make_pipeline(
        KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), sm.MarginClassifier()
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_of_numbers_answer_the_same(name):
    if name == "by skl2onnx":
        pytest.importorskip("skl2onnx")
    agree(PIPELINES[name]().fit(models.X, models.NAMES), ROWS, {"X": ROWS})


@pytest.mark.parametrize("name", tables.MAKERS)
@pytest.mark.filterwarnings("ignore")
def test_tables_with_gaps_and_words_answer_the_same(name):
    model = tables.MAKERS[name]()
    agree(model, tables.NEW, tables.feed(export.to_onnx(model), tables.NEW))


def test_ordinal_codes_answer_the_same():
    frame = tables.NEW[["sex"]].fillna("none")
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(encoder, sm.MarginClassifier()).fit(frame, tables.WORDS[: len(frame)])
    agree(model, frame, tables.feed(export.to_onnx(model), frame))


def test_single_precision_gives_four_digits():
    model = sm.CoherenceClassifier(kernel="rbf").fit(models.X, models.NAMES)
    found = run(model, {"X": ROWS.astype(np.float32)}, dtype="float32")
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(ROWS), atol=1e-4)


def test_labels_keep_their_type():
    for labels in ([3, 7], [1.0, 2.0], [False, True], ["no", "yes"]):
        model = sm.MarginClassifier().fit(models.X, np.array(labels)[models.SIGN])
        assert set(run(model, {"X": ROWS})["label"].tolist()) <= set(labels)


def test_a_column_may_be_called_like_an_output():
    frame = pd.DataFrame({"label": tables.NEW["sex"].fillna("m"), "age": tables.NEW["age"].fillna(0.0)})
    model = sm.RuleBoostClassifier(n_rules=5).fit(frame, tables.WORDS[: len(frame)])
    found = run(model, tables.feed(export.to_onnx(model), frame.rename(columns={"label": "label_"})))
    np.testing.assert_array_equal(found["label"], model.predict(frame))


def test_a_file_is_written_whole(tmp_path):
    model = sm.MarginClassifier().fit(models.X, models.SIGN)
    made = export.to_onnx(model, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == made.SerializeToString()
    assert len(list(tmp_path.iterdir())) == 1


def test_what_has_no_formula_is_refused_by_name():
    own = sm.MarginClassifier(kernel=lambda A, B: A @ B.T).fit(models.X, models.SIGN)
    with pytest.raises(export.NotExportable, match="code of your own"):
        export.to_onnx(own)
    with pytest.raises(export.NotExportable, match="GaussianNB"):
        export.to_onnx(GaussianNB().fit(models.X, models.SIGN))


def test_an_imputer_fills_gaps_as_at_fit():
    gaps = models.X.copy()
    gaps[::5, 1] = np.nan
    model = make_pipeline(SimpleImputer(add_indicator=True), sm.MarginClassifier()).fit(gaps, models.SIGN)
    agree(model, gaps, {"X": gaps})


@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_rare_and_unknown_levels_are_read_as_at_fit():
    encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, drop="first")
    transform = make_column_transformer((encoder, ["port", "sex"]))
    train = tables.TABLE.assign(sex=tables.TABLE["sex"].fillna("m"), port=tables.TABLE["port"].astype(str))
    model = make_pipeline(transform, sm.MarginClassifier()).fit(train, tables.WORDS)
    new = train.iloc[:30].assign(port="never seen")
    agree(model, new, tables.feed(export.to_onnx(model), new))
