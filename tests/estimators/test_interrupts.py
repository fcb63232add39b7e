"""Ctrl-C is served soon, whatever a fit is doing: compiled loops look for signals, long factorisations go in blocks."""

import signal
import time

import numpy as np
import pytest

from softmargin import (
    AutoClassifier,
    BalancingSVC,
    CoherenceClassifier,
    CompositeLeastSquaresClassifier,
    CompositeMarginClassifier,
    MarginClassifier,
    MulticategorySVC,
    ProbabilisticSVC,
    RobustSVC,
    RuleBoostClassifier,
    ScoreCalibrator,
    TruncatedLogisticRegression,
    TruncatedSoftmaxClassifier,
    TunedClassifier,
)
from softmargin.paths import cost_path, margin_path, weight_path

AFTER = (0.4, 0.2, 0.1, 0.05, 0.02)  # seconds of processor time until the interrupt comes, the first that a fit takes
LATEST = 5.0  # and until it must be served; 1 on a machine of today, the rest is room for others


def cloud(n, p, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), rng.integers(k, size=n)


FITS = {
    "logistic, rbf": lambda: MarginClassifier(kernel="rbf", C=100.0).fit(*cloud(4000, 5)),
    "logistic, l1": lambda: MarginClassifier(l1_ratio=0.5, C=10.0, tol=1e-10).fit(*cloud(1500, 3000)),
    "hinge, rbf": lambda: MarginClassifier(loss="hinge", kernel="rbf", C=1e3).fit(*cloud(4000, 5)),
    "hinge, linear": lambda: MarginClassifier(loss="hinge", C=1e3, tol=1e-8).fit(*cloud(3000, 1000)),
    "coherence, rbf": lambda: CoherenceClassifier(kernel="rbf", temperature=0.01, C=100.0).fit(*cloud(3000, 5)),
    "robust, poly, l1": lambda: RobustSVC(kernel="poly", l1_ratio=0.5).fit(*cloud(1000, 5)),
    "truncated logistic, rbf": lambda: TruncatedLogisticRegression(kernel="rbf", C=100.0).fit(*cloud(2500, 5)),
    "truncated softmax, rbf": lambda: TruncatedSoftmaxClassifier(kernel="rbf", C=100.0).fit(*cloud(2500, 5, 5)),
    "composite margin, rbf": lambda: CompositeMarginClassifier(kernel="rbf", C=100.0).fit(*cloud(2500, 5, 5)),
    "composite least squares": lambda: CompositeLeastSquaresClassifier(kernel="rbf").fit(*cloud(4000, 5, 3)),
    "multicategory, rbf": lambda: MulticategorySVC(kernel="rbf", C=1e3, tol=1e-8).fit(*cloud(1500, 5, 5)),
    "probabilistic, rbf": lambda: ProbabilisticSVC(kernel="rbf", C=100.0).fit(*cloud(2500, 5)),
    "probabilistic, path": lambda: ProbabilisticSVC(kernel="rbf", C=100.0, engine="path").fit(*cloud(700, 5)),
    "balancing, rbf": lambda: BalancingSVC(kernel="rbf", C=1e3).fit(*cloud(4000, 5)),
    "exact rules": lambda: RuleBoostClassifier(search="exact", max_literals=3).fit(*cloud(300, 60)),
    "exhaustive rules": lambda: RuleBoostClassifier(search="exhaustive", n_jobs=1).fit(*cloud(500, 60)),
    "rules": lambda: RuleBoostClassifier(n_rules=1000).fit(*cloud(4000, 40)),
    "trees": lambda: RuleBoostClassifier(learner="trees", early_stopping=False).fit(*cloud(20_000, 40)),
    "tuned, rbf": lambda: TunedClassifier(MarginClassifier(kernel="rbf"), judging="exact").fit(*cloud(2000, 5)),
    "tuned, screened": lambda: TunedClassifier(MarginClassifier(kernel="rbf")).fit(*cloud(5000, 5)),
    "calibrated": lambda: ScoreCalibrator(MarginClassifier(loss="hinge", kernel="rbf", C=100.0)).fit(*cloud(2500, 5)),
    "automatic": lambda: AutoClassifier().fit(*cloud(2000, 10)),
    "path in C": lambda: cost_path(*cloud(900, 5), kernel="rbf", C_max=1e3),
    "path in weights": lambda: weight_path(*cloud(900, 5), kernel="rbf", C=100.0),
    "grid path": lambda: margin_path(*cloud(600, 2000), l1_ratio=0.9, Cs=200, tol=1e-9),
}


@pytest.mark.parametrize("name", FITS)
def test_an_interrupt_is_served_soon(name):
    for after in AFTER:
        late = _lateness(FITS[name], after)
        if late is not None:
            break
    else:
        pytest.fail("every fit ended before its interrupt came")
    assert late < LATEST


def _lateness(fit, after):
    """How late an interrupt was served that came after some processor time; None where the fit had ended before."""
    came = []

    def interrupt(number, frame):
        came.append(time.process_time())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, after)
    try:
        fit()
    except KeyboardInterrupt:
        return came[0] - start - after
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return None
