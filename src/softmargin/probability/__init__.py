"""How does a score become a probability?"""

from softmargin.probability._bracket import Bracket, bracket
from softmargin.probability._couple import couple, two_columns
from softmargin.probability._quality import (
    CalibrationError,
    brier,
    calibration_error,
    comparative_gkl,
    cross_entropy,
    misclassification,
)
from softmargin.probability._sigmoid import Sigmoid, fit_sigmoid
from softmargin.probability._sollich import Sollich
from softmargin.probability._temperature import CoherenceLink, fit_coherence, fit_temperature
from softmargin.probability._truncated import estimable_or_fallback, outward_weights, walk_outwards

__all__ = [
    "Bracket",
    "CalibrationError",
    "CoherenceLink",
    "Sigmoid",
    "Sollich",
    "bracket",
    "brier",
    "calibration_error",
    "comparative_gkl",
    "couple",
    "cross_entropy",
    "estimable_or_fallback",
    "fit_coherence",
    "fit_sigmoid",
    "fit_temperature",
    "misclassification",
    "outward_weights",
    "two_columns",
    "walk_outwards",
]
