"""Penalties that let large coefficients go: SCAD, MCP and the adaptive lasso, by their slopes.

Each replaces ``l1_ratio |b|`` by a cost ``p(|b|)`` that rises with slope ``l1_ratio`` at zero and flattens; the ridge
part ``(1 - l1_ratio)/2 |b|^2`` stays. With ``t = |b|``, knee ``k`` and shape ``a``

    SCAD   p'(t) = l1_ratio * (1 for t <= k, (a k - t)_+ / ((a - 1) k) beyond)                   (Fan and Li 2001)
    MCP    p'(t) = l1_ratio * (1 - t / (a k))_+                                                  (Zhang 2010)
    adaptive l1: one elastic net with factors |pilot|^(-power), the pilot a ridge fit            (Zou 2006)

The textbooks' penalties of the mean loss with parameter lambda have ``k = lambda`` and ``C = 1 / (n lambda)``. A
concave cost lies below its tangent, so a weighted elastic net (``linearize``) touches it from above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softmargin.penalties._elastic_net import ElasticNet

__all__ = ["MCP", "SCAD", "AdaptiveL1", "Concave", "get"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Concave(ElasticNet):
    """A penalty solved as at most ``rounds`` elastic nets; ``pilot`` gives the first point."""

    l1_ratio: float = 1.0
    rounds: ClassVar[int] = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.l1_ratio == 0:
            raise ValueError(
                f"l1_ratio of {type(self).__name__} must be positive; for a pure ridge use ElasticNet(0.0)."
            )

    @property
    def pilot(self) -> ElasticNet:
        """The convex penalty to start from."""
        return ElasticNet(self.l1_ratio, self.factors, self.positive)

    def relative_slopes(self, size: Array) -> Array:
        """``p'(t) / l1_ratio`` at ``t = size``."""
        raise NotImplementedError

    def relative_costs(self, size: Array) -> Array:
        """``p(t) / l1_ratio`` at ``t = size``."""
        raise NotImplementedError

    def linearize(self, coef: Array) -> ElasticNet:
        """The elastic net that touches this penalty from above at ``coef``."""
        slopes = self.relative_slopes(np.abs(coef))
        factors = slopes if self.factors is None else slopes * self.factors
        return ElasticNet(self.l1_ratio, factors, self.positive)

    def value(self, coef: Array, quadratic: float) -> float:
        costs = self.relative_costs(np.abs(coef))
        costs = costs if self.factors is None else costs * self.factors
        return 0.5 * self.ridge * float(quadratic) + self.l1_ratio * float(costs.sum())


def _check_curve(name: str, shape: float, least: float, knee: float) -> None:
    if not shape > least:
        raise ValueError(f"shape of {name} must exceed {least:g}; got {shape!r}.")
    if not (np.isfinite(knee) and knee > 0):
        raise ValueError(f"knee of {name} must be a positive number; got {knee!r}.")


@dataclass(frozen=True)
class SCAD(Concave):
    """Smoothly clipped absolute deviation: l1 up to ``knee``, constant beyond ``shape * knee``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import SCAD
    >>> SCAD(shape=3.0).linearize(np.array([0.5, 2.0, 4.0])).factors
    array([1. , 0.5, 0. ])
    """

    shape: float = 3.7
    knee: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_curve("SCAD", self.shape, 1.0, self.knee)

    def relative_slopes(self, size: Array) -> Array:
        return np.clip((self.shape * self.knee - size) / ((self.shape - 1) * self.knee), 0.0, 1.0)

    def relative_costs(self, size: Array) -> Array:
        bent = np.clip(size, self.knee, self.shape * self.knee) - self.knee
        flat = np.minimum(size, self.knee)
        return flat + bent - 0.5 * bent**2 / ((self.shape - 1) * self.knee)


@dataclass(frozen=True)
class MCP(Concave):
    """Minimax concave penalty: its slope falls linearly from zero on and vanishes at ``shape * knee``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import MCP
    >>> MCP(shape=4.0).linearize(np.array([0.0, 2.0, 5.0])).factors
    array([1. , 0.5, 0. ])
    """

    shape: float = 3.0
    knee: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_curve("MCP", self.shape, 0.0, self.knee)

    def relative_slopes(self, size: Array) -> Array:
        return np.maximum(1.0 - size / (self.shape * self.knee), 0.0)

    def relative_costs(self, size: Array) -> Array:
        bent = np.minimum(size, self.shape * self.knee)
        return bent - 0.5 * bent**2 / (self.shape * self.knee)


@dataclass(frozen=True)
class AdaptiveL1(Concave):
    """The adaptive lasso: l1 costs divided by ``|pilot|^power``, the pilot a ridge fit at the same C.

    Its value is that of the elastic net its pilot defines, which the fitted solution reports.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import AdaptiveL1
    >>> AdaptiveL1().linearize(np.array([0.5, -2.0])).factors
    array([2. , 0.5])
    """

    power: float = 1.0
    rounds: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (np.isfinite(self.power) and self.power > 0):
            raise ValueError(f"power of AdaptiveL1 must be a positive number; got {self.power!r}.")

    @property
    def pilot(self) -> ElasticNet:
        return ElasticNet(0.0)

    def relative_slopes(self, size: Array) -> Array:
        return np.maximum(size, 1e-8) ** -self.power


_NAMED: dict[str, type[Concave]] = {"scad": SCAD, "mcp": MCP, "adaptive_l1": AdaptiveL1}


def get(name: str, **parameters: Any) -> Concave:
    """The penalty called ``name``: "scad", "mcp" or "adaptive_l1"."""
    if name not in _NAMED:
        raise ValueError(f"penalty must be None, a penalty object or one of {sorted(_NAMED)}; got {name!r}.")
    return _NAMED[name](**parameters)
