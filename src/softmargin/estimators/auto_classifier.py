"""``AutoClassifier``: a raw table in, calibrated probabilities out.

Machines that this library already has (linear, kernel on standardised columns and on ranks, splines, boosted trees,
rules) are fitted and judged by probabilities of rows they have not seen; the answer is the mixture of them under which
those labels are most likely. Machines that err on different rows correct each other, and one that knows nothing gets no
weight.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softmargin._constraints import BOOLEAN, NONE, Constraint, instance, number, one_of
from softmargin._progress import is_heard, report
from softmargin.estimators._auto.dates import cell_of, dates_as_days
from softmargin.estimators._auto.encoder import SparseEncoder, SwappedColumn, TableEncoder
from softmargin.estimators._auto.many_rows import SampledRows, in_blocks
from softmargin.estimators._auto.members import FittedMember, Judging, Labels, choose_width, fit_folded
from softmargin.estimators._auto.trees import fit_trees, most_promising
from softmargin.estimators._base.classifier import ClassifierBase
from softmargin.estimators._base.frames import check_frame
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators.rule_boost import RuleBoostClassifier
from softmargin.expansions import Table, expand, needs_table
from softmargin.probability import cost_matrix, least_cost, mixture_weights, sharpened, sharpness, two_columns

__all__ = ["AutoClassifier"]

_NEGLIGIBLE = 0.03  # members of smaller weight are left out of the answer
_WIDE = 400  # columns beyond which splines are not tried, and sparse matrices stay sparse
# A family is given up when a member of it has this many times the least left-out log loss: mixtures give it no weight.
_POOR = 1.5


@dataclass(frozen=True)
class _Effort:
    """How much is tried."""

    kernels: tuple[str, ...]
    n_trees: int  # kinds of them
    landmarks: int
    n_costs: int
    n_folds: int


_EFFORTS = {
    "fast": _Effort(("ranks",), 1, 150, 8, 3),
    "balanced": _Effort(("ranks", "plain"), 2, 300, 12, 5),
    "thorough": _Effort(("ranks", "plain"), 3, 1000, 20, 10),
}


class AutoClassifier(ClassifierBase):
    """The recommended line: takes a table as it is and answers with calibrated probabilities.

    Numbers, booleans, names, dates, texts and missing values are encoded; linear, kernel and spline machines and
    boosted trees are fitted and judged by probabilities of rows they have not seen (approximate leave-one-out, or
    folds); the answer is the likeliest mixture of them. Nothing has to be scaled, imputed, tuned or calibrated.

    Parameters
    ----------
    effort : {"fast", "balanced", "thorough"}, default="balanced"
        How many machines, kernel landmarks and penalties are tried.
    interpretable : bool, default=False
        Answer with one readable machine, linear or rules, whichever judged better, instead of a mixture.
    costs : array of shape (n_classes, n_classes) or dict, optional
        The price of each mistake: ``costs[i, j]`` of saying class ``j`` where ``i`` is true, in the order of
        ``classes_``, or ``{(true, said): price}`` where mistakes not named cost 1. ``predict`` then says the class of
        least expected cost; the probabilities stay those of the classes. None says the most probable class.
    time_limit : float, optional
        Seconds after which no further machine is begun and no further tree is grown. The first is always fitted.
    random_state : int, RandomState or None, default=None
        Of landmarks and folds; None is the same as 0, so two fits give one answer.
    n_jobs : int, optional
        Threads for one-vs-rest fits of several classes and for rules: None is one, -1 one per core.
    verbose : int, default=0
        Report each machine as it is judged.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    leaderboard_ : pandas.DataFrame
        One row per machine: log loss and error on rows left out, weight in the answer, seconds.
    best_ : str
        The machine of smallest left-out log loss.
    mixture_ : dict
        The weight of each machine in the answer.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from softmargin import AutoClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = AutoClassifier(effort="fast").fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _sparse_formats = ("csr", "csc")
    _private_fit: ClassVar[tuple[str, ...]] = ("_kinds", "_dates", "_weights", "_sharpness", "_members")
    _constraints: ClassVar[dict[str, Constraint]] = {
        "effort": one_of(*_EFFORTS),
        "interpretable": BOOLEAN,
        "costs": NONE | instance("a square array of prices or a dict from pairs to prices", dict, list, np.ndarray),
        "time_limit": NONE | number("a positive number of seconds", lambda value: value > 0),
    }

    def __init__(
        self,
        *,
        effort: str = "balanced",
        interpretable: bool = False,
        costs: Any = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.interpretable = interpretable
        self.costs = costs
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- reading the table ---------------------------------------------------------------------------------------

    def _validate(self, X: Any, **checks: Any) -> Any:
        """A Table of columns, or a sparse matrix."""
        if "y" not in checks:
            return self._validate_new(X, **checks)
        if needs_table(X):
            y = check_frame(self, X, **checks)
            X, self._dates = dates_as_days(X)
            return Table(X), y
        numbers, y = super()._validate(X, ensure_all_finite="allow-nan", **checks)
        wide = sparse.issparse(numbers) and numbers.shape[1] > _WIDE
        return (numbers if wide else Table(numbers)), y

    def _validate_new(self, X: Any, **checks: Any) -> Any:
        """Rows to predict, read as what their columns were at fit, whatever their container makes of them now."""
        columns, dates = self._kinds or [], self.encoder_.dates
        if needs_table(X, [*columns, len(dates) > 0]):
            check_frame(self, X, **checks)
            table = Table(dates_as_days(X, dates)[0], columns or [False] * X.shape[1])
            return table if isinstance(self.encoder_, TableEncoder) else sparse.csr_array(table.numbers())
        if any(columns) or len(dates):
            raise ValueError(
                "X was a data frame with columns of categories or dates at fit; give a frame with the same columns."
            )
        numbers = super()._validate(X, ensure_all_finite="allow-nan", **checks)
        return Table(numbers) if isinstance(self.encoder_, TableEncoder) else sparse.csr_array(numbers)

    # -- fitting -------------------------------------------------------------------------------------------------

    def _fit_binary(self, data: TrainingSet, y: np.ndarray) -> None:
        self._fit_many(data)

    def _fit_many(self, data: TrainingSet) -> None:
        if self.costs is not None:
            cost_matrix(self.costs, self.classes_)  # refuses what does not fit the classes before anything is fitted
        is_sparse = sparse.issparse(data.X)
        self._kinds = None if is_sparse else data.X.kinds
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        dates = self.__dict__.pop("_dates", ())
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        labels = Labels(data.codes, data.weight.astype(np.float64), len(self.classes_), seed, self.n_jobs)
        rows = SampledRows.of(data.X, labels, whole=is_sparse)
        self.encoder_ = rows.learn((SparseEncoder if is_sparse else TableEncoder)([str(name) for name in names], dates))
        members = self._judged(rows)
        own = np.array([member.left_out[np.arange(len(data.codes)), data.codes] for member in members])
        weights: np.ndarray = np.zeros(len(members))
        if self.interpretable:
            weights[int(np.argmin([member.log_loss for member in members]))] = 1.0
        else:
            weights = mixture_weights(own, labels.weight)
            weights[weights < min(_NEGLIGIBLE, weights.max())] = 0.0
        self._weights = weights / weights.sum()
        mixed = np.tensordot(self._weights, np.stack([member.left_out for member in members]), axes=1)
        self._sharpness = sharpness(mixed, data.codes, labels.weight)
        self._members = [replace(member, left_out=None) for member in members]
        self.mixture_ = {
            member.name: float(weight) for member, weight in zip(members, self._weights, strict=True) if weight > 0
        }
        self.best_ = min(members, key=lambda member: member.log_loss).name

    def _judged(self, rows: SampledRows) -> list[FittedMember]:
        """The members, until they are all or time is up."""
        started = time.monotonic()
        members: list[FittedMember] = []
        limit = np.inf if self.time_limit is None else self.time_limit

        def late(further: float = 0.0) -> bool:
            return time.monotonic() - started + further > limit

        candidates = self._readable(rows) if self.interpretable else self._candidates(rows, members, late)
        for member in candidates:
            members.append(member)
            if is_heard(self.verbose):
                message = f"left-out log loss {member.log_loss:.4f}, {member.seconds:.1f} s"
                report(member.name, message, self.verbose)
            if late(member.seconds):
                break
        return members

    def _readable(self, rows: SampledRows) -> Iterator[FittedMember]:
        """The machines a person can read."""
        effort, encoder, labels = _EFFORTS[self.effort], self.encoder_, rows.labels
        form = "words" if encoder.has_text else "plain"
        yield rows.fit_logistic("linear", form, expand(rows.features(form)), Judging(effort.n_costs))
        if labels.foldable and isinstance(rows.X, Table):
            columns = encoder.transform(rows.X, "columns")
            yield fit_folded(
                "rules", RuleBoostClassifier(n_jobs=self.n_jobs), columns, labels, labels.folds(effort.n_folds)
            )

    def _candidates(
        self, rows: SampledRows, members: list[FittedMember], late: Callable[[], bool]
    ) -> Iterator[FittedMember]:
        """Cheap ones first, so that a short time limit keeps the best of them; ``members`` are those judged so far."""
        effort, encoder, labels = _EFFORTS[self.effort], self.encoder_, rows.labels
        judging = Judging(effort.n_costs)
        form = "words" if encoder.has_text else "plain"
        yield rows.fit_logistic("linear", form, expand(rows.features(form)), judging)
        folds = labels.folds(effort.n_folds) if labels.foldable else None
        if folds is not None and isinstance(rows.X, Table):
            columns = encoder.transform(rows.X, "columns")
            for name in most_promising(len(columns), effort.n_trees):
                yield fit_trees(name, columns, labels, folds, late)
        if encoder.n_numbers and not _poor("linear", members):
            splines = rows.features("splines")
            if splines.shape[1] <= _WIDE:
                yield rows.fit_logistic("splines", "splines", expand(splines), judging)
            del splines
        forms = effort.kernels if encoder.n_numbers else ("plain",)
        for form in forms:
            features = rows.features(form)
            if features.shape[1] and not _poor("rbf on ranks", members):
                gamma, expansion = choose_width(features, rows.labels_of(form), "rbf", effort.landmarks)
                member = rows.fit_logistic(f"rbf on {form}", form, expansion, replace(judging, folds=folds))
                member.parameters["gamma"] = gamma
                yield member

    # -- predicting ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row or, where ``costs`` are given, the one of least expected cost."""
        if self.costs is None:
            return super().predict(X)
        check_is_fitted(self)
        return self.classes_[least_cost(self.predict_proba(X), cost_matrix(self.costs, self.classes_))]

    def _mixture(self, X: Any) -> np.ndarray:
        return in_blocks(lambda rows: self._mixed(X if len(rows) == X.shape[0] else X[rows]), np.arange(X.shape[0]))

    def _mixed(self, X: Any) -> np.ndarray:
        total = np.zeros((X.shape[0], len(self.classes_)))
        forms: dict[str, Any] = {}
        for member, weight in zip(self._members, self._weights, strict=True):
            if weight > 0:
                if member.form not in forms:
                    forms[member.form] = self.encoder_.transform(X, member.form)
                total += weight * member.predict(forms[member.form])
        return sharpened(total, self._sharpness)

    def _decision(self, X: Any) -> np.ndarray:
        return self._log_scores(self._mixture(X))

    def _probability(self, X: Any) -> np.ndarray:
        P = self._mixture(X)
        return two_columns(P[:, 1], self._log_scores(P)) if len(self.classes_) == 2 else P

    def _log_scores(self, P: np.ndarray) -> np.ndarray:
        log = np.log(np.maximum(P, np.finfo(float).tiny))
        return log[:, 1] - log[:, 0] if len(self.classes_) == 2 else log

    # -- reading the answer --------------------------------------------------------------------------------------

    @property
    def leaderboard_(self) -> Any:
        """One row per machine, best first."""
        check_is_fitted(self)
        import pandas as pd

        rows = [
            {
                "machine": member.name,
                "log_loss": member.log_loss,
                "error": member.error,
                "weight": float(weight),
                "seconds": member.seconds,
                **member.parameters,
            }
            for member, weight in zip(self._members, self._weights, strict=True)
        ]
        return pd.DataFrame(rows).sort_values("log_loss", kind="stable", ignore_index=True)

    def _score_card(self, names: list[str]) -> dict[str, Any]:
        columns = [{"column": one.name, "read_as": one.kind, "because": one.reason} for one in self.encoder_.decisions]
        return {"form": "mixture", "members": dict(self.mixture_), "columns": columns}

    def _probability_words(self) -> str:
        return "those of the machines, weighed by the likelihood of labels left out"

    def describe(self) -> str:
        """What the columns were taken for and what the answer is made of, in words."""
        check_is_fitted(self)
        lines = [f"{len(self.classes_)} classes, {self.n_features_in_} columns:"]
        shown = self.encoder_.decisions[:50]
        lines += [f"  {decision.name}: {decision.kind} ({decision.reason})" for decision in shown]
        if len(shown) < len(self.encoder_.decisions):
            lines.append(f"  ... and {len(self.encoder_.decisions) - len(shown)} more")
        lines.append("The answer is the mixture of")
        lines += [f"  {weight:.0%} {name}" for name, weight in sorted(self.mixture_.items(), key=lambda i: -i[1])]
        return "\n".join(lines)

    def explain(self, X: Any, row: int = 0) -> Any:
        """How far each column moves the log odds of the predicted class of one row from those of typical rows.

        A column's share is what is lost when its value is replaced by those of other rows of ``X`` (at most 100), the
        others staying as they are. A frame, the largest share first.
        """
        import pandas as pd

        read = self._prediction_set(X)
        if not isinstance(read, Table):
            raise ValueError("explain reads tables with named columns; X is a sparse matrix.")
        if not 0 <= row < len(read):
            raise ValueError(f"row must be between 0 and {len(read) - 1}; got {row!r}.")
        others = np.unique(np.linspace(0, len(read) - 1, min(len(read), 100)).astype(int))
        P = self._mixture(read[np.array([row])])[0]
        winner = int(P.argmax())
        here = _log_odds(P[None], winner)[0]
        shares = [
            here - _log_odds(self._mixture(SwappedColumn(read, row, others, j)), winner).mean()
            for j in range(read.shape[1])
        ]
        values = [
            cell_of(X, row, j) if j in self.encoder_.dates else read.column(j).values[row] for j in range(read.shape[1])
        ]
        names = [decision.name for decision in self.encoder_.decisions]
        frame = pd.DataFrame({"column": names, "value": values, "share": shares})
        order = np.argsort(-np.abs(frame["share"].to_numpy()), kind="stable")
        frame = frame.iloc[order].reset_index(drop=True)
        frame.attrs |= {"label": self.classes_[winner], "probability": float(P[winner])}
        return frame

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _poor(name: str, members: list[FittedMember]) -> bool:
    """Whether a member of this name was judged, and is far behind the best."""
    least = min((member.log_loss for member in members), default=0.0)
    return any(member.name == name and member.log_loss > _POOR * least for member in members)


def _log_odds(P: np.ndarray, winner: int) -> np.ndarray:
    own = np.clip(P[:, winner], 1e-15, 1 - 1e-15)
    return np.log(own) - np.log1p(-own)
