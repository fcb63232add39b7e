"""Examples made of Gaussian clouds, with the class probabilities their densities imply.

All are one thing: components with a class, a mean, an axis-aligned spread and a share; the truth is the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softmargin._constraints import one_of
from softmargin.datasets._sample import Sample, random_numbers, require_size, require_spread

__all__ = ["make_g241", "make_gaussians", "make_normal", "make_wavy"]

_R3 = np.sqrt(3.0)


@dataclass(frozen=True)
class _Clouds:
    """A mixture: one class code, mean, standard deviation per axis and share for each component."""

    codes: NDArray[Any]
    means: NDArray[Any]
    spreads: NDArray[Any]
    shares: NDArray[Any]

    def draw(self, component: NDArray[Any], rng: Any) -> NDArray[Any]:
        noise = rng.standard_normal((len(component), self.means.shape[1]))
        return self.means[component] + self.spreads[component] * noise

    def posterior(self, X: NDArray[Any]) -> NDArray[Any]:
        """One column of probabilities per class."""
        log_density = np.column_stack(
            [
                np.log(share) - np.log(spread).sum() - 0.5 * (((X - mean) / spread) ** 2).sum(axis=1)
                for mean, spread, share in zip(self.means, self.spreads, self.shares, strict=True)
            ]
        )
        by_class = np.column_stack(
            [logsumexp(log_density[:, self.codes == code], axis=1) for code in range(self.codes.max() + 1)]
        )
        return np.exp(by_class - logsumexp(by_class, axis=1, keepdims=True))


def make_normal(n: int = 500, *, random_state: Any = None) -> Sample:
    """One feature, ``y = +-1`` with equal odds and ``x | y ~ N(y, 1)`` (Park, section 3.5): the toy of the asymptotics.

    ``logit P(y = +1 | x) = 2 x``; Bayes error ``Phi(-1) = 0.15866``.
    """
    require_size(n)
    rng = random_numbers(random_state)
    clouds = _Clouds(np.array([0, 1]), np.array([[-1.0], [1.0]]), np.ones((2, 1)), np.array([0.5, 0.5]))
    component = (rng.uniform(size=n) < 0.5).astype(int)
    return _binary(clouds, component, rng)


def make_wavy(n: int = 100, *, scale: float = 0.3, random_state: Any = None) -> Sample:
    """Two classes of three clouds each with a wavy boundary, classes of equal size (Park, 3.6.1.2).

    Class +1 is 40% N((1, .5), s^2 I), 40% N((-3, .5), s^2 I), 20% N((0, 1), diag(16 s^2, s^2 / 9)); class -1 the same
    at (3, -.5), (-1, -.5), (0, -1). The thesis uses ``scale`` 0.3 and 0.5 (Bayes errors 0.00017 and 0.02197).
    """
    require_size(n, 2)
    require_spread(scale, "scale")
    scale = float(scale)
    rng = random_numbers(random_state)
    means = np.array([[3, -0.5], [-1, -0.5], [0, -1], [1, 0.5], [-3, 0.5], [0, 1]], dtype=float)
    spreads = np.tile([[scale, scale], [scale, scale], [4 * scale, scale / 3]], (2, 1))
    clouds = _Clouds(np.repeat([0, 1], 3), means, spreads, np.tile([0.2, 0.2, 0.1], 2))
    side = rng.permutation(np.arange(n) % 2)
    return _binary(clouds, 3 * side + rng.choice(3, size=n, p=[0.4, 0.4, 0.2]), rng)


def make_gaussians(n: int = 100, *, n_classes: int = 3, scale: float | None = None, random_state: Any = None) -> Sample:
    """Three, six or four classes in the plane, labels drawn with equal odds (Park, 4.5.1.1 to 4.5.1.3).

    Parameters
    ----------
    n : int, default=100
        Number of rows (the thesis trains on 50 with three classes and on 100 otherwise).
    n_classes : {3, 6, 4}
        3: one cloud per corner of a triangle. 6: one per corner of a hexagon. 4: the hexagon with opposite corners
        sharing a class twice.
    scale : float, optional
        Standard deviation of every cloud; 1.5 for three classes, 0.5 (or the thesis's 0.7) otherwise.
    random_state : int, RandomState or None
        Seed.

    Examples
    --------
    >>> from softmargin.datasets import make_gaussians
    >>> X, y, p = make_gaussians(10, n_classes=4, random_state=0)
    >>> X.shape, p.shape
    ((10, 2), (10, 4))
    """
    require_size(n)
    hexagon = np.array([[1, _R3], [2, 0], [1, -_R3], [-1, -_R3], [-2, 0], [-1, _R3]])
    layouts = {
        3: (np.array([[0, 2], [-_R3, -1], [_R3, -1]]), [0, 1, 2], 1.5),
        6: (hexagon, [0, 1, 2, 3, 4, 5], 0.5),
        4: (hexagon, [0, 1, 2, 0, 1, 3], 0.5),
    }
    one_of(*layouts).check("n_classes", n_classes)
    means, layout, default = layouts[n_classes]
    scale = default if scale is None else scale
    require_spread(scale, "scale")
    codes = np.array(layout)
    shares = 1 / (n_classes * np.bincount(codes)[codes])
    clouds = _Clouds(codes, means, np.full(means.shape, scale), shares)
    rng = random_numbers(random_state)
    component = rng.choice(len(codes), size=n, p=shares)
    X = clouds.draw(component, rng)
    return Sample(X, codes[component], clouds.posterior(X))


def make_g241(n: int = 1500, *, variant: str = "c", random_state: Any = None) -> Sample:
    """The 241-feature benchmark: two clouds 2.5 apart ("c"), or two pairs of clouds that mislead clustering ("d").

    "c": one unit Gaussian per class, centres 2.5 apart in a random direction; Bayes error ``Phi(-1.25) = 0.10565``.
    "d": class +1 has two centres 6 apart, class -1 those two moved by 2.5 in one shared random direction (with
    independent directions the published errors are not met). Components have equal size and columns are standardised.
    """
    require_size(n, 4, n_columns=241)
    one_of("c", "d").check("variant", variant)
    rng = random_numbers(random_state)
    shift = 2.5 * _direction(rng)
    pair = np.zeros((1, 241)) if variant == "c" else np.outer([-3.0, 3.0], _direction(rng))
    means = np.vstack([pair + shift, pair])
    codes = np.repeat([0, 1], len(pair))
    clouds = _Clouds(codes, means, np.ones_like(means), np.full(len(means), 1 / len(means)))
    X, y, probability = _binary(clouds, rng.permutation(np.arange(n) % len(means)), rng)
    return Sample((X - X.mean(axis=0)) / X.std(axis=0), y, probability)


def _binary(clouds: _Clouds, component: NDArray[Any], rng: Any) -> Sample:
    X = clouds.draw(component, rng)
    return Sample(X, 2 * clouds.codes[component] - 1, clouds.posterior(X)[:, 1])


def _direction(rng: Any) -> NDArray[Any]:
    vector = rng.standard_normal(241)
    return vector / np.linalg.norm(vector)
