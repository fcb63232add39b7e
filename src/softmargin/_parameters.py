"""Parameters that estimators and paths share: what each may be and what it means, said once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin import losses, penalties
from softmargin._constraints import (
    BOOLEAN,
    JOBS,
    NONE,
    POSITIVE,
    RANDOM_STATE,
    Constraint,
    integer,
    mapping,
    number,
    one_of,
    several,
)
from softmargin.expansions import available_kernels
from softmargin.losses import Loss
from softmargin.penalties import Penalty
from softmargin.solvers import ENGINES, INITS, Engine

__all__ = ["FOLDS", "LOSS", "NONNEGATIVE", "POSITIVE", "SHARE", "SHARED", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """A constraint, the type as a docstring names it, and the description."""

    constraint: Constraint
    kind: str
    text: str


def _known_kernel(value: Any) -> bool:
    return callable(value) or (isinstance(value, str) and value in ("precomputed", *available_kernels()))


def _known_loss(value: Any) -> bool:
    if isinstance(value, str):
        losses.get(value)  # names the nearest loss where there is none of that name
    return isinstance(value, (str, Loss))


def _is_split(value: Any) -> bool:
    """A pair of lists of row numbers, or of masks."""
    return (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(np.ndim(part) == 1 and np.asarray(part).dtype.kind in "biu" for part in value)
    )


NONNEGATIVE = number("a nonnegative, finite number", lambda value: 0 <= value < np.inf)
SHARE = number("a number between 0 and 1", lambda value: 0 <= value <= 1)
FOLDS = (
    integer(2)
    | Constraint("a splitter", lambda value: hasattr(value, "split") and not isinstance(value, (str, bytes)))
    | several("a list of pairs (train, test) of row numbers", _is_split)
)
LOSS = Constraint(
    "a name of losses.available() or a loss object, such as 'logistic' or losses.HuberizedHinge(delta=1) (own "
    "functions become one by losses.make_loss)",
    _known_loss,
)

SHARED: dict[str, Parameter] = {
    "C": Parameter(POSITIVE, "float", "Weight of the sum of losses; small values shrink the coefficients."),
    "l1_ratio": Parameter(
        SHARE,
        "float",
        "Share of the l1 norm in the penalty: 0 is ridge, 1 is lasso. With a kernel it selects support rows.",
    ),
    "penalty": Parameter(
        Constraint(
            f"None, a penalty object or one of {penalties.available()}",
            lambda value: (
                value is None
                or isinstance(value, Penalty)
                or (isinstance(value, str) and value in penalties.available())
            ),
        ),
        '{"scad", "mcp", "adaptive_l1"}, penalty object or None',
        "A concave penalty by name (``l1_ratio`` is then its l1 share, 1 if left at 0), or an object of\n"
        ":mod:`softmargin.penalties` in place of ``l1_ratio``.",
    ),
    "kernel": Parameter(
        Constraint(
            f"None, a callable or one of {', '.join(map(repr, (*available_kernels(), 'precomputed')))}",
            lambda value: value is None or _known_kernel(value),
        ),
        'None, "linear", "rbf", "poly", "laplacian", "matern", "precomputed" or callable',
        'None uses the features themselves. With "precomputed", ``X`` is the square kernel matrix of the training\n'
        "rows in ``fit`` and the matrix of similarities to them in ``predict``. A callable gets two rows and returns\n"
        "a number; one that takes no single rows gets two matrices of rows and returns that of their similarities.",
    ),
    "gamma": Parameter(
        one_of("scale", "median", "mean") | POSITIVE,
        'float, "scale", "median" or "mean"',
        '``rbf`` is ``exp(-gamma |x - x\'|^2)``. "scale" is ``1 / (n_features * var(X))``, "median" ``1 / median^2``\n'
        'of the distances between classes (those above zero if half are zero), "mean" ``1 / mean^2`` of all distances.',
    ),
    "degree": Parameter(integer(1), "int", "Degree of the \"poly\" kernel ``(gamma x'x' + coef0)^degree``."),
    "coef0": Parameter(
        number("a finite number", lambda value: abs(value) < np.inf), "float", 'Constant of the "poly" kernel.'
    ),
    "n_components": Parameter(
        NONE | one_of("auto") | integer(1),
        'int, "auto" or None',
        'Number of landmark rows of a Nystroem approximation of the kernel; None uses all rows exactly. "auto" does\n'
        "so for at most 3000 rows; of more it takes ``n_components_`` landmarks, drawn evenly and then where those\n"
        "leave the kernel out, until ``landmark_error_`` (the share of the kernel's trace that is left) is 1e-6,\n"
        "there are ``10 sqrt(n)`` or 5000 of them, or memory ends it. An l1 share, a concave penalty and ``positive``\n"
        "act on coordinates of their span in which the kernel norm is a sum of squares, not on ``dual_coef_``: they\n"
        "select no rows.",
    ),
    "fit_intercept": Parameter(BOOLEAN, "bool", "Whether to fit an intercept."),
    "penalize_intercept": Parameter(
        BOOLEAN,
        "bool",
        "Whether the intercepts share the ridge penalty. Penalising helps when classes lie symmetrically around the\n"
        "origin; centre the features first.",
    ),
    "positive": Parameter(BOOLEAN, "bool", "Whether coefficients must not be negative."),
    "class_weight": Parameter(
        NONE | one_of("balanced") | mapping("a dict from class to weight"),
        'dict, "balanced" or None',
        "Factors of the sample weights by class; classes left out of a dict weigh 1, and rows of a class that weighs\n"
        '0 are left out. "balanced" makes the classes weigh the same.',
    ),
    "probability_prior": Parameter(
        one_of("weighted", "population"),
        '{"weighted", "population"}',
        'Whose probabilities ``predict_proba`` gives where ``class_weight`` is set. "weighted": of a population with\n'
        'classes as frequent as their weights make them; their argmax is the label. "population": of the population\n'
        "sampled, by Bayes' formula; labels are still those of the weighted scores, since weights are costs.",
    ),
    "tol": Parameter(POSITIVE, "float", "Certified optimality gap, relative to the objective, at which to stop."),
    "max_iter": Parameter(integer(1), "int", "Largest number of outer steps."),
    "init": Parameter(
        one_of(*INITS),
        '{"base", "zero", "anneal"}',
        "Where the fit starts: the plain convex machine, the zero score, or gentler values of ``sigma`` first (losses\n"
        "that have a ``sigma``).",
    ),
    "n_init": Parameter(
        integer(1, 10_000),
        "int",
        "Number of starts, of which the best is kept; the others are plain fits to random halves.",
    ),
    "solver": Parameter(
        Constraint(
            f"'auto' or one of {', '.join(repr(engine.name) for engine in ENGINES)}",
            lambda value: (
                isinstance(value, Engine)
                or (isinstance(value, str) and value in ("auto", *(engine.name for engine in ENGINES)))
            ),
        ),
        "str",
        '"auto" takes the first solver that accepts the problem; a name insists on one.',
    ),
    "random_state": Parameter(
        RANDOM_STATE,
        "int, RandomState or None",
        "Whatever is drawn: landmarks, the rows of further starts, folds.",
    ),
    "n_jobs": Parameter(
        JOBS,
        "int or None",
        "Number of fits at the same time, where there are several (classes, folds): None is one (unless a\n"
        "``joblib.parallel_config`` says more), -1 one per core.",
    ),
    "verbose": Parameter(
        Constraint("a nonnegative integer", lambda value: BOOLEAN.allows(value) or integer(0).allows(value)),
        "int",
        "0 is silent, 1 reports the steps of a fit, 2 those of its inner fits too; lines go to the\n"
        "logger ``softmargin``.",
    ),
}
