"""What a fitted classifier is worth, on one page: scores with intervals, reliability, costs, columns, doubtful labels.

``summarise`` computes every number from rows that the model has not seen; ``build`` writes them as one HTML file that
opens anywhere, without network, and that answers questions itself: what does another threshold cost, which labels
should somebody look at.
"""

from softmargin.report._build import build
from softmargin.report._summary import summarise

__all__ = ["build", "summarise"]
