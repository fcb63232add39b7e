"""scikit-learn's callbacks (from version 1.9): a fit is a task, the steps it reports are its subtasks.

``classifier.set_callbacks(ProgressBar())`` shows the fit and each step; ``ScoringMonitor`` and others that want a
fitted estimator get it when the fit ends: the coefficients of an unfinished step are no model of ours, as nothing
certifies them. Inside a grid search or pipeline the tasks hang below the outer ones. A callback's wish to stop is not
followed for the same reason; interrupt the fit instead. Steps taken in other threads are not told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from softmargin._progress import listening, speaking
from softmargin._threads import one_blas_thread
from softmargin.estimators._base.fitted_score import fit_or_nothing

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """``set_callbacks``, and the context of a fit."""

    def with_callbacks(method: Any) -> Any:
        """Tears callbacks down when the method ends."""
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # before scikit-learn 1.9 there are none

        class CallbackSupportMixin:
            """No callbacks."""

        def with_callbacks(method):
            return method


__all__ = ["CallbackSupportMixin", "fit_task", "with_callbacks"]


@contextmanager
def fit_task(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[None]:
    """The door of every ``fit``: it leaves a fitted estimator or an unfitted one, and callbacks are told its steps."""
    with fit_or_nothing(estimator), _told(estimator, X, y, sample_weight), one_blas_thread(*_largest_matrix(X)):
        yield


def _largest_matrix(X: Any) -> tuple[float, float]:
    """The features or all pairs of rows, whichever is larger; of rows that come in chunks nobody knows."""
    n, p = X.shape if len(getattr(X, "shape", ())) == 2 else (np.inf, np.inf)
    known = isinstance(n, int | np.integer) and isinstance(p, int | np.integer)
    return (n, max(n, p)) if known else (np.inf, np.inf)


@contextmanager
def _told(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[None]:
    """Tell the callbacks of an estimator, if it has any, of a fit and its steps."""
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        with speaking(_loudness(estimator)):
            yield
        return
    context = estimator._init_callback_context(max_subtasks=None)
    metadata = {} if sample_weight is None else {"sample_weight": sample_weight}
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y, metadata=metadata)

    def tell(step: str) -> None:
        task = context.subcontext(task_name=step)
        task.call_on_fit_task_begin(estimator=estimator)
        task.call_on_fit_task_end(estimator=estimator)

    with listening(tell), speaking(_loudness(estimator)):
        yield
    context.call_on_fit_task_end(
        estimator=estimator, X=X, y=y, metadata=metadata, reconstruction_attributes=lambda: _fitted(estimator)
    )


def _loudness(estimator: Any) -> int:
    verbose = getattr(estimator, "verbose", 0)
    return int(verbose) if isinstance(verbose, int | np.integer) else 0  # others are refused by name in the fit


def _fitted(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}
