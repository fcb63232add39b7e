"""What does a coefficient cost?"""

from softmargin.penalties.adaptive_l1 import AdaptiveL1
from softmargin.penalties.classes import ClassPenalty
from softmargin.penalties.mcp import MCP
from softmargin.penalties.penalty import ElasticNet, Penalty
from softmargin.penalties.registry import available, get, register
from softmargin.penalties.scad import SCAD

__all__ = ["MCP", "SCAD", "AdaptiveL1", "ClassPenalty", "ElasticNet", "Penalty", "available", "get", "register"]
