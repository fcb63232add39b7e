"""Smooth convex losses with a ridge penalty: Newton's method and what makes its steps cheap."""

from softmargin.solvers.ridge.line_search import center

__all__ = ["center"]
