"""Landmark features of kernels."""

from softmargin.expansions.landmarks.basis import LandmarkBasis
from softmargin.expansions.landmarks.choice import EXACT_ROWS, choose_landmarks, most_landmarks
from softmargin.expansions.landmarks.features import LandmarkFeatures
from softmargin.expansions.landmarks.nystroem import NystroemFeatures, draw_landmarks, nested_landmarks

__all__ = [
    "EXACT_ROWS",
    "LandmarkBasis",
    "LandmarkFeatures",
    "NystroemFeatures",
    "choose_landmarks",
    "draw_landmarks",
    "most_landmarks",
    "nested_landmarks",
]
