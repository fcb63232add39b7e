"""Kernel machines beyond memory: landmarks by preconditioned conjugate gradients, and what they gain on other machines.

Every fit runs in a process of its own, with the seconds of its processors (all threads; the time on a quiet machine of
two cores is about half of it) and the peak memory that the operating system saw, less what the imports take. A process
that is not done after some minutes is recorded as such. Real tables are one-hot encoded and standardised, a quarter of
their rows is for testing; gamma is one over the number of columns and C is 10 for all kernel machines.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._harness import Absent, markdown_table, table
from benchmarks.scale import run

_SETS = {False: ("magic", "higgs7k", "adult", "skin"), True: ("magic",)}
_SMOOTH = {False: (1_000_000, 20), True: (8000, 20)}
_GROWTH = {False: (100_000, (500, 1000, 2000)), True: (4000, (50, 100))}
_COUNTS = {False: (100, 300, 1000), True: (50, 100)}
_SVC_ROWS = {False: (2000, 10_000), True: (500,)}
_PATIENCE = 1500  # seconds of the clock

_TABLE = """
from benchmarks._real import binary
from sklearn.model_selection import train_test_split
X, y = binary(source, rows)
X, T, y, t = train_test_split(X, y, random_state=0, test_size=0.25)
gamma, C = 1 / X.shape[1], 10.0
"""
_DRAWN = """
import numpy as np
W = np.random.default_rng(1).normal(size=(p, 8)) / np.sqrt(p)

def draw(seed, rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, p)).astype(dtype)
    return X, (np.sin(2 * X @ W).sum(axis=1) + 0.3 * rng.logistic(size=rows) > 0).astype(int)

gamma, C = 1 / p, 1.0
X, y = draw(0, n)
T, t = draw(10**6, 20_000)
"""
_OURS = """
from softmargin import MarginClassifier
begin()
model = MarginClassifier(
    kernel="rbf", gamma=gamma, C=C, n_components=m, tol=1e-4, random_state=0, solver=solver
).fit(X, y)
end()
extra = {"accuracy": model.score(T, t), "gap": model.solution_.gap, "count": len(model.support_)}
extra |= {"error": getattr(model, "landmark_error_", -1.0), "objective": model.solution_.objective}
"""
_PIPELINE = """
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
begin()
model = make_pipeline(
    Nystroem(gamma=gamma, n_components=m, random_state=0), LogisticRegression(C=C, tol=1e-4, max_iter=1000)
).fit(X, y)
end()
extra = {"accuracy": model.score(T, t)}
"""
_SVC = """
from sklearn.svm import SVC
rng = np.random.default_rng(0)
part = rng.permutation(len(y))[:m]
begin()
model = SVC(gamma=gamma, C=C).fit(X[part], y[part])
end()
few = rng.permutation(len(t))[:5000]
extra = {"accuracy": model.score(T[few], t[few])}
"""
_BOOSTING = """
from sklearn.ensemble import HistGradientBoostingClassifier
begin()
model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
end()
extra = {"accuracy": model.score(T, t)}
"""
_CLOCK = """
import numpy as np
marks = []

def begin():
    marks.append((time.process_time(), peak_memory()))

def end():
    marks.append((time.process_time(), peak_memory()))

"""
_REPORT = """
extra |= {"seconds": marks[1][0] - marks[0][0], "fit": (marks[1][1] - marks[0][1]) / 2**20}
"""


def _fit(data: str, method: str, **settings: Any) -> dict[str, float]:
    """A fit by itself: processor seconds, memory and accuracy."""
    return run(_CLOCK + data + method + _REPORT, patience=_PATIENCE, **settings)


def _line(name: str, data: str, method: str, **settings: Any) -> list[Any]:
    try:
        one = _fit(data, method, **settings)
    except Absent as reason:
        return [name, str(reason), "", ""]
    if "count" in one and settings["m"] == "auto":
        name += f": {int(one['count'])} landmarks, error {one['error']:.1e}"
    return [name, one["seconds"], f"{one['accuracy']:.4f}", one["fit"]]


def _contest(data: str, quick: bool, **settings: Any) -> list[list[Any]]:
    """Accuracy and time of everybody on one table."""
    counts, rows = _COUNTS[quick], _SVC_ROWS[quick]
    lines = [_line(f"softmargin, {m} landmarks", data, _OURS, m=m, solver="auto", **settings) for m in counts]
    lines.append(_line('softmargin, n_components="auto"', data, _OURS, m="auto", solver="auto", **settings))
    lines += [_line(f"Nystroem({m}) + LogisticRegression", data, _PIPELINE, m=m, **settings) for m in counts]
    lines += [_line(f"SVC on {m} rows", data, _SVC, m=m, **settings) for m in rows]
    return [*lines, _line("HistGradientBoosting", data, _BOOSTING, **settings)]


_HEAD = ["fit", "processor seconds", "accuracy", "memory of the fit (GB)"]


def _real(name: str, quick: bool) -> str:
    return markdown_table(_HEAD, _contest(_TABLE, quick, source=name, rows=2000 if quick else None))


@table
def magic(quick: bool) -> str:
    """Accuracy and time on magic (14265 x 10 to train)"""
    return _real("magic", quick)


@table
def skin(quick: bool) -> str:
    """Accuracy and time on skin (183792 x 3 to train)"""
    return _real("skin", quick)


@table
def adult(quick: bool) -> str:
    """Accuracy and time on adult (36631 x 104 to train)"""
    return _real("adult", quick)


@table
def smooth(quick: bool) -> str:
    """Accuracy and time on a smooth problem of 10^6 x 20, drawn on the spot, in memory"""
    n, p = _SMOOTH[quick]
    settings: dict[str, Any] = {"n": n, "p": p, "dtype": "float32"}
    lines = [
        _line(f"softmargin, {m} landmarks", _DRAWN, _OURS, m=m, solver="auto", **settings)
        for m in ((50, 100) if quick else (500, 1000, 2000))
    ]
    lines += [_line(f"SVC on {m} rows", _DRAWN, _SVC, m=m, **settings) for m in _SVC_ROWS[quick]]
    lines.append(_line("HistGradientBoosting", _DRAWN, _BOOSTING, **settings))
    return markdown_table(_HEAD, lines)


@table
def growth(quick: bool) -> str:
    """What more landmarks cost: conjugate gradients against Hessians of all rows, to a relative gap of 1e-4"""
    n, counts = _GROWTH[quick]
    rows: list[list[Any]] = []
    for m in counts:
        settings = {"n": n, "p": 20, "dtype": "float64", "m": m}
        both = [_fit(_DRAWN, _OURS, solver=solver, **settings) for solver in ("auto", "newton")]
        seconds = [one["seconds"] for one in both]
        apart = abs(both[0]["objective"] / both[1]["objective"] - 1)
        rows.append([m, *seconds, seconds[0] / seconds[1], f"{apart:.0e}", both[0]["fit"], both[1]["fit"]])
    head = [f"landmarks of {n} x 20", "as chosen (processor s)", "Hessians (processor s)", "ratio"]
    return markdown_table([*head, "objectives apart", "memory (GB)", "memory by Hessians (GB)"], rows)


@table
def large(quick: bool) -> str:
    """Many landmarks in bounded memory (float32 x 20; the features of 10^6 rows and 5000 landmarks would take 20 GB)"""
    rows: list[list[Any]] = []
    for n, m in ((10_000, 100),) if quick else ((1_000_000, 5000), (100_000, 20_000)):
        try:
            one = _fit(_DRAWN, _OURS, n=n, p=20, dtype="float32", m=m, solver="auto")
        except Absent as reason:
            rows.append([n, m, str(reason), "", "", ""])
            continue
        rows.append([n, one["count"], one["seconds"], one["fit"], f"{one['accuracy']:.4f}", f"{one['gap']:.0e}"])
    head = ["rows", "landmarks", "processor seconds", "memory of the fit (GB)", "accuracy", "relative gap"]
    return markdown_table(head, rows)


@table
def exact(quick: bool) -> str:
    """All pairs of few rows against landmarks (``n_components=None`` against ``10 sqrt(n)``)"""
    rows: list[list[Any]] = []
    for n in (500,) if quick else (1000, 2000, 4000, 8000):
        cells: list[Any] = [n]
        for m in (None, int(10 * np.sqrt(n))):
            one = _fit(_DRAWN, _OURS, n=n, p=5, dtype="float64", m=m, solver="auto")
            cells += [one["seconds"], f"{one['accuracy']:.4f}"]
        rows.append(cells)
    return markdown_table(["rows", "all pairs (s)", "accuracy", "landmarks (s)", "accuracy"], rows)


_CHOICE = """
from softmargin import losses
from softmargin.expansions import Kernel, NystroemFeatures
from softmargin.expansions.landmarks import choice
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve

kernel, found = Kernel("rbf", gamma=gamma), {"evenly": [], "both": [], "remainders": []}
choice._ENOUGH, choice._MOST, choice._PER_ROOT = 1e-12, m, 1e6
for seed in range(4):
    for how, evenly in (("evenly", 1.0), ("both", 0.5), ("remainders", 0.0)):
        choice._EVENLY = evenly
        rows_, error = choice.choose_landmarks(X, kernel, seed)
        features = NystroemFeatures(X, kernel, rows_)
        one = solve(
            Problem(losses.Logistic(), features, 2.0 * y - 1, C * np.ones(len(y)), ElasticNet(0.0)), tol=1e-4
        )
        scores = features.scorer(one.coef)(T) + one.intercept
        found[how].append((error, float(np.mean((scores > 0) == t))))
begin()
end()
extra = {f"{how} {kind}": float(np.mean(values)) for how, pairs in found.items()
         for kind, values in zip(("error", "accuracy"), zip(*pairs))}
"""


@table
def choice(quick: bool) -> str:
    """Which rows are landmarks: drawn evenly, by what the others leave out, or half and half (four seeds)"""
    rows: list[list[Any]] = []
    for name in _SETS[quick]:
        for m in (50,) if quick else (100, 400):
            one = _fit(_TABLE, _CHOICE, source=name, rows=2000 if quick else 12_000, m=m)
            cells = [f"{one[f'{how} error']:.1e}, {one[f'{how} accuracy']:.4f}" for how in _WAYS]
            rows.append([f"{name}, {m}", *cells])
    return markdown_table(["table, landmarks", *(f"{how}: error, accuracy" for how in _WAYS)], rows)


_WAYS = ("evenly", "both", "remainders")
