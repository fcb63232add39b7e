"""What a fitted classifier is worth, on one page: scores with intervals, reliability, costs, columns, doubtful labels.

``summarise`` computes every number from rows that the model has not seen; ``build`` writes them as one HTML file that
opens anywhere, without network, and that answers questions itself: what does another threshold or another class weight
do, which labels should somebody look at, where does this value lead. ``to_markdown`` and ``to_json`` are other forms of
the same numbers.
"""

from softmargin.report._build import build, to_json
from softmargin.report._markdown import to_markdown
from softmargin.report._summary import summarise

__all__ = ["build", "summarise", "to_json", "to_markdown"]
