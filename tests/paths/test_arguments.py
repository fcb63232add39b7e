"""Every argument of every path function is refused by name, with the value seen, where it means nothing."""

import inspect

import numpy as np
import pytest

from softmargin import paths

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = X[:, 0] + 0.5 * RNG.normal(size=24) > 0
MAKERS = (paths.cost_path, paths.weight_path, paths.balance_path, paths.margin_path)
NUMBERS = (np.nan, True, "no such word", [1.0], np.array([1.0]), 1j, {})
NEVER = {
    **dict.fromkeys(("C", "tol"), (0.0, -1.0, np.inf, None, *NUMBERS)),
    **dict.fromkeys(("C_min", "coef0"), (None, *NUMBERS)),
    "C_max": (0.0, 10**30, 1e308, None, *NUMBERS),
    "Cs": (0, 2.5, np.nan, np.inf, "3", None, [], [0.0], [1.0, np.inf], [np.nan], ["a"], 1j, True),
    "eps": (0.0, 1.0, "x", None, np.nan),
    "l1_ratio": (-0.1, 1.5, None, *NUMBERS),
    **dict.fromkeys(("fit_intercept", "positive"), (0, "no", None, [True])),
    **dict.fromkeys(("max_iter", "degree"), (0, 1.5, "abc", None, *NUMBERS)),
    "max_events": (0, 1.5, "abc", *NUMBERS),
    "jitter": (-1.0, np.inf, *NUMBERS),
    "gamma": (-1.0, None, *NUMBERS),
    "kernel": ("no such word", 3, ["rbf"], object()),
    "loss": (3, None, np.exp, [1]),
    "factors": ([1.0], [1.0, 2.0], [1.0, np.nan, 1.0], [1.0, np.inf, 1.0], [1.0, -1.0, 1.0], "abc", np.ones((3, 3))),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_an_argument_cannot_mean_is_refused_by_name(maker):
    for name in inspect.signature(maker).parameters:
        for value in NEVER.get(name, ()):
            with pytest.raises(ValueError, match=rf"^{name} must be .*; got "):
                maker(X, Y, **{name: value})


@pytest.mark.parametrize("maker", MAKERS)
def test_every_argument_is_looked_at(maker):
    assert set(inspect.signature(maker).parameters) <= {*NEVER, "X", "y", "sample_weight"}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("y", [[None] * 24, [None, 1] * 12, [1, "a", None] * 8], ids=["none", "some", "mixed"])
def test_labels_without_an_order_are_refused(maker, y):
    with pytest.raises(ValueError, match=r"y must hold labels of one type; got .*NoneType"):
        maker(X, np.array(y, dtype=object))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_kernel_matrix_that_is_not_square_is_refused(maker):
    with pytest.raises(ValueError, match=r"kernel matrix must be square.*got shape \(24, 5\)"):
        maker((X @ X.T)[:, :5], Y, kernel="precomputed")


@pytest.mark.parametrize("maker", MAKERS[:3])
@pytest.mark.parametrize("t", [None, "a", np.nan, 1j, True, [0.5]])
def test_a_path_is_asked_for_numbers(maker, t):
    path = maker(X, Y)
    with pytest.raises(ValueError, match=rf"^{path.parameter} must be a number in \["):
        path.at(t)
    if not isinstance(t, list):
        with pytest.raises(ValueError, match=rf"^{path.parameter} must be a number in \["):
            path.decision_function(X, t)


@pytest.mark.parametrize("C", [None, "a", np.nan, 1j, True, 0.0, [1.0]])
def test_a_grid_is_asked_for_costs(C):
    with pytest.raises(ValueError, match=r"^C must be a positive, finite number; got"):
        paths.margin_path(X, Y, Cs=3).at(C)


@pytest.mark.parametrize("maker", MAKERS[:3])
def test_arguments_may_be_of_any_real_type(maker):
    path = maker(X, Y, jitter=np.float32(0), max_events=np.int64(5000), coef0=1)
    assert path.at(np.float32(0.25)).converged
    assert path.decision_function(X, [0, np.int64(1)]).shape == (24, 2)
