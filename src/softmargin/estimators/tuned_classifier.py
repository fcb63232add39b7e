"""Choose ``C`` and the other parameters of a classifier from its training data alone.

Every candidate that is one problem (P) is fitted along a warm-started path of ``C`` and judged by honest scores:
those of approximate leave-one-out (one fit and its influences, no refit at all), of folds, or of a held-out part; or
by a formula of the fit itself (GACV, EGACV, AIC, BIC); or by the covariance penalty of Wang, Shen and Liu, which
needs probabilities and nothing else. Classifiers that are not one problem (P) are judged by folds, a held-out part or
the covariance penalty; pipelines by folds or a held-out part, all their steps learning from the other rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from softmargin._constraints import Constraint, instance, integer, one_of
from softmargin._progress import is_heard, report
from softmargin.estimators._base.callbacks import CallbackSupportMixin, fit_task, with_callbacks
from softmargin.estimators._base.card import Readable, inner_card, plain
from softmargin.estimators._base.chunked_set import chunked_rows
from softmargin.estimators._base.classifier import ClassifierBase, available_where
from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.estimators._base.parameters import FOLDS, POSITIVE, check_parameters, document
from softmargin.estimators._base.training_set import check_labels
from softmargin.estimators._tuning_choice import Candidates, is_one_problem, require_probabilities
from softmargin.estimators._tuning_grid import Grid
from softmargin.tuning import (
    FORMULAS,
    N_COSTS,
    SCORINGS,
    ChunkJudge,
    Judged,
    Judging,
    PathJudge,
    PipelineJudge,
    RefitJudge,
    can_screen,
    screen,
)

__all__ = ["TunedClassifier"]

_CRITERIA = ("auto", "cv", "holdout", "loo", "gkl", *FORMULAS)
_RULES = ("best", "one_se")


def _inner_has(name: str) -> Any:
    return lambda tuned: getattr(getattr(tuned, "best_estimator_", tuned.estimator), name)


@document
class TunedClassifier(Readable, CallbackSupportMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that chooses its own parameters.

    Parameters
    ----------
    estimator : softmargin classifier, or Pipeline that ends in one
        What to tune; its other parameters stay as they are.
    grid : "auto", int, dict or list of dicts
        "auto": 30 values of ``C`` on a range taken from the data; an int: that many. A dict gives values per
        parameter, and may say ``"auto"`` for ``"C"`` and for ``"loss"`` (a set of losses with probabilities); among
        equals the value named first wins, then the smaller ``C``, so name the simpler first. A list of dicts is the
        union of their candidates. Parameters of a pipeline's steps are named ``step__parameter``; those of its
        classifier need no step.
    criterion : {"auto", "alo", "cv", "holdout", "loo", "gkl", "gacv", "egacv", "aic", "bic"}
        How a candidate is judged. "auto" is "alo" for smooth convex losses and "cv" otherwise: where a loss is not
        convex, a row left out can tip the fit into another minimum, which no formula sees. "loo" leaves every row out
        in turn (closed form for the squared loss, refits from warm starts otherwise). "gkl" perturbs the data and
        estimates the log loss on new data. Pipelines know "cv", "holdout" and "loo".
    scoring : {"auto", "loss", "log_loss", "brier", "error", "soft_error"}
        What an honest score costs. "soft_error" is the error rate with a smooth passage across the boundary: it is less
        a matter of luck than the count, compares any two classifiers, and labels flipped at random do not mislead it.
        "auto": the loss itself while only ``C`` and the penalty vary, the log loss when other parameters do; the soft
        error where there are no probabilities, and where a robust loss varies.
    cv : int or splitter, default=5
        Folds of criterion "cv"; criterion "holdout" keeps ``1/cv`` of the rows. Folds cost one fit each per candidate,
        and where classes are told apart one against the rest, per class: 30 costs, 3 folds and 6 classes are 540 fits
        of one score. Fewer values of ``C`` (``grid=10``) cost in proportion.
    rule : {"best", "one_se"}
        "one_se" takes the smallest ``C`` whose criterion is within one standard error of the best.
    df : {"trace", "null"}, default="trace"
        Degrees of freedom of "aic" and "bic": the trace of the influence matrix, or what fits gain on ``n_draws`` sets
        of permuted labels, which needs no smooth loss.
    n_draws, tau, perturbation
        Of criterion "gkl": perturbed data sets, their strength and kind. "literal", the default, keeps the label of the
        row whose place is taken, as the paper prints it; "pairs" lets a row carry its own. The choices of "literal"
        have a log loss .008 above the best possible one, those of "pairs" .014 (``python -m benchmarks probability``).
    judging : {"auto", "exact"}
        "exact" fits and judges every candidate with all rows. "auto" does so too, but for ten candidates or more of a
        kernel on a thousand rows or more, where approximate leave-one-out judges and ``rule`` is "best": they are
        screened through landmarks, and only the best of them (two where in doubt) are judged exactly. ``results_``
        then says of each row how it was judged: "exact", with "landmarks", or "interpolated" along ``C``.
    random_state : int, RandomState or None
        Of the folds, perturbations and landmarks.
    verbose : int
        Print each candidate.

    Attributes
    ----------
    best_params_ : dict
    best_score_ : float
        Its criterion.
    best_estimator_ : classifier
        Fitted to all rows with the best parameters.
    results_ : pandas.DataFrame
        One row per candidate: parameters, criterion and its standard error, best first.
    criterion_ : str
        The criterion used.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from softmargin import MarginClassifier, TunedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tuned = TunedClassifier(MarginClassifier()).fit(scale(X), y)
    >>> tuned.criterion_, bool(tuned.best_score_ < 0.08)
    ('alo', True)

    Whether the labels call for a kernel and for how much robustness, ``sigma = inf`` being none:

    >>> import numpy as np
    >>> from softmargin import RobustSVC, datasets
    >>> X, y, _ = datasets.make_moons(200, noise=0.1, flip=0.2, random_state=0)
    >>> grid = {"kernel": [None, "rbf"], "sigma": [np.inf, 2.5, 1.5], "C": 6}
    >>> tuned = TunedClassifier(RobustSVC(gamma=2.0), grid=grid, criterion="cv").fit(X, y)
    >>> tuned.best_params_["kernel"]
    'rbf'
    """

    _private_fit: ClassVar[tuple[str, ...]] = ("_records",)
    _constraints: ClassVar[dict[str, Constraint]] = {
        "grid": one_of("auto")
        | N_COSTS
        | instance("a dict", dict)
        | Constraint(
            "a list of dicts",
            lambda value: (
                isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(g, dict) for g in value)
            ),
        ),
        "criterion": one_of(*_CRITERIA),
        "scoring": one_of("auto", *SCORINGS),
        "cv": FOLDS,
        "rule": one_of(*_RULES),
        "df": one_of("trace", "null"),
        "judging": one_of("auto", "exact"),
        "n_draws": integer(1, 10_000),
        "tau": POSITIVE,
        "perturbation": one_of("pairs", "literal"),
    }

    def __init__(
        self,
        estimator: Any,
        *,
        grid: Any = "auto",
        criterion: str = "auto",
        scoring: str = "auto",
        cv: Any = 5,
        rule: str = "best",
        df: str = "trace",
        n_draws: int = 25,
        tau: float = 0.5,
        perturbation: str = "literal",
        judging: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.criterion = criterion
        self.scoring = scoring
        self.cv = cv
        self.rule = rule
        self.df = df
        self.n_draws = n_draws
        self.tau = tau
        self.perturbation = perturbation
        self.judging = judging
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedClassifier:
        """Judge every candidate and fit the best one to all rows."""
        with fit_task(self, X, y, sample_weight):
            self._check_parameters()
            self._fit_candidates(X, y, sample_weight)
        return self

    def _fit_candidates(self, X: Any, y: Any, sample_weight: Any) -> None:
        X, y, sample_weight = chunked_rows(X, y, sample_weight)
        probe, data = clone(self.estimator), None
        if isinstance(probe, Pipeline):
            y = check_labels(X, y)
            self.classes_ = np.unique(y)
        else:
            data = probe._training_set(X, y, sample_weight)
            self.classes_ = probe.classes_
        candidates = Grid(self.grid, probe, self._named("")).candidates()
        families = [family for family, _ in candidates]
        resident = data is None or data.is_resident
        templates = [self._template(family) for family in families]
        made = Candidates(templates, set().union(*families), isinstance(self.estimator, Pipeline), resident)
        self.criterion_, scoring = made.criterion(self.criterion), made.scoring(self.scoring)
        self._records: list[dict[str, Any]] = []
        judges = [self._judge(family, costs, scoring, resident) for family, costs in candidates]
        screened = self.judging == "auto" and self.rule == "best" and can_screen(judges, data)
        if screened:
            found, expansion = screen(judges, data)
            for family, rows in zip(families, found, strict=True):
                self._record(family, rows)
        else:
            for family, judge in zip(families, judges, strict=True):
                self._record(family, self._judged(judge, len(judges), data, X, y, sample_weight))
            expansion = judges[0].expansion if len(judges) == 1 else None
        self._fit_best(X, y, sample_weight, expansion)

    def _judged(self, judge: Any, n_judges: int, data: Any, *given: Any) -> Iterator[Judged]:
        """The candidates of a family, each judged by itself."""
        judged = list(judge.judge(data, *given))
        # a solution lives in the coordinates of its landmarks, which the fit of the winner draws anew
        redrawn = n_judges > 1 and getattr(judge.template, "n_components", None) is not None
        starts = [None] * len(judged) if redrawn or not judge.solutions else judge.solutions
        if n_judges > 1:
            judge.expansion = None  # its memory, before the next family asks for its own
        for (cost, score, error), start in zip(judged, starts, strict=True):
            yield Judged(cost, score, error, "exact", start)

    def _record(self, family: dict[str, Any], rows: Iterable[Judged]) -> None:
        for cost, score, error, how, start in rows:
            params = family | {self._named("C"): cost}
            self._records.append({"params": params, "score": score, "error": error, "judged": how, "start": start})
            if is_heard(self.verbose):
                message = f"{params}, {self.criterion_} {score:.6g} (standard error {error:.2g}, {how})"
                report("candidate", message, self.verbose)

    def _fit_best(self, X: Any, y: Any, sample_weight: Any, expanded: Any) -> None:
        start = self._choose()
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
        if start is None and expanded is None:
            given = {} if sample_weight is None else {self._named("sample_weight"): sample_weight}
            self.best_estimator_.fit(X, y, **given)
        else:
            self.best_estimator_._fit_from(start, expanded, X, y, sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))

    def _named(self, parameter: str) -> str:
        """The name by which the estimator knows a parameter of its classifier."""
        if isinstance(self.estimator, Pipeline):
            return f"{self.estimator.steps[-1][0]}__{parameter}"
        return parameter

    def _template(self, family: dict[str, Any]) -> Any:
        """The classifier of a family, without the steps before it."""
        made = clone(self.estimator).set_params(**family)
        return made[-1] if isinstance(made, Pipeline) else made

    def _judge(
        self, family: dict[str, Any], costs: Any, scoring: str, resident: bool
    ) -> PathJudge | RefitJudge | ChunkJudge:
        """Who judges the candidates of a family."""
        template = self._template(family)
        template._check_parameters()
        template.classes_ = self.classes_
        path = is_one_problem(template) and not isinstance(self.estimator, Pipeline)
        if scoring in ("log_loss", "brier") or self.criterion_ == "gkl":
            require_probabilities(template)
            own = type(template)._probability is not getattr(ExpansionClassifier, "_probability", None)
            if path and own and getattr(template, "probability", None) not in ("auto", "link"):
                path = False  # the probabilities are not those of the loss's link
                if self.criterion_ in FORMULAS:
                    raise ValueError(
                        f"scoring={scoring!r} of {type(template).__name__} needs the probabilities of refits, which "
                        f"criterion={self.criterion_!r} does not make; use criterion='cv'."
                    )
        options = Judging(
            self.criterion_,
            scoring,
            cv=self.cv,
            seed=0 if self.random_state is None else self.random_state,
            n_draws=self.n_draws,
            tau=self.tau,
            perturbation=self.perturbation,
            df=self.df,
        )
        if isinstance(self.estimator, Pipeline):
            return PipelineJudge(options, clone(self.estimator).set_params(**family), self.classes_, costs)
        if not resident:
            return ChunkJudge(options, template, self.classes_, costs)
        return (PathJudge if path else RefitJudge)(options, template, self.classes_, costs)

    def predict(self, X: Any) -> np.ndarray:
        """The labels of the best classifier."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_where(_inner_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the best classifier."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    @available_where(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The class probabilities of the best classifier."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @property
    def results_(self) -> Any:
        """All candidates, best first, as a pandas DataFrame."""
        check_is_fitted(self, "best_estimator_")
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("TunedClassifier.results_ needs pandas: pip install pandas") from error
        rows = [r["params"] | {self.criterion_: r["score"], "std_error": r["error"]} for r in self._records]
        judged = [record.get("judged", "exact") for record in self._records]  # older files do not say
        if set(judged) != {"exact"}:
            rows = [row | {"judged": how} for row, how in zip(rows, judged, strict=True)]
        table = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in rows[0]})
        numbers = dict.fromkeys(
            (self._named("C"), self.criterion_, "std_error"), float
        )  # None stays None in the others
        return table.astype(numbers).sort_values(self.criterion_, ignore_index=True)

    def _card(self) -> dict[str, Any]:
        chosen = {
            name: plain(value) if isinstance(value, str | int | float | np.generic | None) else repr(value)
            for name, value in self.best_params_.items()
        }
        judged = {"criterion": self.criterion_, "value": float(self.best_score_), "chosen": chosen}
        return super()._card() | {"tuning": judged} | inner_card(self.best_estimator_)

    def _probability_words(self) -> str:
        return "those of the classifier chosen" if hasattr(self, "predict_proba") else super()._probability_words()

    def _choose(self) -> Any:
        """Settle the best parameters; returns the solution they had on the path, if known."""
        exact = [record for record in self._records if record["judged"] == "exact"]
        best = min(exact, key=lambda record: record["score"])
        if self.rule == "one_se":
            if not np.isfinite(best["error"]):
                raise ValueError(f"rule='one_se' needs a standard error, which criterion={self.criterion_!r} has not.")
            enough = [r for r in self._records if r["score"] <= best["score"] + best["error"]]
            best = min(enough, key=lambda record: record["params"][self._named("C")])
        self.best_params_, self.best_score_ = best["params"], best["score"]
        start = best["start"]
        for record in self._records:
            del record["start"]
        return start

    def _check_parameters(self) -> None:
        last = self.estimator[-1] if isinstance(self.estimator, Pipeline) else self.estimator
        if not isinstance(last, ClassifierBase) or "C" not in last.get_params():
            raise ValueError(
                f"estimator must be a softmargin classifier with a parameter C, or a pipeline that ends in one; got "
                f"{self.estimator!r}. Use GridSearchCV for others."
            )
        check_parameters(self)
        if self.df == "null" and self.criterion not in ("aic", "bic"):
            raise ValueError(f"df='null' is for criterion='aic' and 'bic'; got criterion={self.criterion!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags
