"""The simulated examples follow their protocols: counts, supports, Bayes errors, true probabilities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad
from scipy.special import expit, xlogy
from scipy.stats import norm

from softmargin import datasets
from softmargin.datasets import (
    flip_labels,
    make_disk,
    make_g241,
    make_gaussians,
    make_monks,
    make_moons,
    make_normal,
    make_sine,
    make_square,
    make_wavy,
)

BINARY = [
    (make_disk, {}),
    (make_disk, {"rule": "diagonal", "flip": 0.05}),
    (make_disk, {"rule": "cross", "flip": 0.1}),
    (make_sine, {}),
    (make_square, {"flip": 0.1}),
    (make_moons, {"noise": 0.3}),
    (make_wavy, {"scale": 0.5}),
    (make_normal, {}),
    (make_g241, {}),
    (make_g241, {"variant": "d"}),
]


def bayes_error(probability):
    return np.minimum(probability, 1 - probability).mean()


def entropy(p):
    return -(xlogy(p, p) + xlogy(1 - p, 1 - p)).mean()


@pytest.mark.parametrize(("make", "options"), BINARY)
def test_labels_follow_the_stated_probabilities(make, options):
    X, y, p = make(20000, random_state=3, **options)
    assert set(np.unique(y)) == {-1, 1}
    assert X.shape[0] == len(y) == len(p) == 20000
    assert ((p >= 0) & (p <= 1)).all()
    for low, high in zip(np.linspace(0, 0.9, 10), np.linspace(0.1, 1, 10), strict=True):
        inside = (p > low) & (p <= high)
        if inside.sum() >= 200:
            expected = p[inside].mean()
            tolerance = 4.5 * np.sqrt(max(expected * (1 - expected), 1e-4) / inside.sum())
            assert abs((y[inside] > 0).mean() - expected) < tolerance


SEEDED = [*BINARY, (make_gaussians, {}), (make_monks, {"problem": 3, "part": "train"})]


@pytest.mark.parametrize(("make", "options"), SEEDED)
def test_a_seed_repeats_the_draw(make, options):
    first, again, other = (make(random_state=seed, **options) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.X, other.X)


@pytest.mark.parametrize("rule", ["vertical", "diagonal", "cross"])
@pytest.mark.parametrize("flip", [0.0, 0.05, 0.2])
def test_disk_flips_an_exact_number_of_labels(rule, flip):
    X, y, p = make_disk(1000, rule=rule, flip=flip, random_state=1)
    assert (np.hypot(*X.T) <= 1).all()
    x1, x2 = X.T
    truth = {"vertical": x1 >= 0, "diagonal": x1 >= x2, "cross": (x1 - x2) * (x1 + x2) < 0}[rule]
    assert ((y > 0) != truth).sum() == round(1000 * flip)
    np.testing.assert_allclose(p, np.where(truth, 1 - flip, flip))


def test_disk_has_the_published_floors():
    p = make_disk(1000, random_state=0).probability
    assert bayes_error(p) == pytest.approx(0.2)
    assert entropy(p) == pytest.approx(0.5004024235381879)


def test_disk_is_uniform():
    X = make_disk(40000, random_state=2).X
    radius = np.hypot(*X.T)
    for r in (0.25, 0.5, 0.9):
        assert (radius < r).mean() == pytest.approx(r * r, abs=0.01)


def sine_integral(function):
    """E[function(P(y=+1 | x))] for the sine example by quadrature over x1 and the band of y = +1."""

    def given_x1(x1):
        s = np.sin(x1) + 1
        value, _ = quad(lambda t: norm.pdf(t) * function(expit(200 * (s + 0.1 * t) * s)), -9, 9, points=[0], limit=200)
        return value

    nodes, weights = np.polynomial.legendre.leggauss(201)
    x1 = np.pi + np.pi * nodes
    return sum(w * given_x1(x) for w, x in zip(weights, x1, strict=True)) / 2


def test_sine_floors_agree_with_quadrature_and_simulation():
    error = sine_integral(lambda p: min(p, 1 - p))
    assert error == pytest.approx(0.05904711518899721, rel=1e-4)
    p = make_sine(400000, random_state=0).probability
    assert bayes_error(p) == pytest.approx(error, abs=7e-4)
    assert entropy(p) == pytest.approx(0.10067858148764332, abs=1.2e-3)


def test_square_is_the_rotated_square_with_independent_flips():
    X, y, p = make_square(20000, flip=0.1, random_state=0)
    assert (np.abs(X.sum(axis=1)) < np.sqrt(2)).all()
    assert (np.abs(X[:, 0] - X[:, 1]) < np.sqrt(2)).all()
    wrong = (y > 0) != (X.sum(axis=1) >= 0)
    assert wrong.mean() == pytest.approx(0.1, abs=0.01)
    assert bayes_error(p) == pytest.approx(0.1)
    draws = [make_square(200, flip=0.1, random_state=seed) for seed in range(5)]
    counts = {int(((draw.y > 0) != (draw.X.sum(axis=1) >= 0)).sum()) for draw in draws}
    assert len(counts) > 1, "flips are independent, so their number varies"


@pytest.mark.parametrize(("scale", "error", "tolerance"), [(0.3, 0.000171, 5e-5), (0.5, 0.02197, 5e-4)])
def test_wavy_mixture_has_the_bayes_error_of_the_thesis(scale, error, tolerance):
    X, y, p = make_wavy(400000, scale=scale, random_state=0)
    assert (y > 0).sum() == 200000
    assert bayes_error(p) == pytest.approx(error, abs=tolerance)
    assert X.shape == (400000, 2)


def test_wavy_probability_is_the_density_ratio():
    X, _, p = make_wavy(50, scale=0.3, random_state=1)

    def density(x, means):
        spreads = [(0.3, 0.3), (0.3, 0.3), (1.2, 0.1)]
        parts = [
            share * norm.pdf(x[0], m[0], s[0]) * norm.pdf(x[1], m[1], s[1])
            for share, m, s in zip((0.4, 0.4, 0.2), means, spreads, strict=True)
        ]
        return sum(parts)

    plus = np.array([density(x, [(1, 0.5), (-3, 0.5), (0, 1)]) for x in X])
    minus = np.array([density(x, [(3, -0.5), (-1, -0.5), (0, -1)]) for x in X])
    np.testing.assert_allclose(p, plus / (plus + minus), atol=1e-12)


@pytest.mark.parametrize(
    ("n_classes", "scale", "error"),
    [(3, 1.5, 0.2042), (6, 0.5, 0.0455), (6, 0.7, 0.1528), (4, 0.5, 0.0432), (4, 0.7, 0.1443)],
)
def test_gaussian_classes_have_the_bayes_errors_of_the_specification(n_classes, scale, error):
    _, y, p = make_gaussians(400000, n_classes=n_classes, scale=scale, random_state=0)
    assert p.shape == (400000, n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (1 - p.max(axis=1)).mean() == pytest.approx(error, abs=7e-4)
    np.testing.assert_allclose(np.bincount(y) / len(y), 1 / n_classes, atol=0.004)
    assert (p.argmax(axis=1) != y).mean() == pytest.approx(error, abs=2e-3)


def test_three_gaussian_classes_by_quadrature():
    means, sd = [(0, 2), (-np.sqrt(3), -1), (np.sqrt(3), -1)], 1.5

    def best(x2, x1):
        return max(norm.pdf(x1, m[0], sd) * norm.pdf(x2, m[1], sd) for m in means) / 3

    correct, _ = dblquad(best, -9, 9, -9, 9, epsabs=2e-4)
    assert 1 - correct == pytest.approx(0.2042, abs=2e-4)


def test_normal_toy():
    X, _, p = make_normal(200000, random_state=0)
    np.testing.assert_allclose(p, expit(2 * X[:, 0]))
    assert bayes_error(p) == pytest.approx(norm.cdf(-1), abs=1e-3)


def test_moons_are_scaled_balanced_and_flipped():
    X, y, p = make_moons(400, noise=0.1, flip=0.1, random_state=0)
    np.testing.assert_allclose([X.min(axis=0), X.max(axis=0)], [[0, 0], [1, 1]])
    clean = make_moons(400, noise=0.1, flip=0.0, random_state=0)
    np.testing.assert_array_equal(X, clean.X)
    assert (y != clean.y).sum() == 40
    assert (clean.y > 0).sum() == 200
    assert p.min() >= 0.1 - 1e-12
    assert p.max() <= 0.9 + 1e-12
    sharp = make_moons(50, noise=0.0, flip=0.0, random_state=0)
    np.testing.assert_array_equal(sharp.probability, (sharp.y + 1) / 2)


def test_g241_has_its_shape_and_bayes_error():
    for variant in "cd":
        X, y, p = make_g241(variant=variant, random_state=0)
        assert X.shape == (1500, 241)
        assert (y > 0).sum() == 750
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(X.std(axis=0), 1)
        assert bayes_error(p) == pytest.approx(norm.cdf(-1.25), abs=0.02)


def test_g241d_misleads_clustering_but_not_its_classes():
    X, y, _ = make_g241(variant="d", random_state=0)
    leading = np.linalg.svd(X, full_matrices=False)[0][:, 0]
    assert abs(np.corrcoef(leading, y)[0, 1]) < 0.2, "the largest variance separates pairs, not classes"


@pytest.mark.parametrize(
    ("problem", "positives", "train", "wrong"), [(1, 216, 124, 0), (2, 142, 169, 0), (3, 228, 122, 6)]
)
def test_monks_counts(problem, positives, train, wrong):
    grid = make_monks(problem)
    assert len(np.unique(grid.X, axis=0)) == len(grid.y) == 432
    assert (grid.y > 0).sum() == positives
    assert grid.X.max(axis=0).tolist() == [3, 3, 2, 3, 4, 2]
    part = make_monks(problem, part="train", random_state=0)
    assert len(np.unique(part.X, axis=0)) == len(part.y) == train
    assert ((part.y > 0) != (part.probability > 0.5)).sum() == wrong
    merged = make_monks(problem, part="merged", random_state=0)
    assert len(merged.y) == 432 + train


def test_monks_rules_are_those_of_the_real_files(real_data):
    for problem in (1, 2, 3):
        X, y = real_data(f"monks{problem}", encode=True).part("test")
        grid = make_monks(problem)
        order, ours = np.lexsort(X.T), np.lexsort(grid.X.T)
        np.testing.assert_array_equal(X[order], grid.X[ours])
        np.testing.assert_array_equal(y[order], (grid.y[ours] > 0).astype(int))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.integers(2, 5), st.floats(0, 1), st.integers(0, 100))
def test_flip_labels_flips_the_exact_number(n, k, rate, seed):
    y = np.arange(n) % k
    flipped, mask = flip_labels(y, rate, seed)
    np.testing.assert_array_equal(flipped != y, mask)
    assert mask.sum() == round(rate * n)
    assert set(flipped) <= set(y)


def test_flip_labels_keeps_any_kind_of_label():
    names = np.array(["sick", "well"] * 10)
    flipped, mask = flip_labels(names, 0.25, 0)
    assert flipped.dtype == names.dtype
    assert mask.sum() == 5
    assert np.array_equal(flip_labels(names == "sick", 0.25, 0)[0], flipped == "sick")
    loose = {int(flip_labels(names, 0.25, seed, exact=False)[1].sum()) for seed in range(8)}
    assert len(loose) > 1


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: make_disk(0), "n must"),
        (lambda: make_disk(10.5), "n must"),
        (lambda: make_disk(rule="circle"), "rule must"),
        (lambda: make_disk(flip=1.5), "flip must"),
        (lambda: make_sine(noise=0), "noise must"),
        (lambda: make_moons(noise=-1), "noise must"),
        (lambda: make_wavy(scale=-1), "scale must"),
        (lambda: make_wavy(scale="wide"), "scale must"),
        (lambda: make_sine("many"), "n must"),
        (lambda: make_sine(None), "n must"),
        (lambda: make_sine(noise=np.nan), "noise must"),
        (lambda: make_moons(flip="half"), "flip must"),
        (lambda: make_gaussians(n_classes=5), "n_classes must"),
        (lambda: make_g241(variant="e"), "variant must"),
        (lambda: make_monks(4), "problem must"),
        (lambda: make_monks(1, part="test"), "part must"),
        (lambda: flip_labels([0, 1], -0.1), "rate must"),
        (lambda: flip_labels([1, 1], 0.5), "one class only"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_every_public_name_is_listed():
    assert all(hasattr(datasets, name) for name in datasets.__all__)
