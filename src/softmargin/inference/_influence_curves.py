"""What one more row does to a fit: its influence to first order, and its sensitivity by refitting.

At a minimum of ``sum_i w_i phi(u_i) + 1/2 |h|^2`` over ``f = h + b`` the coefficients are the pulls
``a_i = -w_i y_i phi'(u_i)``: ``f = K a + b`` and ``sum a = 0``. A row at ``(x, y)`` with weight ``e`` adds ``e r`` to
them, ``r = -C y phi'(y f(x))``, and moves everything else by

    (I + K W) df = e r k_x + db,    1'W df = e r,    W = diag(w_i phi''(u_i)),   k_x = (k(x_i, x))_i,

one linear system for all new rows. ``df / e`` is the influence of the row on the scores of the training rows (n times
this is the influence function of robust statistics). A convex loss pulls without end as ``x`` moves away on the wrong
side; a loss that flattens out lets go of it: its curve returns to zero. ``sensitivity`` is the same for a whole row,
``f_{n+1} - f_n`` by refits, and needs no derivatives.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.base import clone

from softmargin._constraints import check_fitted, check_labels, check_rows
from softmargin.probability import row_weights

__all__ = ["InfluenceCurves", "influence", "sensitivity"]

Array = NDArray[np.floating[Any]]

_ELSEWHERE = 0.02  # of the scores: fits that converge at the default tolerance are nearer to their minimum
_MOST_ROWS = 5000  # a dense system of that size takes a minute


@dataclass(frozen=True)
class InfluenceCurves:
    """The influence of m rows: on the scores of the n training rows, and on coefficients and intercept (features).

    ``pull`` is the force of each row, ``size`` the root mean square change of the scores.
    """

    pull: Array
    scores: Array
    intercept: Array
    coef: Array | None

    @property
    def size(self) -> Array:
        """Root mean square change of the training scores, shape (m,)."""
        return np.sqrt(np.mean(np.square(self.scores), axis=1))


@np.errstate(over="ignore", invalid="ignore")  # a system that overflows is refused where it is solved
def influence(
    model: Any, X: Any, y: Any, X_new: Any = None, y_new: Any = None, *, sample_weight: Any = None
) -> InfluenceCurves:
    """The influence of rows on a fitted two-class classifier, to first order.

    Parameters
    ----------
    model : fitted classifier
        A softmargin classifier of two classes that is one smooth margin loss with a ridge: ``MarginClassifier``,
        ``CoherenceClassifier``, ``RobustSVC``, ``TruncatedLogisticRegression``, linear or with a kernel.
    X, y : training data
        The rows it was fitted to.
    X_new, y_new : array-like, optional
        Rows that might be added; by default the training rows themselves, once more each.
    sample_weight : array-like, optional
        The weights it was fitted with; a new row has weight one. Rows of weight zero are left out of ``scores``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import MarginClassifier, RobustSVC
    >>> from softmargin.inference import influence
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1)
    >>> far, wrong = np.array([[-2.0], [-6.0]]), [1, 1]  # further and further out with the wrong label
    >>> plain = influence(MarginClassifier(loss="squared_hinge").fit(X, y), X, y, far, wrong).size
    >>> robust = influence(RobustSVC(sigma=1.0).fit(X, y), X, y, far, wrong).size
    >>> bool(plain[1] > 2 * plain[0]), bool(robust[1] < 1e-6)
    (True, True)
    """
    problem, solution, probe = _posed(model, X, y, sample_weight)
    X_new, signs = _new_rows(model, probe, X, y, X_new, y_new)
    margins = problem.margins(solution.coef, solution.intercept)
    W = problem.weights * problem.loss.curvature(margins)
    rows, means = _centred(problem)
    K = np.asarray(rows.outer(), dtype=np.float64)
    new_scores = np.asarray(model.decision_function(X_new), dtype=np.float64)
    loss = problem.loss.of_classes((signs > 0).astype(int)) if problem.loss.parts != (problem.loss,) else problem.loss
    pull = -float(model.C) * _class_weight(model, signs) * signs * loss.slope(signs * new_scores)
    cross = _cross(problem, probe, X, X_new) if means is None else _products(rows, X_new, means)
    n, first = len(W), int(problem.fit_intercept)
    system = np.zeros((n + first, n + first))
    system[:n, :n] = np.eye(n) + K * W
    right = np.zeros((n + first, len(pull) + 1))
    right[:n, :-1] = cross * pull
    scores = problem.y * margins
    pulls = -problem.weights * problem.y * problem.loss.slope(margins)
    right[:n, -1] = K @ pulls - scores  # what is left of the conditions of a minimum, and so the way to it
    if first:
        system[:n, n], system[n, :n] = -1.0, W
        right[n] = np.append(pull, pulls.sum())
    moved = _solved(system, right)
    _require_minimum(moved[:n, -1], scores)
    moved = moved[:, :-1]
    change, coef, intercept = -(W[:, None] * moved[:n]), None, moved[n] if first else np.zeros(len(pull))
    if means is not None:
        coef = np.column_stack([rows.transpose(column) for column in change.T]).T
        coef = coef + pull[:, None] * (_dense(X_new) - means)
        intercept = intercept - coef @ means
    return InfluenceCurves(pull, moved[:n].T, intercept, coef)


def sensitivity(model: Any, X: Any, y: Any, X_new: Any, y_new: Any, *, sample_weight: Any = None) -> Array:
    """How the scores of the training rows change when each row is added in turn, by refits, shape (m, n).

    Works for every classifier of two classes; ``m`` fits. ``sample_weight`` are the weights the model was fitted with;
    a new row has weight one.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import MarginClassifier
    >>> from softmargin.inference import influence, sensitivity
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 30), np.array([0, 1, 0, 1] * 30)
    >>> model = MarginClassifier(tol=1e-10).fit(X, y)
    >>> one = sensitivity(model, X, y, [[1.5]], [1])
    >>> bool(np.allclose(one, influence(model, X, y, [[1.5]], [1]).scores, rtol=0.05))
    True
    """
    check_fitted("model", model)
    if len(model.classes_) != 2:
        raise ValueError(f"sensitivity is for two classes; the model knows {model.classes_.tolist()}.")
    if getattr(model, "kernel", None) == "precomputed":
        raise ValueError("kernel='precomputed' has no features to add a row to; use the kernel by name.")
    X = check_rows("X", X, getattr(model, "n_features_in_", None), accept_sparse="csr")
    X_new = check_rows("X_new", X_new, X.shape[1], accept_sparse="csr")
    y = check_labels(y, model.classes_, X.shape[0])
    y_new = check_labels(y_new, model.classes_, X_new.shape[0], ("y_new", "X_new"))
    weights = None if sample_weight is None else row_weights(sample_weight, X.shape[0])
    given = {} if weights is None else {"sample_weight": np.append(weights, 1.0)}
    before = np.asarray(model.decision_function(X))
    stack = sparse.vstack if sparse.issparse(X) else np.vstack
    after = [
        clone(model).fit(stack([X, X_new[[k]]]), np.append(y, y_new[k]), **given).decision_function(X) - before
        for k in range(X_new.shape[0])
    ]
    return np.array(after)


def _posed(model: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """The problem a model has solved, its solution, and a copy of the model that has seen the rows."""
    check_fitted("model", model)
    if not getattr(model, "_is_one_problem", False) or not hasattr(model, "loss_"):
        raise ValueError(f"{type(model).__name__} is not one margin loss; influence needs one, sensitivity() does not.")
    if len(model.classes_) != 2:
        raise ValueError("influence is for two classes; use one of estimators_ with the labels y == classes_[j].")
    if getattr(model, "n_components", None) is not None or model._penalty().ridge != 1:
        raise ValueError("influence needs a ridge penalty (l1_ratio=0) and no landmarks; use sensitivity().")
    if any(kink.jump > 0 for kink in model.loss_.kinks):
        raise ValueError(f"{model.loss_!r} has a corner on which rows rest, so influence jumps; use sensitivity().")
    X = check_rows("X", X, model.n_features_in_, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_labels(y, model.classes_, X.shape[0])
    probe = copy(model)
    data = probe._training_set(X, y, weight)
    if len(data.codes) > _MOST_ROWS:
        raise ValueError(f"influence solves a system of {len(data.codes)} rows; give at most {_MOST_ROWS} of them.")
    data.shared = probe._prepare(data)
    problem, known = probe._problem(data, data.signs()), len(model.solution_.coef)
    if problem.expansion.shape[1] != known:
        raise ValueError(f"X must hold the {known} rows that the model was fitted to; got {len(data.codes)}.")
    return problem, model.solution_, probe


def _require_minimum(way: Array, scores: Array) -> None:
    """Refuse rows, labels or weights of which the model is no fit: what it would answer is of neither."""
    distance = float(np.abs(way).max(initial=0.0))
    if distance > _ELSEWHERE * max(1.0, float(np.abs(scores).max(initial=0.0))):
        raise ValueError(
            f"X, y and sample_weight must be those the model was fitted to, and the fit must have converged: the "
            f"scores of a fit to these differ from its own by about {distance:.2g}."
        )


def _new_rows(model: Any, probe: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> tuple[Any, Array]:
    if X_new is None:
        if y_new is not None:
            raise ValueError(f"y_new={y_new!r} was given without its rows X_new; leave both out for the rows of X.")
        X_new, y_new = X, y
    X_new = check_rows("X_new", X_new, model.n_features_in_, accept_sparse="csr", dtype=[np.float64, np.float32])
    labels = check_labels(y_new, model.classes_, X_new.shape[0], ("y_new", "X_new"))
    return X_new, np.where(labels == model.classes_[1], 1.0, -1.0)


def _class_weight(model: Any, signs: Array) -> Array:
    weights = getattr(model, "class_weight_", np.ones(2))
    return np.asarray(weights)[(signs > 0).astype(int)]


def _solved(system: Array, right: Array) -> Array:
    """The solution of the linear system, where it has one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            if not (np.isfinite(system).all() and np.isfinite(right).all()):
                raise linalg.LinAlgError("numbers beyond doubles")
            return np.asarray(linalg.solve(system, right, check_finite=False))
    except (linalg.LinAlgError, linalg.LinAlgWarning) as error:
        raise ValueError(
            "the Hessian of the fit has no inverse to double precision: the fit does not react smoothly to its rows, "
            "or the columns of X are too large (or C, or sample_weight). Standardise the columns, or use sensitivity()."
        ) from error


def _centred(problem: Any) -> tuple[Any, Array | None]:
    """Features about their means where these are large: the intercept takes the rest, and scores are the same."""
    if problem.expansion.is_kernel:
        return problem.expansion, None
    found = problem.expansion.centered() if problem.fit_intercept else None
    return found or (problem.expansion, np.zeros(problem.expansion.shape[1]))


def _products(rows: Any, X_new: Any, means: Array) -> Array:
    """Inner products of the training rows with the new ones."""
    return np.column_stack([rows.apply(row) for row in _dense(X_new) - means])


def _dense(X: Any) -> Array:
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def _cross(problem: Any, probe: Any, X: Any, X_new: Any) -> Array:
    """Similarities of the training rows with the new ones."""
    if getattr(probe, "kernel", None) == "precomputed":
        return np.asarray(X_new, dtype=np.float64).T
    score = problem.expansion.scorer(np.eye(problem.expansion.shape[0]))
    return np.asarray(score(X_new), dtype=np.float64).T
