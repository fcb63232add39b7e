"""One case: a subject, its parameters, its data and the questions asked, all drawn from a seed and a number."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_array

import softmargin

from .certificate import HUGE, check_binary_certificate, gram
from .containers import dress
from .data import Data, Rng, draw_data
from .derived import DERIVED
from .faults import Fault, Refusal
from .functions import FUNCTIONS
from .model_files import check_file
from .oracles import check_answers, check_certified, check_pickle
from .parameters import draw_invalid, draw_parameters
from .prediction import check_prediction
from .relations import RELATIONS, fit_plain
from .simultaneous import check_simultaneous_certificate
from .state import check_interrupt, check_refit, check_threads
from .tables import table_rows

__all__ = ["AT_ONCE", "CLASSIFIERS", "EVERYTHING", "Case", "Focus"]

CLASSIFIERS: dict[str, Any] = {
    name: value
    for name, value in ((name, getattr(softmargin, name)) for name in softmargin.__all__)
    if isinstance(value, type) and issubclass(value, ClassifierMixin)
}
META = {name for name, cls in CLASSIFIERS.items() if "estimator" in cls.__init__.__annotations__}
READS_TABLES = {"RuleBoostClassifier", "AutoClassifier"}
# Rows enter folds and held-out parts by their number, and rules are chosen among ties: such fits may depend on order.
BY_ORDER = META | {"AutoClassifier", "RuleBoostClassifier"}
RARELY = {"AutoClassifier": 0.1, "TunedClassifier": 0.6, "TruncatedLogisticRegression": 0.7}
AT_ONCE = 1e-9  # seconds
SHARES = {
    "answers": 0.36,
    "relation": 0.24,
    "refit": 0.08,
    "invalid": 0.1,
    "interrupt": 0.03,
    "threads": 0.02,
    "function": 0.15,
    "prediction": 0.02,
}


class _Foreign(LinearSVC):
    """A classifier that is not ours, kept from data that its own loops do not end on."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        checked = check_array(X, accept_sparse=True, dtype=float)
        given = [checked.data if hasattr(checked, "tocsr") else checked]
        given += [] if sample_weight is None else [np.asarray(sample_weight, dtype=float)]
        sizes = np.concatenate([np.abs(part).ravel() for part in given] + [[1.0]])
        if not sizes.max() < 1e6 or sizes[sizes > 0].min() < 1e-30:
            raise ValueError("the foreign classifier is not asked about numbers beyond 1e6")
        return super().fit(X, y, sample_weight=sample_weight)


def _costs_seconds(model: Any) -> bool:
    """Whether a fit of a thousand rows takes seconds by its nature: some cases make three of them.

    A kernel that is a function of two rows is called for every pair of them; interactions have a matrix of all rows for
    every pair of columns.
    """
    own = model.get_params()
    called = any(callable(value) for key, value in own.items() if key.endswith("kernel"))
    return called or any(value is True for key, value in own.items() if key.endswith("interactions"))


def _has_huge_similarities(model: Any, X: np.ndarray) -> bool:
    """Whether a kernel is beyond what rounding leaves comparable: the loss is then zero but for the last digits."""
    K = gram(model, X) if getattr(model, "kernel", None) is not None else None
    return K is not None and float(np.abs(K).max()) > HUGE


@dataclass(frozen=True)
class Focus:
    """What cases are narrowed to: single fits of ``rows`` (from, to), some classifiers, rows of real tables.

    What costs too much shows in single fits of many rows; what is wrong with one classifier, in cases of it alone.
    """

    rows: tuple[int, int] | None = None
    only: tuple[str, ...] = ()
    tables: bool = False

    @property
    def options(self) -> str:
        """The focus as the command line takes it."""
        rows = "" if self.rows is None else f" --rows {self.rows[0]} {self.rows[1]}"
        return rows + (f" --only {' '.join(self.only)}" if self.only else "") + " --tables" * self.tables


EVERYTHING = Focus()


@dataclass
class Case:
    """A case of a seed; ``run`` raises a Fault, or returns "ok" or the text of a refusal."""

    seed: int
    number: int
    text: str = ""
    listener: Callable[[str], None] | None = None
    focus: Focus = EVERYTHING

    def run(self) -> str:
        """Draw the case and ask its questions."""
        rng = np.random.default_rng([self.seed, self.number])
        names = list(SHARES)
        question = names[rng.choice(len(names), p=np.array(list(SHARES.values())))]
        if self.focus.rows is not None or ((self.focus.only or self.focus.tables) and question == "function"):
            question = "answers"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                getattr(self, f"_{question}")(rng, caught)
            except Refusal as refusal:
                return f"refused: {refusal}"
        loud = [w for w in caught if issubclass(w.category, RuntimeWarning)]
        if loud:
            place = str(loud[0].filename).rpartition("softmargin/")[2].rpartition("site-packages/")[2]
            raise Fault(f"RuntimeWarning at {place}", f"{loud[0].message}, line {loud[0].lineno}")
        return "ok"

    # -- drawing -------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.text = text
        if self.listener is not None:
            self.listener(text)

    def _draw(self, rng: Rng, **wanted: Any) -> Data:
        """Rows and their labels, made or of a real table."""
        return draw_data(rng, **wanted | ({"base": table_rows} if self.focus.tables else {}))

    def _name(self, rng: Rng) -> str:
        """A classifier; those whose fit is a search are drawn less often."""
        names = [name for name in CLASSIFIERS if name in (self.focus.only or CLASSIFIERS)]
        share = np.array([RARELY.get(name, 1.0) for name in names])
        return names[rng.choice(len(names), p=share / share.sum())]

    def _model(self, rng: Rng, name: str | None = None, **fixed: Any) -> tuple[Any, dict[str, Any]]:
        name = name or self._name(rng)
        cls = CLASSIFIERS[name]
        inner: tuple[Any, ...] = ()
        if name in META:
            inner = (self._inner(rng, name),)
        model = cls(*inner)
        params = draw_parameters(rng, name, list(model.get_params(deep=False))) | fixed
        if "random_state" in model.get_params(deep=False):
            params.setdefault("random_state", 0)
        if "effort" in model.get_params(deep=False):
            params["effort"] = "fast"
        if "n_jobs" in model.get_params(deep=False):
            params["n_jobs"] = 1
        if name == "TunedClassifier":
            params = {"grid": 3, "cv": 3} | params
        if params.get("search") in ("exact", "exhaustive"):
            params |= {
                "n_rules": 1,
                "max_literals": 2,
                "criterion": "edge",
            }  # one costs as much as all pairs of literals
        return model.set_params(**params), params

    def _repeatable(self, rng: Rng, name: str | None = None) -> Any:
        """A model whose fits may be compared: a limit of time either stops the search at once or never does."""
        model = self._model(rng, name)[0]
        if getattr(model, "time_limit", None) is not None:
            model.set_params(time_limit=AT_ONCE)  # what a clock decides differs from fit to fit
        if type(model).__name__ == "TunedClassifier":
            model.set_params(grid=3)  # up to six searches are compared in one case
        return model

    def _inner(self, rng: Rng, name: str) -> Any:
        if name == "ScoreCalibrator" and rng.random() < 0.3:
            return _Foreign(random_state=0, max_iter=100)
        plain = ["MarginClassifier", "MarginClassifier", "CoherenceClassifier", "RobustSVC", "BalancingSVC"]
        others = ["MulticategorySVC", "ProbabilisticSVC", "CompositeLeastSquaresClassifier", "RuleBoostClassifier"]
        model = self._model(rng, str(rng.choice(plain if rng.random() < 0.8 else others)))[0]
        if name == "TunedClassifier" and "n_init" in model.get_params(deep=False):
            model.set_params(n_init=1)  # every candidate, fold, class and calibration would pay for each start
        return model

    def _describe(self, question: str, model: Any, data: Data) -> None:
        text = " ".join(re.sub(r"<function (\w+) at \w+>", r"\1", repr(model)).split())
        self._say(f"{question}: {text} {data}")

    def _demand(self, name: str, data: Data) -> str:
        """How much may be asked: a table reader takes missing values and words; folds need rows."""
        if data.level == "invalid" and name in READS_TABLES | META:
            return "extreme"
        return data.level

    # -- questions -----------------------------------------------------------------------------------------------

    def _answers(self, rng: Rng, caught: list[Any]) -> None:
        model, params = self._model(rng)
        slow = _costs_seconds(model)
        data = dress(rng, self._draw(rng, large=not slow, rows=None if slow else self.focus.rows))
        self._describe("answers", model, data)
        name = type(model).__name__
        plain = not params.keys() - {"random_state", "n_jobs", "C"}
        try:
            fit_plain(model, data.X, data.y, data.weight)
            check_answers(model, data)
        except Refusal as refusal:
            if data.level == "tame" and plain and name not in META:
                raise Fault("ordinary problem refused", str(refusal)) from refusal
            raise
        if self._demand(name, data) == "invalid":
            raise Fault("invalid data accepted", str(data))
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        check_certified(model, warned, data)
        check_binary_certificate(model, data)
        check_simultaneous_certificate(model, data)
        if rng.random() < 0.2:
            check_pickle(model, data)
        if rng.random() < 0.15:
            check_file(rng, model, data)

    def _relation(self, rng: Rng, caught: list[Any]) -> None:
        relation = RELATIONS[rng.integers(len(RELATIONS))]
        model = self._repeatable(rng)
        own = model.get_params(deep=False)
        tight = {"tol": 1e-9, "max_iter": 100_000, "n_init": 1}  # random starts are drawn by the number of rows
        model.set_params(**{key: value for key, value in tight.items() if key in own})
        data = self._draw(rng, large=False, trouble=0.3)
        self._describe(relation.__name__, model, data)
        fragile = type(model).__name__ in BY_ORDER or own.get("n_components") is not None
        if fragile and relation.__name__ not in ("label_names", "same_again", "one_row_at_a_time"):
            return
        if data.level in ("extreme", "invalid") or _has_huge_similarities(model, data.dense):
            return
        relation(rng, model, data)

    def _refit(self, rng: Rng, caught: list[Any]) -> None:
        name = self._name(rng)
        models = [
            (self._repeatable(rng, name), dress(rng, self._draw(rng, large=False, trouble=0.2), 0.0)) for _ in range(3)
        ]
        self._say("refit: " + " THEN ".join(" ".join(f"{model!r} {data}".split()) for model, data in models))
        check_refit(rng, models)

    def _threads(self, rng: Rng, caught: list[Any]) -> None:
        models = [(self._repeatable(rng), dress(rng, self._draw(rng, large=False, trouble=0.2), 0.0)) for _ in range(3)]
        self._say("threads: " + " AND ".join(" ".join(f"{model!r} {data}".split()) for model, data in models))
        check_threads(rng, models)

    def _interrupt(self, rng: Rng, caught: list[Any]) -> None:
        model = self._repeatable(rng)
        data = dress(rng, self._draw(rng, trouble=0.2, large=not _costs_seconds(model)), 0.0)
        self._describe("interrupt", model, data)
        check_interrupt(rng, model, data)

    def _invalid(self, rng: Rng, caught: list[Any]) -> None:
        name = self._name(rng)
        model = CLASSIFIERS[name](softmargin.MarginClassifier()) if name in META else CLASSIFIERS[name]()
        bad = draw_invalid(rng, model.get_params(deep=False))
        data = self._draw(rng, large=False, trouble=0.0, k=2)
        ((key, value),) = bad.items()
        self._say(f"invalid: {name}({key}={value!r}) {data}")
        try:
            model.set_params(**bad)
            fit_plain(model, data.dense, data.codes)
        except Refusal as refusal:
            if key not in str(refusal):
                raise Fault(f"invalid {key} refused without its name", str(refusal)[:200]) from refusal
            raise
        raise Fault(f"invalid {key} accepted", f"{name}({key}={value!r})")

    def _prediction(self, rng: Rng, caught: list[Any]) -> None:
        model, data = self._model(rng)[0], self._draw(rng, large=False, trouble=0.0)
        self._describe("prediction", model, data)
        check_prediction(rng, model, data.dense, data.codes)

    def _function(self, rng: Rng, caught: list[Any]) -> None:
        able = FUNCTIONS + DERIVED
        share = np.array([weight for _, weight in able])
        able[rng.choice(len(able), p=share / share.sum())][0](rng, self._say)
