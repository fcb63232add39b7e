"""More starts find lower minima: capped losses against the enumeration of every set of rows that could be kept."""

from itertools import product

import numpy as np
import pytest

from softmargin import TruncatedSoftmaxClassifier


def noisy(seed, n=6):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 2
    X = rng.normal(size=(n, 1)) + 2.0 * codes[:, None]
    return X, rng.permutation(codes) if seed % 2 else codes


def least_objective(X, y, level, C):
    """The smallest of: the convex fit to some rows of every class, plus the cap for each of the others."""
    best = np.inf
    for kept in product([0.0, 1.0], repeat=len(y)):
        weight = np.array(kept)
        if len(set(y[weight > 0])) == len(set(y)):
            fit = TruncatedSoftmaxClassifier(level=np.inf, C=C).fit(X, y, sample_weight=weight)
            best = min(best, fit.solution_.objective + C * level * float(np.sum(1 - weight)))
    return best


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_many_starts_reach_the_global_minimum_of_a_capped_likelihood(seed):
    X, y = noisy(seed)
    best = least_objective(X, y, 0.9, 2.0)
    found = [
        TruncatedSoftmaxClassifier(level=0.9, C=2.0, n_init=n_init, random_state=0).fit(X, y).solution_.objective
        for n_init in (1, 5, 40)
    ]
    assert found[0] >= found[1] >= found[2]
    assert found[2] == pytest.approx(best, rel=1e-6)
