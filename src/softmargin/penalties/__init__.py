"""What does a coefficient cost?"""

from softmargin.penalties._elastic_net import ElasticNet
from softmargin.penalties._folded_concave import MCP, SCAD, AdaptiveL1, Concave, get

__all__ = ["AdaptiveL1", "Concave", "ElasticNet", "MCP", "SCAD", "get"]
