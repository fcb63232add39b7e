"""Two-dimensional examples whose best boundary is known: half disk, crossed disk, sine band, square, two moons.

Each follows the protocol of the paper that introduced it; where the paper is silent the docstring says what is assumed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.special import expit, logsumexp

from softmargin._constraints import BOOLEAN, one_of
from softmargin.datasets._sample import Sample, flip_labels, random_numbers, require_rate, require_size, require_spread

__all__ = ["make_disk", "make_moons", "make_sine", "make_square"]

_DISK_RULES = {
    "vertical": lambda x: x[:, 0] >= 0,
    "diagonal": lambda x: x[:, 0] >= x[:, 1],
    "cross": lambda x: (x[:, 0] - x[:, 1]) * (x[:, 0] + x[:, 1]) < 0,
}


def make_disk(n: int = 1000, *, rule: str = "vertical", flip: float = 0.2, random_state: Any = None) -> Sample:
    """Points uniform on the unit disk, exactly ``round(flip * n)`` labels wrong.

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    rule : {"vertical", "diagonal", "cross"}
        Where the class is +1: ``x1 >= 0`` (Wang, Shen & Liu, Example 1; Zhang, Dai & Jordan, Data 1), ``x1 >= x2``
        (Park, 2.7.1.1) or ``(x1 - x2)(x1 + x2) < 0`` (Park, 2.7.1.2).
    flip : float, default=0.2
        Share of wrong labels, which is also the Bayes error.
    random_state : int, RandomState or None
        Seed.

    Examples
    --------
    >>> from softmargin.datasets import make_disk
    >>> X, y, p = make_disk(100, random_state=0)
    >>> X.shape, sorted(set(p.tolist()))
    ((100, 2), [0.2, 0.8])
    """
    require_size(n)
    require_rate(flip)
    one_of(*sorted(_DISK_RULES)).check("rule", rule)
    rng = random_numbers(random_state)
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.sqrt(rng.uniform(size=n))
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return _flipped(X, np.where(_DISK_RULES[rule](X), 1, -1), flip, rng, exact=True)


def make_sine(n: int = 1000, *, noise: float = 0.1, random_state: Any = None) -> Sample:
    """Two bands that touch once a period (Wang, Shen & Liu, Example 2; Zhang, Dai & Jordan, Data 2).

    ``y = +-1`` with equal odds, ``x1 ~ U[0, 2 pi]`` and ``x2 = y (sin x1 + 1 + noise * N(0, 1))``, so that
    ``logit P(y = +1 | x) = 2 x2 (sin x1 + 1) / noise**2``. Bayes error 0.05905 and entropy 0.10068 at noise 0.1.
    """
    require_size(n)
    require_spread(noise, "noise")
    rng = random_numbers(random_state)
    y = np.where(rng.uniform(size=n) < 0.5, 1, -1)
    x1 = rng.uniform(0, 2 * np.pi, n)
    x2 = y * (np.sin(x1) + 1 + noise * rng.standard_normal(n))
    return Sample(np.column_stack([x1, x2]), y, expit(2 * x2 * (np.sin(x1) + 1) / noise**2))


def make_square(n: int = 100, *, flip: float = 0.0, random_state: Any = None) -> Sample:
    """Uniform on the square ``|x1 + x2| < sqrt 2, |x1 - x2| < sqrt 2``, ``y = sign(x1 + x2)`` (Park, 3.6.1.1).

    Labels are flipped independently with probability ``flip``, as in the thesis, so the Bayes error is ``flip``.
    """
    require_size(n)
    require_rate(flip)
    rng = random_numbers(random_state)
    along, across = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    X = np.column_stack([along - across, along + across]) / np.sqrt(2)
    return _flipped(X, np.where(along >= 0, 1, -1), flip, rng, exact=False)


def make_moons(
    n: int = 200, *, noise: float = 0.1, flip: float = 0.1, rescale: bool = True, random_state: Any = None
) -> Sample:
    """Two interleaved half circles with exactly ``round(flip * n)`` wrong labels (Feng et al., 5.1).

    Angles are uniform, Gaussian noise is added to both coordinates and, with ``rescale``, the drawn rows are scaled to
    [0, 1]^2 (so draw training and test rows together). The paper gives neither the generator nor the noise level;
    these are the customary ones. ``probability`` integrates the two densities along their arcs.
    """
    require_size(n, 2)
    require_rate(flip)
    require_spread(noise, "noise", zero=True)
    BOOLEAN.check("rescale", rescale)
    rng = random_numbers(random_state)
    y = rng.permutation(np.where(np.arange(n) < n // 2, 1, -1))
    X = _arc(rng.uniform(0, np.pi, n), y) + noise * rng.standard_normal((n, 2))
    truth = _moon_probability(X, noise) if noise > 0 else (y + 1) / 2
    if rescale:
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1.0)
    y, _ = flip_labels(y, flip, rng)
    return Sample(X, y, truth * (1 - flip) + (1 - truth) * flip)


def _flipped(X: NDArray[Any], y: NDArray[Any], flip: float, rng: Any, exact: bool) -> Sample:
    probability = np.where(y > 0, 1 - flip, flip)
    if len(np.unique(y)) > 1:
        y, _ = flip_labels(y, flip, rng, exact=exact)
    return Sample(X, y, probability)


def _arc(angle: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    lower = y > 0
    return np.column_stack(
        [np.where(lower, 1 - np.cos(angle), np.cos(angle)), np.where(lower, 0.5 - np.sin(angle), np.sin(angle))]
    )


def _moon_probability(X: NDArray[Any], noise: float, nodes: int = 512, block: int = 4096) -> NDArray[Any]:
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    arcs = [_arc(angle, np.full(nodes, side)) for side in (-1, 1)]

    def log_odds(rows: NDArray[Any]) -> NDArray[Any]:
        lower, upper = (logsumexp(-cdist(rows, arc, "sqeuclidean") / (2 * noise**2), axis=1) for arc in arcs)
        return upper - lower

    return expit(np.concatenate([log_odds(X[start : start + block]) for start in range(0, len(X), block)]))
