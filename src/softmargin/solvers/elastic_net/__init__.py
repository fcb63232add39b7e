"""Smooth convex losses with l1 costs: proximal Newton steps on working sets, and what certifies them."""

from softmargin.solvers.elastic_net.certificate import PrimalDual, certify, violations
from softmargin.solvers.elastic_net.quadratic_model import Columns, Curvature

__all__ = ["Columns", "Curvature", "PrimalDual", "certify", "violations"]
