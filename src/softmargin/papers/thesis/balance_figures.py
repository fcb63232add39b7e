"""Figures 3.1 to 3.6 and 3.8: the balanced hinge, what a balance does to a boundary, asymptotic variances."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from softmargin import BalancingSVC, losses
from softmargin.datasets import Sample, make_square, make_wavy
from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._figures import boundary, loss_curves, panels
from softmargin.plots import class_colour

__all__ = ["EXHIBITS", "toy_variances"]


def _figure_1(results: Results) -> Any:
    figure, (ax,) = panels(1)
    loss_curves(ax, {f"v = {v:g}": losses.BalancedHinge(v).value for v in (0.0, 0.2, 0.5, 1.0, 2.0)})
    return figure


def _machines(sample: Sample, balances: tuple[float, ...], **options: Any) -> dict[str, Any]:
    return {f"v = {v:g}": BalancingSVC(balance=v, **options).fit(sample.X, sample.y) for v in balances}


def _figure_2(results: Results) -> Any:
    """A wrong row of either class pushes the boundary towards the class it lies in."""
    clean = make_square(60, random_state=1)
    figure, axes = panels(2)
    for ax, label in zip(axes, (1, -1), strict=True):
        X = np.vstack([clean.X, [[-0.7 * label, -0.5 * label]]])
        sample = Sample(X, np.append(clean.y, label), np.append(clean.probability, 0.5))
        before = BalancingSVC(balance=0.0, C=10.0).fit(clean.X, clean.y)
        models = {"without it": before, "with it": BalancingSVC(balance=0.0, C=10.0).fit(sample.X, sample.y)}
        boundary(ax, sample, models, f"one wrong row of class {label:+d}")
    return figure


def _figure_3(results: Results) -> Any:
    sample = make_square(60, flip=0.05, random_state=4)
    figure, axes = panels(3)
    for ax, v in zip(axes, (0.0, 0.5, 5.0), strict=True):
        boundary(ax, sample, _machines(sample, (v,), C=1.0), f"v = {v:g}", legend=False)
    return figure


def _figure_4(results: Results) -> Any:
    """An extreme outlier moves the SVM and not the balancing machine."""
    clean = make_square(60, random_state=5)
    sample = Sample(np.vstack([clean.X, [[2.6, 2.2]]]), np.append(clean.y, -1), np.append(clean.probability, 0.0))
    figure, axes = panels(2)
    for ax, rows, title in zip(axes, (clean, sample), ("without", "with an outlier"), strict=True):
        boundary(ax, rows, _machines(rows, (0.0, 5.0), C=1.0), title)
    return figure


def _figure_5(results: Results) -> Any:
    sample = make_wavy(100, scale=0.3, random_state=0)
    options: dict[str, Any] = {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0, "C": 1.0}
    figure, (ax,) = panels(1, width=6)
    boundary(ax, sample, _machines(sample, (0.0, 10.0), **options), "wavy near the border, parallel further away")
    return figure


def toy_variances(v: float) -> tuple[float, float]:
    """Asymptotic variances of intercept and slope where X | Y is N(Y, 1), corrected (erratum of equation 3.15).

    With ``a`` the root of ``Phi(a) - phi(a) = v/(1+v)`` and ``t = 1 + a`` they are
    ``[Phi + v^2 (1 - Phi)] / [(1+v) phi t]^2`` and
    ``[2 Phi - (2+a) phi + v^2 (2 - 2 Phi + (2+a) phi)] / [(1+v) phi t^3]^2``.
    """
    a = brentq(lambda x: norm.cdf(x) - norm.pdf(x) - v / (1 + v), -0.999, 12)
    Phi, phi, t = norm.cdf(a), norm.pdf(a), 1 + a
    first = Phi + v**2 * (1 - Phi)
    second = 2 * Phi - (2 + a) * phi + v**2 * (2 - 2 * Phi + (2 + a) * phi)
    return float(first / ((1 + v) * phi * t) ** 2), float(second / ((1 + v) * phi * t**3) ** 2)


def _figure_6(results: Results) -> Any:
    v = np.geomspace(0.01, 50, 150)
    ours = np.array([toy_variances(float(one)) for one in v])
    root = np.sqrt(2 * np.pi)
    printed = [np.pi * (1 + v**2) / (1 + v) ** 2, (2 * np.pi * (1 + v**2) + 2 * root * (v**2 - 1)) / (1 + v) ** 2]
    figure, axes = panels(2)
    for k, (ax, name) in enumerate(zip(axes, ("intercept", "slope"), strict=True)):
        ax.plot(v, printed[k], "--", color=class_colour(1), label="as printed")
        ax.plot(v, ours[:, k], color=class_colour(0), label="corrected")
        ax.set(xscale="log", xlabel="v", title=f"asymptotic variance of the {name}", ylim=(0, 8))
        ax.legend(frameon=False)
    return figure


def _figure_8(results: Results) -> Any:
    figure, (ax,) = panels(1)
    curves = {f"a = {a:g}": losses.PowerMargin(a).value for a in (1.5, 2.0, 3.0)}
    loss_curves(ax, {"a = 1 (BCM)": lambda u: 1 - u} | curves, (-1, 1))
    return figure


_TOY = "A toy like the thesis's."
EXHIBITS = [
    Exhibit("thesis-figure-3.1", "Figure 3.1: the loss for several v", "", "Closed forms.", draw=_figure_1),
    Exhibit("thesis-figure-3.2", "Figure 3.2: what a support vector does", "", _TOY, draw=_figure_2),
    Exhibit("thesis-figure-3.3", "Figure 3.3: the effect of v", "", _TOY, draw=_figure_3),
    Exhibit("thesis-figure-3.4", "Figure 3.4: an extreme outlier", "", _TOY, draw=_figure_4),
    Exhibit("thesis-figure-3.5", "Figure 3.5: a wavy boundary", "", "sigma = .3, cubic kernel.", draw=_figure_5),
    Exhibit(
        "thesis-figure-3.6",
        "Figure 3.6: asymptotic variances",
        "",
        "Equation (3.15) takes the population slope to be 1, which holds at v = .112 only; corrected closed form "
        "beside it.",
        draw=_figure_6,
    ),
    Exhibit("thesis-figure-3.8", "Figure 3.8: bounded losses of power a", "", "Closed forms.", draw=_figure_8),
]
