"""Which components of an additive kernel does the score need? Kernel fits and their weights, together."""

from softmargin.solvers.components.selection import ComponentFit, select_components

__all__ = ["ComponentFit", "select_components"]
