"""Rule boosting: a short list of readable rules with signed weights, for any strictly convex loss.

``f(x) = b + sum_t a_t h_t(x)``, where ``h_t = +1`` if a conjunction of at most ``max_literals`` literals holds and -1
otherwise. Rules are found one at a time on weighted rows and leveraged for the loss (Nock & Nielsen, "On the efficient
minimization of classification calibrated surrogates", 2008); probabilities come from the loss's own inverse link.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from softmargin._constraints import Constraint
from softmargin.estimators._base.classifier import ClassifierBase
from softmargin.estimators._base.frames import check_frame
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._rule_chunks import fit_chunked_rules
from softmargin.estimators._rule_fitting import FittedRules, LabelledRows, boosted_solution, fit_hypotheses
from softmargin.estimators._rule_parameters import CONSTRAINTS, check_combination, plan_of
from softmargin.estimators._rule_reading import RuleReader
from softmargin.estimators._surrogates import choose_loss, surrogates
from softmargin.estimators._tree_fitting import FittedTrees, fit_trees
from softmargin.expansions import RuleScore, Table, cover, needs_table
from softmargin.losses import NoLink
from softmargin.probability import couple
from softmargin.solvers.rules import WeightedRisk, prune

__all__ = ["RuleBoostClassifier"]


class RuleBoostClassifier(RuleReader, ClassifierBase):
    """Boosted rules over numbers, categories and missing values.

    Parameters
    ----------
    loss : str or Loss or list of them, default="logistic"
        Any strictly convex loss: ``"exponential"`` is real AdaBoost, ``BalancedConvex(entropy)`` any calibrated loss
        with its own link, ``ModifiedHuber`` the squared loss extended to the line. ``"auto"``, or a list, lets
        ``tuning`` choose.
    learner : {"rules", "trees", "given"}, default="rules"
        Where weak hypotheses come from: rules found by a search, readable; the leaves of histogram trees, strong; or
        the columns of X themselves, any real values.
    blocks : list of lists of int or None, default=None
        Columns to leverage together, block after block in turn (the paper's T_j); every column must be in one. None
        takes the column of largest edge. For ``learner="given"``.
    n_rules : int or None, default=None
        Rounds of boosting; the model has at most that many rules (a rule found again adds to its coefficient). None is
        as many as serve rows held out best, at most 300, for trees 1000; 100 for given columns. A number asks for a
        short list: its rules are fewer, of two literals, and fully corrected. For rows in chunks None is 100.
    max_literals : int or None, default=None
        Literals per rule: ``x <= t``, ``x > t``, ``x == v``, ``x != v``, ``x is missing``. Every other literal is false
        on a missing value; a category not seen in training fails ``==`` and passes ``!=``. None is 3, and 2 where
        ``n_rules`` is given. For trees it is the depth, and None leaves that to ``max_leaves``.
    update : {"corrective", "single", "cyclic"} or None, default=None
        Refit all coefficients after each rule; only the new one (classical boosting); or the new one with a cycle over
        all rules every ``recur`` rounds and a refit at the end. None is "single", and "corrective" where ``n_rules`` is
        given.
    search : {"beam", "exact", "exhaustive"}, default="beam"
        Greedy growth of the ``beam`` best partial rules; the provably best rule by branch and bound; the same by joint
        histograms of all pairs of features.
    beam : int, default=4
        Width of the beam, at least 2.
    criterion : {"edge", "exact"}, default="edge"
        Take the rule of largest edge, or the one of 16 candidates that lowers the risk most.
    max_bins : int or None, default=None
        Thresholds per numeric feature plus one, at most 256; None is 64, for trees 128.
    max_leaves : int, default=31
        Leaves per tree.
    min_leaf_weight : float, default=5
        Total sample weight a leaf of a tree needs.
    row_fraction, column_fraction : float, default=1.0 and 0.7
        Share of rows and columns drawn for each tree.
    fit_intercept : bool, default=True
        Include the empty rule.
    learning_rate : float or None, default=None
        Multiplies every step; below 1 the last refit is left out. None is 0.2, 1 where ``n_rules`` is given, and 0.1
        for trees.
    smoothing : float or "auto", default="auto"
        Weight of two pseudo-examples per rule, one right and one wrong: the prior on coefficients, like a ridge, and
        finite even where rules separate the classes. ``"auto"`` is a tenth of the total sample weight, at most 30 (4
        per leaf of a tree);
        0.5 is Laplace's; 0 is the plain algorithm, which falls back to 0.5 with a ``SeparableWarning``.
    l1 : float, default=0.0
        Penalty on the absolute coefficients in a last refit, which drops rules; in units of the sum of losses.
    tuning : {"cv", "F*", "F", "E"}, default="cv"
        How one of several losses is chosen: cross-validated Brier score; least training error of full fits; least
        training error or largest edge round by round (``update="single"`` only). Losses are brought to a common slope.
    early_stopping : bool or None, default=None
        Stop when the loss on a held-out part has not improved for ``n_iter_no_change`` rounds, then run as many rounds
        as were best on all rows. None is True for trees and for rules whose number is not given (three folds below 1000
        rows, one part beyond; 100 trees or 50 rules below 100 rows), and False otherwise.
    validation_fraction : float, default=0.1
        Size of the held-out part.
    n_iter_no_change : int or None, default=None
        Patience in rounds. None is 25, and 10 where ``n_rules`` is given or columns are.
    min_edge : float, default=1e-6
        Stop when no rule has a larger normalised edge; 0 disables.
    renormalize : bool, default=False
        After each step, divide coefficients whose sizes add up to more than a certain label scores (1 for the squared
        loss and ``BalancedConvex(Gini())``) by that excess, as the paper does for phi_B. For ``update="single"``.
    recur : int, default=10
        Rounds between cycles of ``update="cyclic"``.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weights by class.
    tol : float, default=1e-10
        Largest edge on the rules held at the end, and the residual of every leveraging step.
    random_state : int, RandomState or None, default=None
        Chooses the held-out rows and the folds; None is the same as 0, so two fits give one answer.
    n_jobs : int or None, default=None
        Threads: None is one (unless a ``joblib.parallel_config`` says more), -1 one per core. Results do not depend
        on it.

    Attributes
    ----------
    rules_ : DataFrame
        Text, coefficient, points, support, precision of every rule.
    rule_list_ : list of Rule
        The rules themselves, in the order they were found.
    coef_ : ndarray of shape (1 or n_classes, n_rules)
        Coefficients of the +-1 rules.
    intercept_ : ndarray of shape (1 or n_classes,)
        Coefficients of the empty rule.
    loss_ : Loss
        The loss, chosen if several were given.
    edges_ : ndarray
        Normalised edge of each rule when it was added.
    rounds_ : DataFrame
        What every round did: rule, edge, leverage, loss chosen and, with several losses, the score of each.
    rate_bound_ : ndarray
        What the boosting rate (Theorem 2 of the paper, constant corrected) promises: an upper bound of the risk after
        each round from the edges so far; ``solution_.history`` lies below it.
    weak_learning_edge_ : float
        The least edge of all rounds, gamma of the paper.
    tuning_scores_ : dict or None
        The score of each loss where one was chosen for the whole fit.
    held_out_risk_ : ndarray or None
        Mean loss on rows held out after each round, where there were some.
    solution_ : Solution
        Smoothed risk after each round and the largest edge left (``gap``).

    Notes
    -----
    From the paper to the parameters (all of them at once: ``paper_settings``):

    ====================================  ====================================================================
    paper                                 here
    ====================================  ====================================================================
    loss ``F_phi`` of a permissible phi   ``loss=BalancedConvex(entropy)``: ``Matsushita(mu)``, ``LogEntropy``, ``Gini``
    phi_B, outputs kept in [-1, 1]        ``loss=BalancedConvex(Gini())``, extended; ``renormalize=True`` as printed
    features ``h_t``, matrix M            ``learner="rules"``, or the columns of X: ``"given"``
    blocks ``T_j``                        ``blocks``; one rule a round without them
    r rules of at most l literals         ``n_rules``, ``max_literals``
    leveraging condition [LC]             ``solution_.gap``, to ``tol``
    leveraging each rule once             ``update="single"``; the default refits all ("corrective")
    initial weights w_0                   ``sample_weight``
    edge gamma, boosting rate             ``weak_learning_edge_``, ``rate_bound_``
    surrogate tuning F, E, F*             ``loss=[...]`` and ``tuning``
    ====================================  ====================================================================

    Renormalising acts as a strong shrinkage and costs the descent: see ``python -m benchmarks rules``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import RuleBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RuleBoostClassifier(n_rules=2).fit(X[y != 2], y[y != 2])
    >>> print(model.rule_list_[0].text(model.feature_names_in_))
    petal length (cm) <= 2.45
    """

    _constraints: ClassVar[dict[str, Constraint]] = CONSTRAINTS
    _private_fit: ClassVar[tuple[str, ...]] = (
        "_hypotheses",
        "_kinds",
        "_rounds",
        "_score",
        "_stages",
        "_total_weight",
    )
    _fits_chunks = True
    _score: Any

    def __init__(
        self,
        loss: Any = "logistic",
        *,
        learner: str = "rules",
        blocks: Any = None,
        n_rules: int | None = None,
        max_literals: int | None = None,
        update: str | None = None,
        search: str = "beam",
        beam: int = 4,
        criterion: str = "edge",
        max_bins: int | None = None,
        max_leaves: int = 31,
        min_leaf_weight: float = 5.0,
        row_fraction: float = 1.0,
        column_fraction: float = 0.7,
        fit_intercept: bool = True,
        learning_rate: float | None = None,
        smoothing: float | str = "auto",
        l1: float = 0.0,
        tuning: str = "cv",
        early_stopping: bool | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        min_edge: float = 1e-6,
        renormalize: bool = False,
        recur: int = 10,
        class_weight: Any = None,
        tol: float = 1e-10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.blocks = blocks
        self.n_rules = n_rules
        self.max_literals = max_literals
        self.update = update
        self.search = search
        self.beam = beam
        self.criterion = criterion
        self.max_bins = max_bins
        self.max_leaves = max_leaves
        self.min_leaf_weight = min_leaf_weight
        self.row_fraction = row_fraction
        self.column_fraction = column_fraction
        self.fit_intercept = fit_intercept
        self.learning_rate = learning_rate
        self.smoothing = smoothing
        self.l1 = l1
        self.tuning = tuning
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.min_edge = min_edge
        self.renormalize = renormalize
        self.recur = recur
        self.class_weight = class_weight
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper_settings(cls, **changes: Any) -> RuleBoostClassifier:
        """The algorithm of the paper: each rule leveraged once, no intercept, no shrinkage, no smoothing, no stopping.

        Ten rules of at most two literals, its first setting (its second is ``max_literals=3, n_rules=100``);
        ``changes`` are other parameters, such as ``loss``.
        """
        plain: dict[str, Any] = {"update": "single", "fit_intercept": False, "n_rules": 10, "max_literals": 2}
        plain |= {"smoothing": 0.0, "learning_rate": 1.0, "min_edge": 0.0, "early_stopping": False, "l1": 0.0}
        return cls(**plain | changes)

    # -- the door ------------------------------------------------------------------------------------------------

    def _check_combination(self) -> None:
        check_combination(self)

    def _prediction_set(self, X: Any) -> Any:
        # scikit-learn's checks of a single row take longer than its score: a plain matrix of the right width needs one
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd" and len(X) > 0
        if plain and "_score" in vars(self) and "feature_names_in_" not in vars(self) and not any(self._kinds):
            plain = X.shape[1] == self.n_features_in_ and not np.isinf(X).any()
            return Table(X, self._kinds) if plain else super()._prediction_set(X)
        return super()._prediction_set(X)

    def _validate(self, X: Any, **checks: Any) -> Any:
        if isinstance(X, Table):  # read and checked before, by a classifier that mixes rules with others
            self.n_features_in_ = X.shape[1]
            return (X, checks["y"]) if "y" in checks else X
        kinds = None if "y" in checks else getattr(self, "_kinds", None)
        if not needs_table(X, kinds):
            if any(kinds or ()):
                raise ValueError(
                    "X was a data frame with categorical columns at fit; give predict a frame with the same columns."
                )
            checked = super()._validate(X, ensure_all_finite="allow-nan", **checks)
            return (Table(checked[0]), checked[1]) if "y" in checks else Table(checked)
        y = check_frame(self, X, **checks)
        return Table(X, kinds) if y is None else (Table(X), y)

    # -- fitting -------------------------------------------------------------------------------------------------

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        self._fit_channels(data, [y])

    def _fit_many(self, data: TrainingSet) -> None:
        self._fit_channels(data, [data.signs(code) for code in range(len(self.classes_))])

    def _fit_channels(self, data: Any, signs: list[Any]) -> None:
        if not data.is_resident:
            self._kinds, self.tuning_scores_ = [False] * data.X.n_columns, None
            fitted, covered = fit_chunked_rules(self, data, tuple(signs))
            self._store(fitted)
            self._note_coverage(covered, data.total_weight)
            return
        y = np.stack(signs).astype(np.float64)
        self._kinds = data.X.kinds
        bag = surrogates(self.loss)
        prefer = {"F": "error", "E": "edge"}.get(self.tuning) if len(bag) > 1 else None
        self.tuning_scores_ = None
        if len(bag) > 1 and prefer is None:
            loss, self.tuning_scores_ = choose_loss(self, bag, data)
            bag = [loss]
        rows = LabelledRows(data.X, y, data.weight)
        if self.learner == "trees":
            self._store(fit_trees(self, rows, data, bag[0]))
            return
        fitted = fit_hypotheses(self, rows, data, bag, plan_of(self, float(rows.weight.sum()), prefer))
        self._store(fitted)
        if self.l1 > 0 and self.rule_list_:
            self._prune(rows)
        if fitted.rules is not None:
            self._describe(data)

    def _store(self, fitted: FittedRules | FittedTrees) -> None:
        model, self._score, self.loss_ = fitted.model, fitted.score, fitted.model.loss
        self.held_out_risk_ = np.array(fitted.held_out) if fitted.held_out else None
        if isinstance(fitted, FittedTrees):
            self.intercept_, self.rule_list_, self.edges_ = fitted.model.intercept, [], np.array(fitted.model.edges)
        else:
            self._store_rounds(fitted)
        self.n_iter_ = len(self.edges_)
        self.solution_ = boosted_solution(model, fitted.coef, self.intercept_, float(self.tol))

    def _store_rounds(self, fitted: FittedRules) -> None:
        model = fitted.model
        self._stages, self._rounds = model.stages, model.rounds
        self.intercept_, self.coef_ = fitted.score.intercept.copy(), fitted.score.coef.copy()
        self.rule_list_ = fitted.rules if fitted.rules is not None else []
        self._hypotheses = fitted.rules if fitted.rules is not None else [one.terms for one in model.hypotheses]
        self.edges_ = np.array([one.edge for one in model.rounds])
        self.rate_bound_ = np.array(model.bounds)
        self.weak_learning_edge_ = float(self.edges_.min()) if len(self.edges_) else 0.0

    def _prune(self, rows: LabelledRows) -> None:
        risks = [WeightedRisk(self.loss_, y, rows.weight) for y in rows.y]
        columns, tol = cover(self.rule_list_, rows.table), max(float(self.tol), 1e-10)
        solutions = prune(columns, risks, float(self.l1), fit_intercept=self.fit_intercept, tol=tol)
        coef = np.stack([solution.coef for solution in solutions])
        kept = np.flatnonzero(np.any(coef != 0, axis=0))
        self.coef_, self.intercept_ = coef[:, kept], np.array([solution.intercept for solution in solutions])
        self.rule_list_ = [self.rule_list_[t] for t in kept]
        self._score = RuleScore(tuple(self.rule_list_), self.coef_, self.intercept_)
        self._stages = [self._stages[0], (self.intercept_, self.coef_)]
        self.solution_ = solutions[0] if len(solutions) == 1 else solutions

    # -- predicting ----------------------------------------------------------------------------------------------

    def _scores(self, table: Table) -> np.ndarray:
        return self._score(table)

    def _decision(self, X: Table) -> np.ndarray:
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _probability_binary(self, X: Table) -> np.ndarray:
        return self.loss_.probability(self._scores(X)[:, 0])

    def _decision_binary(self, X: Table) -> np.ndarray:
        return self._scores(X)[:, 0]

    def _probability(self, X: Table) -> np.ndarray:
        if len(self.classes_) == 2:
            return super()._probability(X)
        scores = self._scores(X)
        return couple(self.loss_.probability(scores), scores)

    def _require_probability(self) -> None:
        for loss in [self.loss_] if hasattr(self, "loss_") else surrogates(self.loss):
            try:
                loss.log_odds(0.0)
            except NoLink as error:
                raise NoLink(
                    f"{error} Choose a loss with a link, such as 'logistic', or wrap the classifier in ScoreCalibrator."
                ) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
