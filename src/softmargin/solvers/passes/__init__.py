"""Solvers that ask for nothing but passes over the rows, for rows in files or on other machines."""

from softmargin.solvers.passes.engines import engines_by_passes

__all__ = ["engines_by_passes"]
