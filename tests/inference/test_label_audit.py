"""LabelAudit: numbers of errors, suspects, noise matrices, review decisions, annotators, duplicates."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import MarginClassifier, audit_labels
from softmargin.inference import LabelAudit
from softmargin.inference._noise_model import fit_noise
from softmargin.inference._opinions import SampledJudge
from softmargin.inference._second_look import second_look


def _normal(n, seed, distance=3.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + distance * y[:, None] * [1.0, 0.0], y, rng


def _noisy(y, rates, rng):
    wrong = rng.random(len(y)) < np.asarray(rates)[y]
    return np.where(wrong, 1 - y, y), wrong


@pytest.fixture(scope="module")
def case():
    X, y, rng = _normal(600, 0)
    noisy, wrong = _noisy(y, [0.3, 0.0], rng)  # one-sided
    return X, y, noisy, wrong, audit_labels(MarginClassifier(), X, noisy, random_state=0)


def test_one_sided_noise_is_seen_as_such(case):
    _, _, noisy, wrong, audit = case
    assert isinstance(audit, LabelAudit)
    matrix = audit.noise_matrix
    np.testing.assert_allclose(matrix.conditional.sum(axis=1), 1)
    np.testing.assert_allclose(matrix.joint.to_numpy().sum(), 1)
    assert matrix.conditional.loc[0, 1] == pytest.approx(0.3, abs=0.15)
    assert matrix.conditional.loc[1, 0] < 0.08
    assert (matrix.low <= matrix.conditional + 1e-9).to_numpy().all()
    assert (matrix.high >= matrix.conditional - 1e-9).to_numpy().all()
    ranked, plain = -audit["trust"], -audit["left_out"]
    assert roc_auc_score(wrong[audit["row"]], ranked) >= roc_auc_score(wrong[audit["row"]], plain)
    assert noisy[audit["row"][:20]].all()


def test_number_of_errors_and_its_interval(case):
    _, _, _, wrong, audit = case
    number = audit.n_errors
    assert number.low <= wrong.sum() <= number.high
    assert number.value == pytest.approx((1 - audit["trust"]).sum())
    assert audit.health["errors"].sum() == pytest.approx(number.value)


@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.25, 0.05), (0.3, 0.0)])
def test_suspects_keep_their_false_discovery_rate_on_average(rates):
    false, size = 0, 0
    for seed in range(5):
        X, y, rng = _normal(400, seed + 10)
        noisy, wrong = _noisy(y, rates, rng)
        found = audit_labels(MarginClassifier(), X, noisy, random_state=0).suspects(fdr=0.1)["row"]
        false, size = false + (~wrong[found]).sum(), size + len(found)
    assert size >= 20
    assert false / size <= 0.15


def test_decisions_are_applied_and_refitted(case):
    X, y, noisy, _, audit = case
    cleaned, labels, weight = audit.apply()
    dropped = audit.suspects()["row"]
    assert len(labels) == len(cleaned) == len(weight) == len(noisy) - len(dropped)
    assert np.all((weight >= 0) & (weight <= 1))
    first = audit["row"].iloc[:3].tolist()
    chosen = {first[0]: "drop", first[1]: "keep", first[2]: 0}
    cleaned, labels, weight = audit.apply(chosen)
    assert len(labels) == len(noisy) - 1
    place = np.delete(np.arange(len(noisy)), first[0])
    assert labels[place == first[2]] == 0
    assert weight[place == first[1]] == 1
    assert audit.refit().score(X, y) > MarginClassifier().fit(X, noisy).score(X, y) - 0.01
    with pytest.raises(ValueError, match="row 9999"):
        audit.apply({9999: "drop"})
    with pytest.raises(ValueError, match="'maybe'"):
        audit.apply({0: "maybe"})


def test_a_review_goes_through_a_file(case):
    _, _, noisy, _, audit = case
    page = io.StringIO()
    audit.to_csv(page)
    review = pd.read_csv(io.StringIO(page.getvalue()))
    review["decision"] = review["decision"].astype(object)
    review.loc[:4, "decision"] = "drop"
    assert len(audit.apply(review)[1]) == len(noisy) - 5


def test_given_probabilities_need_no_classifier(case):
    X, _, noisy, _, audit = case
    P = np.empty((len(noisy), 2))
    by_row = audit.table.sort_values("row")
    P[np.arange(len(noisy)), noisy] = by_row["left_out"]
    P[np.arange(len(noisy)), 1 - noisy] = 1 - by_row["left_out"]
    again = audit_labels(None, X, noisy, probabilities=P)
    np.testing.assert_allclose(again.table.sort_values("row")["trust"], by_row["trust"], atol=1e-9)
    with pytest.raises(ValueError, match="refit"):
        again.refit()


def test_a_page_of_decisions_says_relabel_and_to_what(case):
    _, _, noisy, _, audit = case
    page = "row,decision,label\n3,relabel,0\n4,relabel,1\n5,drop,\n6,keep,\n"
    _, labels, _ = audit.apply(pd.read_csv(io.StringIO(page), dtype={"label": str}))
    assert len(labels) == len(noisy) - 1
    assert labels[3] == 0
    assert labels[4] == 1


def test_refit_weighs_labels_by_trust_where_a_classifier_takes_weights(case):
    X, y, _, _, audit = case
    cleaned, labels, weight = audit.apply()
    expected = LogisticRegression().fit(cleaned, labels, sample_weight=weight)
    np.testing.assert_allclose(audit.refit(LogisticRegression()).coef_, expected.coef_, rtol=1e-6)
    assert audit.refit(KNeighborsClassifier()).score(X, y) > 0.8  # takes no weights


def test_many_equal_rates_are_told_from_unequal_ones():
    X, y, rng = _normal(2000, 8)
    rates = {}
    for name, (low, high) in {"equal": (0.15, 0.15), "unequal": (0.3, 0.0)}.items():
        noisy, _ = _noisy(y, (low, high), rng)
        T = audit_labels(LogisticRegression(), X, noisy, random_state=0).noise_matrix.conditional.to_numpy()
        rates[name] = T[0, 1] - T[1, 0]
    assert abs(rates["equal"]) < 0.08
    assert rates["unequal"] > 0.15


def test_columns_that_give_the_label_away_are_named():
    X, y, rng = _normal(300, 9)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(
        id=rng.permutation(300), copy=np.where(y == 1, "yes", "no"), constant=1.0, empty=np.nan
    )
    audit = audit_labels(None, table, y, probabilities=np.full((300, 2), 0.5))
    leaks = audit.leaks.set_index("column")
    assert leaks.loc["id", "reason"] == "names rows"
    assert leaks.loc["copy", "reason"] == "tells the label by itself"
    assert leaks.loc["copy", "alone"] == 1
    assert (leaks.loc[["a", "b", "constant", "empty"], "reason"] == "").all()
    assert audit_labels(None, csr_array(X), y, probabilities=np.full((300, 2), 0.5)).leaks.empty


def test_groups_soft_labels_text_and_weights():
    X, y, rng = _normal(200, 3)
    noisy, wrong = _noisy(y, (0.2, 0.2), rng)
    groups = np.where(np.arange(200) < 100, "north", "south")
    health = audit_labels(LogisticRegression(), X, noisy, groups=groups, random_state=0).health
    assert set(health["name"][health["slice"] == "group"]) == {"north", "south"}
    soft = audit_labels(LogisticRegression(), X, np.eye(2)[noisy] * 0.8 + 0.1, random_state=0)
    hard = audit_labels(LogisticRegression(), X, noisy, random_state=0)
    np.testing.assert_allclose(soft["trust"], hard["trust"])
    text = ["good film" if one else "bad film" for one in y]
    pipeline = make_pipeline(CountVectorizer(), LogisticRegression())
    audit = audit_labels(pipeline, text, noisy, sample_weight=np.ones(200), random_state=0)
    assert roc_auc_score(wrong[audit["row"]], -audit["trust"]) > 0.95
    with pytest.raises(ValueError, match="several labels per row"):
        audit_labels(LogisticRegression(), X, np.column_stack([noisy, noisy]) + 1)


def test_the_automatic_panel_judges_without_choices():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:250], y[:250]
    noisy, wrong = _noisy(y, (0.15, 0.15), np.random.default_rng(0))
    audit = audit_labels("auto", X, noisy, random_state=0)
    assert roc_auc_score(wrong[audit["row"]], -audit["trust"]) > 0.95
    assert len(audit.attrs["votes"]) == 4
    with pytest.raises(ValueError, match="'magic'"):
        audit_labels("magic", X, noisy)
    with pytest.raises(ValueError, match="pipeline"):
        audit_labels("auto", ["some", "words"], ["a", "b"])


def test_a_second_look_flags_no_more_than_it_may_where_classes_overlap():
    X, y, rng = _normal(300, 0, distance=1.5)
    noisy, wrong = _noisy(y, (0.2, 0.2), rng)
    audit = audit_labels("auto", X, noisy, random_state=0)
    assert audit.noise.caution < 1
    found = wrong[audit.suspects(fdr=0.1)["row"]]
    assert (~found).sum() <= 0.2 * len(found) + 2
    assert audit.n_errors.low <= wrong.sum() <= audit.n_errors.high


def test_the_second_look_is_left_out_where_a_fold_would_lose_a_class():
    X, y, _ = _normal(40, 0)
    folds = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    y[:20], y[[0, 30]] = 0, 1
    first = fit_noise(np.full((40, 2), 0.5), y)
    posterior = np.eye(2)[y]
    posterior[0] = [1.0, 0.0]  # the only row of its class in the second part
    first = replace(first, posterior=posterior)
    assert second_look([LogisticRegression()], X, y, None, [folds], first) is first


def test_the_automatic_panel_takes_sparse_rows_and_learns_from_a_sample_of_many():
    words = np.array([["good", "fine", "well"], ["bad", "poor", "ill"]])
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    text = [" ".join(rng.choice(words[one], 3)) for one in y]
    noisy, wrong = _noisy(y, (0.15, 0.15), rng)
    audit = audit_labels("auto", CountVectorizer().fit_transform(text), noisy, random_state=0)
    assert roc_auc_score(wrong[audit["row"]], -audit["trust"]) > 0.95
    judge = SampledJudge(LogisticRegression(), most_rows=50)
    X, y, _ = _normal(400, 1)
    assert judge.fit(X, y, sample_weight=np.ones(400)).predict_proba(X).shape == (400, 2)
    assert SampledJudge(KNeighborsClassifier(), most_rows=50).fit(X, y, np.ones(400)).judge_.n_samples_fit_ == 50


def test_annotators_reach_a_consensus_better_than_the_majority_of_the_careless():
    X, y, rng = _normal(300, 5)
    accuracy = [0.95, 0.6, 0.6, 0.6]
    answers = np.column_stack([np.where(rng.random(300) < a, y, 1 - y) for a in accuracy]).astype(object)
    answers[rng.random(answers.shape) < 0.1] = None
    answers[np.equal(answers, None).all(axis=1), 0] = 0
    audit = audit_labels(LogisticRegression(), X, annotators=answers, random_state=0)
    found = audit.consensus
    assert found.accuracy.argmax() == 0
    assert found.accuracy[0] == pytest.approx(0.95, abs=0.06)
    alone = audit_labels(None, X, annotators=answers, probabilities=np.full((300, 2), 0.5)).consensus
    assert np.mean(found.codes == y) >= np.mean(alone.codes == y)  # the model has a say
    votes = np.array([np.mean([v for v in row if v is not None]) > 0.5 for row in answers])
    assert np.mean(found.codes == y) > np.mean(votes == y)
    with pytest.raises(ValueError, match="without any answer"):
        audit_labels(LogisticRegression(), X, annotators=np.full((300, 2), None))


def test_copies_with_other_labels_and_lonely_rows_are_pointed_out():
    X, y, _ = _normal(120, 6)
    X[1], y[0], y[1] = X[0], 0, 1
    X[2] = 40.0
    table = audit_labels(make_pipeline(StandardScaler(), LogisticRegression()), X, y, random_state=0).table
    by_row = table.sort_values("row")
    assert by_row["conflict"].iloc[[0, 1]].all()
    assert by_row["duplicate"].iloc[0] == pytest.approx(1)
    assert by_row["outlier"].iloc[2] == 1
    assert by_row["conflict"].sum() == 2


def test_the_picture_states_the_number(case):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert "wrong labels" in case[-1].plot().get_title()
