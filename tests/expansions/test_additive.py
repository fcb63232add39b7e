"""Sums of spline kernels are sums of their definition."""

import numpy as np
import pytest

from softmargin._compiled.splines import spline_sum
from softmargin.expansions import AdditiveColumns, AdditiveSplines


def bernoulli(x, z):
    """``k(x, z)`` of numbers in [0, 1] as Wahba writes it, 1 on the diagonal on average."""
    k1, t = (x - 0.5, z - 0.5), np.abs(x - z)
    k2 = [(a**2 - 1 / 12) / 2 for a in k1]
    a = t - 0.5
    return (k1[0] * k1[1] + k2[0] * k2[1] - (a**4 - a**2 / 2 + 7 / 240) / 24) / (31 / 360)


def by_definition(x, z, weights):
    return sum(
        (w * bernoulli(a[:, None], b[None, :]) for a, b, w in zip(x, z, weights, strict=True)),
        np.zeros((x.shape[1], z.shape[1])),
    )


@pytest.mark.parametrize(("k", "n", "m"), [(1, 1, 1), (3, 7, 5), (4, 20, 1100), (40, 530, 3), (0, 4, 6), (2, 0, 3)])
def test_sums_of_splines_between_rows(k, n, m):
    rng = np.random.default_rng(k)
    x, z, weights = rng.random((k, n)), rng.random((k, m)), rng.random(k)
    found = spline_sum(x, z, weights * 360 / 31)
    np.testing.assert_allclose(found, by_definition(x, z, weights), atol=1e-13 * (1 + k))
    square = spline_sum(x, x, weights * 360 / 31)
    np.testing.assert_allclose(square, by_definition(x, x, weights), atol=1e-13 * (1 + k))
    np.testing.assert_array_equal(square, square.T)


@pytest.mark.parametrize("interactions", [False, True])
def test_weighted_columns_and_images_are_those_of_the_kernel_function(interactions):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.standard_normal((30, 2)), rng.integers(0, 2, 30), np.ones(30)])
    columns = AdditiveColumns.of_rows(X, interactions)
    assert all(3 not in component for component in columns.components)
    weights = rng.random(len(columns.components)) * (np.arange(len(columns.components)) != 1)
    K, kernel = columns.weighted(weights).outer(), AdditiveSplines.of_rows(X, interactions).weighted(weights)
    np.testing.assert_allclose(K, kernel(X, X.copy()), atol=1e-12)
    coef = rng.standard_normal(30)
    images = columns.images(coef, np.arange(len(weights)))
    np.testing.assert_allclose(images @ weights, K @ coef, atol=1e-10)
    np.testing.assert_allclose(columns.squares(coef), coef @ images, atol=1e-10)
