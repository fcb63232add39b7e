"""Every loss by family: what a margin costs (above) and how hard it pulls (below).

The pull of a point is minus the slope of its loss, which is also its boosting weight. Read the lower row from right to
left: convex losses pull ever harder or at a constant rate at points on the wrong side, robust ones let go of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softmargin import losses
from softmargin._constraints import NONE, Constraint, finite_numbers, several
from softmargin.losses import Loss
from softmargin.plots._style import CLASS_COLOURS, INK, SOFT, clean, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["loss_gallery"]

_SHADE = "#f4f1ea"


def _families() -> dict[str, dict[str, Loss]]:
    return {
        "Smooth": {
            "logistic": losses.Logistic(),
            "exponential": losses.Exponential(),
            "least squares": losses.LeastSquares(),
            "modified Huber": losses.ModifiedHuber(),
            "squared hinge": losses.SquaredHinge(),
        },
        "Around the hinge": {
            "hinge": losses.Hinge(),
            "balanced, 0.3": losses.BalancedHinge(0.3),
            "huberised, 2": losses.HuberizedHinge(2.0),
            "coherence, ρ = 1": losses.Coherence(1.0),
            "coherence, ρ = 0.2": losses.Coherence(0.2),
        },
        "From an entropy": {
            "log": losses.BalancedConvex(losses.LogEntropy()),
            "Gini": losses.BalancedConvex(losses.Gini()),
            "Matsushita": losses.BalancedConvex(losses.Matsushita()),
            "power, 1/4": losses.BalancedConvex(losses.PowerEntropy(0.25)),
        },
        "Redescending": {
            "Welsch": losses.Welsch(1.5),
            "Cauchy": losses.Cauchy(1.0),
            "Geman-McClure": losses.GemanMcClure(1.75),
            "tanh": losses.TanhHinge(1.41),
            "general, p = 1/4": losses.GeneralRobust(0.25, 1.0),
        },
        "Truncated": {
            "logistic, 2 log 2": losses.TruncatedLogistic(2 * math.log(2)),
            "logistic, 3 log 2": losses.TruncatedLogistic(3 * math.log(2)),
            "hinge at −1": losses.TruncatedHinge(-1.0),
            "ψ": losses.Psi(),
        },
        "Robust likelihoods": {
            "Pregibon": losses.Pregibon(),
            "Copas, 5%": losses.Copas(0.05),
            "Bianco-Yohai": losses.BiancoYohai(1.0),
            "Croux-Haesbroeck": losses.CrouxHaesbroeck(0.5),
        },
    }


def _are_losses(value: Any) -> bool:
    return len(value) > 0 and all(isinstance(loss, Loss) for loss in value)


_LOSSES = several("a list of losses", lambda one: isinstance(one, Loss))
_FAMILIES = Constraint(
    "a dict from titles to dicts from labels to losses",
    lambda value: (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(isinstance(members, Mapping) and _are_losses(members.values()) for members in value.values())
    ),
)


def loss_gallery(
    families: Mapping[str, Mapping[str, Loss]] | Sequence[Loss] | None = None,
    *,
    margins: tuple[float, float] = (-3.0, 2.5),
) -> Figure:
    """Draw losses by family: values above, pulls (minus slopes, the boosting weights) below.

    Parameters
    ----------
    families : mapping of title to mapping of label to Loss, or sequence of Loss, optional
        What to draw; every family of the library when missing.
    margins : tuple of float, default=(-3.0, 2.5)
        The range of margins.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from softmargin import losses, plots
    >>> figure = plots.loss_gallery([losses.Hinge(), losses.Logistic()])
    >>> len(figure.axes)
    2
    """
    low, high = finite_numbers("margins", margins, 2)
    (NONE | _LOSSES | _FAMILIES).check("families", families)
    if not low < high:
        raise ValueError(f"margins must be (low, high) with low < high; got {margins!r}.")
    if families is None:
        families = _families()
    elif not isinstance(families, Mapping):
        families = {"Losses": {repr(loss): loss for loss in families}}
    plt = pyplot()
    u = np.linspace(low, high, 1201)
    with plt.rc_context({"font.family": "DejaVu Sans", "font.size": 9, "axes.unicode_minus": True}):
        size = (max(2.75 * len(families), 4.5), 6.4)
        figure, axes = plt.subplots(2, len(families), figsize=size, sharex=True, squeeze=False, layout="constrained")
        for column, (title, members) in enumerate(families.items()):
            _panel(axes[0, column], u, members, "value")
            _panel(axes[1, column], u, members, "pull")
            axes[0, column].set_title(title, loc="left", fontsize=11.5, fontweight="bold", color=INK, pad=8)
            axes[0, column].legend(frameon=False, fontsize=7.8, labelcolor=INK, handlelength=1.4, loc="upper right")
            axes[1, column].set_xlabel("margin  u = y f(x)", color=INK)
        note = {"color": SOFT, "fontsize": 8, "fontstyle": "italic"}
        axes[0, 0].text(low + 0.04 * (high - low), 1.06, "error count", **note)
        axes[1, 0].text(low + 0.04 * (high - low), -0.58, "wrong side", **note)
        axes[0, 0].set_ylabel("cost  φ(u)", color=INK)
        axes[1, 0].set_ylabel("pull  −φ′(u)", color=INK)
    return figure


def _panel(axis: Axes, u: np.ndarray[Any, Any], members: Mapping[str, Loss], what: str) -> None:
    clean(axis)
    axis.axvspan(u[0], 0, color=_SHADE, zorder=0, linewidth=0)
    axis.axvline(1, color=SOFT, linewidth=0.6, linestyle=(0, (2, 3)), zorder=1)
    axis.axhline(0, color=INK, linewidth=0.6, zorder=2)
    if what == "value":
        axis.plot([u[0], 0, 0, u[-1]], [1, 1, 0, 0], color=SOFT, linewidth=0.9, zorder=1)
    for order, (label, loss) in enumerate(members.items()):
        height = loss.value(u) if what == "value" else _broken_at_kinks(loss, u)
        # Later lines are thinner, so that losses which share a branch all show.
        width = max(2.5 - 0.35 * order, 1.0)
        colour = CLASS_COLOURS[order % len(CLASS_COLOURS)]
        axis.plot(u, height, color=colour, linewidth=width, label=label, solid_capstyle="round", zorder=3)
    axis.set_xlim(u[0], u[-1])
    axis.set_ylim((-0.12, 4.6) if what == "value" else (-0.65, 2.35))
    axis.spines["bottom"].set_visible(False)
    axis.locator_params(axis="both", nbins=6)


def _broken_at_kinks(loss: Loss, u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pulls with a gap where the slope jumps, so that no vertical stroke pretends to be a value."""
    pull = -np.asarray(loss.slope(u))
    for kink in loss.kinks:
        pull[np.searchsorted(u, kink.at) - 1 : np.searchsorted(u, kink.at) + 1] = np.nan
    return pull
