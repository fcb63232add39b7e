"""How does a score become a probability?"""

from softmargin.probability._bracket import Bracket, bracket, resampled_interval, zero_level
from softmargin.probability._composite import RESCALINGS, least_squares_probability, margin_probability
from softmargin.probability._costs import cost_matrix, least_cost
from softmargin.probability._couple import couple, keep_decision, two_columns
from softmargin.probability._mixture import mixture_weights, sharpened, sharpness
from softmargin.probability._quality import (
    CalibrationError,
    brier,
    calibration_error,
    comparative_gkl,
    cross_entropy,
    misclassification,
)
from softmargin.probability._score_map import ScoreMap, fit_score_map
from softmargin.probability._sigmoid import Sigmoid, fit_sigmoid
from softmargin.probability._sollich import Sollich
from softmargin.probability._temperature import CoherenceLink, fit_coherence, fit_temperature
from softmargin.probability._truncated import estimable_or_fallback, nearest_estimable, outward_weights
from softmargin.probability._weights import check_weight_range, checked_weights, row_weights, weight_parameters

__all__ = [
    "RESCALINGS",
    "least_squares_probability",
    "margin_probability",
    "Bracket",
    "CalibrationError",
    "CoherenceLink",
    "ScoreMap",
    "Sigmoid",
    "Sollich",
    "bracket",
    "brier",
    "calibration_error",
    "comparative_gkl",
    "cost_matrix",
    "couple",
    "cross_entropy",
    "estimable_or_fallback",
    "fit_coherence",
    "fit_score_map",
    "fit_sigmoid",
    "fit_temperature",
    "keep_decision",
    "least_cost",
    "misclassification",
    "mixture_weights",
    "sharpened",
    "sharpness",
    "outward_weights",
    "resampled_interval",
    "two_columns",
    "nearest_estimable",
    "weight_parameters",
    "check_weight_range",
    "checked_weights",
    "row_weights",
    "zero_level",
]
