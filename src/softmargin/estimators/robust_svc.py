"""``RobustSVC``: large-margin classification when some labels are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from itertools import count
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold

from softmargin import losses
from softmargin._constraints import NONE, Constraint, instance, is_number, mapping, number, one_of, real_numbers
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._base.trust import note_robustness, robust_engine
from softmargin.expansions import Expansion
from softmargin.losses import ByClass, Loss, NoLink
from softmargin.probability import Sigmoid, couple, fit_sigmoid, two_columns
from softmargin.problem import Problem
from softmargin.solvers import OnRound, Solution, solve
from softmargin.tuning import auto_sigma, influence_scores, left_out_scores

__all__ = ["RobustSVC"]

_SCALED = ("welsch", "cauchy", "geman_mcclure", "tanh", "tanh_hinge", "general_robust")
_NAMES = (*_SCALED, "truncated_hinge")
_FOLDS = 5


class RobustSVC(ExpansionClassifier):
    """Support vector machine that loses interest in rows far on the wrong side.

    Minimises ``C * sum_i s_i phi((1 - y_i f(x_i))_+) + Omega`` with a loss ``phi`` that is the squared hinge for small
    residuals and flattens out from about ``sigma`` on. The fit is a short sequence of reweighted squared-hinge machines
    started at the plain one (rows of weight near 0 are those the machine no longer believes), finished by Newton steps;
    the objective never rises. The loss is not convex: the result is a certified stationary point.

    Parameters
    ----------
    loss : str or Loss, default="welsch"
        "welsch", "cauchy", "geman_mcclure", "tanh" or "general_robust" (with ``shape``); "truncated_hinge" is the
        hinge cut at the residual ``sigma >= 1``; or any loss of ``softmargin.losses`` that has a majoriser.
    sigma : float, "auto" or dict, default=1.0
        Residual scale of a loss given by name: small is very robust, inf is the squared hinge (the hinge). "auto" takes
        it from the rows that the plain machine gets wrong (:func:`softmargin.tuning.auto_sigma`); what came out is
        ``sigma_``. A dict gives each class its own, for labels of one class that are wrong more often; there is no
        link then.
    shape : float, default=0.0
        Exponent of "general_robust": 1 squared hinge, 0 Cauchy, -1 Geman-McClure, -inf Welsch.
    probability : {"auto", "link", "calibrated", False}, default="auto"
        "auto": the loss's closed-form link, which exists from a threshold of ``sigma`` on (1.414 for Welsch, 1 for
        Cauchy), and no ``predict_proba`` below it; "link": the same, and an error where there is none; "calibrated": a
        sigmoid fitted to cross-validated scores: of leaving each row out, by one Newton step each, which costs a factor
        of the Hessian; of five folds, which costs five more fits, where the loss has corners or the penalty is not
        smooth enough for that; False: none.
    start : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores of the training rows to start from, in place of ``init``: ``other.decision_function(X)``.
    callback : callable, optional
        ``callback(n_round, model)`` after every round, with the classifier of that round (of several classes: of each
        one-against-rest fit in turn). Neither it nor ``start`` is part of a saved model.
    C : float, default=1.0
        Weight of the sum of losses. A bounded loss wants ``C`` proportional to ``1 / min(1, sigma^2)``
        (:func:`softmargin.tuning.robust_grid`).
    tol : float, default=1e-4
        Rounds end when scores move by less than this, relative to the largest, or when no bound of the objective that
        touches it falls by more than this, relative to it.
    max_iter : int, default=1000
        Largest number of rounds.

    Attributes
    ----------
    sample_trust_ : ndarray of shape (n_samples,)
        The weight of each training row at the solution, in [0, 1]: near 0 its label is not believed. Rows of zero
        sample weight are judged by their score. It is what a robust fit finds out about its data, so unlike other
        vectors of training rows it stays in a pickle (eight bytes a row; ``del model.sample_trust_`` leaves it out).
    sigma_ : float
        The scale used, where "auto" chose one.
    objective_, constant_objective_ : float
        The objective, and that of the constant classifier. With a small ``sigma`` the constant can be the cheaper one;
        a warning says so.
    status_ : str
        "ok"; "degenerate" where a whole class was given up and the constant classifier is returned; "constant" where
        the fit itself is a constant (a warning says what to change).
    classes_, coef_, intercept_, dual_coef_, support_, loss_, solution_, n_iter_, n_features_in_
        As in :class:`MarginClassifier`.

    Notes
    -----
    From the paper to the parameters (m rows):

    ==============================================  =========================================================
    paper                                           here
    ==============================================  =========================================================
    mean loss + lambda ``|f|^2``                    ``C = 1 / (2 m lambda)``
    sigma of the loss                               ``sigma``
    Welsch, Cauchy, Geman-McClure, tanh             ``loss="welsch"``, ``"cauchy"``, ``"geman_mcclure"``, ``"tanh"``
    weights omega of the reweighted machine         ``sample_trust_``
    L2-SVM start, 100 rounds, tolerance 1e-4        ``init="base"``, ``max_iter``, ``tol``
    ==============================================  =========================================================

    References
    ----------
    Feng, Yang, Huang, Mehrkanoon, Suykens (2016). Robust support vector machines for classification with nonconvex and
    smooth losses. Neural Computation 28.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from softmargin import RobustSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> wrong = np.random.default_rng(0).choice(300, 30, replace=False)
    >>> noisy = y.copy()
    >>> noisy[wrong] = 1 - noisy[wrong]
    >>> model = RobustSVC(kernel="rbf", gamma=5.0, C=10).fit(X, noisy)
    >>> model.score(X, y) > 0.98
    True
    >>> worst = np.argsort(model.sample_trust_)[:30]
    >>> int(np.isin(worst, wrong).sum())
    30
    """

    _probabilities = ("auto", "link", "calibrated", False)
    _constraints: ClassVar[dict[str, Constraint]] = {
        "loss": one_of(*_NAMES) | instance("a loss object of softmargin.losses", Loss),
        "sigma": number("a positive number (inf for no robustness)", lambda value: value > 0)
        | one_of("auto")
        | mapping("a dict from class to positive number"),
        "start": NONE | Constraint("an array of scores", lambda value: np.ndim(value) in (1, 2)),
        "callback": NONE | Constraint("a callable", callable),
        "shape": number("a number of at most 1 (-inf is Welsch)", lambda value: value <= 1),
        "probability": one_of(*_probabilities),
    }

    def __init__(
        self,
        *,
        loss: str | Loss = "welsch",
        sigma: float | str | dict[Any, float] = 1.0,
        shape: float = 0.0,
        probability: str | bool = "auto",
        init: str = "base",
        n_init: int = 1,
        start: Any = None,
        callback: Callable[[int, Any], Any] | None = None,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        penalty: Any = None,
        kernel: Any = None,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | str | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        probability_prior: str = "weighted",
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.sigma = sigma
        self.shape = shape
        self.probability = probability
        self.init = init
        self.n_init = n_init
        self.start = start
        self.callback = callback
        self.C = C
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability_prior = probability_prior
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _is_settled(self) -> bool:  # type: ignore[override]
        return not (isinstance(self.loss, str) and self.sigma == "auto")

    def _loss(self) -> Loss:
        if not isinstance(self.loss, str):
            return self.loss
        if isinstance(self.sigma, Mapping):
            return ByClass(tuple(self._loss_of(sigma) for sigma in self._sigma_by_class()))
        return self._loss_of(vars(self)["sigma_"] if self.sigma == "auto" else self.sigma)

    def _loss_of(self, sigma: Any) -> Loss:
        if self.loss == "truncated_hinge":
            if sigma < 1:
                raise ValueError(f"sigma must be at least 1 for 'truncated_hinge'; got {sigma!r}.")
            return losses.TruncatedHinge(at=1 - sigma)
        shape = {"shape": self.shape} if self.loss == "general_robust" else {}
        return losses.get(str(self.loss), sigma=sigma, **shape)

    def _sigma_by_class(self) -> list[float]:
        """The scales in the order of the classes; of a dict no fit has seen yet, in its own order."""
        if "_class_sigma_" in vars(self):
            return self._class_sigma_
        given = {
            label.item() if isinstance(label, np.generic) else label: s
            for label, s in cast("dict[Any, float]", self.sigma).items()
        }
        classes = self.classes_.tolist() if hasattr(self, "classes_") else list(given)
        if set(given) != set(classes) or not all(is_number(s) and s > 0 for s in given.values()):
            raise ValueError(
                f"sigma must name every class with a positive number; got {self.sigma!r} for the classes {classes!r}."
            )
        return [float(given[label]) for label in classes]

    def _check_combination(self) -> None:
        if self._is_settled and not isinstance(self.sigma, Mapping):
            self._loss()
        if isinstance(self.sigma, Mapping) and not isinstance(self.loss, str):
            raise ValueError(f"sigma by class is for losses given by name; got loss={self.loss!r}.")
        super()._check_combination()

    def _engine(self, problem: Problem) -> Any:
        return robust_engine(self, problem, *vars(self).get("_descent_", (None, None)))

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        data = super()._training_set(X, y, sample_weight)
        given = (not self._is_settled, isinstance(self.sigma, Mapping), self.start is not None, self.callback)
        if not data.is_resident and any(given):
            raise ValueError("sigma='auto' or by class, start and callback need rows in memory; fit a sample of them.")
        if isinstance(self.sigma, Mapping) and isinstance(self.loss, str):
            self._class_sigma_ = self._sigma_by_class()
        if self.start is not None:
            self._start_ = self._checked_start(data)
        return data

    def _checked_start(self, data: TrainingSet) -> np.ndarray:
        scores = real_numbers("start", self.start)
        wanted = (data.n_rows,) if len(self.classes_) == 2 else (data.n_rows, len(self.classes_))
        if scores.shape != wanted or not np.all(np.isfinite(scores)):
            raise ValueError(
                f"start must hold the finite scores of the training rows, of shape {wanted}; got shape {scores.shape}."
            )
        return scores[data.rows]

    def _pass_on(self, one: Any, code: int) -> None:
        if "_class_sigma_" in vars(self):
            one._class_sigma_ = self._class_sigma_
        if not self._is_settled:
            one.sigma_ = self.sigma_
        if "_start_" in vars(self):
            one._start_ = self._start_[:, code]

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        if not self._is_settled and "sigma_" not in vars(self):
            self.sigma_, data.start = self._chosen_sigma(data, y)
        self._descent_ = (self.__dict__.pop("_start_", None), self._onlooker(data, y))
        try:
            super()._fit_binary(data, y)
        finally:
            del self._descent_
        problem = self._problem(data, y)
        if problem.loss.convex and data.is_resident:
            note_robustness(self, data, problem, self.solution_)
        if self.probability == "calibrated":
            self.calibration_ = self._calibrate(problem, data.counts)

    def _fit_many(self, data: TrainingSet) -> None:
        if not self._is_settled:
            codes = range(len(self.classes_))
            self.sigma_ = float(np.median([self._chosen_sigma(data, data.signs(code))[0] for code in codes]))
        super()._fit_many(data)

    def _chosen_sigma(self, data: TrainingSet, y: np.ndarray) -> tuple[float, Solution]:
        """The scale that the machine trusting every row suggests, and that machine, where the fit starts."""
        plain = copy(self)
        plain.sigma_ = np.inf
        problem = plain._problem(data, y)
        trusting = problem.with_loss(problem.loss.majorize(np.ones(1)).loss)
        found = solve(trusting, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
        sigma = auto_sigma(problem.margins(found.coef, found.intercept), data.weight)
        return max(sigma, 1.0) if self.loss == "truncated_hinge" else sigma, found

    def _onlooker(self, data: TrainingSet, y: np.ndarray) -> OnRound | None:
        """What tells the user's callback of each round."""
        if self.callback is None:
            return None
        callback, model, rounds = self.callback, copy(self), count(1)

        def on_round(margins: np.ndarray, coef: np.ndarray) -> None:
            intercept = float(np.mean(y * margins - data.shared.apply(coef))) if self.fit_intercept else 0.0
            seen = copy(model)
            seen._keep(data, coef[:, None], [intercept])
            callback(next(rounds), seen)

        return on_round

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"callback": None, "start": None}

    def _prepare(self, data: TrainingSet) -> Expansion:
        if self.probability == "calibrated" and not data.is_resident:
            raise ValueError("probability='calibrated' needs rows in memory; use probability='auto' for chunked rows.")
        folds = self.probability == "calibrated" and not (self._is_settled and self._bends())
        if folds and np.bincount(data.codes).min() < 2:
            raise ValueError(
                f"probability='calibrated' with loss={self.loss!r} and {self._penalty()!r} needs two rows of each "
                "class, one to fit to and one to judge; use probability='auto' or False, or merge the class of one row."
            )
        return super()._prepare(data)

    def _bends(self) -> bool:
        """Whether one Newton step tells what leaving a row out would do."""
        return self._loss().smooth and self._penalty().convex and self._penalty().ridge > 0

    def _calibrate(self, problem: Problem, counts: np.ndarray) -> Sigmoid:
        if self._bends():
            scores = influence_scores(problem, np.ones(1), lambda *_: self.solution_, counts)[0]
        else:
            smallest = int(min(np.sum(problem.y > 0), np.sum(problem.y < 0)))
            folds = StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=0).split(problem.y, problem.y)
            scores = left_out_scores(problem, np.ones(1), self._solve, folds)[0]
        return fit_sigmoid(scores, problem.y, counts)

    def _probability(self, X: Any) -> np.ndarray:
        if self.probability != "calibrated":
            return super()._probability(X)
        scores = np.asarray(self._decision(X), dtype=np.float64)
        if scores.ndim == 1:
            return two_columns(expit(self.calibration_.log_odds(scores)), scores)
        parts = [
            expit(one.calibration_.log_odds(column)) for one, column in zip(self.estimators_, scores.T, strict=True)
        ]
        return couple(np.column_stack(parts), scores)

    def _require_probability(self) -> None:
        if self.probability == "auto" and not self._is_settled and not hasattr(self, "sigma_"):
            raise NoLink("sigma='auto' is decided by fit, which tells whether the loss has a link.")
        if self.probability != "calibrated":
            super()._require_probability()
