"""The log loss on new data, estimated from the training data by perturbing it (Wang, Shen and Liu 2008).

The training log loss of a probability estimate ``p`` is too small by ``mean_i cov(T_i, logit p_i) + D``. Both are
estimated from refits on perturbed data: row ``i`` is replaced by a row drawn at random with probability ``tau``, and
its label by a draw from ``Bernoulli(q_i)``, ``q_i = p0(X*_i)`` an initial estimate, with probability ``tau``. Then

    E T* = (1 - tau) T + tau q,   K_i = Var(T*_i)/(q_i (1 - q_i)) = tau + tau (1 - tau)(T_i - q_i)^2/(q_i (1 - q_i))
    cov_i = mean over draws of (T*_i - E T*_i)(logit p*(X*_i) - logit q_i) / K_i
    D = mean over draws of Delta(p0, p*; X) - Delta(p0, p*; X*),   Delta(p, q) = -mean(p log q + (1 - p) log(1 - q))

Subtracting ``logit q`` changes no expectation and removes variance (``control``). Using the known mean needs no
nested draws. A row of weight two is drawn twice as often and counts twice in every mean. The kind ``"literal"`` keeps
the label of the row that is replaced, as printed in the paper; ``"pairs"`` lets a resampled row carry its own. On
simulated rows "literal" tracks the truth better and chooses better (``python -m benchmarks probability``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.probability import comparative_gkl

__all__ = ["LabelledRows", "Perturbation", "gkl_criterion", "perturb"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class LabelledRows:
    """Training labels in {0, 1}, the initial estimate of their probabilities and how many rows each stands for."""

    labels: Array
    initial: Array
    weight: Array | None = None

    @property
    def share(self) -> Array:
        """The weights, adding up to one."""
        n = len(self.labels)
        return np.full(n, 1 / n) if self.weight is None else self.weight / self.weight.sum()


@dataclass(frozen=True)
class Perturbation:
    """One perturbed data set: the training row in each place, its label in {0, 1} and the law it was drawn by."""

    rows: NDArray[np.intp]
    labels: Array
    mean: Array
    variance_ratio: Array


def perturb(
    rows: LabelledRows, *, n_draws: int, tau: float = 0.5, kind: str = "literal", random_state: Any = None
) -> list[Perturbation]:
    """``n_draws`` perturbed data sets; a place keeps its weight, whichever row it is given."""
    if not 0 < tau <= 1:
        raise ValueError(f"tau must lie in (0, 1]; got {tau!r}.")
    if kind not in ("pairs", "literal"):
        raise ValueError(f"perturb must be 'pairs' or 'literal'; got {kind!r}.")
    if n_draws < 1:
        raise ValueError(f"n_draws must be at least 1; got {n_draws!r}.")
    rng = np.random.default_rng(random_state)
    labels, n = rows.labels, len(rows.labels)
    draws = []
    for _ in range(n_draws):
        fresh = rng.integers(n, size=n) if rows.weight is None else rng.choice(n, size=n, p=rows.share)
        taken = np.where(rng.random(n) < tau, fresh, np.arange(n))
        own = labels[taken] if kind == "pairs" else labels
        q = rows.initial[taken]
        drawn = np.where(rng.random(n) < tau, rng.random(n) < q, own).astype(float)
        draws.append(Perturbation(taken, drawn, (1 - tau) * own + tau * q, variance_ratio(own, q, tau)))
    return draws


def variance_ratio(labels: Array, q: Array, tau: float) -> Array:
    """``K_i``: the variance of the perturbed label over that of a fresh one."""
    return tau + tau * (1 - tau) * np.square(labels - q) / (q * (1 - q))


def gkl_criterion(
    rows: LabelledRows,
    fitted: Array,
    draws: list[Perturbation],
    refit: Callable[[Perturbation], Array],
    *,
    control: bool = True,
) -> tuple[float, float]:
    """The estimated log loss on new data and its standard error over draws.

    ``fitted`` is the estimate being judged at the training rows; ``refit`` returns the estimate of a perturbed data
    set at the training rows.
    """
    penalties, share = [], rows.share
    for draw in draws:
        p = refit(draw)
        moved, q = p[draw.rows], rows.initial[draw.rows]
        centre = _logit(q) if control else 0.0
        covariance = (draw.labels - draw.mean) * (_logit(moved) - centre) / draw.variance_ratio
        drift = comparative_gkl(rows.initial, p, share) - comparative_gkl(q, moved, share)
        penalties.append(float(share @ covariance) + drift)
    spread = float(np.std(penalties, ddof=1)) / np.sqrt(len(penalties)) if len(penalties) > 1 else np.nan
    return comparative_gkl(rows.labels, fitted, share) + float(np.mean(penalties)), spread


def _logit(p: Array) -> Array:
    return np.log(p) - np.log1p(-p)
