"""How many bad rows does a fit survive? The breakdown experiment.

Rows with the wrong label are planted deep in the territory of a class: beyond its mean, ``distance`` times as far from
the middle of the classes as that lies. The classifier is fitted anew for each share of planted rows and judged by the
labels of the clean rows. A convex loss pulls harder the further out a wrong label lies, so a small share suffices
to turn the boundary; a loss that flattens out lets go of them. But a nonconvex fit starts at the plain machine, and
rows so far out that they have turned that one are let go of only by further starts (``n_init``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softmargin._constraints import (
    CLASSIFIER,
    check_each,
    check_training_rows,
    class_codes,
    is_number,
    number,
    several,
)

__all__ = ["breakdown"]

Array = NDArray[np.floating[Any]]

_ALLOWED = {
    "shares": several("a list of numbers"),
    "distance": number("a positive number up to 1e6", lambda value: 0 < value <= 1e6),
}


def breakdown(
    model: Any, X: Any, y: Any, shares: Sequence[float] = (0.0, 0.05, 0.1, 0.2, 0.3), *, distance: float = 3.0
) -> Array:
    """The error rate on the rows given after planting each share of far, wrongly labelled rows among them.

    Parameters
    ----------
    model : classifier
        Of two classes, fitted or not; a copy is fitted for each share.
    X, y : array-like
        Rows whose labels are taken as right.
    shares : sequence of float
        Planted rows as a share of all rows fitted, from 0 up to, not including, 1.
    distance : float, default=3.0
        How far out they lie, in units of the distance from the middle of the classes to the mean of ``classes[1]``,
        whose territory they are planted in with the label ``classes[0]``.

    Returns
    -------
    ndarray of shape (n_shares,)

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import MarginClassifier, RobustSVC
    >>> from softmargin.inference import breakdown
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([-1, 1], 100)
    >>> X = rng.normal(size=(200, 2)) + 1.5 * y[:, None]
    >>> plain = breakdown(MarginClassifier(loss="squared_hinge"), X, y, [0.0, 0.1])
    >>> robust = breakdown(RobustSVC(sigma=1.0), X, y, [0.0, 0.1])
    >>> bool(plain[1] > plain[0] + 0.05), bool(robust[1] < robust[0] + 0.01)
    (True, True)
    """
    CLASSIFIER.check("model", model)
    check_each(_ALLOWED, shares=shares, distance=distance)
    for share in shares:
        if not (is_number(share) and 0 <= share < 1):
            raise ValueError(f"shares must lie in [0, 1); got {share!r}.")
    X, y = check_training_rows(X, y, dtype=[np.float64, np.float32])
    classes, _ = class_codes("y", y)
    if len(classes) != 2:
        raise ValueError(f"breakdown is for two classes; y holds {classes.tolist()!r}.")
    upper, lower = X[y == classes[1]].mean(axis=0), X[y == classes[0]].mean(axis=0)
    place = 0.5 * (upper + lower) + distance * 0.5 * (upper - lower)
    errors = []
    for share in shares:
        planted = round(share / (1 - share) * len(y))
        rows, labels = np.vstack([X, np.tile(place, (planted, 1))]), np.append(y, np.repeat(classes[0], planted))
        errors.append(1 - float(np.mean(clone(model).fit(rows, labels).predict(X) == y)))
    return np.array(errors)
