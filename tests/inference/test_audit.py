"""The label audit finds flipped rows, judges no row by itself, and says how noisy each class is."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from softmargin import MarginClassifier, audit_labels, datasets


@pytest.fixture(scope="module")
def flipped():
    X, y = load_breast_cancer(return_X_y=True)
    noisy, where = datasets.flip_labels(y, 0.15, random_state=0)
    return StandardScaler().fit_transform(X), noisy, where


@pytest.mark.parametrize("model", [MarginClassifier(C=0.1), LinearSVC(C=0.01)], ids=["probabilities", "scores"])
def test_flipped_rows_come_first(flipped, model):
    X, y, where = flipped
    report = audit_labels(model, X, y, random_state=0)
    assert roc_auc_score(where[report["row"]], -report["trust"]) > 0.97
    assert report["trust"].is_monotonic_increasing
    assert report["trust"].between(0, 1).all()
    assert (report["suspect"] == (report["given"] != report["suggested"])).all()


def test_noise_rate_is_close_to_the_truth(flipped):
    X, y, _ = flipped
    rates = audit_labels(MarginClassifier(C=0.1), X, y, n_repeats=3, random_state=0).attrs["noise_rate"]
    for rate in rates.values():
        assert rate["low"] <= 0.15 <= rate["high"]


def test_clean_labels_show_little_noise(flipped):
    X, _, _ = flipped
    y = load_breast_cancer().target
    rates = audit_labels(MarginClassifier(C=0.1), X, y, random_state=0).attrs["noise_rate"]
    assert all(rate["estimate"] < 0.05 for rate in rates.values())


def test_a_row_never_votes_on_itself(flipped):
    X, y, _ = flipped
    other = y[:60].copy()
    folds = [(np.setdiff1d(np.arange(60), part), part) for part in np.array_split(np.arange(60), 6)]
    before = audit_labels(MarginClassifier(), X[:60], y[:60], cv=folds).set_index("row")
    other[0] = 1 - other[0]
    after = audit_labels(MarginClassifier(), X[:60], other, cv=folds).set_index("row")
    assert before.loc[0, "left_out"] == pytest.approx(1 - after.loc[0, "left_out"], abs=1e-9)


def test_a_panel_votes_by_the_likelihood_of_labels_it_did_not_see():
    X, y, _ = datasets.make_moons(400, noise=0.1, flip=0.0, random_state=0)
    noisy, where = datasets.flip_labels(y, 0.15, random_state=0)
    ignorant = MarginClassifier(C=1e-9)
    panel = [MarginClassifier(), MarginClassifier(kernel="rbf", gamma=5.0), ignorant]
    together = audit_labels(panel, X, noisy, random_state=0)
    alone = [audit_labels(judge, X, noisy, random_state=0) for judge in panel]
    votes = together.attrs["votes"]
    assert sum(votes) == pytest.approx(1)
    assert votes[1] > 0.8
    trust = np.array([one.sort_values("row")["left_out"] for one in alone])
    np.testing.assert_allclose(together.sort_values("row")["left_out"], votes @ trust, atol=1e-12)

    def likelihood(w):
        return np.log(np.asarray(w) @ trust).mean()

    assert all(likelihood(votes) >= likelihood(w) - 1e-5 for w in np.random.default_rng(0).dirichlet(np.ones(3), 500))
    found = [roc_auc_score(where[one["row"]], -one["trust"]) for one in (together, *alone)]
    assert found[0] >= max(found[1:]) - 5e-3
    assert alone[1].attrs["votes"] == [1.0]


def test_index_names_and_many_classes_are_kept():
    data = load_iris(as_frame=True)
    X = data.data.set_axis([f"flower {i}" for i in range(150)])
    y = data.target_names[data.target]
    y = y.copy()
    y[0] = "virginica"
    report = audit_labels(make_pipeline(StandardScaler(), MarginClassifier()), X, y, random_state=0)
    assert report.index[0] == "flower 0"
    assert report["suggested"].iloc[0] == "setosa"
    assert set(report.attrs["noise_rate"]) == {"setosa", "versicolor", "virginica"}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"y": np.zeros(20)}, "one class"),
        ({"y": np.arange(19) % 2}, "one length"),
        ({"n_repeats": 0}, "n_repeats"),
        ({"level": 1.0}, "level"),
        ({"cv": ShuffleSplit(1, random_state=0)}, "test part"),
        ({"y": np.r_[1, np.zeros(19)]}, "one row only"),
        ({"estimator": []}, "empty list"),
    ],
)
def test_bad_input_is_named(change, word):
    settings = {"X": np.random.default_rng(0).normal(size=(20, 2)), "y": np.arange(20) % 2} | change
    with pytest.raises(ValueError, match=word):
        audit_labels(settings.pop("estimator", MarginClassifier()), settings.pop("X"), settings.pop("y"), **settings)
