"""softmargin: margin-based classification with any loss.

Everything fits ``f(x) = b + Phi(x) beta`` by minimising

    C * sum_i s_i * phi(y_i f(x_i)) + Omega(beta)

and turns ``f`` into labels, class probabilities, intervals, exact solution paths and label audits. Public names are
imported on first use, so ``import softmargin`` itself costs almost nothing.
"""

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softmargin import chunks as chunks
    from softmargin import datasets as datasets
    from softmargin import export as export
    from softmargin import inference as inference
    from softmargin import losses as losses
    from softmargin import papers as papers
    from softmargin import paths as paths
    from softmargin import penalties as penalties
    from softmargin import plots as plots
    from softmargin import probability as probability
    from softmargin import report as report
    from softmargin import tuning as tuning
    from softmargin.estimators.additive_kernel import AdditiveKernelClassifier as AdditiveKernelClassifier
    from softmargin.estimators.auto_classifier import AutoClassifier as AutoClassifier
    from softmargin.estimators.balancing_svc import BalancingSVC as BalancingSVC
    from softmargin.estimators.coherence import CoherenceClassifier as CoherenceClassifier
    from softmargin.estimators.composite_least_squares import (
        CompositeLeastSquaresClassifier as CompositeLeastSquaresClassifier,
    )
    from softmargin.estimators.composite_margin import CompositeMarginClassifier as CompositeMarginClassifier
    from softmargin.estimators.margin import MarginClassifier as MarginClassifier
    from softmargin.estimators.multicategory_svc import MulticategorySVC as MulticategorySVC
    from softmargin.estimators.probabilistic_svc import ProbabilisticSVC as ProbabilisticSVC
    from softmargin.estimators.robust_svc import RobustSVC as RobustSVC
    from softmargin.estimators.rule_boost import RuleBoostClassifier as RuleBoostClassifier
    from softmargin.estimators.score_calibrator import ScoreCalibrator as ScoreCalibrator
    from softmargin.estimators.truncated_logistic import TruncatedLogisticRegression as TruncatedLogisticRegression
    from softmargin.estimators.truncated_softmax import TruncatedSoftmaxClassifier as TruncatedSoftmaxClassifier
    from softmargin.estimators.tuned_classifier import TunedClassifier as TunedClassifier
    from softmargin.files import InvalidModelFile as InvalidModelFile
    from softmargin.files import load as load
    from softmargin.files import save as save
    from softmargin.inference import audit_labels as audit_labels
    from softmargin.solvers import SeparableWarning as SeparableWarning

_MODULES = (
    "chunks",
    "datasets",
    "export",
    "inference",
    "losses",
    "papers",
    "paths",
    "penalties",
    "plots",
    "probability",
    "report",
    "tuning",
)
_EXPORTS: dict[str, str] = {
    "AdditiveKernelClassifier": "softmargin.estimators.additive_kernel",
    "AutoClassifier": "softmargin.estimators.auto_classifier",
    "BalancingSVC": "softmargin.estimators.balancing_svc",
    "CoherenceClassifier": "softmargin.estimators.coherence",
    "CompositeLeastSquaresClassifier": "softmargin.estimators.composite_least_squares",
    "CompositeMarginClassifier": "softmargin.estimators.composite_margin",
    "MarginClassifier": "softmargin.estimators.margin",
    "ProbabilisticSVC": "softmargin.estimators.probabilistic_svc",
    "RuleBoostClassifier": "softmargin.estimators.rule_boost",
    "MulticategorySVC": "softmargin.estimators.multicategory_svc",
    "RobustSVC": "softmargin.estimators.robust_svc",
    "ScoreCalibrator": "softmargin.estimators.score_calibrator",
    "TruncatedLogisticRegression": "softmargin.estimators.truncated_logistic",
    "TunedClassifier": "softmargin.estimators.tuned_classifier",
    "audit_labels": "softmargin.inference",
    "InvalidModelFile": "softmargin.files",
    "SeparableWarning": "softmargin.solvers",
    "TruncatedSoftmaxClassifier": "softmargin.estimators.truncated_softmax",
    "load": "softmargin.files",
    "save": "softmargin.files",
}

__version__ = _version("softmargin")
__all__ = ["__version__", *_MODULES, *_EXPORTS]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"softmargin.{name}")
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'softmargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
