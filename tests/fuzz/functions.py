"""Public functions beside the estimators: exact and grid paths, losses, intervals, label audits, simulated data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import softmargin
from softmargin import datasets, losses, paths

from .arguments import odd_argument
from .certificate import HUGE, BinaryProblem, better, gram, spectral
from .data import Data, Rng, draw_data
from .faults import Fault, judged
from .parameters import CONVEX

__all__ = ["FUNCTIONS"]


def _plain(rng: Rng) -> Data:
    data = draw_data(rng, large=False, k=2)
    if rng.random() < 0.3:
        data.times = rng.integers(0, 4, size=len(data.codes)).astype(float)
        data.times[np.unique(data.codes, return_index=True)[1]] = 1.0
    return data


def _kernel(rng: Rng) -> dict[str, Any]:
    draw = rng.random()
    if draw < 0.4:
        return {}
    if draw < 0.8:
        return {"kernel": "rbf", "gamma": float(10 ** rng.uniform(-2, 1))}
    return {"kernel": "poly", "gamma": 1.0, "degree": int(rng.integers(1, 4)), "coef0": float(rng.choice([0.0, 1.0]))}


class _Options:
    """Kernel options under the names an estimator has."""

    def __init__(self, kernel: Any = None, gamma: Any = "scale", degree: int = 3, coef0: float = 0.0) -> None:
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0


def exact_path(rng: Rng, say: Callable[[str], None]) -> None:
    """At ends, breakpoints and between, a path holds a solution no second route can beat."""
    data, options = _plain(rng), _kernel(rng)
    C = float(10 ** rng.uniform(-3, 3))
    name = str(rng.choice(["cost_path", "weight_path", "balance_path"]))
    extra = {"C_max": C * 10} if name == "cost_path" else {"C": C}
    say(f"{name}({extra}, {options}) {data}")
    with judged():
        path = getattr(paths, name)(data.dense, data.codes, sample_weight=data.times, **extra, **options)
        gap = path.gap
    if not np.isfinite(gap):
        raise Fault(f"{name}: gap not finite", f"{gap}")
    for t in _values(rng, path):
        with judged():
            solution = path.at(t)
            scores = path.decision_function(data.dense, t)
        if not (np.isfinite(scores).all() and np.isfinite(solution.gap)):
            raise Fault(f"{name}: not finite", f"at {t}: gap {solution.gap}")
        if solution.gap > 1e-5 and gap <= 1e-6:
            raise Fault(f"{name}: gap hidden", f"path.gap {gap:.1e}, at({t}).gap {solution.gap:.1e}")
        if data.level in ("tame", "awkward"):
            _check_point(name, C, t, data, _Options(**options), solution)


def _values(rng: Rng, path: Any) -> list[float]:
    low, high = path.range
    knots = path.breakpoints
    top = high if np.isfinite(high) else float(knots[-1]) * 2 + 1
    values = [low + 1e-9 * (top - low), top, low + rng.random() * (top - low)]
    return [float(v) for v in (*values, *rng.choice(knots, size=min(3, len(knots)))) if low < v <= high]


def _check_point(name: str, C: float, t: float, data: Data, options: _Options, solution: Any) -> None:
    times = np.ones(len(data.codes)) if data.times is None else data.times
    rows = times > 0
    y = np.where(data.codes[rows] == 1, 1.0, -1.0)
    w, loss = C * times[rows], losses.get("hinge")
    if name == "cost_path":
        w = t * times[rows]
    elif name == "weight_path":
        w = w * np.where(y > 0, 2 * (1 - t), 2 * t)
    else:
        loss = losses.BalancedHinge(balance=t)
    K = None if options.kernel is None else gram(options, data.dense[rows])
    if K is not None and np.abs(K).max() > HUGE:
        return
    Z = data.dense[rows] if K is None else spectral(K)
    beta = solution.coef if K is None else Z.T @ solution.coef[rows]
    problem = BinaryProblem(loss, Z, y, w, 1.0, 0.0, True, False)
    value = problem.value(beta, solution.intercept)
    best = better(problem, beta, solution.intercept)
    # at the end of the weights one class costs nothing and the optimum is zero: what is left is rounding of the costs
    rounding = 1e-13 * float(np.sum(C * times[rows])) if name == "weight_path" else 0.0
    if value - best > (1e-5 + 2 * solution.gap) * max(abs(value), 1e-9) + rounding:
        raise Fault(
            f"{name}: not the optimum", f"at {t}: {value:.9g}, found {best:.9g}, claimed gap {solution.gap:.1e}"
        )


def grid_path(rng: Rng, say: Callable[[str], None]) -> None:
    """Every point of a grid path is certified, and better than its neighbours at its own C."""
    data, options = _plain(rng), _kernel(rng)
    loss = str(rng.choice([name for name in CONVEX if "hinge" not in name or name == "squared_hinge"]))
    ratio = float(rng.choice([1.0, 0.5, 0.0])) if not options else float(rng.choice([0.0, 1.0]))
    say(f"margin_path(loss={loss!r}, l1_ratio={ratio}, Cs=8, {options}) {data}")
    with judged():
        path = paths.margin_path(
            data.dense, data.codes, loss=loss, l1_ratio=ratio, Cs=8, sample_weight=data.times, **options
        )
        scores = path.decision_function(data.dense)
    if not (np.isfinite(path.coefs).all() and np.isfinite(path.gaps).all() and np.isfinite(scores).all()):
        raise Fault("margin_path: not finite", f"gaps {path.gaps}")
    if options or data.level not in ("tame", "awkward"):
        return
    times = np.ones(len(data.codes)) if data.times is None else data.times
    y = np.where(data.codes == 1, 1.0, -1.0)
    j = int(rng.integers(len(path.Cs)))
    problem = BinaryProblem(losses.get(loss), data.dense, y, path.Cs[j] * times, 1 - ratio, ratio, True, False)
    value = problem.value(path.coefs[j], path.intercepts[j])
    best = better(problem, path.coefs[j], path.intercepts[j])
    if value - best > (1e-6 + 2 * path.gaps[j]) * max(abs(value), 1e-12):
        raise Fault("margin_path: false certificate", f"{value:.9g}, found {best:.9g}, gap {path.gaps[j]:.1e}")


def one_loss(rng: Rng, say: Callable[[str], None]) -> None:
    """Any loss with any parameters it accepts: finite, and its slope is the slope of its value."""
    name = str(rng.choice(losses.available()))
    known = dict.fromkeys(getattr(type(_made(name)), "__dataclass_fields__", {})) if _made(name) else {}
    values = (0.0, -1.0, np.nan, np.inf, "x", None, 0.1, 0.5, 1.0, 2.0, 3.7, 1e-8, 1e8)
    params = {key: values[rng.integers(len(values))] for key in known if rng.random() < 0.7}
    say(f"losses.get({name!r}, **{params})")
    with judged():
        loss = losses.get(name, **params)
    u = np.concatenate([rng.normal(size=50) * 10.0 ** rng.integers(-2, 3, size=50), [-1e8, 1e8, 0.0, 1.0]])
    with judged():
        value, slope = np.asarray(loss.value(u)), np.asarray(loss.slope(u))
    wild = ~(np.isfinite(slope) & np.isfinite(value))[:50] & ~_infinite(loss, u[:50])
    if wild.any():
        raise Fault(f"loss {name} not finite", f"at {u[:50][wild][:3]}")
    if np.isnan(slope).any() or np.isnan(value).any():
        raise Fault(f"loss {name} is NaN", f"at {u[np.isnan(slope) | np.isnan(value)]}")


def _infinite(loss: Any, u: np.ndarray) -> np.ndarray:
    """Where a loss says that it is infinite: a forbidden margin, or a cost that no double holds."""
    if getattr(loss, "balance", 1.0) == np.inf:
        return u >= 1
    return -loss.rate * u > 700 if loss.name == "exponential" else np.zeros(len(u), dtype=bool)


def _made(name: str) -> Any:
    try:
        return losses.get(name)
    except (ValueError, TypeError):
        return None


def own_loss(rng: Rng, say: Callable[[str], None]) -> None:
    """A user's loss is used correctly or refused: never NaN, never a certificate for a wrong slope."""
    kinds: dict[str, tuple[Callable[..., Any], Any]] = {
        "softplus": (lambda u: np.logaddexp(0, -u), None),
        "quartic": (lambda u: np.maximum(1 - u, 0) ** 4, None),
        "kinked": (lambda u: np.where(u < 0, 1 - 2 * u, np.exp(-np.maximum(u, 0))), None),
        "increasing": (lambda u: np.exp(np.minimum(u, 30)), None),
        "wrong slope": (lambda u: np.logaddexp(0, -u), lambda u: -np.ones_like(u)),
        "NaN": (lambda u: np.where(u > 0.5, np.nan, 1 - u), None),
        "scalar": (lambda u: max(0.0, 1 - u), None),
        "wrong shape": (lambda u: np.ones(3), None),
        "constant": (lambda u: np.ones_like(u), None),
        "text": (lambda u: "x", None),
    }
    name = str(rng.choice(list(kinds)))
    value, slope = kinds[name]
    data = draw_data(rng, large=False, k=2, trouble=0.0)
    ratio = float(rng.choice([0.0, 0.5]))
    say(f"MarginClassifier(loss=make_loss({name}), l1_ratio={ratio}) {data}")
    with judged():
        loss = losses.make_loss(value, slope) if slope is not None else losses.make_loss(value)
        model = softmargin.MarginClassifier(loss=loss, l1_ratio=ratio).fit(data.dense, data.codes)
        f = model.decision_function(data.dense)
    if not np.isfinite(f).all():
        raise Fault(f"own loss ({name}): not finite", "scores are not finite")
    if name in ("increasing", "wrong slope", "NaN", "wrong shape", "text"):
        raise Fault(
            f"own loss ({name}) accepted", f"gap {model.solution_.gap:.1e}, converged {model.solution_.converged}"
        )


def intervals(rng: Rng, say: Callable[[str], None]) -> None:
    """Intervals are ordered, finite or refused, and hold the estimate."""
    data = _plain(rng)
    loss = str(rng.choice(["logistic", "squared_hinge", "hinge", "least_squares", "huberized_hinge"]))
    method = str(rng.choice(["sandwich", "sandwich", "bootstrap", "split"]))
    say(f"Inference(MarginClassifier(loss={loss!r}), method={method!r}) {data}")
    with judged():
        model = softmargin.MarginClassifier(loss=loss).fit(data.dense, data.codes, sample_weight=data.times)
        made = softmargin.inference.Inference(
            model, data.dense, data.codes, data.times, method=method, n_resamples=10, random_state=0
        )
        low, high = made.coef_interval(0.9).T
    ok = np.isfinite(low) & np.isfinite(high)
    if method != "split" and not ok.all():
        raise Fault(f"interval not finite ({method})", f"{np.count_nonzero(~ok)} of {len(ok)}")
    if np.any(low[ok] > high[ok]):
        raise Fault("interval upside down", method)


def audit(rng: Rng, say: Callable[[str], None]) -> None:
    """Every row is judged once, with a trust in [0, 1]."""
    data = draw_data(rng, large=False)
    say(f"audit_labels(MarginClassifier(C=0.1)) {data}")
    with judged():
        report = softmargin.audit_labels(softmargin.MarginClassifier(C=0.1), data.dense, data.codes, random_state=0)
    trust = report["trust"].to_numpy()
    if sorted(report["row"]) != list(range(len(data.codes))):
        raise Fault("audit: rows missing", f"{len(report)} rows of {len(data.codes)}")
    if not (np.isfinite(trust).all() and trust.min() >= 0 and trust.max() <= 1):
        raise Fault("audit: trust outside [0, 1]", f"{trust.min()} to {trust.max()}")


def judged_labels(rng: Rng, say: Callable[[str], None]) -> None:
    """What an audit says of the errors is within reason: counts, shares, suspects that are rows."""
    data = draw_data(rng, large=False, trouble=0.3)
    say(f"audit_labels(MarginClassifier(C=0.1)).noise_matrix, health, suspects {data}")
    with judged():
        report = softmargin.audit_labels(softmargin.MarginClassifier(C=0.1), data.dense, data.codes, random_state=0)
        errors, matrix, suspects = report.n_errors, report.noise_matrix, report.suspects(0.2)
        health = report.health
        X, y, _ = report.apply(fdr=0.2)
    n = len(data.codes)
    if not 0 <= errors.low <= errors.value <= errors.high <= n:
        raise Fault("audit: number of errors", f"{errors} of {n} rows")
    if not set(suspects["row"]) <= set(range(n)) or not len(X) == len(y) <= n:
        raise Fault("audit: rows that are none", f"{len(suspects)} suspects, {len(X)} rows after decisions")
    if len(health) == 0 or not np.isfinite(matrix[0].to_numpy()).all():
        raise Fault("audit: noise matrix not finite", "shares of all rows")


def exported(rng: Rng, say: Callable[[str], None]) -> None:
    """A model becomes SQL, or the refusal says why not; names with quotes stay inside theirs."""
    data = draw_data(rng, large=False, trouble=0.3)
    makers: tuple[Callable[[], Any], ...] = (
        softmargin.MarginClassifier, softmargin.RobustSVC, softmargin.MulticategorySVC,
        lambda: softmargin.RuleBoostClassifier(n_rules=5), lambda: softmargin.MarginClassifier(kernel="rbf"),
    )  # fmt: skip
    model = makers[rng.integers(len(makers))]()
    say(f"to_sql({model!r}) {data}")
    with judged():
        model.fit(data.dense, data.codes)
        text = softmargin.export.to_sql(model, "odd \"name'")
    if 'odd ""name' not in text:
        raise Fault("sql: a name is not quoted", text[:200])


def simulated(rng: Rng, say: Callable[[str], None]) -> None:
    """Generators return what was asked for or refuse by name."""
    names = sorted(name for name in datasets.__all__ if name.startswith("make_") and name != "make_monks")
    name, n = str(rng.choice(names)), rng.choice(np.array([-1, 0, 1, 2, 3, 10, 200, 2.5, "x", None], dtype=object))
    say(f"datasets.{name}({n!r})")
    with judged():
        sample = getattr(datasets, name)(n, random_state=0)
    if len(sample.X) != n or len(sample.y) != n or not np.isfinite(sample.X).all():
        raise Fault(f"{name}: wrong sample", f"{len(sample.X)} rows for n={n!r}")


FUNCTIONS: tuple[tuple[Callable[[Rng, Callable[[str], None]], None], float], ...] = (
    (exact_path, 4), (grid_path, 2), (one_loss, 1), (own_loss, 1), (intervals, 2), (audit, 1),
    (judged_labels, 0.6), (exported, 0.6), (simulated, 0.3), (odd_argument, 1),
)  # fmt: skip
