"""Which classes and functions a model file may name, and where this version keeps them.

A tag is the name of a class and of its package, so moving a class between the files of a package changes no model file;
a class that gets another name keeps its old tag here. Classes whose methods run compiled code on their
attributes without looking at them (trees, neighbour searches) are not in the table: a hostile file could make them read
foreign memory.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

from softmargin.files._container import InvalidModelFile

__all__ = ["CONSTRUCTED", "class_of", "known_name", "known_value", "tag_of"]

_CLASSES: dict[str, str] = {
    "softmargin": """
        AdditiveKernelClassifier AutoClassifier BalancingSVC CoherenceClassifier CompositeLeastSquaresClassifier
        CompositeMarginClassifier MarginClassifier MulticategorySVC ProbabilisticSVC RobustSVC RuleBoostClassifier
        ScoreCalibrator TruncatedLogisticRegression TruncatedSoftmaxClassifier TunedClassifier""",
    "softmargin.solution": "Solution RobustSolution",
    "softmargin.expansions": """
        AdditiveSplines ColumnScore Kernel KernelScore LinearScore Literal Rule RuleScore TreeScore""",
    "softmargin.expansions.kernels.laplacian": "Laplacian",
    "softmargin.expansions.kernels.linear": "Linear",
    "softmargin.expansions.kernels.matern": "Matern",
    "softmargin.expansions.kernels.polynomial": "Polynomial",
    "softmargin.expansions.kernels.rbf": "Gaussian",
    "softmargin.losses": """
        BalancedConvex BalancedHinge BiancoYohai ByClass CappedByRow Cauchy Coherence Copas CrouxHaesbroeck
        CustomEntropy Exponential GemanMcClure GeneralRobust Gini Hinge HuberizedHinge LeastSquares LogEntropy Logistic
        Matsushita ModifiedHuber PowerEntropy PowerMargin Pregibon Psi SquaredHinge TanhHinge Truncated TruncatedHinge
        TruncatedLogistic Welsch""",
    "softmargin.losses._custom": "CustomLoss",
    "softmargin.losses._differentiate": "CentralDifference ComplexStep",
    "softmargin.penalties": "AdaptiveL1 ElasticNet MCP SCAD",
    "softmargin.probability": "Bracket CoherenceLink ScoreMap Sigmoid Sollich",
    "softmargin.paths": "MarginPath Path",
    "softmargin.tuning._composite": "CompositeGrid",
    "softmargin.paths.exact.training_rows": "TrainingRows",
    "softmargin.paths.exact.pieces": "AffinePiece ParametricQP TracedPiece",
    "softmargin.estimators._auto.encoder": "ColumnDecision NormalScores SparseEncoder TableEncoder",
    "softmargin.estimators._auto.members": "FittedMember LogisticScore ModelScore",
    "softmargin.estimators._base.fitted_score": "FittedScore",
    "softmargin.estimators._weight_family": "GridFamily PathFamily",
    "softmargin.estimators._surrogates": "Rescaled",
    "softmargin.solvers.rules": "Round",
    "softmargin.solvers.multiclass.simultaneous_solution": "SimultaneousSolution",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.compose": "ColumnTransformer make_column_selector",
    "sklearn.preprocessing": """
        Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer
        OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler
        SplineTransformer StandardScaler TargetEncoder""",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
    "sklearn.feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.feature_selection": "SelectFpr SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.linear_model": "LogisticRegression RidgeClassifier SGDClassifier",
    "sklearn.svm": "LinearSVC",
    "sklearn.utils": "Bunch",
    "scipy.interpolate": "BSpline",
}
# Made by their constructors from these attributes; all others are filled without being constructed.
CONSTRUCTED: dict[str, tuple[str, ...]] = {
    "scipy.interpolate.BSpline": ("t", "c", "k", "extrapolate"),
    "softmargin.expansions.RuleScore": ("rules", "coef", "intercept"),
}
_BUILTINS: dict[str, Any] = {kind.__name__: kind for kind in (bool, float, int, object, str)}
_FUNCTIONS = {"sklearn.feature_selection": ("chi2", "f_classif", "mutual_info_classif")}


@cache
def _places() -> dict[str, tuple[str, str]]:
    """From a tag to the module and the name of its class."""
    found: dict[str, tuple[str, str]] = {}
    for module, names in _CLASSES.items():
        package = ".".join(module.split(".")[:2]) if module.startswith("softmargin") else module
        found |= {f"{package}.{name}": (module, name) for name in names.split()}
    return found


def _class_at(place: tuple[str, str]) -> Any:
    return getattr(importlib.import_module(place[0]), place[1])


def tag_of(cls: type) -> str | None:
    """The tag of a class, None if files may not name it."""
    for tag, place in _places().items():
        if place[1] == cls.__name__ and _class_at(place) is cls:
            return tag
    return None


def class_of(tag: Any) -> Any:
    """The class of a tag."""
    if not isinstance(tag, str) or tag not in _places():
        raise InvalidModelFile(f"{str(tag)[:80]!r} is no class that a model file may name.")
    return _class_at(_places()[tag])


@cache
def _known() -> dict[str, Any]:
    """Types and functions that are named, not described."""
    numpy_names = {
        f"numpy.{name}": value
        for name, value in vars(np).items()
        if isinstance(value, np.ufunc) or (isinstance(value, type) and issubclass(value, np.generic))
    }
    functions = {
        f"{package}.{name}": getattr(importlib.import_module(package), name)
        for package, names in _FUNCTIONS.items()
        for name in names
    }
    return {f"builtins.{name}": kind for name, kind in _BUILTINS.items()} | numpy_names | functions


def known_name(value: Any) -> str | None:
    """The name of a type or function of the table, None for anything else."""
    if not callable(value):
        return None
    return next((name for name, known in _known().items() if known is value), None)


def known_value(name: Any) -> Any:
    """The type or function of a name."""
    if not isinstance(name, str) or name not in _known():
        raise InvalidModelFile(f"{str(name)[:80]!r} is no function that a model file may name.")
    return _known()[name]
