"""Choosing the balance v, and C with it, along exact paths.

For each ``C`` the balancing machines of all ``v`` are one exact path, affine between breakpoints. At the breakpoints
and half way between them a machine is judged by the scores its rows would have without themselves
(:mod:`softmargin.tuning._corners`, ``"alo"``), or with every row's own share replaced by the mean share (``"gacv"``,
the criterion that section 3.7 of Park's thesis wishes for). Losses of different ``v`` are not comparable, so what a
score costs must not depend on ``v``: the soft error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import POSITIVE, check_each, check_training_rows, class_codes, one_of, several
from softmargin._parameters import SHARED
from softmargin.expansions import Kernel, canonical_sparse, expand
from softmargin.losses import BalancedHinge
from softmargin.paths import balance_path
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.tuning import EqualRows, cornered_fit, soft_errors

__all__ = ["BalanceChoice", "choose_balance"]

Array = NDArray[np.floating[Any]]

_ALLOWED = {
    "Cs": POSITIVE | several("a list of positive, finite numbers", POSITIVE.allows),
    "kernel": SHARED["kernel"].constraint,
    "gamma": SHARED["gamma"].constraint,
    "criterion": one_of("alo", "gacv"),
}


@dataclass(frozen=True)
class BalanceChoice:
    """The best ``(C, balance)`` and its ``value``; ``curves`` holds ``(C, balances, values)`` of every path."""

    C: float
    balance: float
    value: float
    curves: list[tuple[float, Array, Array]]


def choose_balance(
    X: Any,
    y: Any,
    *,
    Cs: Any = (0.01, 0.1, 1.0, 10.0),
    kernel: Any = None,
    gamma: Any = "scale",
    criterion: str = "alo",
) -> BalanceChoice:
    """The balance and the cost of a ``BalancingSVC``, from the training rows alone.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import BalancingSVC
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> found = BalancingSVC.choose(X, y, Cs=[0.1, 1.0], kernel="rbf", gamma=1.0)
    >>> found.C in (0.1, 1.0) and found.balance >= 0
    True
    """
    check_each(_ALLOWED, Cs=Cs, kernel=kernel, gamma=gamma, criterion=criterion)
    X, y = check_training_rows(canonical_sparse(X), y, accept_sparse="csr", dtype=np.float64)
    classes, codes = class_codes("y", y)
    if len(classes) != 2:
        raise ValueError(f"choosing the balance is for two classes; y has {len(classes)}.")
    resolved = None if kernel is None else Kernel.resolve(kernel, X, codes, gamma=gamma)
    gamma = gamma if resolved is None else resolved.gamma
    signs, expansion = np.where(codes == 1, 1.0, -1.0), expand(X, resolved)
    equal = EqualRows.of(expansion, signs)
    curves = []
    for C in np.atleast_1d(np.asarray(Cs, dtype=float)):
        path = balance_path(X, y, C=float(C), kernel=kernel, gamma=gamma)
        balances = _places(path.breakpoints)
        values = []
        for balance in balances:
            problem = Problem(BalancedHinge(float(balance)), expansion, signs, np.ones(len(signs)), ElasticNet(0.0))
            fit = cornered_fit(problem, path.at(float(balance)), float(C), np.ones(len(signs)), equal)
            scores = fit.scores - (fit.shift if criterion == "alo" else fit.mean_shift)
            values.append(float(np.mean(soft_errors(codes, scores, np.ones(len(signs))))))
        curves.append((float(C), balances, np.array(values)))
    best = min(curves, key=lambda curve: float(curve[2].min()))
    place = int(np.argmin(best[2]))
    return BalanceChoice(best[0], float(best[1][place]), float(best[2][place]), curves)


def _places(breakpoints: Any) -> Array:
    """The finite breakpoints and the middles between them, zero first."""
    knots = np.unique(np.r_[0.0, [t for t in np.asarray(breakpoints, dtype=float) if np.isfinite(t)]])
    return np.unique(np.r_[knots, (knots[1:] + knots[:-1]) / 2])
