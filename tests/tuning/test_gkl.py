"""The covariance-penalty estimate of the log loss against golden components."""

import json
from pathlib import Path

import numpy as np
import pytest

from softmargin.tuning import LabelledRows, gkl_criterion, perturb
from softmargin.tuning._gkl import Perturbation, variance_ratio

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "bracketing.json").read_text())


@pytest.mark.parametrize("row", GOLDEN["K_factor"]["rows"])
def test_variance_ratio(row):
    tau, label, p, expected = row
    assert variance_ratio(np.array(label), np.array(p), tau) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("case", GOLDEN["gkl"], ids=lambda case: case["kernel"])
def test_known_mean_criterion(case):
    labels = (np.array(case["y"]) + 1) / 2
    p, tau = np.array(case["p_train"]), case["tau"]
    draws, estimates = [], {}
    for rows, replicates, refits in zip(case["x_index"], case["T_star"], case["p_star_at_train"], strict=True):
        rows = np.array(rows)
        for drawn, refit in zip(replicates, refits, strict=True):
            ratio, mean = variance_ratio(labels, p[rows], tau), (1 - tau) * labels + tau * p[rows]
            draws.append(Perturbation(rows, np.array(drawn, dtype=float), mean, ratio))
            estimates[id(draws[-1])] = np.array(refit)
    total, spread = gkl_criterion(LabelledRows(labels, p), p, draws, lambda draw: estimates[id(draw)], control=False)
    assert total == pytest.approx(case["total_known_mean"], rel=1e-9)
    assert spread > 0


@pytest.mark.parametrize("kind", ["pairs", "literal"])
def test_perturbed_labels_have_the_stated_mean_and_variance(kind):
    rng = np.random.default_rng(0)
    labels, p = rng.integers(0, 2, size=6).astype(float), rng.uniform(0.2, 0.8, size=6)
    draws = perturb(LabelledRows(labels, p), n_draws=20000, kind=kind, random_state=1)
    surprise = np.array([(d.labels - d.mean) for d in draws])
    variance = np.array([d.variance_ratio * p[d.rows] * (1 - p[d.rows]) for d in draws])
    np.testing.assert_allclose(surprise.mean(axis=0), 0, atol=0.015)
    np.testing.assert_allclose(np.square(surprise).mean(axis=0), variance.mean(axis=0), rtol=0.03)


@pytest.mark.parametrize("bad", [{"tau": 0}, {"tau": 1.5}, {"kind": "both"}, {"n_draws": 0}])
def test_bad_input_is_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad)).replace("kind", "perturb")):
        perturb(LabelledRows(np.array([0.0, 1.0]), np.array([0.5, 0.5])), **({"n_draws": 1} | bad))
