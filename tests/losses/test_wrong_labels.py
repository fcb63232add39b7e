"""The likelihood of labels that go wrong more often in one class than in the other."""

import numpy as np
import pytest
from scipy.special import expit

from softmargin import MarginClassifier, audit_labels, load, losses, save
from softmargin.losses import ByClass, Copas

FOUND, LOST = 0.1, 0.3
U = np.linspace(-8, 8, 41)


@pytest.mark.parametrize(("found", "lost"), [(0.1, 0.3), (0.3, 0.0), (0.0, 0.3), (0.2, None)])
def test_copas_is_minus_the_log_likelihood_of_one_class(found, lost):
    loss, h = Copas(found, lost), found if lost is None else lost
    np.testing.assert_allclose(loss.value(U), -np.log(found + (1 - found - h) * expit(U)), rtol=1e-9)
    step = 1e-5
    np.testing.assert_allclose(loss.slope(U), (loss.value(U + step) - loss.value(U - step)) / (2 * step), atol=1e-8)
    bound, at = loss.majorize(U), U[:, None]
    above = bound.weights * bound.loss.value(at) + bound.tilt * at + bound.constant
    np.testing.assert_allclose(np.diag(above), loss.value(U), rtol=1e-9, atol=1e-12)
    assert np.all(above >= loss.value(at) - 1e-9)


def test_one_class_alone_has_no_link_and_both_have_that_of_the_true_labels():
    with pytest.raises(losses.NoLink, match="ByClass"):
        Copas(FOUND, LOST).probability(0.5)
    both = ByClass((Copas(FOUND, LOST), Copas(LOST, FOUND)))
    np.testing.assert_allclose(both.probability(U), expit(U))
    with pytest.raises(losses.NoLink):
        ByClass((Copas(FOUND, LOST), Copas(FOUND, LOST))).probability(U)
    with pytest.raises(ValueError, match="lost_rate"):
        Copas(0.1, 0.6)


def one_sided(n=600):
    """Two clouds; two fifths of the first carry the label of the second."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 1.2 * truth[:, None]
    return X, truth, np.where((truth == 0) & (rng.random(n) < 0.4), 1, truth)


def test_the_right_rates_move_the_boundary_back(tmp_path):
    X, truth, given = one_sided()
    plain = MarginClassifier().fit(X, given)
    model = MarginClassifier(loss=ByClass((Copas(0.0, 0.4), Copas(0.4, 0.0)))).fit(X, given)
    assert model.score(X, truth) > plain.score(X, truth) + 0.05
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_an_audit_estimates_the_rates_that_correct_the_loss():
    X, truth, given = one_sided()
    audit = audit_labels(MarginClassifier(), X, given, random_state=0)
    model = MarginClassifier(loss=audit.corrected_loss()).fit(X, given)
    assert model.score(X, truth) > MarginClassifier().fit(X, given).score(X, truth)
    three = audit_labels(MarginClassifier(), X, np.arange(len(X)) % 3, random_state=0)
    with pytest.raises(ValueError, match="two classes"):
        three.corrected_loss()
