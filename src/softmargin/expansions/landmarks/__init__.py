"""Landmark features of kernels."""

from softmargin.expansions.landmarks.nystroem import NystroemFeatures, draw_landmarks, nested_landmarks

__all__ = ["NystroemFeatures", "draw_landmarks", "nested_landmarks"]
