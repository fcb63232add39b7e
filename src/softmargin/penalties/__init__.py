"""What does a coefficient cost?"""

from softmargin.penalties._elastic_net import ElasticNet

__all__ = ["ElasticNet"]
