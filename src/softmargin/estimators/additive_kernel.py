"""``AdditiveKernelClassifier``: a sum of smooth functions of few features, chosen while they are fitted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softmargin import losses
from softmargin._constraints import BOOLEAN, Constraint, one_of
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.fitted_score import FittedScore, Stake, in_their_precision
from softmargin.estimators._base.parameters import LOSS
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._base.trust import gather_robustness, note_robustness
from softmargin.expansions import AdditiveColumns, AdditiveSplines, Kernel, KernelScore
from softmargin.losses import Loss
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import select_components

__all__ = ["AdditiveKernelClassifier"]


class AdditiveKernelClassifier(ExpansionClassifier):
    """A sum of smoothing splines of single features, and of pairs, that keeps only the components it needs.

    Minimises ``C * sum_i s_i loss(y_i f(x_i)) + sum_j |f_j|`` over ``f(x) = b + sum_j f_j(x)``, where ``f_j`` is a
    function of one feature, or of two (``interactions=True``), with the norm of its spline kernel. As with a lasso, the
    norms (not their squares) set many components to zero: component selection and smoothing (COSSO) for any loss with
    curvature, robust losses included. The gap is certified for the weights of the components and the functions
    together.

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        A name of ``softmargin.losses.available()`` or a loss; losses with corners ("hinge") have no curvature and are
        refused. ``losses.TruncatedLogistic()`` and ``losses.Welsch()`` give up on rows with hopeless labels.
    interactions : bool, default=False
        Whether products of two features may be components too.
    probability : {"auto", "link", False}, default="auto"
        Where ``predict_proba`` comes from. "auto": the loss's own link, where it has one; "link": the same, and an
        error in ``fit`` where it has none; False: no ``predict_proba``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    components_ : list of tuples
        The feature numbers of every component that could be chosen; features that do not vary make none.
    component_weights_ : ndarray of shape (1, n_components) or (n_classes, n_components)
        The factor of each component's kernel; zero where it was not chosen.
    component_norms_ : ndarray of shape (1, n_components) or (n_classes, n_components)
        ``|f_j|``: how much each component says.
    selected_components_ : list of tuples
        The components with a weight above zero, for some class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the support rows; of two classes only.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support rows; of two classes only.
    loss_ : Loss
        The loss that was minimised.
    sample_trust_ : ndarray of shape (n_samples,)
        How far the label of each training row is believed; with a nonconvex loss only.
    solution_ : Solution
        Objective, certified gap, history (a list for more than two classes, fitted one against the rest).
    n_iter_ : int
        Newton steps in the weights.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where ``X`` had names.

    References
    ----------
    Y. Lin and H. H. Zhang, Component selection and smoothing in multivariate nonparametric regression, Annals of
    Statistics 34, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import AdditiveKernelClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 6))
    >>> y = np.sin(6 * X[:, 0]) + 2 * X[:, 3] + 0.3 * rng.normal(size=200) > 1
    >>> AdditiveKernelClassifier(C=0.1).fit(X, y).selected_components_
    [(0,), (3,)]
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "loss": LOSS,
        "probability": one_of("auto", "link", False),
        "interactions": BOOLEAN,
    }
    _fits_chunks = False
    _is_one_problem = False  # the kernel itself is chosen
    _sparse_formats = False

    def __init__(
        self,
        *,
        loss: str | Loss = "logistic",
        interactions: bool = False,
        probability: str | bool = "auto",
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        probability_prior: str = "weighted",
        tol: float = 1e-4,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.interactions = interactions
        self.probability = probability
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.probability_prior = probability_prior
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _loss(self) -> Loss:
        return losses.get(self.loss) if isinstance(self.loss, str) else self.loss

    def _penalty(self) -> ElasticNet:
        return ElasticNet(0.0)

    def _matrix_shape(self, data: TrainingSet) -> tuple[int, int]:
        return data.X.shape[0], data.X.shape[0]

    # -- fitting -------------------------------------------------------------------------------------------------

    def _prepare(self, data: TrainingSet) -> Any:
        return AdditiveColumns.of_rows(data.X, bool(self.interactions))

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        columns: AdditiveColumns = data.shared
        expansion = columns.weighted(np.zeros(len(columns.components)))  # weights are what is to be found
        problem = Problem(
            self._loss().of_classes(data.codes),
            expansion,
            y.astype(np.float64, copy=False),
            self.C * data.weight,
            self._penalty(),
            fit_intercept=self.fit_intercept,
        )
        fit = select_components(problem, columns, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
        self.loss_, self.solution_, self.n_iter_ = self._loss(), fit.solution, fit.solution.n_iter
        self.components_ = [tuple(one) for one in columns.components]
        self.component_weights_, self.component_norms_ = fit.weights[None, :], fit.norms[None, :]
        chosen, kernel = np.flatnonzero(fit.solution.coef), Kernel(columns.splines.weighted(fit.weights))
        score = KernelScore(kernel, data.X[chosen], fit.solution.coef[chosen, None])
        stake = Stake.of(data, self.C, [fit.solution])
        held = in_their_precision(data.X, score, np.array([fit.solution.intercept]), stake)
        self._score_ = FittedScore(*held, data.numbered(chosen))
        if not problem.loss.convex:
            note_robustness(self, data, problem, fit.solution)

    def _fit_many(self, data: TrainingSet) -> None:
        super(ExpansionClassifier, self)._fit_many(data)  # every class has a kernel of its own
        gather_robustness(self)
        parts = self.estimators_
        self.loss_, self.components_ = self._loss(), parts[0].components_
        self.component_weights_ = np.vstack([one.component_weights_ for one in parts])
        self.component_norms_ = np.vstack([one.component_norms_ for one in parts])

    # -- what was found ------------------------------------------------------------------------------------------

    @property
    def selected_components_(self) -> list[tuple[int, ...]]:
        """The components with a weight above zero, for some class."""
        self._fitted("selected_components_")
        used = np.any(self.component_weights_ > 0, axis=0)
        return [one for one, use in zip(self.components_, used, strict=True) if use]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one per function."""
        parts = vars(self).get("estimators_", [self])
        return np.concatenate([one._fitted("intercept_").intercept for one in parts])

    def component_scores(self, X: Any) -> np.ndarray:
        """``f_j(x)`` of every component, one column each: how the score of two classes comes about.

        Their sum and the intercept are ``decision_function``. Plotted against its feature, a column is the effect of
        that feature, whatever the others are.
        """
        X = self._prediction_set(X)
        if len(self.classes_) > 2:
            raise ValueError(f"Components add up to one score; the model has {len(self.classes_)}. See estimators_.")
        fitted = self.kernel_score_
        splines = fitted.kernel.function
        assert isinstance(splines, AdditiveSplines)
        scores, all_components = np.zeros((X.shape[0], len(self.components_))), self.components_
        for one, weight in zip(splines.components, splines.weights, strict=True):
            part = AdditiveSplines((one,), (weight,), splines.low, splines.high)
            scores[:, all_components.index(one)] = KernelScore(Kernel(part), fitted.rows, fitted.coef)(X)[:, 0]
        return scores

    def _decision(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return self._score_(X).ravel()
        return np.column_stack([one._score_(X).ravel() for one in self.estimators_])

    def _fitted(self, name: str) -> FittedScore:
        if "estimators_" in vars(self) and name in ("dual_coef_", "support_", "kernel_score_"):
            raise AttributeError(f"{type(self).__name__} of several classes has {name} in each of its estimators_.")
        return self._score_ if "_score_" in vars(self) else self._of_some(name)

    def _of_some(self, name: str) -> FittedScore:
        if "estimators_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit.")
        return self.estimators_[0]._score_

    def _score_card(self, names: list[str]) -> dict[str, Any]:
        chosen = [" x ".join(names[v] for v in one) for one in self.selected_components_]
        words = f"Scores by a sum of {len(chosen)} smooth functions: {', '.join(chosen) or 'none'}."
        return {"form": "components", "components": chosen, "words": words}
