"""What does a coefficient cost?"""

from softmargin.penalties._concave import MCP, SCAD, AdaptiveL1, Concave, get
from softmargin.penalties._elastic_net import ElasticNet

__all__ = ["AdaptiveL1", "Concave", "ElasticNet", "MCP", "SCAD", "get"]
